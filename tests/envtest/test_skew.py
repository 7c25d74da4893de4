# SPDX-License-Identifier: Apache-2.0
"""Of two API servers behind one address one is an hour ahead: no deadline and no time to live passes early. That the wrong
time arrives at all, the last part shows, where every answer has it."""

import unittest

import cluster
from cluster import eventually, job, pods
from skew_proxy import SkewProxy

HOUR = 3600
LIMIT = 900  # seconds of deadline and time to live
JOBS = 6  # while answers contradict each other


class Skew(unittest.TestCase):
    def test_answers_that_are_an_hour_ahead(self):
        """[requirement R9] [behaviour 12.8]"""
        with cluster.Cluster() as c:
            proxy = SkewProxy(c.plane, HOUR, every=2)
            proxy.lead(c.plane, c.plane.operator_kubeconfig)
            c.start_operator()
            endless, short = pods(1, duration="never"), pods(1, duration="1s")
            c.apply(job("deadline", {"master": endless}, runPolicy={"activeDeadlineSeconds": LIMIT}))
            c.apply(job("kept", {"master": short}, runPolicy={"ttlSecondsAfterFinished": LIMIT}))
            c.wait_phase("kept", "Succeeded")
            c.wait("deadline", "runs", lambda s: s.get("phase") == "Running")
            for number in range(JOBS):
                c.apply(job(f"busy-{number}", {"master": short}))
            for number in range(JOBS):
                c.wait_phase(f"busy-{number}", "Succeeded")
            self.assertGreater(proxy.skewed, 5 * JOBS)
            self.assertEqual(c.status("deadline")["phase"], "Running")
            self.assertEqual(c.status("kept")["phase"], "Succeeded")
            log = c.operator.log.read_text()
            self.assertIn("off the time believed: not used unless another one agrees", log)
            self.assertNotIn("the server's time has jumped by +3", log)

            proxy.every = 1
            asked = iter(range(1000))

            def believed():
                # Answers have to come for longer than ten seconds; each job makes some.
                c.apply(job(f"more-{next(asked)}", {"master": short}))
                return "the server's time has jumped by +3" in c.operator.log.read_text()

            eventually("what all answers say is believed", believed, interval=1)
            # What was to be decided at a time that has passed now is decided at once, though nothing else changes.
            c.wait_phase("deadline", "Failed")
            gone = lambda: c.plane.kubectl("get", cluster.KIND, "kept", check=False).returncode != 0
            eventually("the time to live is over", gone)


if __name__ == "__main__":
    cluster.main("envtest_skew")
