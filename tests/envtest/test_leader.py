# SPDX-License-Identifier: Apache-2.0
"""Two operators with --leader-elect on one API server: SIGTERM, SIGKILL and SIGSTOP of the one that leads, and a network that
holds its requests back. Every job has failures, most of them while no one leads; nothing is doubled, every restart is counted
once."""

import base64
import datetime
import json
import os
import random
import signal
import sys
import time
import unittest

import cluster
from audit_log import AuditLog
from auditor import PodAuditor
from cluster import PATIENCE, eventually, job, pods
from cut_proxy import CutProxy

NAMESPACE = "signalbox-system"
RENEW_DEADLINE = 10  # seconds, by default: none leads sooner after a leader that did not release the Lease
# Shorter than the defaults, where only the order of things counts.
SHORT_LEASE = (
    "--leader-elect-lease-duration=6s", "--leader-elect-renew-deadline=4s", "--leader-elect-retry-period=1s"
)
LEASE_LOST = 4  # exit code
GRACE = 30  # seconds; a pod has no more to end in
LONG_AGO = datetime.datetime.fromtimestamp(0, datetime.timezone.utc)
FULL = "--full" in sys.argv  # many hand-overs, at random
ROUNDS = 20
SEED = int(os.environ.get("SIGNALBOX_LEADER_SEED", "20261122"))


class Replica:
    """One operator, with a token of its own, so that the server's audit log tells its requests from those of others."""

    def __init__(self, c, name, *flags, port=None):
        token = c.plane.kubectl("create", "token", "signalbox", "-n", NAMESPACE, "--duration=1h").stdout.strip()
        payload = token.split(".")[1]
        self.credential = "JTI=" + json.loads(base64.urlsafe_b64decode(payload + "=" * (-len(payload) % 4)))["jti"]
        kubeconfig = c.plane.folder / f"{name}.kubeconfig"
        c.plane.write_kubeconfig(kubeconfig, name, token)
        if port:
            kubeconfig.write_text(kubeconfig.read_text().replace(f":{c.plane.port}", f":{port}"))
        namespace = f"--leader-elect-resource-namespace={NAMESPACE}"
        self.process = c.operator_process(name, kubeconfig, "--leader-elect", namespace, *flags)
        self.log, self.name = self.process.log, name

    def said(self, what):
        return what in self.log.read_text()

    def wait_for(self, what):
        """Until it has said so; gives the time."""
        story = lambda: f"{self.name} says {what!r}:\n{self.process.tail()}"
        eventually(story, lambda: self.said(what) or not self.process.running(), interval=0.02)
        if not self.said(what):
            raise AssertionError(f"{self.name} ended with {self.process.child.returncode}:\n{self.process.tail()}")
        return time.monotonic()

    def leads(self):
        return self.wait_for("leading: lease=")

    def follows(self):
        return self.wait_for("another replica leads: lease=")

    def send(self, number):
        self.process.child.send_signal(number)
        return time.monotonic()

    def end(self):
        """Waits for its end; gives the exit code."""
        return self.process.child.wait(timeout=PATIENCE)


