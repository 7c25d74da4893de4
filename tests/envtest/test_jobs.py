# SPDX-License-Identifier: Apache-2.0
"""Jobs on a real API server, from `kubectl apply` to their end. Each test names the rule it shows."""

import json
import unittest
from datetime import datetime

import cluster
import skips
from cluster import eventually, job, pods

ENDLESS = {"duration": "never"}


class Jobs(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.cluster = cluster.Cluster().started(cls.addClassCleanup)
        cls.cluster.start_operator()

    def test_published_manifests(self):
        """[behaviour 3.10] Six run to their end; the two of debug mode idle until they are deleted."""
        manifests = skips.published_manifests("envtest_jobs")
        if not manifests:
            self.skipTest("no published manifests")
        idle, running = [], []
        files = [path for path in manifests if "kind: PyTorchTrainingJob" in path.read_text()]
        self.assertEqual(len(files), 8)
        for number, path in enumerate(files):
            namespace = f"manifest-{number}"
            self.cluster.create_namespace(namespace)
            self.cluster.plane.kubectl("apply", "-n", namespace, "-f", path)
            name = self.cluster.plane.objects(cluster.KIND, namespace)[0]["metadata"]["name"]
            (idle if path.name.startswith("debug") else running).append((name, namespace))
        for name, namespace in running:
            with self.subTest(job=name, namespace=namespace):
                self.cluster.wait_phase(name, "Succeeded", namespace)
        self.assertEqual(len(running), 6)
        for name, namespace in idle:
            with self.subTest(job=name, namespace=namespace):
                self.cluster.wait_phase(name, "Running", namespace)
                uid = self.cluster.get(name, namespace)["metadata"]["uid"]
                self.cluster.plane.kubectl("delete", cluster.KIND, name, "-n", namespace, "--wait=false")
                eventually("no child is left", lambda: not self.cluster.children_of(uid, namespace))

    def test_a_worker_that_fails_twice(self):
        """[behaviour 5.5] two counted incidents, then success."""
        worker = pods(2, fail_at="1s", fail_times=2, only_index=1, **ENDLESS)
        self.cluster.apply(job("twice", {"master": pods(1, **ENDLESS), "worker": worker}))
        self.cluster.wait("twice", "two incidents", lambda s: (s.get("backoffCount"), s.get("ready")) == (2, "3/3"))
        self.cluster.finish("twice", "master-0")
        status = self.cluster.wait_phase("twice", "Succeeded")
        self.assertEqual(status["backoffCount"], 2)
        self.assertEqual(status["attempt"], 3)
        # Events are written behind the decisions, one after the other.
        wanted = {"Created", "Start", "NewReplica", "Running", "ReplicaFailed", "Restarting", "Succeeded"}
        missing = lambda: wanted - set(self.cluster.events_of("twice"))
        eventually(lambda: f"events {missing()}", lambda: not missing())

    def test_the_budget_is_exceeded(self):
        """[behaviour 5.10] with a budget of one, the second failure is the last."""
        self.cluster.apply(
            job("budget", {"master": pods(1, fail_at="500ms")}, runPolicy={"backoffLimit": 1})
        )
        status = self.cluster.wait_phase("budget", "Failed")
        self.assertEqual((status["reason"], status["backoffCount"]), ("BackoffLimitExceeded", 1))

    def test_the_deadline(self):
        """[behaviour 5.12] failed, not before it, and the pods gone."""
        self.cluster.apply(job("late", {"master": pods(2, **ENDLESS)}, runPolicy={"activeDeadlineSeconds": 5}))
        status = self.cluster.wait_phase("late", "Failed")
        self.assertEqual(status["reason"], "DeadlineExceeded")
        self.assertGreaterEqual(seconds_between(status["startTime"], status["completionTime"]), 5)
        eventually("the pods are gone", lambda: not self.cluster.pods_of("late"))

    def test_restart_policies(self):
        """[behaviour 5.5] Never, and ExitCode for a permanent and a retryable code."""
        for name, policy, code in (("never", "Never", 1), ("permanent", "ExitCode", 1), ("retryable", "ExitCode", 137)):
            self.cluster.apply(
                job(name, {"master": pods(1, policy, fail_at="500ms", exit_code=code, fail_times=1, duration="1s")})
            )
        for name in ("never", "permanent"):
            status = self.cluster.wait_phase(name, "Failed")
            self.assertEqual((status["reason"], status["backoffCount"]), ("ErrorInPod", 0))
        self.assertEqual(self.cluster.wait_phase("retryable", "Succeeded")["backoffCount"], 1)

    def test_an_evicted_pod_is_free(self):
        """[behaviour 5.4] the budget of 0 is not touched."""
        worker = pods(1, "Never", evict_at="1s", fail_times=1, **ENDLESS)
        self.cluster.apply(
            job("evicted", {"master": pods(1, **ENDLESS), "worker": worker}, runPolicy={"backoffLimit": 0})
        )
        again = lambda s: (s.get("restarts", {}).get("disruptions"), s.get("ready")) == (1, "2/2")
        self.cluster.wait("evicted", "one disruption", again)
        self.cluster.finish("evicted", "master-0")
        status = self.cluster.wait_phase("evicted", "Succeeded")
        self.assertEqual(status["backoffCount"], 0)
        self.assertEqual(status["restarts"]["disruptions"], 1)

    def test_pause_and_resume(self):
        """[behaviour 6.1] [behaviour 6.4] kubectl patch takes the pods away and brings them back in a new attempt."""
        self.cluster.apply(job("paused", {"master": pods(1, **ENDLESS), "worker": pods(2, **ENDLESS)}))
        self.cluster.wait_phase("paused", "Running")
        self.patch("paused", {"runMode": {"pause": {"enabled": True}}})
        status = self.cluster.wait("paused", "phase Paused", lambda s: s.get("phase") == "Paused")
        self.assertNotIn("startTime", status)
        eventually("the pods are gone", lambda: not self.cluster.pods_of("paused"))
        self.patch("paused", {"runMode": {"pause": {"enabled": False}}})
        self.cluster.wait_phase("paused", "Running")
        self.cluster.finish("paused", "master-0")
        status = self.cluster.wait_phase("paused", "Succeeded")
        self.assertEqual((status["attempt"], status["backoffCount"]), (2, 0))

    def test_deletion_takes_every_child(self):
        """[behaviour 10.1] the real garbage collector finds all by their owner reference."""
        self.cluster.apply(job("deleted", {"master": pods(1, **ENDLESS), "worker": pods(3, **ENDLESS)}))
        self.cluster.wait_phase("deleted", "Running")
        uid = self.cluster.get("deleted")["metadata"]["uid"]
        self.assertEqual(len(self.cluster.children_of(uid)), 6)
        self.cluster.plane.kubectl("delete", cluster.KIND, "deleted", "--wait=false")
        eventually("no child is left", lambda: not self.cluster.children_of(uid))

    def test_what_kubectl_shows(self):
        """[api columns] [api kinds] what kubectl prints, by the short name."""
        self.cluster.apply(job("shown", {"master": pods(1, duration="1s")}))
        self.cluster.wait_phase("shown", "Succeeded")
        lines = self.cluster.plane.kubectl("get", "pj", "shown").stdout.splitlines()
        self.assertEqual(lines[0].split(), ["NAME", "PHASE", "READY", "RESTARTS", "REASON", "AGE"])
        self.assertEqual(lines[1].split()[1], "Succeeded")
        self.assertIn("Succeeded", self.cluster.plane.kubectl("describe", "pj", "shown").stdout)

    def patch(self, name, spec):
        self.cluster.plane.kubectl("patch", cluster.KIND, name, "--type=merge", "-p", json.dumps({"spec": spec}))


def seconds_between(first, second):
    form = "%Y-%m-%dT%H:%M:%SZ"
    return int((datetime.strptime(second, form) - datetime.strptime(first, form)).total_seconds())


if __name__ == "__main__":
    cluster.main("envtest_jobs")
