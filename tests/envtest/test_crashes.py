# SPDX-License-Identifier: Apache-2.0
"""The operator dies by SIGKILL at random moments: nothing is doubled, nothing is lost (BEHAVIOUR.md I1, I7, I20)."""

import os
import random
import time
import unittest

import cluster
from auditor import PodAuditor
from cluster import PATIENCE, job, pods

KILLS = 50
ENDLESS = {"duration": "never"}
SEED = int(os.environ.get("SIGNALBOX_CRASH_SEED", "20260131"))


class Crashes(unittest.TestCase):
    def expected(self):
        """Jobs by name: (object, backoffCount, disruptions). None ends by itself."""
        rows = {}
        for number in range(4):
            rows[f"plain-{number}"] = (
                job(
                    f"plain-{number}",
                    {
                        "master": pods(1, **ENDLESS),
                        "worker": pods(3, fail_at="1s", fail_times=2, only_index=number % 3, **ENDLESS),
                    },
                ),
                2,
                0,
            )
            rows[f"torchrun-{number}"] = (
                job(
                    f"torchrun-{number}",
                    {"node": pods(3, oom_at="2s", fail_times=1, only_index=1 + number % 2, **ENDLESS)},
                    torchrunConfig={"enabled": True, "maxRestarts": 3},
                ),
                1,
                0,
            )
            rows[f"evicted-{number}"] = (
                job(
                    f"evicted-{number}",
                    {
                        "master": pods(1, **ENDLESS),
                        "worker": pods(2, "Never", evict_at="2s", fail_times=1, only_index=1, **ENDLESS),
                    },
                    runPolicy={"backoffLimit": 0},
                ),
                0,
                1,
            )
        return rows

    def is_through(self, status, made, backoff, disruptions):
        """Has the job had its failures, and does it run with every pod?"""
        size = sum(each["replicas"] for each in made["spec"]["replicaSpecs"])
        had = (status.get("backoffCount", 0), status.get("restarts", {}).get("disruptions", 0))
        return had >= (backoff, disruptions) and status.get("ready") == f"{size}/{size}"

    def finish(self, c, name):
        """Ends the pod whose end is the job's."""
        c.finish(name, "node-0" if name.startswith("torchrun") else "master-0")

    def test_fifty_kills(self):
        """[requirement X13] Every failure and every disruption is counted once, whenever the operator died."""
        chance = random.Random(SEED)
        expected = self.expected()
        waiting = list(expected.values())
        chance.shuffle(waiting)
        with cluster.Cluster() as c:
            auditor = PodAuditor(c.plane)
            auditor.start()
            self.assertTrue(auditor.ready.wait(PATIENCE))
            c.start_operator()
            finished = set()
            for kill in range(KILLS):
                if kill % 4 == 0 and waiting:
                    c.apply(waiting.pop()[0])
                # Not a wait for anything: the moment of the kill. A start takes about 0.1 s.
                time.sleep(chance.uniform(0.05, 1.1))
                self.assertTrue(c.operator.running(), c.operator.tail())
                c.operator.kill()
                c.start_operator()
                for name, status in c.statuses().items():
                    if name not in finished and self.is_through(status, *expected[name]):
                        self.finish(c, name)
                        finished.add(name)
            self.assertFalse(waiting)
            within = len(finished)
            for name, wanted in expected.items():
                if name not in finished:
                    c.wait(name, "every pod again after its failures", lambda s: self.is_through(s, *wanted))
                    self.finish(c, name)
            for name, (_, backoff, disruptions) in expected.items():
                with self.subTest(job=name):
                    status = c.wait_phase(name, "Succeeded")
                    self.assertEqual(status["backoffCount"], backoff, status)
                    self.assertEqual(status.get("restarts", {}).get("disruptions", 0), disruptions, status)
            self.assertEqual(auditor.doubles, [])
            self.assertGreater(auditor.created, 12 * 3)
            print(f"{KILLS} kills, seed {SEED}, {auditor.created} pods, {within} jobs ended between kills")


if __name__ == "__main__":
    cluster.main("envtest_crashes")
