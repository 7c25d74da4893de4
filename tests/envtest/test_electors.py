# SPDX-License-Identifier: Apache-2.0
"""Our elector and client-go's compete for one Lease, through kills, SIGTERM, SIGSTOP and cut networks.

What is asserted, and for whom:

* Our belief never overlaps with a time at which client-go rightfully holds the Lease: from the answer to one of its renewals
  to a lease duration after that was sent, or to its release. That holds whatever befalls either of them, and both ways: it
  takes the Lease only when our belief has ended, we take it only when its renewals have run out.
* Our own terms do not overlap. Our belief ends at the time that we said last, however long a process was stopped.

What client-go's callbacks say beyond the end of its renewals is printed and not asserted, as no one else could mend it: after
SIGSTOP it believes on until its timers have run, and over a network that stalls it first tries to release the Lease, and then
tells that it does not lead.
"""

import os
import random
import signal
import subprocess
import sys
import time
import unittest

import cluster
import servers
from cut_proxy import CutProxy

SEED = int(os.environ.get("SIGNALBOX_ELECTOR_SEED", "20261122"))
FULL = "--full" in sys.argv  # many steps; builds client-go's elector if it is not there yet
STEPS = 24 if FULL else 4
LEASE, DEADLINE, RETRY = 6, 4, 1
OURS = os.environ.get("SIGNALBOX_ELECTOR", "")  # electors/elector.cpp
BUILD = servers.HERE / "go_program.sh"
SOURCES = servers.HERE / "electors"  # of client-go's
SUITE = "envtest_electors_full" if FULL else "envtest_electors"


class Elector:
    """One of the two, with a network of its own; started again after each end."""

    def __init__(self, plane, name, command):
        self.plane, self.name, self.command = plane, name, command
        self.proxy = CutProxy(plane.port)
        self.kubeconfig = plane.folder / f"{name}.kubeconfig"
        plane.write_kubeconfig(self.kubeconfig, name, plane.admin_token)
        direct, through = plane.url, f"https://127.0.0.1:{self.proxy.port}"
        self.kubeconfig.write_text(self.kubeconfig.read_text().replace(direct, through))
        self.log = plane.folder / f"{name}.log"
        self.start()

    def start(self):
        self.process = servers.Process(self.name, self.command(self.kubeconfig), self.log)

    def send(self, number):
        self.process.child.send_signal(number)

    def end(self, number):
        """Ends it by a signal and starts another; gives when it was surely gone."""
        self.send(number)
        self.process.child.wait(timeout=servers.PATIENCE)
        with open(self.log, "a", encoding="utf-8") as log:
            log.write(f"dead {time.monotonic():.6f}\n")  # it can believe nothing any more
        self.start()

    def events(self):
        """(word, times) in the order of the log; a last line that is cut off is left out."""
        lines = self.log.read_text(errors="replace").splitlines(keepends=True)
        words = [line.split() for line in lines if line.endswith("\n")]
        known = ("begin", "until", "held", "released", "end", "dead")
        return [(word[0], [float(x) for x in word[1:]]) for word in words if word and word[0] in known]

    def leads(self):
        last = [word for word, _ in self.events() if word in ("begin", "end", "dead")]
        return bool(last) and last[-1] == "begin"


def beliefs(events, now):
    """Intervals of belief, [from, to]."""
    found, begin, until = [], None, None
    for word, times in events:
        if word == "begin":
            begin, until = times[0], None
        elif word == "until":
            until = times[0]
        elif word in ("end", "dead") and begin is not None:
            found.append((begin, min(times[0], until or times[0])))
            begin = None
    if begin is not None:
        found.append((begin, until or now))
    return found


def holds(events):
    """Intervals in which client-go rightfully holds the Lease: each renewal's, shortened by a release."""
    found = []
    for word, times in events:
        if word == "held":
            found.append((times[0], times[1]))
        elif word == "released":
            found = [(a, min(b, times[0])) for a, b in found]
    return [(a, b) for a, b in found if a < b]


