# SPDX-License-Identifier: Apache-2.0
"""`signalbox explain` on recordings of a cluster (recordings/, see its README): the sentences that matter in each."""
import json
import os
import random
import re
import signal
import subprocess
import sys
import tempfile
import unittest

import program

sys.path.insert(0, os.path.join(program.source_dir(), "tests", "support"))
from waiting import eventually  # noqa: E402

HERE = os.path.dirname(os.path.abspath(__file__))
RECORDINGS = os.path.join(HERE, "recordings")
with open(os.path.join(RECORDINGS, "now.json"), encoding="utf-8") as times:
    NOW = json.load(times)

NOTHING_TO_DO = "Nothing: all that can be done now is done."

# Of each recording: the section and what one sentence of it says, as a regular expression.
SITUATIONS = {
    "backoff-used-up": [
        ("phase", r"is Failed \(BackoffLimitExceeded\) since .* ago\)"),
        ("phase", r"container pytorch exited with 1: ValueError: checkpoint /ckpt/last\.pt is truncated"),
        ("history", r"1 of 1 restart counted, 0 left"),
        ("awaited", r"Nothing: the job has ended"),
    ],
    "below-minimum": [
        ("phase", r"is Pending \(BelowMinReplicas\)"),
        ("awaited", r"Replicas: 1 run, and spec\.elastic\.minReplicas is 3"),
        ("awaited", r"A node with room for llama-elastic-\w+-node-1, .*; the scheduler has found none"),
        ("history", r"1 incident did not count"),
    ],
    "deadline": [
        ("phase", r"is Running since"),
        ("next", r"\(in 119 min .*\) the deadline passes: the job fails with DeadlineExceeded"),
        ("awaited", r"The end of pod gpt-\w+-worker-0, which decides"),
    ],
    "disruption": [
        ("phase", r"is Running since"),
        ("history", r"drained-\w+-worker-1 had been deleted, drained or evicted from outside; it did not count"),
        ("history", r"0 of 3 restarts counted, 3 left"),
    ],
    "exit-barrier": [
        ("phase", r"is Succeeded since"),
        ("awaited", r"The end of mae-\w+-worker-0 and mae-\w+-worker-1 in torchrun's exit barrier"),
        ("next", r"\(in 4 min .*\) clean-up stops waiting"),
    ],
    "given-up": [
        ("phase", r"container pytorch exited with 3: no checkpoint to evaluate"),
        ("history", r"Evaluator 0 of this attempt failed for good; the others go on without"),
        ("history", r"Preprocess 0-1 of this attempt ended with 0"),
        ("history", r"A failed evaluator is not restarted: its restartPolicy is Never"),
    ],
    "image-error": [
        ("phase", r"is Pending \(CreatingPods\)"),
        ("awaited", r"Pod bert-\w+-worker-1, container pytorch cannot start: ImagePullBackOff: "),
    ],
    "launcher-waits": [
        ("phase", r"ColossalAIJob team-a/palm is Pending \(WaitingForWorkers\)"),
        ("awaited", r"Ready workers: 3 of 4 are, and not worker 3"),
        ("history", r"never restarted after a failure"),
        ("specification", r"Warning: /spec/worker/template/spec/containers/0/command: "),
    ],
    "managed-by": [
        ("phase", r"is run by the controller `kueue\.x-k8s\.io/multikueue`"),
    ],
    "name-conflict": [
        ("phase", r"is Resuming \(NameConflict\)"),
        ("phase", r"Service clip-\w+ belongs to another owner"),
        ("awaited", r"The owner of the other object has to delete it"),
        ("actions", r"Create Service clip-\w+: .*; the server refused it before"),
        ("next", r"tries again 10 s after a refusal, doubling to 5 min"),
    ],
    "paused": [
        ("phase", r"is Paused since"),
        ("awaited", r"has to set spec\.runMode\.pause\.enabled to false"),
        ("awaited", r"The end of pod vit-\w+-worker-0, which is being deleted: its time is up at .* \(in \d+ s\)"),
    ],
    "pod-group": [
        ("phase", r"is Pending \(WaitingForPodGroup\)"),
        ("next", r"\(in 60 s\) at the latest the operator checks again whether the API server serves the kind of the gang"),
    ],
    "restart-delay": [
        ("phase", r"is Pending \(Restarting\)"),
        ("next", r"\(in \d s\) the delay is over and new pods may be created"),
        ("history", r"resnet-\w+-worker-1 \(exit code 1\) failed; it counted against backoffLimit, and all pods are "
                    r"made anew as attempt 3"),
        ("history", r"2 of 5 restarts counted, 3 left"),
    ],
    "settling": [
        ("phase", r"exited with 1: RuntimeError: NCCL communicator was aborted on rank 17"),
        ("next", r"\(in \d+ s\) all that failed until then counts as one incident"),
        ("history", r"what follows is decided when the time to settle is over"),
    ],
    "stuck-pod": [
        ("history", r"Worker 1 runs under a name that ends in -r1: the pod with its usual name does not go away"),
        ("history", r"only what was lost was replaced"),
    ],
    "ttl": [
        ("phase", r"is Succeeded since"),
        ("next", r"\(in 23 h .*\) the job is deleted, with all that belongs to it"),
    ],
    "unreachable": [
        ("phase", r"DeepSpeedJob team-a/opt is Failed \(BackoffLimitExceeded\)"),
        ("phase", r"exited with 75: signalbox: workers not reachable within 600 s"),
        ("history", r"gave up a second time, because the workers could not be reached in time"),
    ],
    "unschedulable": [
        ("phase", r"DeepSpeedJob team-a/bloom is Pending \(Unschedulable\)"),
        ("awaited", r"A node with room for bloom-\w+-worker-2; the scheduler has found none"),
    ],
}
# What the recorded operator had already done; a claim that it will do it (again) would be wrong. In these situations it
# has done all it can, and what is left is said by the other sections.
AT_REST = set(SITUATIONS) - {"name-conflict", "managed-by"}


