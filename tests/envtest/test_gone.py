# SPDX-License-Identifier: Apache-2.0
"""What jobs live in is taken away while they run, and made again: their namespace, and the definitions of their kinds."""

import unittest

import cluster
from audit_log import AuditLog
from cluster import eventually, job, pods, ssh_job

ENDLESS = {"duration": "never"}
HELD = "example.com/held"


class Gone(unittest.TestCase):
    def setUp(self):
        self.audit_log = AuditLog(self.addCleanup, ["create"])
        policy = {"name_retry": 500, "name_retry_max": 1000}
        self.c = cluster.Cluster(policy, apiserver_arguments=self.audit_log.arguments).started(self.addCleanup)
        self.plane = self.c.plane
        self.c.start_operator()

    def begin(self, namespace, **meta):
        plain = job("plain", {"master": pods(1, **ENDLESS), "worker": pods(1, **ENDLESS)}, namespace)
        plain["metadata"].update(meta)
        self.c.apply(plain, ssh_job("DeepSpeedJob", "keys", 2, namespace, simulation=ENDLESS))
        for name, kind in (("plain", cluster.KIND), ("keys", "deepspeedjob")):
            self.runs(name, namespace, kind)

    def runs(self, name, namespace, kind=cluster.KIND, attempt=1):
        wanted = ("Running", "2/2", attempt)
        self.c.wait(name, "runs", lambda s: (s.get("phase"), s.get("ready"), s.get("attempt")) == wanted, namespace, kind)

    def is_there(self, *what):
        return self.plane.kubectl("get", *what, check=False).returncode == 0

    def test_a_namespace_that_is_deleted_in_the_middle(self):
        """[behaviour 2.5] [behaviour 10.1] [behaviour I22]"""
        self.c.create_namespace("doomed")
        self.begin("doomed", finalizers=[HELD])
        self.begin("default")
        self.plane.kubectl("delete", "namespace", "doomed", "--wait=false")
        self.c.wait_explained("plain", "is being deleted, as asked at", HELD, namespace="doomed")
        eventually("its pods are gone", lambda: not self.c.pods_of("plain", "doomed"))
        self.plane.kubectl(
            "patch", cluster.KIND, "plain", "-n", "doomed", "--type=merge", "-p", '{"metadata":{"finalizers":null}}'
        )
        eventually("the namespace is gone", lambda: not self.is_there("namespace", "doomed"), interval=0.5)
        # Of refused creations there may be some, and no storm.
        refused = [
            entry for entry in self.audit_log.entries()
            if entry["objectRef"].get("namespace") == "doomed" and entry["responseStatus"]["code"] >= 400
            and entry["user"]["username"] == self.plane.operator_user
        ]
        self.assertLess(len(refused), 30, refused)
        self.c.create_namespace("doomed")
        self.begin("doomed")
        for namespace in ("default", "doomed"):
            self.c.finish("plain", "master-0", namespace)
            self.c.wait_phase("plain", "Succeeded", namespace)

    def test_definitions_that_are_deleted_and_made_again(self):
        """[requirement W4] Of one kind: the others go on. Of all: the operator waits for them."""
        self.begin("default")
        self.plane.kubectl("delete", "crd", "deepspeedjobs.batch.tensorstack.dev")
        eventually("its pods are gone", lambda: not self.c.pods_of("keys"))
        self.c.finish("plain", "worker-0", code=1)
        self.runs("plain", "default", attempt=2)
        left = [f"{kind}.batch.tensorstack.dev" for kind in ("pytorchtrainingjobs", "colossalaijobs")]
        self.plane.kubectl("delete", "crd", *left)
        ours = lambda: self.plane.objects("pods,services,configmaps", labels="app.kubernetes.io/managed-by=signalbox")
        eventually("nothing is left", lambda: not ours())
        self.assertTrue(self.c.operator.running(), self.c.operator.tail())
        told = "view is not up to date: pytorchtrainingjobs"
        eventually("the log tells", lambda: told in self.c.operator.log.read_text())
        self.plane.serve_kinds("-", stdin=cluster.signalbox("crds").stdout)
        self.begin("default")
        self.c.finish("plain", "worker-0", code=1)
        self.runs("plain", "default", attempt=2)
        self.assertEqual(self.c.status("plain")["backoffCount"], 1)


if __name__ == "__main__":
    cluster.main("envtest_gone")
