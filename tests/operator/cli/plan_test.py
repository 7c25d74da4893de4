# SPDX-License-Identifier: Apache-2.0
"""`signalbox plan`: the objects and the status of each job, as YAML that an API server takes."""
import base64
import json
import os
import re
import sys
import unittest

import program

EXAMPLES = os.path.join(program.source_dir(), "examples/manifests")
UID = "9dcea839-3a99-4b6f-b594-620d79f8377d"

JOB = b"""apiVersion: batch.tensorstack.dev/v1beta1
kind: PyTorchTrainingJob
metadata: {name: torch-mnist-trainingjob}
spec:
  replicaSpecs:
    - {type: worker, replicas: 2, template: {spec: {containers: [{name: pytorch, image: i, command: ["yes", "1"]}]}}}
"""


def documents(text):
    """[(kind, name, text)]: top-level kind and metadata.name of each document; no YAML parser is at hand."""
    found = []
    for part in re.split(r"(?m)^---\n", text):
        kind = re.search(r"(?m)^kind: (\S+)$", part)
        name = re.search(r"(?m)^metadata:\n(?:  .*\n)*?  name: (\S+)$", part)
        if kind:
            found.append((kind.group(1), name.group(1) if name else None, part))
    return found


class Plan(unittest.TestCase):
    def plan(self, *arguments, text=JOB):
        result = program.run("plan", *arguments, "-", text=text)
        self.assertEqual(result.code, 0, result.out + result.err)
        return result

    def test_names_follow_the_uid(self):
        # The vector of BEHAVIOUR.md 1.1.
        planned = documents(self.plan("--uid", UID).out)
        names = [name for kind, name, _ in planned if kind == "Pod"]
        self.assertEqual(names, ["torch-mnist-trainingjob-7a8f5-worker-0", "torch-mnist-trainingjob-7a8f5-worker-1"])

    def test_services_come_before_pods_and_the_job_with_its_status_last(self):
        planned = documents(self.plan().out)
        kinds = [kind for kind, _, _ in planned]
        self.assertEqual(kinds, ["Service", "Service", "Pod", "Pod", "PyTorchTrainingJob"])
        job = planned[-1][2]
        self.assertRegex(job, r"(?m)^status:$")
        self.assertRegex(job, r"(?m)^  phase: Pending$")
        self.assertIn("aggregate:", job)

    def test_what_schedulers_place_pods_by_comes_first(self):
        for name, version in (("kubernetes", "scheduling.k8s.io/v1beta1"), ("coscheduling", "scheduling.x-k8s.io/v1alpha1"),
                              ("koordinator", None), ("volcano", "scheduling.volcano.sh/v1beta1"), ("kueue", "kueue.x-k8s.io/v1beta2")):
            with self.subTest(scheduler=name):
                result = program.run("plan", os.path.join(program.source_dir(), f"examples/schedulers/{name}.yaml"))
                self.assertEqual(result.code, 0, result.err)
                planned = documents(result.out)
                kinds = [kind for kind, _, _ in planned]
                group = ["Workload" if name == "kueue" else "PodGroup"] if version else []
                self.assertEqual(kinds, group + ["Service"] * 2 + ["Pod"] * 4 + ["PyTorchTrainingJob"])
                if version:
                    self.assertRegex(planned[0][2], rf"(?m)^apiVersion: {version}$")

    def test_a_scheduler_that_is_left_open_is_the_first_that_is_there(self):
        example = os.path.join(program.source_dir(), "examples/schedulers/auto.yaml")
        for flags, version, chosen in (
            ((), "scheduler.tensorstack.dev/v1beta1", "t9kScheduler"),
            (("--scheduler", "volcano", "--scheduler", "kubernetes"), "scheduling.k8s.io/v1beta1", "kubernetes"),
        ):
            planned = documents(program.run("plan", example, *flags).out)
            self.assertRegex(planned[0][2], rf"(?m)^apiVersion: {version}$")
            self.assertRegex(planned[-1][2], rf"(?m)^  scheduler: {chosen}$")
        planned = documents(program.run("plan", example, "--scheduler", "coscheduling").out)
        self.assertEqual(planned[0][0], "Service")
        self.assertRegex(planned[-1][2], r"(?m)^  scheduler: none$")

    def test_the_default_of_the_operator_is_for_jobs_that_name_none(self):
        planned = documents(self.plan("--default-scheduler", "koordinator").out)
        self.assertRegex([text for kind, _, text in planned if kind == "Pod"][0], r"(?m)^  schedulerName: koord-scheduler$")
        refused = program.run("plan", "--default-scheduler", "kueue", "-", text=JOB)
        self.assertEqual(refused.code, 2)
        self.assertIn("`kueue` cannot be that", refused.err)

    def test_objects_have_nothing_that_the_server_owns(self):
        for kind, name, text in documents(self.plan().out):
            with self.subTest(kind=kind, name=name):
                order = re.findall(r"(?m)^([a-zA-Z]+):", text)
                wanted = ["apiVersion", "kind", "metadata", "spec"]
                self.assertEqual(order, wanted + (["status"] if kind == "PyTorchTrainingJob" else []))
                metadata = re.search(r"(?m)^metadata:\n((?:  .*\n)+)", text).group(1)
                for field in ("uid", "resourceVersion", "generation", "creationTimestamp", "managedFields"):
                    self.assertNotRegex(metadata, r"(?m)^  %s:" % field)

    def test_strings_that_look_like_other_types_are_quoted(self):
        pod = [text for kind, _, text in documents(self.plan().out) if kind == "Pod"][0]
        self.assertRegex(pod, r'(?m)- "yes"$')
        self.assertRegex(pod, r'(?m)- "1"$')
        self.assertRegex(pod, r'(?m)replica-index: "0"$')

    def test_the_same_input_gives_the_same_output(self):
        self.assertEqual(self.plan().out, self.plan().out)

    def test_every_object_says_why(self):
        for part in self.plan().out.split("---\n")[1:]:
            self.assertTrue(part.startswith("# "), part[:80])

    def test_namespace_of_file_wins(self):
        text = JOB.replace(b"name: torch", b"namespace: team-a, name: torch")
        self.assertIn("namespace: team-a", self.plan("-n", "other", text=text).out)
        self.assertIn("namespace: other", self.plan("-n", "other").out)

    def test_other_kinds_are_skipped_and_said(self):
        text = JOB + b"---\napiVersion: v1\nkind: ConfigMap\nmetadata: {name: c}\n"
        self.assertIn("# skipped: ConfigMap c is no training job", self.plan(text=text).out)

    def test_an_error_prints_no_plan(self):
        result = program.run("plan", "-", text=JOB.replace(b"replicas: 2", b"replicas: -2"))
        self.assertEqual(result.code, 2)
        self.assertEqual(result.out, "")
        self.assertIn("<stdin>:6:", result.err)

    def test_a_paused_job_has_no_children(self):
        text = JOB.replace(b"spec:\n", b"spec:\n  runMode: {pause: {enabled: true}}\n", 1)
        planned = documents(self.plan(text=text).out)
        self.assertEqual([kind for kind, _, _ in planned], ["PyTorchTrainingJob"])
        self.assertRegex(planned[0][2], r"(?m)^  phase: Paused$")

    def test_a_later_stage_is_planned_and_still_pending(self):
        # BEHAVIOUR.md 2.3: the launcher follows the workers.
        with open(os.path.join(EXAMPLES, "colossalai.yaml"), "rb") as f:
            planned = documents(self.plan(text=f.read()).out)
        names = [name for kind, name, _ in planned if kind == "Pod"]
        self.assertEqual(len(names), 5)
        self.assertRegex(names[-1], "-launcher-0$")
        self.assertRegex(planned[-1][2], r"(?m)^  phase: Pending$")
        self.assertIn("while its pods of the last stage are pending", planned[-1][2])

    def test_keys_are_not_made(self):
        with open(os.path.join(EXAMPLES, "deepspeed.yaml"), "rb") as f:
            secrets = [text for kind, _, text in documents(self.plan(text=f.read()).out) if kind == "Secret"]
        self.assertEqual(len(secrets), 1)
        values = re.findall(r"(?m)^  (?:ssh-privatekey|id_ecdsa\.pub|ssh_host_key): (\S+)$", secrets[0])
        self.assertEqual([base64.b64decode(value, validate=True) for value in values], [b"<generated>"] * 3)
        self.assertIn("# Where it says PGdlbmVyYXRlZD4= a key is made when it is created.", secrets[0])

    def test_examples_have_plans(self):
        for name in sorted(os.listdir(EXAMPLES)):
            with self.subTest(name):
                result = program.run("plan", "-f", os.path.join(EXAMPLES, name))
                self.assertEqual(result.code, 0, result.err)
                self.assertTrue(documents(result.out))