def path(name):
    return os.path.join(RECORDINGS, name + ".yaml")


def text_of(name):
    with open(path(name), encoding="utf-8") as f:
        return f.read()


def split(text):
    """(head, items, tail) of a List as kubectl prints it: each item begins with a dash in the first column."""
    head, rest = text.split("items:\n", 1)
    parts = re.split(r"(?m)^(?=- )", rest)
    end = re.search(r"(?m)^[a-z]", parts[-1]).start()
    return head + "items:\n", parts[1:-1] + [parts[-1][:end]], parts[-1][end:]


def explained(*arguments, text=None):
    """The jobs of the JSON output."""
    result = program.run("explain", "--output", "json", *arguments, text=text)
    assert result.code == 0, result.err
    return json.loads(result.out)["jobs"]


def recorded(name, text=None):
    jobs = explained("-f", "-", "--now", NOW[name], text=(text or text_of(name)).encode())
    assert len(jobs) == 1, jobs
    return jobs[0]


class Recordings(unittest.TestCase):
    def test_each_is_there(self):
        self.assertEqual(sorted(SITUATIONS), sorted(n[:-5] for n in os.listdir(RECORDINGS) if n.endswith(".yaml")))
        kinds = {recorded(name)["kind"] for name in SITUATIONS}
        self.assertEqual(kinds, {"PyTorchTrainingJob", "DeepSpeedJob", "ColossalAIJob"})

    def test_sentences(self):
        for name, expected in SITUATIONS.items():
            lines = recorded(name)["lines"]
            for section, wanted in expected:
                with self.subTest(name, wanted=wanted):
                    said = [line["sentence"] for line in lines if line["section"] == section]
                    self.assertTrue(any(re.search(wanted, s) for s in said), said)

    def test_nothing_is_claimed_that_is_not_done(self):
        for name in sorted(AT_REST):
            with self.subTest(name):
                said = [line["sentence"] for line in recorded(name)["lines"] if line["section"] == "actions"]
                # Of a job that has ended it is asked once what became of pods that are not in view (behaviour 1.9).
                asked = re.compile(r"Ask the API server whether Pod \S+ is really gone")
                # The size of a job that is not elastic was not written down when these were recorded (behaviour 7.1).
                noted = re.compile(r"Patch \S+ \S+: the size is written down, for the scale subresource\.$")
                rest = [sentence for sentence in said if not asked.match(sentence) and not noted.match(sentence)]
                # Counts and the words of a condition may be newer than the recording; nothing else may have changed.
                allowed = ([NOTHING_TO_DO],
                           ["Write the status within 1 s: only counts have changed."],
                           ["Write the status within 30 s: only texts have changed."],
                           ["Write the status: counts and conditions."])
                self.assertIn(rest, allowed if rest == said else ([], ["Write the status first: counts and conditions."]))

    def test_the_order_of_objects_does_not_matter(self):
        dice = random.Random(7)
        for name in SITUATIONS:
            with self.subTest(name):
                head, items, tail = split(text_of(name))
                dice.shuffle(items)
                self.assertEqual(recorded(name), recorded(name, head + "".join(items) + tail))

    def test_an_older_copy_of_an_object_changes_nothing(self):
        head, items, tail = split(text_of("launcher-waits"))
        pod = next(i for i, item in enumerate(items) if "\n  kind: Pod\n" in item and "worker-3" in item)
        old = re.sub(r"resourceVersion: '\d+'", "resourceVersion: '1'", items[pod])
        self.assertNotEqual(old, items[pod])
        old = old.replace("status: 'False'", "status: 'True'")
        for places in ([old] + items, items + [old]):
            self.assertEqual(recorded("launcher-waits"), recorded("launcher-waits", head + "".join(places) + tail))

    def test_several_jobs_in_several_files(self):
        names = ["paused", "deadline", "launcher-waits"]
        jobs = explained("--now", NOW["deadline"], *[a for name in names for a in ("-f", path(name))])
        self.assertEqual([job["name"] for job in jobs], ["gpt", "vit", "palm"])
        alone = explained("--now", NOW["deadline"], "-f", path("paused"))[0]
        self.assertEqual(jobs[1]["lines"], alone["lines"])

    def test_one_of_several_jobs(self):
        def names(*arguments):
            files = [a for name in ("paused", "deadline", "launcher-waits") for a in ("-f", path(name))]
            return [job["name"] for job in explained("--now", NOW["deadline"], *files, *arguments)]

        self.assertEqual(names("vit"), ["vit"])
        self.assertEqual(names("caij/palm", "-n", "team-a"), ["palm"])
        self.assertEqual(names("-n", "team-a"), ["gpt", "vit", "palm"])

    def test_documents_and_json(self):
        head, items, _ = split(text_of("launcher-waits"))
        documents = ["\n".join(line[2:] for line in item.splitlines()) for item in items]
        same = recorded("launcher-waits", "\n---\n".join(documents))
        self.assertEqual(same, recorded("launcher-waits"))

    def test_objects_of_others_and_unknown_kinds_are_ignored(self):
        stranger = ("---\napiVersion: v1\nkind: Pod\nmetadata: {name: stranger, namespace: team-a, uid: u-1}\n"
                    "status: {phase: Failed}\n---\napiVersion: example.org/v1\nkind: Gadget\n"
                    "metadata: {name: g, uid: u-2}\n")
        self.assertEqual(recorded("deadline", text_of("deadline") + stranger), recorded("deadline"))

    def test_a_large_recording(self):
        # A whole namespace: larger than any manifest may be.
        pods = [{"apiVersion": "v1", "kind": "Pod",
                 "metadata": {"name": f"p-{i}", "uid": f"u-{i}", "managedFields": [{"fieldsV1": {"f:x": "y" * 4000}}]}}
                for i in range(1500)]
        with tempfile.NamedTemporaryFile("w", suffix=".json") as large:
            json.dump({"apiVersion": "v1", "kind": "List", "items": pods}, large)
            large.flush()
            jobs = explained("-f", path("deadline"), "-f", large.name, "--now", NOW["deadline"])
            self.assertEqual(jobs, [recorded("deadline")])
            refused = program.run("validate", large.name)
        self.assertEqual(refused.code, 2)
        self.assertIn("larger than", refused.out)

    def test_kinds_that_were_not_recorded_are_noted_and_taken_as_there(self):
        head, items, tail = split(text_of("deadline"))
        kept = [item for item in items if "\n  kind: Service\n" not in item]
        self.assertLess(len(kept), len(items))
        job = recorded("deadline", head + "".join(kept) + tail)
        self.assertEqual(job["notes"], ["The recording has no Service: those of the job are taken as there and "
                                        "unchanged"])
        self.assertEqual(job["lines"], recorded("deadline")["lines"])

    def test_a_tensorboard_that_was_not_recorded_is_as_the_status_says(self):
        head, items, tail = split(text_of("disruption"))
        kept = [item for item in items if "\n  kind: Deployment\n" not in item]
        self.assertEqual(len(kept), len(items) - 1)
        job = recorded("disruption", head + "".join(kept) + tail)
        self.assertEqual(job["notes"], ["The recording has no Deployment: those of the job are taken as there and "
                                        "unchanged"])
        self.assertEqual(job["lines"], recorded("disruption")["lines"])

    def test_a_job_alone_is_warned_about(self):
        head, items, tail = split(text_of("deadline"))
        kept = [item for item in items if "\n  kind: PyTorchTrainingJob\n" in item]
        notes = recorded("deadline", head + "".join(kept) + tail)["notes"]
        self.assertTrue(any("The recording has no pod" in note for note in notes), notes)

    def test_secrets_are_never_printed(self):
        head, items, tail = split(text_of("unschedulable"))
        secret = next(item for item in items if "\n  kind: Secret\n" in item)
        values = [v for v in re.findall(r"[A-Za-z0-9+/=]{40,}", secret)]
        self.assertTrue(values)
        out = program.run("explain", "-f", path("unschedulable"), "--now", NOW["unschedulable"])
        self.assertEqual(out.code, 0)
        self.assertFalse([v for v in values if v in out.out + out.err])

    def test_a_changed_object_is_mended_and_said(self):
        job = recorded("deadline", text_of("deadline").replace("publishNotReadyAddresses: true",
                                                               "publishNotReadyAddresses: false", 1))
        said = [line for line in job["lines"] if line["section"] == "actions"]
        self.assertEqual([line["rule"] for line in said], ["behaviour 2.6"])
        self.assertRegex(said[0]["sentence"], r"^Patch Service gpt-\w+(-worker-0)?: .* differs from what the job needs")


