# SPDX-License-Identifier: Apache-2.0
"""`signalbox dev --pods process --until-finished` with what beginners get wrong: each is told, and nothing waits in silence."""
import json
import os
import re
import shutil
import signal
import subprocess
import sys
import tempfile
import unittest
import xml.etree.ElementTree

import pods_of_dev
import program
from jobs import collection
from pods_of_dev import training


class FirstHour(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = folder.name
        self.env = dict(os.environ, XDG_RUNTIME_DIR=self.folder)

    def dev(self, jobs, *arguments, code=0):
        """What it prints of jobs that are to end as `code` says."""
        apply = os.path.join(self.folder, "jobs.json")
        with open(apply, "w", encoding="utf-8") as file:
            json.dump({"apiVersion": "v1", "kind": "List", "items": jobs}, file)
        done = program.run("dev", "--pods", "process", "--offline", "--pods-dir", os.path.join(self.folder, "pods"),
                           "--until-finished", "--apply", apply, *arguments, env=self.env, cwd=self.folder)
        self.assertEqual(done.code, code, done.out + done.err)
        return done.out

    def test_who_cannot_start_is_told_why(self):
        volume = lambda what: {"container": {"volumeMounts": [{"name": "v", "mountPath": "/v"}]}, "volumes": [{"name": "v", **what}]}
        lacking = {
            "args-alone": ({"container": {"command": [], "args": ["train.py"]}}, "give the container a command in front of its args"),
            "claim": (volume({"persistentVolumeClaim": {"claimName": "ckpt"}}),
                      'persistentvolumeclaim "ckpt" not found (no --claims DIR names its folder); one that is applied gets a folder'),
            "config-map": (volume({"configMap": {"name": "cm"}}), 'configmap "cm" not found'),
            "gpu": ({"container": {"resources": {"limits": {"nvidia.com/gpu": 1000}}}}, "--fake-resource nvidia.com/gpu=1000 pretends"),
            "host-path": (volume({"hostPath": {"path": "/no/such", "type": "Directory"}}), "/no/such is not a directory"),
            "selector": ({"nodeSelector": {"gpu": "a100"}}, "Nothing here has the label gpu=a100"),
            "variable": ({"container": {"envFrom": [{"secretRef": {"name": "keys"}}]}}, 'secret "keys" not found'),
        }
        # One that can is waited for, however long the others have told what they lack.
        jobs = [training(name, "true", **spec) for name, (spec, _) in lacking.items()] + [training("good", "sleep 12")]
        said = self.dev(jobs, code=3)
        begin, end = said.split("\nNothing here can start:\n")
        self.assertRegex(begin, r"(?m)^ *[0-9.]+s  good +Succeeded")
        for name, (_, words) in lacking.items():
            with self.subTest(name):
                [line] = re.findall(rf"(?m)^ *[0-9.]+s  {name} +! waits: pod {name}-.*$", begin)
                self.assertIn(words, line)
                [line] = re.findall(rf"(?m)^  {name}: .*$", end)
                self.assertIn(words, line)
        self.assertNotIn("Next:", end)

    def test_what_comes_in_time_is_waited_for(self):
        """Though nothing runs when it is told to be lacking."""
        job = training("late", "test $KEY = 1", container={"envFrom": [{"configMapRef": {"name": "late"}}]})
        self.assertIn("Succeeded", self.dev([job, {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "late"}, "data": {"KEY": "1"}}]))

    def test_what_pods_write_is_lost_or_kept(self):
        """And is not what a container has only for itself: caches, hidden files, folders of programs."""
        save = ("mkdir -p /home/run/a /home/run/.cache /home/run/__pycache__ && cd /home/run && echo weights > model.pt && cp model.pt a/"
                " && echo x > /opt/x && for f in .hidden .cache/x __pycache__/x /tmp/x /usr/x /etc/x; do echo x > $f; done; : > empty"
                " && ln -s /etc link && chmod 4755 /opt/x")
        volume = {"container": {"volumeMounts": [{"name": "v", "mountPath": "/home/volume"}]}, "volumes": [{"name": "v", "emptyDir": {}}]}
        jobs = [training("saving", save), training("quiet", "echo x > /home/volume/x; sleep 1", **volume)]
        said = self.dev(jobs)
        [block] = re.findall(r"(?ms)^Files that pods have written:\n(.*?)\n\n", said)
        self.assertRegex(block, r"^  saving-\w+-master-0: home/run/(a/)?model.pt and 2 more files below / are lost with the pod: "
                                r"--outputs DIR keeps such files$")
        outputs = os.path.join(self.folder, "outputs")
        said = self.dev(jobs, "--outputs", outputs + "/")
        [pod] = os.listdir(outputs)
        self.assertRegex(said, rf"(?m)^  {pod}: home/run/(a/)?model.pt and 2 more files below / kept in {re.escape(outputs)}/{pod}$")
        found = sorted(os.path.relpath(os.path.join(folder, name), os.path.join(outputs, pod))
                       for folder, _, names in os.walk(outputs) for name in names)
        self.assertEqual(found, ["home/run/a/model.pt", "home/run/model.pt", "opt/x"])
        with open(os.path.join(outputs, pod, "home/run/model.pt"), encoding="utf-8") as file:
            self.assertEqual(file.read(), "weights\n")
        self.assertEqual(os.stat(os.path.join(outputs, pod, "opt/x")).st_mode & 0o7777, 0o755)

    def test_a_script_that_pods_do_not_see(self):
        with tempfile.NamedTemporaryFile("w", dir="/tmp", suffix=".py") as script, tempfile.TemporaryDirectory(dir="/tmp") as seen:
            job = training("unseen", f"ls {seen} && exec cat '{script.name}'", replicas=2)
            job["spec"]["runPolicy"] = {"backoffLimit": 0}
            said = self.dev([job], "--bind", f"{seen}:{seen}", code=1)
            hint = f"pods: {script.name} is on this machine, but /tmp is empty in pods: --bind {script.name}:{script.name} shows it"
            self.assertEqual(said.count(hint), 1, said)
            self.assertNotIn(f"{seen} is on", said)

    def test_what_programs_read_of_it(self):
        """And a bar is shown as it is drawn: nothing ever ends its line. `-f` is `--apply`, and so is no flag."""
        bar = "printf '\\r 10%%|#'; printf '\\r 20%%|##'; sleep 1.5; printf '\\r 30%%|###'; exec sleep 1000"
        failing = training("failing", "exit 3")
        failing["spec"]["runPolicy"] = {"backoffLimit": 0}
        files = []
        for job in (training("bar", bar), failing, training("good", "true")):
            files.append(os.path.join(self.folder, job["metadata"]["name"] + ".json"))
            with open(files[-1], "w", encoding="utf-8") as file:
                json.dump(job, file)
        junit = os.path.join(self.folder, "junit.xml")
        command = [program.binary(), "dev", files[0], "-f", files[1], "--apply", files[2], "--pods", "process", "--offline",
                   "--pods-dir", os.path.join(self.folder, "pods"), "--until-finished", "--logs",
                   "-o", "json", "--junit", junit]
        child = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, env=self.env, cwd=self.folder)
        self.addCleanup(child.kill)
        drawn = []
        for line in child.stderr:
            drawn += re.findall(r"bar +master-0 \|  ?(\d+%\|#+)$", line.rstrip())
            if len(drawn) > 1:
                break
        self.assertEqual(drawn[1], "30%|###")
        child.send_signal(signal.SIGTERM)
        out, _ = child.communicate(timeout=program.PATIENCE)
        self.assertEqual(child.returncode, 130)
        told = json.loads(out)
        self.assertEqual(told["code"], 130)
        jobs = {job["job"]: job for job in told["jobs"]}
        self.assertEqual({name: job["phase"] for name, job in jobs.items()}, {"bar": "Running", "failing": "Failed", "good": "Succeeded"})
        self.assertIn("exited with 3", jobs["failing"]["message"])
        cases = {case.get("name"): case for case in xml.etree.ElementTree.parse(junit).getroot()}
        self.assertEqual({name: [child.tag for child in case] for name, case in cases.items()},
                         {"bar": ["error"], "failing": ["failure"], "good": []})
        self.assertEqual(cases["failing"][0].get("message"), jobs["failing"]["message"])
        self.assertEqual(cases["failing"].get("classname"), "PyTorchTrainingJob")

    def test_logs_outlive_pods(self):
        control = os.path.join(self.folder, "control")
        kept = os.path.join(self.folder, "kept")
        again = training("again", "if mkdir /control/once 2>/dev/null; then printf '1%%\\r2%%\\nfirst\\n'; exit 1; fi; echo second")
        for options in ((), ("--log-dir", kept)):
            os.mkdir(control)
            os.chmod(control, 0o777)
            with pods_of_dev.PodsOfDev("--bind", f"{control}:/control", "--pods-dir", os.path.join(self.folder, "pods"), *options) as dev:
                dev.apply(again)
                dev.until_job(again, lambda status: status.get("phase") == "Succeeded")
                logs = lambda *more: program.run("logs", "again", "--kubeconfig", dev.kubeconfig, *more)
                self.assertEqual(logs("--attempt", "1").out, "master-0 | 2%\nmaster-0 | first\n")
                self.assertEqual(logs("--attempt", "2").out.partition("| ")[2], "second\n")
                self.assertIn("the job is in attempt 2", logs("--attempt", "3").err)
                self.assertIn("the pods of attempt 1 are gone and their logs with them", logs("--attempt", "1", "--index", "7").err)
                before = logs("--previous")
                self.assertEqual((before.code, before.out), (1, ""))
                self.assertIn("its container has not run before; of pods before it, see --attempt", before.err)
            shutil.rmtree(control)
        with open(os.path.join(kept, "again/attempt-1/master-0.log"), encoding="utf-8", newline="") as file:
            self.assertEqual(file.read(), "1%\r2%\nfirst\n")
        self.assertEqual(sorted(os.listdir(os.path.join(kept, "again"))), ["attempt-1", "attempt-2"])

    def test_the_lines_that_say_why(self):
        """Only for who asks for them: the status has the sentence alone."""
        script = "try:\n    open('/nope')\nexcept OSError as lost:\n    raise RuntimeError('no data') from lost"
        sentence = r"RuntimeError: no data \(<string>:4, in <module>\), caused by FileNotFoundError: .*: '/nope' \(<string>:2, in <module>\)"
        job = training("lost", "", container={"command": ["python3", "-c", script]})
        job["spec"]["runPolicy"] = {"backoffLimit": 0, "cleanUpPolicy": "None"}
        with pods_of_dev.PodsOfDev("--pods-dir", os.path.join(self.folder, "pods")) as dev:
            dev.apply(job)
            dev.until_job(job, lambda status: status.get("phase") == "Failed")
            told = program.run("logs", "--cause", "lost", "--kubeconfig", dev.kubeconfig)
            self.assertEqual((told.code, told.err), (0, ""))
            first, *block = told.out.splitlines()
            self.assertRegex(first, sentence)
            self.assertIn("    FileNotFoundError: [Errno 2] No such file or directory: '/nope'", block)
            self.assertEqual(block[-1], "    RuntimeError: no data")
            explained = program.run("explain", "lost", "--kubeconfig", dev.kubeconfig)
            self.assertEqual(explained.out.splitlines()[-len(block):], block)
            status = json.dumps(dev.get(f"{collection(job)}/lost")["status"])
            self.assertRegex(status, sentence)
            self.assertNotIn("Traceback", status)

    def test_where_nothing_can_be_written(self):
        """A working folder that is gone, and one that is closed: the kubeconfig is at home."""
        home = os.path.join(self.folder, "home")
        os.mkdir(home)
        env = {name: value for name, value in os.environ.items() if name != "XDG_RUNTIME_DIR"} | {"HOME": home}
        gone = "mkdir gone && cd gone && rmdir ../gone && "
        for prepare in (gone, *(["cd / && "] if os.geteuid() else [])):
            child = subprocess.Popen(["sh", "-c", f'{prepare}exec "$0" dev', program.binary()], stdout=subprocess.PIPE, text=True,
                                     env=env, cwd=self.folder)
            self.addCleanup(child.kill)
            child.stdout.readline()
            self.assertEqual(os.path.dirname(program.exported(child.stdout.readline())), home)
            child.send_signal(signal.SIGINT)
            child.communicate(timeout=program.PATIENCE)
            self.assertEqual((child.returncode, os.listdir(home)), (0, []))

    def test_words_for_mistakes(self):
        told = program.run("dev", "--pods", "proces", "--apply", "x", env=self.env, cwd=self.folder)
        self.assertEqual(told.code, 2)
        self.assertIn("--pods: must be simulated or process; did you mean process?", told.err)
        told = program.run("logs", "x", env=self.env | {"KUBECONFIG": os.path.join(self.folder, "none")})
        self.assertEqual(told.code, 2)
        self.assertIn("no cluster? `signalbox dev` prints an `export KUBECONFIG=...` for its own", told.err)
        tab = os.path.join(self.folder, "tab.yaml")
        with open(tab, "w", encoding="utf-8") as file:
            file.write("kind: PyTorchTrainingJob\nmetadata:\n  name: x\nspec:\n\truns: 1\n")
        self.assertIn("line 5 begins with a tab: YAML takes spaces", program.run("validate", tab).out)

    def test_no_longer_than_the_timeout(self):
        said = self.dev([training("long", "sleep 1000")], "--timeout", "1s", code=3)
        self.assertIn("--timeout 1s: the time is up", said)
        self.assertRegex(said, r"(?m)^long +PyTorchTrainingJob +(Running|Pending) ")


if __name__ == "__main__":
    unittest.main(argv=sys.argv[:1], verbosity=1)