RECORDINGS = os.path.join(os.path.dirname(os.path.abspath(__file__)), "recordings")
with open(os.path.join(RECORDINGS, "now.json"), encoding="utf-8") as times:
    NOW = json.load(times)


class PlanAt(unittest.TestCase):
    """From a recorded state: the next decision, objects and patches whole."""

    def at(self, name, now=None, text=None):
        with open(os.path.join(RECORDINGS, name + ".yaml"), encoding="utf-8") as f:
            text = (text or (lambda t: t))(f.read())
        result = program.run("plan", "--at", "-", "--now", now or NOW[name], text=text.encode())
        self.assertEqual(result.code, 0, result.out + result.err)
        return result.out

    def test_the_delay_is_over(self):
        out = self.at("restart-delay", "2027-01-01T00:00:00Z")
        pods = [(name, text) for kind, name, text in documents(out) if kind == "Pod"]
        self.assertEqual(len(pods), 2)
        for name, text in pods:
            self.assertRegex(name, r"^resnet-[0-9a-f]{5}-worker-[01]$")
            self.assertRegex(text, r'(?m)^    batch.tensorstack.dev/attempt: "3"$')
            self.assertRegex(text, r"(?m)^# stage 1: create Pod %s: .* \(behaviour 2\.1\)$" % name)

    def test_deletes_and_patches(self):
        out = self.at("paused", text=lambda text: re.sub(r"(?m)^ *deletion(Timestamp|GracePeriodSeconds): .*\n", "",
                                                         text))
        self.assertEqual(len(re.findall(r"(?m)^# stage 1: delete Pod vit-\w+-worker-[01] \(UID [0-9a-f-]{36}\): "
                                        r"the job is paused \(behaviour 6\.1\)$", out)), 2)
        out = self.at("deadline", text=lambda text: text.replace("publishNotReadyAddresses: true",
                                                                 "publishNotReadyAddresses: false", 1))
        self.assertRegex(out, r"(?m)^# stage 1: patch Service gpt-\S+ \(UID \S+\): .* \(behaviour 2\.6\)$")
        self.assertIn("publishNotReadyAddresses: true", out)

    def test_the_status_comes_first_and_actions_wait_for_it(self):
        out = self.at("deadline", "2027-01-01T00:00:00Z")
        self.assertRegex(out, r"(?m)^# the status, to be written before anything else$")
        job = documents(out)[0]
        self.assertEqual(job[:2], ("PyTorchTrainingJob", "gpt"))
        self.assertRegex(job[2], r"(?m)^  reason: DeadlineExceeded$")
        self.assertIn("# no action now: what follows from this status is decided when it is written", out)

    def test_a_job_at_rest(self):
        # Older versions did not write the size of such a job.
        out = self.at("launcher-waits")
        stages = re.findall(r"(?m)^# stage .*$", out)
        self.assertRegex("; ".join(stages), r"^# stage 1: patch ColossalAIJob palm \(UID \S+\): .* \(behaviour 7\.1\)$")
        self.assertIn("expectedReplicas: 5", out)
        with_size = "\n  spec:\n    elastic: {expectedReplicas: 5}\n    worker:\n"
        out = self.at("launcher-waits", text=lambda text: text.replace("\n  spec:\n    worker:\n", with_size))
        self.assertNotIn("# stage", out)
        self.assertRegex(out, r"(?m)^# no action: all that can be done now is done$")

    def test_key_material_is_not_printed(self):
        with open(os.path.join(RECORDINGS, "unschedulable.yaml"), encoding="utf-8") as f:
            values = re.findall(r"[A-Za-z0-9+/=]{40,}", f.read())
        self.assertTrue(values)
        out = self.at("unschedulable", text=lambda text: text.replace("kind: Secret", "kind: Secretive"))
        self.assertFalse([v for v in values if v in out])

    def test_what_does_not_go_together(self):
        for arguments in (["--at", "a", "-f", "b"], ["--at", "a", "--uid", UID], ["--at", "a", "-n", "x"]):
            result = program.run("plan", *arguments)
            self.assertEqual(result.code, 2)
            self.assertIn("Usage: ", result.err)
        result = program.run("plan", "--at", "-", text=JOB)
        self.assertEqual(result.code, 2)
        self.assertIn("/metadata/uid: missing", result.err)


if __name__ == "__main__":
    unittest.main(argv=sys.argv[:1], verbosity=1)