class Texts(unittest.TestCase):
    def test_text_has_titles_rules_and_short_lines(self):
        result = program.run("explain", "-f", path("settling"), "--now", NOW["settling"])
        self.assertEqual(result.code, 0, result.err)
        self.assertTrue(result.out.startswith("PyTorchTrainingJob team-a/swin, at " + NOW["settling"]))
        for title in ("What it is, and why", "What is awaited", "What happens next, and when",
                      "What the operator does now", "What happened before"):
            self.assertRegex(result.out, r"(?m)^%s$" % title)
        self.assertIn("[behaviour 5.6]", result.out.replace("\n    ", " "))
        self.assertFalse([line for line in result.out.splitlines() if len(line) > 100])

    def test_without_now_the_present_is_taken_and_said(self):
        result = program.run("explain", "-f", path("ttl"))
        self.assertEqual(result.code, 0, result.err)
        self.assertIn("note: Times are judged as of now; --now TIME takes the time of the recording.", result.out)

    def test_later_the_same_recording_tells_what_would_be_done(self):
        job = explained("-f", path("ttl"), "--now", "2030-01-01T00:00:00Z")[0]
        said = [line for line in job["lines"] if line["section"] == "actions"]
        self.assertEqual([line["rule"] for line in said], ["behaviour 2.1", "behaviour 5.14"])
        self.assertIn("Write the status first", said[0]["sentence"])
        self.assertIn("Delete PyTorchTrainingJob dino", said[1]["sentence"])


