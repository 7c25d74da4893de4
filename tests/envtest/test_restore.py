# SPDX-License-Identifier: Apache-2.0
"""[requirement V6] etcd is replaced by an older copy of itself while jobs run: the operator notices by the silence of its
watches, lists anew, and goes on with the older truth. It deletes nothing and ends nothing on the mixture of both."""

import time
import unittest

import cluster
from cluster import eventually, job, pods


class Restore(unittest.TestCase):
    def test_an_older_etcd_under_a_running_operator(self):
        with cluster.Cluster() as c:
            c.start_operator()
            c.apply(job("old", {"master": pods(1, duration="never"), "worker": pods(2, duration="never")}))
            running = lambda s: (s.get("phase"), s.get("ready")) == ("Running", "3/3")
            c.wait("old", "all pods", running)
            before = {pod["metadata"]["uid"] for pod in c.pods_of("old")}
            c.plane.save()

            # A world that will never have been.
            c.apply(job("lost", {"master": pods(1, duration="never"), "worker": pods(4, duration="never")}))
            c.wait("lost", "all pods", lambda s: s.get("ready") == "5/5")
            c.plane.kubectl("delete", "pytorchtrainingjob", "old")
            eventually("the pods of `old` are gone", lambda: not c.pods_of("old"))

            c.plane.restore()
            restored = time.monotonic()
            self.assertEqual({pod["metadata"]["uid"] for pod in c.pods_of("old")}, before)
            said = lambda what: lambda: what in c.operator.log.read_text()
            eventually("the operator notices", said("data went back in time"))
            print(f"noticed after {time.monotonic() - restored:.0f} s", flush=True)
            self.assertEqual({pod["metadata"]["uid"] for pod in c.pods_of("old")}, before)
            self.assertEqual((c.status("old")["phase"], c.status("old")["attempt"]), ("Running", 1))

            c.apply(job("new", {"master": pods(1, duration="never")}))
            c.wait("new", "its pod", lambda s: s.get("ready") == "1/1")
            print(f"a new job runs after {time.monotonic() - restored:.0f} s", flush=True)
            worker = next(p for p in c.pods_of("old") if p["metadata"]["labels"]["replica-type"] == "worker")
            c.plane.kubectl("delete", "pod", worker["metadata"]["name"], "--wait=false")
            eventually(
                "the deleted worker is replaced",
                lambda: len({p["metadata"]["uid"] for p in c.pods_of("old")} - before) > 0,
            )
            c.wait("old", "all pods again", running)
            print(f"a deleted worker is replaced after {time.monotonic() - restored:.0f} s", flush=True)
            self.assertTrue(c.operator.running())


if __name__ == "__main__":
    cluster.main("envtest_restore")
