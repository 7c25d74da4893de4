# SPDX-License-Identifier: Apache-2.0
"""Bad weather between the operator and the server: five requests a second, clocks that are off, little memory with many pods.
Nothing is lost, nothing is doubled, no failure is made up."""

import os
import sys
import unittest

import cluster
from auditor import PodAuditor
from cluster import PATIENCE, eventually, job, pods
from limit_proxy import LimitProxy

FULL = "--full" in sys.argv
SYSTEM = "signalbox-system"
RATE = 5  # requests a second
MANY = 500  # jobs, of 20 pods each
LIMIT = 64 << 20  # bytes
MEMORY = "/sys/fs/cgroup/memory"


def failing(name, workers=3):
    """Its last worker fails once; then all run forever."""
    fails = {"fail_at": "1s", "fail_times": 1, "only_index": workers - 1}
    return job(name, {"master": pods(1, duration="never"), "worker": pods(workers, duration="never", **fails)})


class Weather(unittest.TestCase):
    def setUp(self):
        self.c = cluster.Cluster().started(self.addCleanup)
        self.plane = self.c.plane
        self.auditor = PodAuditor(self.plane)
        self.auditor.start()
        self.assertTrue(self.auditor.ready.wait(PATIENCE))

    def restarted(self, name, size=4):
        through = lambda s: (s.get("phase"), s.get("ready"), s.get("backoffCount")) == ("Running", f"{size}/{size}", 1)
        self.c.wait(name, "all pods again after one failure", through)
        self.assertEqual(self.auditor.doubles, [])

    @unittest.skipIf(FULL, "a suite of its own")
    def test_five_requests_a_second(self):
        """[requirement R4] [behaviour I24]"""
        proxy = LimitProxy(self.plane, RATE)
        kubeconfig = self.plane.operator_kubeconfig
        proxy.lead(self.plane, kubeconfig)
        elect = ["--leader-elect", f"--leader-elect-resource-namespace={SYSTEM}"]
        self.c.operator = self.c.operator_process("operator", kubeconfig, *elect)
        self.c.apply(failing("slow"))
        self.restarted("slow")
        # The Lease is renewed beside all that.
        self.assertTrue(self.c.operator.running(), self.c.operator.tail())
        self.assertGreater(proxy.refused, 0)
        print(f"{proxy.passed} requests passed, {proxy.refused} were refused")
        # Whoever is told to wait does: with more than one refused of each that pass it would not.
        self.assertLess(proxy.refused, proxy.passed)
        self.c.wait_explained("slow", "is Running")

    @unittest.skipIf(FULL, "a suite of its own")
    def test_two_operators_whose_clocks_differ(self):
        """[behaviour 12.8] [requirement B4] Deadlines, delays and the Lease go by the server's time and the steady clock."""
        elect = ["--leader-elect", f"--leader-elect-resource-namespace={SYSTEM}"]
        shifts = {"behind": -3000, "ahead": 10800}  # a server's certificate is an hour old when it is made
        replicas = {}
        for name, shift in shifts.items():
            env = {"LD_PRELOAD": os.environ["SIGNALBOX_SHIFTED_CLOCK"], "SIGNALBOX_CLOCK_SHIFT": str(shift)}
            replicas[name] = self.c.operator_process(name, self.plane.operator_kubeconfig, *elect, env=env)
            words = "leading: lease=" if name == "behind" else "another replica leads"
            eventually(f"{name}: {words}", lambda: words in replicas[name].log.read_text())
        self.addCleanup(lambda: [each.kill() for each in replicas.values()])
        behind, ahead = (replicas[name].log.read_text()[:13] for name in shifts)
        self.assertNotEqual(behind, ahead)  # the hour of their first lines
        kept = job("kept", {"worker": pods(1, duration="1s")}, runPolicy={"ttlSecondsAfterFinished": 900})
        bound = failing("bound")
        bound["spec"]["runPolicy"] = {"activeDeadlineSeconds": 900}
        self.c.apply(kept, bound)
        self.c.wait_phase("kept", "Succeeded")
        self.restarted("bound")
        replicas["behind"].child.terminate()
        eventually("the other one leads", lambda: "leading: lease=" in replicas["ahead"].log.read_text())
        self.c.finish("bound", "worker-0", code=1)
        again = lambda s: (s.get("phase"), s.get("ready"), s.get("backoffCount")) == ("Running", "4/4", 2)
        self.c.wait("bound", "all pods again", again)
        self.assertEqual(self.c.status("kept")["phase"], "Succeeded")
        self.c.finish("bound", "master-0")
        self.c.wait_phase("bound", "Succeeded")

    @unittest.skipUnless(FULL, "takes minutes")
    @unittest.skipUnless(os.access(MEMORY, os.W_OK), "needs a control group of memory, of version 1")
    def test_ten_thousand_pods_in_64_mb(self):
        """They begin, fail and begin again, and a new process finds them, all in a control group of 64 MB."""
        group = f"{MEMORY}/signalbox-weather-{os.getpid()}"
        os.mkdir(group)
        self.addCleanup(os.rmdir, group)
        with open(f"{group}/memory.limit_in_bytes", "w") as limit:
            limit.write(str(LIMIT))

        def start():
            self.c.start_operator()
            with open(f"{group}/cgroup.procs", "w") as members:
                members.write(str(self.c.operator.child.pid))

        def used(what):
            with open(f"{group}/memory.{what}") as value:
                return int(value.read())

        self.addCleanup(lambda: self.c.operator.kill())
        start()
        jobs = [failing(f"job-{number}", 19) for number in range(MANY)]
        for begin in range(0, MANY, 50):
            self.c.apply(*jobs[begin:begin + 50])

        def steps_of(status):
            """0 to 20 pods are ready, the job has failed once, and they are ready again: 41."""
            failed = status.get("backoffCount", 0)
            self.assertLessEqual(failed, 1)
            return 21 * failed + int(status.get("ready", "0/20").split("/")[0])

        def progress():
            self.assertTrue(self.c.operator.running(), self.c.operator.tail())
            return sum(map(steps_of, self.c.statuses().values()))

        # As long as it takes on this machine, while there is progress: jobs that begin together fail together.
        done = 0
        while done < MANY * 41:
            done = eventually(
                f"more than {done} of {MANY * 41} steps of jobs that begin, fail and begin again",
                lambda: now if (now := progress()) > done else None, interval=5)
        print(f"most memory so far: {used('max_usage_in_bytes') >> 20} MB, refused {used('failcnt')} times")
        self.c.operator.kill()
        start()
        eventually("views", lambda: "views are complete" in self.c.operator.log.read_text().split("starting: server")[-1])
        self.c.finish("job-7", "worker-0", code=1)
        self.c.wait("job-7", "again", lambda s: (s.get("ready"), s.get("backoffCount")) == ("20/20", 2))
        print(f"with a second start: {used('max_usage_in_bytes') >> 20} MB, {used('failcnt')}")
        self.assertEqual(self.auditor.doubles, [])


if __name__ == "__main__":
    sys.argv = sys.argv[:1]
    cluster.main("envtest_weather_full" if FULL else "envtest_weather")