class Refusals(unittest.TestCase):
    def refused(self, why, *arguments, text=b""):
        result = program.run("explain", *arguments, text=text)
        self.assertEqual(result.code, 2, result.out + result.err)
        self.assertEqual(result.out, "")
        self.assertRegex(result.err, why)

    def test_a_file_without_a_job(self):
        pod = b"apiVersion: v1\nkind: Pod\nmetadata: {name: p, uid: u}\n"
        self.refused(r"no training job among 1 object; `kubectl get pj,pods,svc,secret,cm -o yaml`", "-f", "-", text=pod)
        self.refused(r"<stdin>: no object in it", "-f", "-", text=b"apiVersion: v1\nkind: List\nitems: []\n")

    def test_a_manifest_is_no_recording(self):
        manifest = os.path.join(program.source_dir(), "examples/manifests/ddp.yaml")
        self.refused(r"ddp\.yaml:\d+:1: /metadata/uid: missing: this is a manifest", "-f", manifest)

    def test_unreadable(self):
        self.refused(r"/no/such/file: cannot be read", "-f", "/no/such/file")
        self.refused(r"<stdin>:2:", "-f", "-", text=b"a: b\n\tc: d\n")
        self.refused(r"--now: `yesterday` is no RFC 3339 time", "-f", path("ttl"), "--now", "yesterday")

    def test_neither(self):
        self.refused("-f FILE, or the NAME of a job in a cluster, is expected")
        self.refused("--now is for recordings", "mnist", "--now", NOW["ttl"])

    def test_a_server_beside_a_recording(self):
        for option in ("--kubeconfig", "--context"):
            self.refused(f"--filename excludes {option}", "-f", path("ttl"), option, "x")

    def test_no_such_job_in_a_recording(self):
        for arguments, why in ((["mnist"], "no training job mnist"), (["dj/gpt"], "no training job dj/gpt"),
                               (["-n", "team-b"], "no training job in namespace team-b"),
                               (["gpt", "-n", "team-b"], "no training job gpt in namespace team-b"),
                               (["pods/gpt"], "NAME or KIND/NAME is expected")):
            self.refused(why, "-f", path("deadline"), *arguments)

    def test_names_of_a_cluster(self):
        for name in ("pods/x", "pj/", "/x", "pj/a/b"):
            self.refused("NAME or KIND/NAME is expected", name)
        self.refused("kubeconfig", "mnist", "--kubeconfig", "/no/such/kubeconfig")


