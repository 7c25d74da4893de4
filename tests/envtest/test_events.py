# SPDX-License-Identifier: Apache-2.0
"""Events of many jobs at once, and of a namespace where the server cannot write them."""

import collections
import re
import shutil
import sys
import time
import unittest

import cluster
from cluster import eventually, job, pods
from limit_proxy import RefusingProxy

FULL = "--full" in sys.argv
MANY = 300 if FULL else 60
BROKEN = re.compile(rb"(POST|PATCH) /api/v1/namespaces/broken/events")


class EventsProxy(RefusingProxy):
    broken = True

    def refusal(self, head):
        return (500, "InternalError") if self.broken and BROKEN.match(head) else None


class Events(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.c = cluster.Cluster().started(cls.addClassCleanup)
        for name in ("broken", "other"):
            cls.c.create_namespace(name)

    def start_operator(self, name, kubeconfig):
        self.c.operator = self.c.operator_process(name, kubeconfig)
        self.addCleanup(self.c.operator.kill)

    def told(self, namespace="default"):
        """How many jobs of the namespace have an event with this reason."""
        about = {(e["reason"], e["involvedObject"]["name"]) for e in self.c.plane.objects("events", namespace)}
        return collections.Counter(reason for reason, _ in about)

    def wait_told(self, least, namespace="default"):
        """`least` is how many jobs at least must have an event, by reason."""
        def complete():
            told = self.told(namespace)
            return all(told[reason] >= count for reason, count in least.items())

        eventually(lambda: f"events in {namespace}: {dict(self.told(namespace))}", complete)

    def test_a_burst(self):
        """[requirement N5] [requirement N6] [behaviour 11.3] A job may end before anyone has seen that it runs."""
        self.c.apply(*(job(f"job-{number}", {"worker": pods(2, duration="20s")}) for number in range(MANY)))
        start = time.monotonic()
        self.start_operator("operator", self.c.plane.operator_kubeconfig)
        count = lambda: sum(s.get("phase") == "Succeeded" for s in self.c.statuses().values())
        eventually(lambda: f"{count()} of {MANY} jobs have succeeded", lambda: count() == MANY)
        ended = time.monotonic() - start
        print(f"{MANY} jobs in {ended:.0f} s; events at their end: {dict(self.told())}", flush=True)
        ran = sum(s["timeSeconds"].get("running", 0) > 0 for s in self.c.statuses().values())
        self.assertGreater(ran, 0)
        self.wait_told({"Created": MANY, "Running": ran, "Succeeded": MANY})
        print(f"and {time.monotonic() - start - ended:.1f} s later: {dict(self.told())}", flush=True)

    @unittest.skipIf(FULL, "a suite of its own")
    def test_a_namespace_whose_events_get_500(self):
        """[requirement N6] It holds up no others, and what its jobs came to is told when it works again."""
        proxy = EventsProxy(self.c.plane)
        behind = self.c.plane.folder / "behind.kubeconfig"
        shutil.copyfile(self.c.plane.operator_kubeconfig, behind)
        proxy.lead(self.c.plane, behind)
        self.start_operator("behind the proxy", behind)
        self.c.apply(*(job(f"job-{number}", {"worker": pods(1, duration="1s")}, "broken") for number in range(5)))
        for number in range(5):
            self.c.wait_phase(f"job-{number}", "Succeeded", namespace="broken")
        self.assertGreater(proxy.refused, 4)
        self.c.apply(*(job(f"job-{number}", {"worker": pods(1, duration="1s")}, "other") for number in range(5)))
        for number in range(5):
            self.c.wait_phase(f"job-{number}", "Succeeded", namespace="other")
        start = time.monotonic()
        self.wait_told({"Created": 5, "Succeeded": 5}, "other")
        took = time.monotonic() - start
        print(f"the last event of the other namespace came {took:.1f} s after its job's end", flush=True)
        self.assertEqual(self.told("broken"), {})
        proxy.broken = False
        self.wait_told({"Succeeded": 5}, "broken")


if __name__ == "__main__":
    sys.argv = sys.argv[:1]
    cluster.main("envtest_events_full" if FULL else "envtest_events")
