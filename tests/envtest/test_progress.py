# SPDX-License-Identifier: Apache-2.0
"""Reports of progress while the operator that leads is killed: two replicas with a receiver each, tokens of the real API server,
and ranks that go on reporting. What the status says is old by the interval of its writes at most, nothing goes back, and a pod
that fails while no one leads is one incident."""

import re
import ssl
import sys
import threading
import time
import unittest

import cluster
import deployed
import reports
from cluster import eventually, job, pods
from test_leader import SHORT_LEASE, Replica

JOBS = 8
INTERVAL = 2  # seconds between two statuses that differ in progress alone; 15 by default
BOUND = 15  # seconds; the rule's own


class Rank(threading.Thread):
    """Reports a step more each time, as the training in a pod does, to whichever replica takes it."""

    def __init__(self, job, token, addresses, trust):
        super().__init__(daemon=True)
        self.job, self.token, self.addresses, self.trust = job, token, addresses, trust
        self.over = threading.Event()
        self.step = 0  # the last that was taken
        self.refused = 0

    def send(self, address):
        try:
            reports.send(address, self.job, self.token, self.trust, current_step=self.step + 1, total_steps=1000000)
        except OSError:  # it is gone, or does not lead
            self.refused += 1
            return False
        self.step += 1
        return True

    def run(self):
        while not self.over.wait(0.1):
            if not self.send(self.addresses[0]):
                self.addresses[:] = self.addresses[::-1]


class HandOver(unittest.TestCase):
    def setUp(self):
        self.cluster = cluster.Cluster(policy={"progress_interval": INTERVAL * 1000}).started(self.addCleanup)
        plane = self.cluster.plane
        reports.permit(plane)
        self.secrets = deployed.secrets(plane.folder / "secrets")
        self.trust = ssl.create_default_context(cafile=str(self.secrets / "tls.crt"))
        self.ranks, self.addresses = [], []

    def start(self, name):
        flags = deployed.receiver_flags(self.secrets, "127.0.0.1:0", "https://progress.example.org")
        replica = Replica(self.cluster, name, *SHORT_LEASE, *flags)
        self.addCleanup(replica.process.kill)
        replica.wait_for("receiving reports of progress: address=")
        self.addresses.append(re.search(r"receiving reports of progress: address=(\S+)", replica.log.read_text())[1])
        return replica

    def reporting_job(self, name):
        types = {kind: reports.with_account(pods(1, duration="never")) for kind in ("master", "worker")}
        self.cluster.apply(job(name, types, runPolicy={"backoffLimit": 3, "progress": {}}))

    def rank_of(self, name):
        """Of the master of the present attempt."""
        attempt = str(self.cluster.status(name)["attempt"])
        [pod] = [pod for pod in self.cluster.pods_of(name) if pod["metadata"]["labels"]["replica-type"] == "master"
                 and pod["metadata"]["labels"]["batch.tensorstack.dev/attempt"] == attempt]
        rank = Rank(name, reports.token_of(self.cluster.plane, pod), self.addresses[:], self.trust)
        self.addCleanup(rank.over.set)
        rank.start()
        return rank

    def steps(self, names):
        found = self.cluster.statuses()
        return {name: found[name].get("progress", {}).get("currentStep", 0) for name in names}

    def test_the_leader_is_killed_while_all_report(self):
        """[behaviour 13.7] [behaviour 13.11] [behaviour I7]"""
        first = self.start("first")
        first.leads()
        second = self.start("second")
        second.follows()
        names = [f"job-{number}" for number in range(JOBS)]
        for name in names:
            self.reporting_job(name)
        for name in names:
            self.cluster.wait_phase(name, "Running")
        ranks = {name: self.rank_of(name) for name in names}
        eventually("all have reported, more than once", lambda: min(self.steps(names).values()) > 10)

        first.process.kill()
        killed = time.monotonic()
        sent, known = {name: rank.step for name, rank in ranks.items()}, self.steps(names)
        # Steps are ten a second at most.
        lost = max(sent[name] - known[name] for name in names)
        print(f"killed: statuses are {lost} steps old at most, {lost / 10:.1f} s of reports")
        self.assertLess(lost, BOUND * 10)
        self.cluster.finish("job-0", "worker-0", code=1)  # while no one leads

        taken = second.leads() - killed
        new = eventually("a report of each is taken again", lambda: min(
            ranks[name].step - sent[name] for name in names) > 0 and {name: rank.step for name, rank in ranks.items()})
        again = eventually("the status of each goes on", lambda: all(
            step > sent[name] for name, step in self.steps(names).items() if name != "job-0") and time.monotonic())
        print(f"the next leader leads {taken:.1f} s behind it, and all statuses go on {again - killed:.1f} s behind it; "
              f"{max(rank.refused for rank in ranks.values())} reports of one rank were refused meanwhile")
        for name in names[1:]:
            self.assertGreaterEqual(self.steps([name])[name], known[name])
        self.assertTrue(all(new[name] >= sent[name] for name in names))

        status = self.cluster.wait("job-0", "its second attempt", lambda s: s.get("attempt") == 2 and s.get("ready") == "2/2")
        self.assertEqual((status["backoffCount"], status["restarts"]["disruptions"] if "disruptions" in status["restarts"] else 0), (1, 0))
        self.assertEqual([each["attempt"] for each in status["attemptHistory"]], [1])
        # What the ranks of the attempt before still say is nothing; those of the new one go on.
        self.assertEqual(status["progress"]["attempt"], 1)
        self.rank_of("job-0")
        self.cluster.wait("job-0", "reports of its second attempt", lambda s: s["progress"]["attempt"] == 2)
        for name in names[1:]:
            self.assertEqual(self.cluster.status(name)["attempt"], 1)


if __name__ == "__main__":
    sys.argv = sys.argv[:1]
    cluster.main("envtest_progress")