class Cluster(unittest.TestCase):
    """Read from an API server: `signalbox dev`, which keeps everything in memory."""

    @classmethod
    def setUpClass(cls):
        cls.folder = tempfile.TemporaryDirectory()
        cls.kubeconfig = os.path.join(cls.folder.name, "kubeconfig")
        jobs = os.path.join(cls.folder.name, "jobs.yaml")
        with open(os.path.join(program.source_dir(), "examples/manifests/ddp.yaml"), encoding="utf-8") as f:
            # Two jobs; the pods run for as long as anybody looks.
            text = re.sub(r"(?m)^( *)sim\.signalbox\.dev/duration: .*$", r"\1sim.signalbox.dev/duration: 1h", f.read())
        with open(jobs, "w", encoding="utf-8") as f:
            f.write(text + "\n---\n" + text.replace("name: ddp", "name: other", 1))
        cls.dev = subprocess.Popen([program.binary(), "dev", "--kubeconfig", cls.kubeconfig, "--apply", jobs],
                                   stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, cwd=cls.folder.name)
        running = set()
        while len(running) < 2:
            line = cls.dev.stdout.readline()
            assert line, "dev ended"
            found = re.search(r"(ddp|other) +Running", line)
            running |= {found.group(1)} if found else set()
        for name in sorted(running):  # counts alone are written after a second (behaviour 4.16)
            eventually(f"nothing is left to do for {name}", lambda name=name: NOTHING_TO_DO in cls.sentences(cls.explained(name)[0]))

    @classmethod
    def tearDownClass(cls):
        cls.dev.send_signal(signal.SIGINT)
        cls.dev.communicate(timeout=program.PATIENCE)
        cls.folder.cleanup()

    @classmethod
    def explained(cls, *arguments):
        return explained(*arguments, "--kubeconfig", cls.kubeconfig)

    @staticmethod
    def sentences(explained_job):
        return [line["sentence"] for line in explained_job["lines"]]

    def test_a_job_by_name_and_by_each_name_of_its_kind(self):
        for target in ("ddp", "pj/ddp", "pytorchtrainingjob/ddp", "PyTorchTrainingJob/ddp",
                       "pytorchtrainingjobs.batch.tensorstack.dev/ddp"):
            with self.subTest(target):
                jobs = self.explained(target)
                self.assertEqual([(job["kind"], job["name"]) for job in jobs], [("PyTorchTrainingJob", "ddp")])
                said = self.sentences(jobs[0])
                self.assertTrue(any(re.search(r"is Running since", s) for s in said), said)
                self.assertTrue(any(re.search(r"The end of pod ddp-\w+-\w+-0, which decides", s) for s in said), said)
                self.assertIn(NOTHING_TO_DO, said)
                self.assertEqual(jobs[0]["notes"], [])

    def test_jobs_that_are_not_there(self):
        for arguments, why in ((["nosuch"], "namespace default has no training job nosuch"),
                               (["dj/ddp"], "namespace default has no training job ddp"),
                               (["ddp", "-n", "elsewhere"], "namespace elsewhere has no training job ddp"),
                               (["ddp", "--context", "nowhere"], "nowhere")):
            result = program.run("explain", *arguments, "--kubeconfig", self.kubeconfig)
            self.assertEqual(result.code, 2, result.out)
            self.assertIn(why, result.err)


