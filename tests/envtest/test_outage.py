# SPDX-License-Identifier: Apache-2.0
"""The API server goes away in the middle of a job and comes back: no exit, no list more than needed (REQUIREMENTS.md W6).
It has no kinds of ours at first: the operator waits for them."""

import collections
import unittest

import cluster
from audit_log import AuditLog
from cluster import eventually, job, pods


class Outage(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.audit_log = AuditLog(cls.addClassCleanup, ["list"])
        cls.c = cluster.Cluster(apiserver_arguments=cls.audit_log.arguments).started(cls.addClassCleanup)

    def start_operator(self):
        """One with a log of its own. What is said in it, as a condition to wait for."""
        self.c.operator = self.c.operator_process(self._testMethodName, self.c.plane.operator_kubeconfig)
        self.addCleanup(self.c.operator.kill)
        return lambda what, begin=0: lambda: what in self.c.operator.log.read_text()[begin:]

    def lists_of_operator(self):
        """How often the operator was given a list of each kind so far, by the server's own audit log. What a server refuses
        while it starts is not counted: that has to be asked again."""
        return collections.Counter(
            entry["objectRef"]["resource"]
            for entry in self.audit_log.entries()
            if entry["user"]["username"] == self.c.plane.operator_user and entry["responseStatus"]["code"] == 200
        )

    def test_an_outage_in_the_middle_of_a_job(self):
        c, earlier = self.c, self.lists_of_operator()
        said = self.start_operator()
        c.apply(job("enduring", {"master": pods(1, duration="never"), "worker": pods(3, duration="never")}))
        c.wait("enduring", "all pods", lambda s: (s.get("phase"), s.get("ready")) == ("Running", "4/4"))
        before = self.lists_of_operator()
        self.assertEqual(set((before - earlier).values()), {1}, f"{before}\n{c.operator.tail()}")
        begin = len(c.operator.log.read_text())
        c.plane.kill_apiserver()
        eventually("the operator says that it sees nothing", said("view is not up to date: pods", begin))
        self.assertTrue(c.operator.running(), c.operator.tail())
        c.plane.start_apiserver()
        eventually("the operator sees all again", said("all views are up to date again", begin))
        c.finish("enduring", "master-0")
        status = c.wait_phase("enduring", "Succeeded")
        self.assertEqual((status["backoffCount"], status["attempt"]), (0, 1))
        self.assertTrue(c.operator.running())
        # A restarted server has no history to resume a watch from: one list a kind may be needed.
        after = self.lists_of_operator() - before
        self.assertLessEqual(max(after.values(), default=0), 1, after)

    def test_without_kinds_the_operator_waits_for_them_and_says_how_to_install_them(self):
        c = self.c
        c.plane.kubectl("delete", "crd", "--all")
        said = self.start_operator()
        hint = "signalbox crds | kubectl apply --server-side -f -"
        eventually("the operator says what to do", said(hint))
        self.assertEqual(c.operator.log.read_text().count(hint), 1)
        c.plane.kubectl("apply", "--server-side", "-f", "-", stdin=cluster.signalbox("crds").stdout)
        eventually("the operator goes on", said("the server serves batch.tensorstack.dev/v1beta1"))
        c.apply(job("first", {"master": pods(1, duration="1s")}))
        c.wait_phase("first", "Succeeded")


if __name__ == "__main__":
    cluster.main("envtest_outage")
