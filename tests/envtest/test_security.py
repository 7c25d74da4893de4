# SPDX-License-Identifier: Apache-2.0
"""What operator/SECURITY.md says, on a real API server: what users reach through jobs, and that nothing secret gets out."""

import base64
import json
import pathlib
import urllib.request
import unittest

import cluster
from cluster import ROOT, job, pods, servers, ssh_job

ENDLESS = {"duration": "never"}
HOST = "violates PodSecurity"
BEYOND = {
    "host-path": {"volumes": [{"name": "root", "hostPath": {"path": "/"}}]},
    "host-network": {"hostNetwork": True},
    "host-processes": {"hostPID": True},
}
TEXT = "one\nlevel=critical two\x1b[2J\u202ethree"
METRICS_TOKEN = "a-token-for-metrics-that-nobody-may-see"


class Security(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.c = cluster.Cluster().started(cls.addClassCleanup)
        cls.plane = cls.c.plane
        token = cls.plane.folder / "metrics.token"
        token.write_text(METRICS_TOKEN)
        [cls.port] = servers.free_ports(1)
        cls.c.operator = cls.c.operator_process(
            "operator", cls.plane.operator_kubeconfig, "--log-level=debug", "--log-format=json",
            f"--metrics-bind-address=127.0.0.1:{cls.port}", f"--metrics-token-file={token}",
        )

    def ask(self, path):
        request = urllib.request.Request(
            f"http://127.0.0.1:{self.port}{path}", headers={"Authorization": f"Bearer {METRICS_TOKEN}"}
        )
        with urllib.request.urlopen(request, timeout=servers.REQUEST_TIMEOUT) as answer:
            return answer.read().decode()

    def test_pods_of_jobs_are_judged_by_their_namespace(self):
        """[behaviour 2.8] Host paths and the like: Pod Security refuses our pods as it would the user's own."""
        space = {"name": "fenced", "labels": {"pod-security.kubernetes.io/enforce": "baseline"}}
        self.c.apply({"apiVersion": "v1", "kind": "Namespace", "metadata": space})
        for name, spec in BEYOND.items():
            made = job(name, {"worker": pods(1, **ENDLESS)}, "fenced")
            made["spec"]["replicaSpecs"][0]["template"]["spec"].update(spec)
            self.c.apply(made)
        for name in BEYOND:
            with self.subTest(name):
                status = self.c.wait_phase(name, "Failed", "fenced")
                self.assertEqual(status["reason"], "PodRejected")
                self.assertIn(HOST, self.c.explained(name, "fenced"))
                self.assertEqual(self.c.pods_of(name, "fenced"), [])

    def test_who_may_edit_a_namespace_writes_no_status_and_no_other_namespace(self):
        self.plane.kubectl("apply", "-f", ROOT / "operator" / "deploy" / "base" / "user_roles.yaml")
        self.c.create_namespace("team")
        self.plane.kubectl("create", "rolebinding", "mia", "-n", "team", "--clusterrole=signalbox-jobs-edit", "--user=mia")

        group = "batch.tensorstack.dev"
        self.assertTrue(self.plane.may("mia", "create", f"pytorchtrainingjobs.{group}", "team"))
        for verb, resource, namespace in (
            ("update", f"pytorchtrainingjobs.{group}/status", "team"), ("patch", f"deepspeedjobs.{group}/status", "team"),
            ("update", f"pytorchtrainingjobs.{group}/finalizers", "team"), ("create", f"pytorchtrainingjobs.{group}", "default"),
            ("create", f"pytorchtrainingjobs.{group}", "signalbox-system"), ("create", "pods", "team"), ("get", "secrets", "team"),
        ):
            self.assertFalse(self.plane.may("mia", verb, resource, namespace), (verb, resource, namespace))

    def test_nothing_secret_gets_out(self):
        """[behaviour 1.5] Keys and tokens are in no log, no metric, no explanation, and no core dump. A text from outside is one
        value of one line."""
        made = ssh_job("DeepSpeedJob", "keys", 2, simulation=ENDLESS)
        made["spec"]["runPolicy"] = {"backoffLimit": 3}
        made["spec"]["worker"]["template"]["metadata"]["annotations"]["sim.signalbox.dev/message"] = TEXT
        self.c.apply(made)
        ready = lambda attempt: lambda s: (s.get("ready"), s.get("attempt")) == ("2/2", attempt)
        self.c.wait("keys", "runs", ready(1), kind="deepspeedjob")
        self.c.finish("keys", "worker-1", kind="deepspeedjob", code=1)
        self.c.wait("keys", "runs again", ready(2), kind="deepspeedjob")
        found = [item for item in self.plane.objects("secrets") if item.get("data")]
        self.assertTrue(found)
        values = [value for item in found for value in item["data"].values()]
        plain = [base64.b64decode(value).decode() for value in values]
        # Each line of a key that is long enough to be one.
        secrets = {line for text in plain for line in text.splitlines() if len(line) > 30 and not line.startswith("-----")}
        secrets |= {value[:60] for value in values} | {self.plane.operator_token, METRICS_TOKEN}
        self.assertGreater(len(secrets), 8)
        log = self.c.operator.log.read_text()
        shown = {
            "log": log, "metrics": self.ask("/metrics"), "explanation": self.ask("/debug/jobs/default/keys"),
            "explain": self.c.explained("keys"), "events": self.plane.kubectl("get", "events", "-A", "-o", "json").stdout,
        }
        for where, text in shown.items():
            self.assertGreater(len(text), 100, where)
            self.assertEqual([secret for secret in secrets if secret in text], [], where)
        for line in log.splitlines():
            json.loads(line)  # one object a line, whatever texts are in it
        limits = pathlib.Path(f"/proc/{self.c.operator.child.pid}/limits").read_text()
        [core] = [line.split()[4:6] for line in limits.splitlines() if line.startswith("Max core file size")]
        self.assertEqual(core, ["1", "1"])


if __name__ == "__main__":
    cluster.main("envtest_security")
