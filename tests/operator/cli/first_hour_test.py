# SPDX-License-Identifier: Apache-2.0
"""`signalbox dev --pods process --until-finished` with what beginners get wrong: each is told, and nothing waits in silence."""
import json
import os
import re
import sys
import tempfile
import unittest

import program
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
        os.mkdir(outputs)
        said = self.dev(jobs, "--outputs", outputs)
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

    def test_no_longer_than_the_timeout(self):
        said = self.dev([training("long", "sleep 1000")], "--timeout", "1s", code=3)
        self.assertIn("--timeout 1s: the time is up", said)
        self.assertRegex(said, r"(?m)^long +PyTorchTrainingJob +(Running|Pending) ")


if __name__ == "__main__":
    unittest.main(argv=sys.argv[:1], verbosity=1)
