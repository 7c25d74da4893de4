# SPDX-License-Identifier: Apache-2.0
"""Pods as real processes: `signalbox dev --pods process`, seen with kubectl. Skips where there is no kubectl of 1.30 or later."""
import json
import os
import pathlib
import re
import secrets
import subprocess
import sys
import tempfile
import time
import unittest

import program

sys.path.insert(0, os.path.join(program.source_dir(), "tests/support"))
import kubectl_program  # noqa: E402 (found by the line above)
import skips  # noqa: E402

KUBECTL = None


class Cluster(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.dev = program.Dev("--pods", "process", "--offline", "--fake-resource", "nvidia.com/gpu=2")
        cls.addClassCleanup(cls.dev.stop)
        cls.environment = {"HOME": cls.dev.folder.name, "PATH": os.environ.get("PATH", ""), "KUBECONFIG": cls.dev.kubeconfig}

    def kubectl(self, *arguments, stdin=None, code=0):
        done = subprocess.run([KUBECTL, *arguments], input=stdin, capture_output=True, text=True, check=False,
                              timeout=program.PATIENCE, env=self.environment)
        self.assertEqual(done.returncode, code, f"kubectl {' '.join(arguments)}\n{done.stdout}{done.stderr}")
        return done.stdout + (done.stderr if code else "")

    def create(self, name, command, more="", **spec):
        pod = {"apiVersion": "v1", "kind": "Pod", "metadata": {"name": name, "labels": {"app": name}}}
        container = {"name": "c", "image": "i", "command": ["sh", "-c", command]}
        container.update(spec.pop("container", {}))
        pod["spec"] = {"restartPolicy": "Never", "terminationGracePeriodSeconds": 2, "containers": [container], **spec}
        self.kubectl("apply", "-f", "-", stdin=json.dumps(pod) + more)

    def until(self, name, path, value):
        self.kubectl("wait", f"--for=jsonpath={{{path}}}={value}", f"pod/{name}", f"--timeout={program.PATIENCE}s")

    def get(self, name):
        return json.loads(self.kubectl("get", "pod", name, "-o", "json"))

    def test_a_pod_has_its_environment_names_and_files(self):
        """[launchers 1.1] [launchers 1.2] [launchers 1.7] and says how it ended."""
        self.kubectl("create", "configmap", "files", "--from-literal=greeting=hello")
        service = {"apiVersion": "v1", "kind": "Service", "metadata": {"name": "team"},
                   "spec": {"clusterIP": "None", "publishNotReadyAddresses": True, "selector": {"app": "plain"}}}
        self.kubectl("apply", "-f", "-", stdin=json.dumps(service))
        self.create(
            "plain",
            "echo name $(hostname) me $ME; cat /files/greeting; echo; readlink /files/greeting;"
            # Its own name is known once the watch has shown its address.
            " for i in $(seq 100); do getent hosts worker.team >/dev/null && break; sleep 0.1; done;"
            " getent hosts worker.team; echo why > /dev/termination-log; exit 3",
            hostname="worker", subdomain="team", volumes=[{"name": "v", "configMap": {"name": "files"}}],
            container={"env": [{"name": "IP", "valueFrom": {"fieldRef": {"fieldPath": "status.podIP"}}},
                               {"name": "ME", "value": "<$(IP)>"}],
                       "volumeMounts": [{"name": "v", "mountPath": "/files"}]})
        self.until("plain", ".status.phase", "Failed")
        status = self.get("plain")["status"]
        ended = status["containerStatuses"][0]["state"]["terminated"]
        self.assertEqual((ended["exitCode"], ended["reason"], ended["message"]), (3, "Error", "why\n"))
        lines = self.kubectl("logs", "plain").splitlines()
        self.assertEqual(lines[:3], [f"name worker me <{status['podIP']}>", "hello", "..data/greeting"])
        self.assertRegex(lines[3], re.escape(status["podIP"]) + r"\s+worker\.team\.default\.svc\.cluster\.local")

    def test_a_container_that_ends_is_restarted(self):
        self.create("again", "echo run; sleep 0.2; exit 1", restartPolicy="Always")
        self.until("again", ".status.containerStatuses[0].restartCount", "2")
        self.until("again", ".status.containerStatuses[0].state.waiting.reason", "CrashLoopBackOff")
        self.assertEqual(self.kubectl("logs", "--previous", "again"), "run\n")
        self.kubectl("delete", "pod", "again")

    def test_probes_and_exec(self):
        ready = f"/tmp/ready-{secrets.token_hex(8)}"
        probe = {"exec": {"command": ["test", "-e", ready]}, "periodSeconds": 1}
        self.create("probed", "trap 'exit 0' TERM; sleep 1000 & wait", container={"readinessProbe": probe})
        self.until("probed", ".status.phase", "Running")
        self.assertFalse(self.get("probed")["status"]["containerStatuses"][0]["ready"])
        self.kubectl("exec", "probed", "--", "touch", ready)
        self.until("probed", ".status.containerStatuses[0].ready", "true")
        self.assertFalse(os.path.exists(ready), "a container's file is on the machine")
        self.kubectl("exec", "probed", "--", "sh", "-c", "exit 7", code=7)
        began = time.monotonic()
        self.kubectl("delete", "pod", "probed")
        self.assertLess(time.monotonic() - began, program.PATIENCE / 2)

    def test_who_does_not_stop_is_killed_after_the_grace(self):
        self.create("deaf", "trap '' TERM; while true; do sleep 1; done")
        self.until("deaf", ".status.phase", "Running")
        began = time.monotonic()
        self.kubectl("delete", "pod", "deaf")
        self.assertGreaterEqual(time.monotonic() - began, 1.9)

    def test_resources_are_given_out_by_count(self):
        self.create("two", "echo $CUDA_VISIBLE_DEVICES",
                    container={"resources": {"limits": {"nvidia.com/gpu": "2"}}})
        self.until("two", ".status.phase", "Succeeded")
        self.assertEqual(self.kubectl("logs", "two"), "0,1\n")
        self.create("three", "true", container={"resources": {"limits": {"nvidia.com/gpu": "3"}}})
        self.until("three", ".status.conditions[0].reason", "Unschedulable")
        self.assertEqual(self.get("three")["status"]["conditions"][0]["message"],
                         "0/1 nodes are available: 1 Insufficient nvidia.com/gpu. "
                         "This machine has 2 nvidia.com/gpu; --fake-resource nvidia.com/gpu=8 pretends.")

    def test_a_program_that_is_not_there(self):
        self.create("lost", "", container={"command": ["/no/such/program"]})
        self.until("lost", ".status.phase", "Failed")
        ended = self.get("lost")["status"]["containerStatuses"][0]["state"]["terminated"]
        self.assertEqual((ended["exitCode"], ended["reason"]), (128, "StartError"))
        self.assertIn("/no/such/program", ended["message"])


class BadInput(unittest.TestCase):
    def test_everything_wrong_is_said_at_once(self):
        done = program.run("dev", "--pods", "process", "--image", "x", "--image-env", "a=b", "--bind", "/none:/b",
                           "--claims", "/none", "--venv", "/none", "--fake-resource", "gpu=1")
        self.assertEqual(done.code, 2)
        for text in ("--image: `x` is not GLOB=DIR", "--image-env: `a=b` is not GLOB:NAME=VALUE", "--bind: there is no /none",
                     "--claims: there is no folder /none", "--venv: there is no folder /none",
                     "--fake-resource: `gpu=1` is not DOMAIN/NAME=COUNT, e.g. nvidia.com/gpu=8"):
            self.assertIn(text, done.err)

    def test_a_folder_to_write_to_whose_parent_is_missing(self):
        with tempfile.TemporaryDirectory() as parent:
            wrong = program.run("dev", "--pods", "process", "--outputs", f"{parent}/a", "--log-dir", f"{parent}/no/b")
            self.assertEqual((wrong.code, wrong.err), (2, f"signalbox dev: --log-dir: there is no folder {parent}/no\n"))
            self.assertEqual(os.listdir(parent), [])
            file = pathlib.Path(parent, "file")
            file.touch()
            wrong = program.run("dev", "--pods", "process", "--outputs", file)
            self.assertEqual((wrong.code, wrong.err), (2, f"signalbox dev: --outputs: there is no folder {file}\n"))

    def test_what_simulated_pods_would_ignore_is_refused(self):
        """A script that is not there must not succeed by simulation."""
        for command, flag in (("dev", "--pods"), ("pods", "--runtime")):
            options = ["--venv", "v", "--bind", "a:/b", "--claims", "c", "--offline", "--fake-resource", "a/b=1", "--image", "*=d",
                       "--image-env", "*:A=1", "--image-cache", "i", "--pods-dir", "p"]
            logs = ["--logs"] if command == "dev" else []
            result = program.run(command, *options, *logs)
            names = ", ".join(["--image, --image-env, --image-cache, --venv, --bind, --claims, --offline, --fake-resource, --pods-dir", *logs])
            self.assertEqual((result.code, result.err), (
                2, f"signalbox {command}: {names}: simulated pods run nothing; add {flag} process\n"))
        self.assertIn("--logs: simulated pods", program.run("dev", "--logs").err)
        result = program.run("pods", "--runtime", "process", "--bound-only")
        self.assertEqual((result.code, result.err), (
            2, "signalbox pods: --bound-only: pods that are processes are bound to this machine\n"))


if __name__ == "__main__":
    KUBECTL, why = kubectl_program.find()
    if KUBECTL is None:
        skips.skip_suite("operator_cli_process_pods_test", why)
    unittest.main(argv=sys.argv[:1])
