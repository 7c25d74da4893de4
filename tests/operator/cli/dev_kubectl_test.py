# SPDX-License-Identifier: Apache-2.0
"""What somebody who knows kubectl tries first on `signalbox dev`. Skips where there is no kubectl of 1.30 or later."""
import json
import os
import subprocess
import sys
import unittest

import program

sys.path.insert(0, os.path.join(program.source_dir(), "tests/support"))
import kubectl_program  # noqa: E402 (found by the line above)
import skips  # noqa: E402

EXAMPLES = os.path.join(program.source_dir(), "examples/manifests")
KUBECTL = None


class Kubectl:
    """Runs kubectl on a `signalbox dev`, with nothing of the user's: own HOME, own cache."""

    def __init__(self, dev):
        self.environment = {"HOME": dev.folder.name, "PATH": os.environ.get("PATH", ""), "KUBECONFIG": dev.kubeconfig}

    def __call__(self, *arguments, stdin=None, code=0):
        done = subprocess.run([KUBECTL, *arguments], input=stdin, capture_output=True, text=True, check=False,
                              timeout=program.PATIENCE, env=self.environment)
        if done.returncode != code:
            raise AssertionError(f"kubectl {' '.join(arguments)}: exit {done.returncode}\n{done.stdout}{done.stderr}")
        return done.stdout + done.stderr if code else done.stdout


class FirstContact(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.dev = program.Dev("--speed", "10")
        cls.addClassCleanup(cls.dev.stop)
        cls.kubectl = Kubectl(cls.dev)
        cls.kubectl("apply", "-f", EXAMPLES + "/ddp.yaml")
        cls.kubectl("wait", "--for=jsonpath={.status.phase}=Succeeded", "pj/ddp", f"--timeout={program.PATIENCE}s")

    def test_get_all_has_jobs(self):
        out = self.kubectl("get", "all")
        self.assertIn("pytorchtrainingjob.batch.tensorstack.dev/ddp", out)
        self.assertRegex(out, r"pod/ddp-\S+-master-0")

    def test_jobs_by_phase(self):
        """[api kinds] The phase is a field that a list can be chosen by."""
        found = self.kubectl("get", "pj", "--field-selector", "status.phase=Succeeded", "-o", "name")
        self.assertIn("/ddp", found)
        self.assertNotIn("/ddp", self.kubectl("get", "pj", "--field-selector", "status.phase!=Succeeded", "-o", "name"))
        self.assertIn("pod/ddp-", self.kubectl("get", "pods", "--field-selector", "status.phase=Succeeded", "-o", "name"))

    def test_a_list_of_objects(self):
        """[requirement A5] kubectl validates a List by OpenAPI v2, which it reads as protobuf only."""
        with open(EXAMPLES + "/ddp.yaml", encoding="utf-8") as f:
            job = f.read().replace("name: ddp", "name: listed")
        items = "".join("\n  " + line for line in job.splitlines() if not line.startswith("#"))
        listed = "apiVersion: v1\nkind: List\nitems:\n-" + items.lstrip("\n")[1:] + "\n"
        config_map = "- {apiVersion: v1, kind: ConfigMap, metadata: {name: listed}, data: {a: b}}\n"
        out = self.kubectl("apply", "-f", "-", stdin=listed + config_map)
        self.assertIn("pytorchtrainingjob.batch.tensorstack.dev/listed created", out)
        self.assertIn("configmap/listed created", out)
        self.assertIn("configmap/listed unchanged", self.kubectl("apply", "-f", "-", stdin=listed + config_map))

    def test_explaining_fields(self):
        """[requirement A5] of built-in kinds and of ours."""
        out = self.kubectl("explain", "pod.spec")
        for line in ("FIELD: spec <PodSpec>", "  containers\t<[]Container> -required-", "  nodeSelector\t<map[string]string>",
                     "  enum: Always, Never, OnFailure"):
            self.assertIn(line + "\n", out)
        out = self.kubectl("explain", "deployment.spec.template.spec.containers.resources")
        self.assertIn("  limits\t<map[string]Quantity>\n", out)
        self.assertIn("does not exist", self.kubectl("explain", "pod.spec.nothing", code=1))
        self.assertIn("Restart budget", self.kubectl("explain", "pj.spec.runPolicy"))

    def test_permissions(self):
        """[requirement A3]"""
        self.assertEqual(self.kubectl("auth", "can-i", "create", "pj"), "yes\n")
        self.assertIn("*.*", self.kubectl("auth", "can-i", "--list"))
        self.assertIn("signalbox", self.kubectl("auth", "whoami"))

    def test_raw_paths(self):
        """[requirement A1] [requirement A2] The token goes along, whatever the path; what needs a kubelet says so."""
        group = json.loads(self.kubectl("get", "--raw", "/apis/batch.tensorstack.dev"))
        self.assertEqual(group["kind"], "APIGroup")
        self.assertIn("could not find the requested resource", self.kubectl("get", "--raw", "/nothing", code=1))
        self.kubectl("run", "idle", "--image=example.org/idle:1")
        self.kubectl("wait", "--for=condition=Ready", "pod/idle", f"--timeout={program.PATIENCE}s")
        self.assertIn("has no kubelet", self.kubectl("logs", "idle", code=1))
        self.assertIn("has no kubelet", self.kubectl("exec", "idle", "--", "true", code=1))

    def test_creating_by_command(self):
        """[requirement A6]"""
        self.kubectl("create", "deployment", "web", "--image=example.org/web:1", "--replicas=2")
        spec = json.loads(self.kubectl("get", "deployment", "web", "-o", "json"))["spec"]
        self.assertEqual((spec["replicas"], spec["selector"]), (2, {"matchLabels": {"app": "web"}}))
        self.assertEqual(spec["template"]["spec"]["containers"][0]["image"], "example.org/web:1")

    def test_plans_pass_a_dry_run(self):
        """What `plan` prints of each example is what the server takes, of every kind of job and of child."""
        crds = os.path.join(program.source_dir(), "tests/support/crds")
        self.kubectl("apply", "-f", crds)
        self.addCleanup(self.kubectl, "delete", "-f", crds)
        for name in sorted(os.listdir(EXAMPLES)):
            with self.subTest(name):
                planned = program.run("plan", "--tensorboard-kind", os.path.join(EXAMPLES, name))
                self.assertEqual(planned.code, 0, planned.err)
                out = self.kubectl("apply", "--dry-run=server", "--validate=strict", "-f", "-", stdin=planned.out)
                self.assertEqual(out.count("(server dry run)"), planned.out.count("\nkind: "))

    def test_events_in_both_forms(self):
        """[requirement A4]"""
        self.assertIn("The job was accepted", self.kubectl("get", "events"))
        newer = json.loads(self.kubectl("get", "events.events.k8s.io", "--field-selector", "regarding.name=ddp", "-o", "json"))
        self.assertIn("The job was accepted", [e["note"] for e in newer["items"]])
        self.assertIn("The job was accepted", self.kubectl("events", "--for", "pj/ddp"))


if __name__ == "__main__":
    KUBECTL, missing = kubectl_program.find()
    if KUBECTL is None:
        skips.skip_suite("operator_cli_dev_kubectl_test", missing)
    unittest.main(argv=sys.argv[:1], verbosity=1)