class OnATerminal(unittest.TestCase):
    def show(self, *arguments, columns=60):
        terminal = program.Terminal("explain", *arguments, columns=columns)
        self.assertEqual(terminal.end(), 0)
        return terminal

    def test_colours_say_what_the_words_say(self):
        path = os.path.join(RECORDINGS, "backoff-used-up.yaml")
        shown = self.show("-f", path, "--now", NOW["backoff-used-up"])
        self.assertIn("\x1b[1mWhat it is, and why\x1b[0m", shown.seen)
        self.assertRegex(shown.seen, r"\x1b\[31mPyTorchTrainingJob team-a/whisper is Failed")
        self.assertRegex(shown.seen, r"\x1b\[2m\[behaviour \d")
        # The same words in the same lines as where there is no terminal, but for the width.
        plain = program.run("explain", "-f", path, "--now", NOW["backoff-used-up"])
        self.assertNotIn("\x1b", plain.out)
        self.assertEqual(shown.text().split(), plain.out.split())
        for line in shown.text().splitlines():
            self.assertLessEqual(len(line), 60)

    def test_long_lists_are_folded(self):
        with open(os.path.join(program.source_dir(), "examples/manifests/ddp.yaml"), encoding="utf-8") as f:
            text = f.read()
        text = text.replace("metadata:\n", "metadata:\n  uid: 11111111-2222-3333-4444-555555555555\n  namespace: default\n", 1)
        text = text.replace("replicas: ", "replicas: -").replace("backoffLimit: 3", "backoffLimit: -3").replace("Unfinished", "Some")
        text = text.replace("  runPolicy:\n", "  runPolicy:\n    activeDeadlineSeconds: -1\n    ttlSecondsAfterFinished: -1\n"
                            "    restartScope: World\n    failurePolicy: Nobody\n", 1)
        with tempfile.NamedTemporaryFile("w", suffix=".yaml") as file:
            file.write(text)
            file.flush()
            plain = program.run("explain", "-f", file.name, "--now", "2026-01-31T03:00:00Z").out
            every = self.show("-f", file.name, "--now", "2026-01-31T03:00:00Z", "--all", columns=100).text()
            self.assertEqual(every, plain)
            folded = self.show("-f", file.name, "--now", "2026-01-31T03:00:00Z", columns=100).text()
        title = "\nWhat is to be said of the specification\n"
        count = plain.split(title)[1].split("\n\n")[0].count("  - ")
        self.assertGreater(count, 6, plain)
        self.assertIn(f"\n    and {count - 5} more; --all shows them\n", folded)
        self.assertEqual(folded.split(title)[1].split("\n\n")[0].count("  - "), 5)


if __name__ == "__main__":
    unittest.main(argv=sys.argv[:1], verbosity=1)
