# SPDX-License-Identifier: Apache-2.0
"""Limits of containers by control groups of version 2. In a machine of its own alone: it makes groups at their root.

Usage: checks.py <signalbox> [test...]
"""
import os
import pathlib
import subprocess
import sys
import tempfile
import time
import unittest

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent / "cli"))
import pods_of_dev  # noqa: E402 (from the folder above)
import program  # noqa: E402

ROOT = pathlib.Path("/sys/fs/cgroup")
NO_LIMITS = ("memory limits do not hold: there is no control group with the controller memory "
             "that this user may write to")
# Its child takes more than is allowed; without the child it would end well.
GREEDY = "dd if=/dev/zero of=/dev/null bs=100M count=1 2>/dev/null; echo survived"
# Forks and nothing else, until one fails.
FORKS = "mkfifo /tmp/f; exec 3<>/tmp/f; i=0; trap 'echo $i' EXIT; while read x <&3 & do i=$((i+1)); done; echo endless"
AT_MOST = {"resources": {"limits": {"memory": "64Mi"}}}


def groups():
    """Those of runtimes, and those of containers in them."""
    # Not glob: a folder that goes meanwhile is an error there.
    folders = (os.path.relpath(folder, ROOT) for folder, _, _ in os.walk(ROOT))
    return sorted(folder for folder in folders if "signalbox-" in folder)


def comes(holds):
    """Waits until `holds()`; false if it never does."""
    deadline = time.monotonic() + program.PATIENCE
    while not holds() and time.monotonic() < deadline:
        time.sleep(0.05)
    return holds()


class Case(unittest.TestCase):
    def folder(self):
        made = tempfile.TemporaryDirectory()
        self.addCleanup(made.cleanup)
        return made.name

    def dev(self, pods=None):
        started = pods_of_dev.PodsOfDev("--pods-dir", pods or self.folder() + "/pods")
        self.addCleanup(lambda: started.child.returncode is None and started.stop())
        return started

    def said(self, dev):
        return pathlib.Path(dev.output).read_text(encoding="utf-8")

    def limits_hold(self, dev, most):
        """Of memory and of processes, for the pod that meets them alone. `most`: forks of one process."""
        dev.create("beside", "trap 'echo ended; exit 0' TERM; echo ready; sleep 100000 & wait")
        dev.until_pod("beside", lambda pod: pod["status"].get("phase") == "Running")
        dev.open("GET", f"{pods_of_dev.PODS}/beside/log?follow=true").readline()
        dev.create("greedy", GREEDY, AT_MOST)
        ended = dev.until_ended("greedy")
        self.assertEqual((ended["exitCode"], ended["reason"], dev.log_of("greedy")), (137, "OOMKilled", ""))
        dev.create("modest", GREEDY.replace("100M", "20M"), AT_MOST)
        self.assertEqual((dev.until_ended("modest")["exitCode"], dev.log_of("modest")), (0, "survived\n"))
        self.assertNotIn("do not hold", self.said(dev))
        self.processes_are_bounded(dev, most)
        self.assertEqual(dev.get(f"{pods_of_dev.PODS}/beside")["status"]["phase"], "Running")

    def processes_are_bounded(self, dev, most):
        dev.create("forks", FORKS)
        self.assertNotEqual(dev.until_ended("forks")["exitCode"], 0)
        last = dev.log_of("forks").splitlines()
        self.assertIn("Cannot fork", last[-2])
        self.assertEqual(int(last[-1]), most)
        dev.create("next", "echo well")
        self.assertEqual((dev.until_ended("next")["exitCode"], dev.log_of("next")), (0, "well\n"))


class Root(Case):
    def test_limits(self):
        dev = self.dev()
        self.limits_hold(dev, most=4095)
        # Groups of containers go with them.
        runtime, *containers = groups()
        self.assertEqual(len(containers), 1, containers)
        expected = {"pids.max": "4096\n", "memory.max": "max\n", "memory.oom.group": "1\n"}
        self.assertEqual({name: (ROOT / containers[0] / name).read_text() for name in expected}, expected)
        self.assertEqual((ROOT / runtime / "cgroup.procs").read_text(), "")
        # One without a limit of its own, in a group around it that has one.
        (ROOT / runtime / "memory.max").write_text(str(64 << 20))
        dev.create("nested", GREEDY)
        ended = dev.until_ended("nested")
        self.assertEqual((ended["exitCode"], ended["reason"], dev.log_of("nested")), (137, "OOMKilled", ""))
        dev.stop()
        self.assertEqual(groups(), [])

    def test_nothing_is_left_of_one_that_was_killed(self):
        pods = self.folder() + "/pods"
        dev = self.dev(pods=pods)
        for name in ("a", "b"):
            dev.create(name, "trap '' TERM HUP; setsid sleep 100000 & sleep 100000")
            dev.until_pod(name, lambda pod: pod["status"].get("phase") == "Running")
        left = groups()
        self.assertEqual(len(left), 3, left)
        # As one whose memory takes long to be freed: it is still there when the next start cleans.
        with subprocess.Popen(["sleep", "100000"]) as slow:
            (ROOT / left[1] / "cgroup.procs").write_text(str(slow.pid))
            dev.child.kill()
            dev.child.wait()
            again = self.dev(pods=pods)
            again.create("c", "echo well")
            self.assertEqual(again.until_ended("c")["exitCode"], 0)
            self.assertLessEqual(set(left[:2]), set(groups()))
            slow.kill()
        self.assertTrue(comes(lambda: not set(left) & set(groups())), groups())
        again.stop()
        self.assertEqual(groups(), [])


class User(Case):
    """As an ordinary user, in a group like those of session managers."""

    def test_delegated(self):
        dev = self.dev()
        [runtime] = groups()
        # 4,096 processes take long; those of "beside" are two.
        (ROOT / runtime / "pids.max").write_text("100")
        self.limits_hold(dev, most=97)
        self.assertEqual({path.split("/")[0] for path in groups()}, {"user"})
        dev.stop()
        self.assertEqual(groups(), [])

    def test_not_delegated(self):
        """It says so once, and runs."""
        dev = self.dev()
        dev.create("greedy", GREEDY, AT_MOST)
        self.assertEqual((dev.until_ended("greedy")["exitCode"], dev.log_of("greedy")), (0, "survived\n"))
        self.assertEqual(self.said(dev).count("do not hold"), 1)
        self.assertEqual(self.said(dev).count(NO_LIMITS), 1)
        self.assertEqual(groups(), [])
        dev.stop()


class Inner(Case):
    def test_a_root_of_a_part_of_the_hierarchy(self):
        """As in a container: what is mounted is no root, and may not hold processes and limits at once."""
        self.assertEqual(pathlib.Path("/proc/self/cgroup").read_text(), "0::/\n")
        before = sorted(ROOT.iterdir())
        self.assertIn("cgroup.events", map(lambda path: path.name, before))  # no true root has it
        dev = self.dev()
        dev.create("greedy", GREEDY, AT_MOST)
        self.assertEqual((dev.until_ended("greedy")["exitCode"], dev.log_of("greedy")), (0, "survived\n"))
        self.assertEqual(self.said(dev).count(NO_LIMITS), 1)
        self.assertEqual(sorted(ROOT.iterdir()), before)
        dev.stop()


if __name__ == "__main__":
    unittest.main(argv=[sys.argv[0], *sys.argv[2:]], verbosity=2, warnings="ignore")