def overlaps(ours, theirs):
    return [(a, b) for a in ours for b in theirs if max(a[0], b[0]) < min(a[1], b[1])]


class Electors(unittest.TestCase):
    def befall(self, chance, one):
        """Something happens to the elector `one`, who leads; gives what."""
        what = chance.choice(["SIGTERM", "SIGKILL", "stopped for long", "stopped shortly", "stall", "drop", "short stall"])
        long = LEASE + chance.uniform(1, 4)
        short = chance.uniform(0.5, DEADLINE)
        if what == "SIGTERM":
            one.end(signal.SIGTERM)
        elif what == "SIGKILL":
            one.end(signal.SIGKILL)
        elif what.startswith("stopped"):
            one.send(signal.SIGSTOP)
            time.sleep(long if what == "stopped for long" else short)
            one.send(signal.SIGCONT)
        else:
            one.proxy.cut("drop" if what == "drop" else "stall")
            time.sleep(short if what == "short stall" else long)
            one.proxy.mend()
        return what

    def test_no_two_believe_at_one_time(self):
        """[requirement B2] [requirement B3] [requirement B4] [requirement B6]"""
        chance = random.Random(SEED)
        with servers.ControlPlane() as plane:
            ours = Elector(
                plane, "ours", lambda file: [OURS, file, "default", "shared", LEASE, DEADLINE, RETRY]
            )
            theirs = Elector(
                plane,
                "client-go",
                lambda file: [
                    THEIRS, f"--kubeconfig={file}", "--name=shared", f"--lease-duration={LEASE}s",
                    f"--renew-deadline={DEADLINE}s", f"--retry-period={RETRY}s",
                ],
            )
            begin, story = time.monotonic(), []
            for _ in range(STEPS):
                both = (ours, theirs)
                leader = servers.eventually("somebody leads", lambda: next((x for x in both if x.leads()), None))
                time.sleep(chance.uniform(0, 2 * RETRY))
                at = time.monotonic() - begin
                story.append(f"{at:8.2f} {leader.name}: {self.befall(chance, leader)}")
            now = time.monotonic()
            our_beliefs, their_beliefs = beliefs(ours.events(), now), beliefs(theirs.events(), now)
            their_holds = holds(theirs.events())
            for each in (ours, theirs):
                each.process.kill()
                each.proxy.close()
        for line in story:
            print(line)
        for name, intervals in (("ours", our_beliefs), ("client-go", their_beliefs)):
            for a, b in intervals:
                print(f"{a - begin:8.2f} - {b - begin:8.2f}  {name}")
        beyond = [min(a[1], b[1]) - max(a[0], b[0]) for a, b in overlaps(our_beliefs, their_beliefs)]
        print(f"{len(our_beliefs)} and {len(their_beliefs)} intervals, {len(their_holds)} renewals of client-go; seed {SEED}")
        if beyond:
            print(f"client-go believed on {len(beyond)} times while we led rightfully, for up to {max(beyond):.2f} s")
        self.assertEqual(overlaps(our_beliefs, their_holds), [])
        self.assertTrue(all(a[1] <= b[0] for a, b in zip(our_beliefs, our_beliefs[1:])), our_beliefs)
        self.assertGreater(len(our_beliefs) + len(their_beliefs), STEPS // 3)
        for intervals in (our_beliefs, their_beliefs):
            self.assertGreaterEqual(len(intervals), STEPS // 8)


if __name__ == "__main__":
    built = subprocess.run(["bash", BUILD, *([] if FULL else ["--cached"]), SOURCES], capture_output=True, text=True, timeout=1800)
    if built.returncode != 0:
        cluster.skip_suite(SUITE, built.stderr.strip().splitlines()[-1])
    THEIRS = built.stdout.strip().splitlines()[-1]
    sys.argv = sys.argv[:1]
    cluster.main(SUITE)