class Leader(unittest.TestCase):
    def setUp(self):
        self.audit_log = AuditLog(self.addCleanup, ["create", "update", "patch", "delete"])
        self.cluster = cluster.Cluster(apiserver_arguments=self.audit_log.arguments).started(self.addCleanup)
        self.replicas = []
        self.addCleanup(lambda: [each.process.kill() for each in self.replicas])
        self.auditor = PodAuditor(self.cluster.plane)
        self.auditor.start()
        self.assertTrue(self.auditor.ready.wait(PATIENCE))
        self.jobs = []

    def start(self, name, *flags, **way):
        self.replicas.append(Replica(self.cluster, name, *flags, **way))
        return self.replicas[-1]

    def failing_job(self, name):
        """Its worker fails twice, a second after each start; then all run forever."""
        self.jobs.append(name)
        types = {
            "master": pods(1, duration="never"),
            "worker": pods(2, fail_at="1s", fail_times=2, only_index=1, duration="never"),
        }
        self.cluster.apply(job(name, types))

    def has_pods(self, name):
        return eventually(f"pods of {name}", lambda: self.cluster.pods_of(name), interval=0.05) and time.monotonic()

    def writes_of(self, replica, after):
        """What the server got from it after that time, by its audit log."""
        found = []
        for entry in self.audit_log.entries():
            extra = entry["user"].get("extra", {})
            mine = replica.credential in extra.get("authentication.kubernetes.io/credential-id", [])
            received = datetime.datetime.fromisoformat(entry["requestReceivedTimestamp"].replace("Z", "+00:00"))
            if mine and received > after:
                found.append(f"{entry['verb']} {entry['requestURI']}")
        return found

    def check_jobs(self):
        through = lambda s: s.get("backoffCount", 0) >= 2 and s.get("ready") == "3/3"
        for name in self.jobs:
            self.cluster.wait(name, "every pod again after its failures", through)
            self.cluster.finish(name, "master-0")
        for name in self.jobs:
            with self.subTest(job=name):
                self.assertEqual(self.cluster.wait_phase(name, "Succeeded")["backoffCount"], 2)
        self.assertEqual(self.auditor.doubles, [])
        # One set of three a job, and two more of each worker or set.
        self.assertGreaterEqual(self.auditor.created, 5 * len(self.jobs))

    @unittest.skipUnless(FULL, "takes minutes")
    def test_many_hand_overs(self):
        """[requirement B3] [requirement B7] [behaviour I13]"""
        chance = random.Random(SEED)
        leader = self.start("replica-0", *SHORT_LEASE)
        leader.leads()
        follower = self.start("replica-1", *SHORT_LEASE)
        follower.follows()
        woken = []
        for number in range(ROUNDS):
            self.failing_job(f"job-{number}")
            # Not a wait for anything: the moment of what befalls the leader.
            time.sleep(chance.uniform(0, 3))
            fate = chance.choice([signal.SIGTERM, signal.SIGKILL, signal.SIGSTOP])
            begin = leader.send(fate)
            print(f"{fate.name}: {follower.leads() - begin:.2f} s to the next leader")
            if fate == signal.SIGSTOP:
                woken.append((leader, datetime.datetime.now(datetime.timezone.utc)))
                leader.send(signal.SIGCONT)
            codes = {signal.SIGTERM: 0, signal.SIGKILL: -signal.SIGKILL, signal.SIGSTOP: LEASE_LOST}
            self.assertEqual(leader.end(), codes[fate], leader.process.tail())
            leader, follower = follower, self.start(f"replica-{number + 2}", *SHORT_LEASE)
            follower.follows()
        self.check_jobs()
        for replica, at in woken:
            self.assertEqual(self.writes_of(replica, at), [], replica.name)
        print(f"{ROUNDS} hand-overs, {len(woken)} of them by SIGSTOP, seed {SEED}, {self.auditor.created} pods")

    @unittest.skipIf(FULL, "a suite of its own")
    def test_the_leader_is_ended_killed_stopped_and_cut_off(self):
        """[requirement B3] [requirement B4] [requirement B6] [requirement B7] [requirement B8] [behaviour I13]"""
        first = self.start("first")
        first.leads()
        second = self.start("second")
        second.follows()
        self.failing_job("quiet")
        self.cluster.wait("quiet", "its failures", lambda s: s.get("backoffCount", 0) >= 2)
        self.assertEqual(self.writes_of(second, LONG_AGO), [])
        self.assertTrue(self.writes_of(first, LONG_AGO))  # the log tells of both

        begin = first.send(signal.SIGTERM)
        self.failing_job("ended")
        ended = second.leads() - begin
        acted = self.has_pods("ended") - begin
        self.assertEqual(first.end(), 0)
        self.assertLess(time.monotonic() - begin, GRACE)
        print(f"SIGTERM: {ended:.2f} s to the next leader, {acted:.2f} s to pods of a job made meanwhile")
        self.assertLess(acted, RENEW_DEADLINE)

        third = self.start("third")
        third.follows()
        begin = second.send(signal.SIGKILL)
        self.failing_job("killed")
        killed = third.leads() - begin
        acted = self.has_pods("killed") - begin
        print(f"SIGKILL: {killed:.2f} s to the next leader, {acted:.2f} s to pods of a job made meanwhile")
        self.assertLess(acted, 20)
        self.assertGreaterEqual(killed, RENEW_DEADLINE)

        third.send(signal.SIGTERM)
        self.assertEqual(third.end(), 0)
        fourth = self.start("fourth", *SHORT_LEASE)
        fourth.leads()
        proxy = CutProxy(self.cluster.plane.port)
        self.addCleanup(proxy.close)
        fifth = self.start("fifth", *SHORT_LEASE, port=proxy.port)
        fifth.follows()
        self.failing_job("stopped")
        self.has_pods("stopped")
        begin = fourth.send(signal.SIGSTOP)
        self.failing_job("woken")
        stopped = fifth.leads() - begin
        self.has_pods("woken")
        self.assertFalse(fourth.said("the lease is lost"))
        woken_at = datetime.datetime.now(datetime.timezone.utc)
        fourth.send(signal.SIGCONT)
        self.assertEqual(fourth.end(), LEASE_LOST)
        print(f"SIGSTOP: {stopped:.2f} s to the next leader; the stopped one woke, and ended")
        self.assertTrue(fourth.said("the lease is lost, and this process ends"))

        sixth = self.start("sixth", *SHORT_LEASE)
        sixth.follows()
        self.failing_job("late")
        begin = time.monotonic()
        proxy.cut("stall")
        cut = sixth.leads() - begin
        self.has_pods("late")
        self.assertEqual(fifth.end(), LEASE_LOST)
        proxy.mend()  # what it has held back arrives now
        print(f"network cut: {cut:.2f} s to the next leader")
        self.check_jobs()
        self.assertEqual(self.writes_of(fourth, woken_at), [])
        self.assertTrue(self.writes_of(fourth, LONG_AGO))
        self.assertTrue(self.writes_of(fifth, woken_at))


if __name__ == "__main__":
    sys.argv = sys.argv[:1]
    cluster.main("envtest_leader_full" if FULL else "envtest_leader")
