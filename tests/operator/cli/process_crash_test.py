# SPDX-License-Identifier: Apache-2.0
"""`signalbox dev --pods process` that is killed, and machines where pods cannot be processes."""
import ctypes
import json
import os
import pathlib
import shutil
import signal
import subprocess
import sys
import tempfile
import time
import unittest

import pods_of_dev
import program
from pods_of_dev import training

sys.path.insert(0, os.path.join(program.source_dir(), "tests/support"))
import skips  # noqa: E402 (found by the line above)

PR_SET_CHILD_SUBREAPER = 36
NOBODY = 65534
# Becomes a program in whose user namespace no one may make another.
NO_NAMESPACES = ["unshare", "--user", "--map-root-user", "sh", "-c", 'echo 0 > /proc/sys/user/max_user_namespaces; exec "$0" "$@"']


def command_lines():
    out = b""
    for process in pathlib.Path("/proc").glob("[0-9]*/cmdline"):
        try:
            out += process.read_bytes() + b"\n"
        except OSError:
            pass  # it has ended
    return out.decode(errors="replace")


def control_groups(named):
    return [folder for folder in map(str, pathlib.Path("/sys/fs/cgroup").glob("**/signalbox-*")) if named in folder]


class Killed(unittest.TestCase):
    def test_nothing_is_left_and_the_next_start_cleans(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        pods = pathlib.Path(folder.name, "pods")
        mark = f"88{os.getpid():07}"
        # What the dying one leaves comes to us, so that its end can be waited for.
        ctypes.CDLL(None).prctl(PR_SET_CHILD_SUBREAPER, 1)
        dev = pods_of_dev.PodsOfDev("--pods-dir", pods)
        volumes = {"volumes": [{"name": "v", "emptyDir": {}}, {"name": "m", "emptyDir": {"medium": "Memory"}}]}
        mounts = {"volumeMounts": [{"name": "v", "mountPath": "/v"}, {"name": "m", "mountPath": "/m"}]}
        for name in ("a", "b"):
            dev.create(name, f"trap '' TERM HUP; setsid sleep {mark} & sleep {mark}", mounts, **volumes)
        for name in ("a", "b"):
            dev.until_pod(name, lambda pod: pod["status"].get("phase") == "Running")
        left = next(pods.glob("node-*"))
        self.assertIn(mark, command_lines())
        dev.child.kill()
        dev.child.wait()
        dev.drain.join()
        dev.child.stdout.close()
        try:
            while os.wait():
                pass
        except ChildProcessError:
            pass  # all have ended
        ctypes.CDLL(None).prctl(PR_SET_CHILD_SUBREAPER, 0)
        self.assertNotIn(mark, command_lines())
        self.assertNotIn(str(pods), pathlib.Path("/proc/self/mountinfo").read_text())
        self.assertNotIn("signalbox0", pathlib.Path("/proc/net/dev").read_text())
        self.assertTrue(left.exists())

        with pods_of_dev.PodsOfDev("--pods-dir", pods) as again:
            again.create("c", "echo well")
            self.assertEqual(again.until_ended("c")["exitCode"], 0)
            deadline = time.monotonic() + program.PATIENCE
            while left.exists() and time.monotonic() < deadline:
                time.sleep(0.05)  # it is removed beside the pods
            self.assertFalse(left.exists())
            self.assertEqual(control_groups(left.name), [])
        dev.folder.cleanup()
        self.assertEqual([path.name for path in pods.iterdir() if path.name != "lock"], [])


class NoNamespaces(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = pathlib.Path(folder.name)

    def run_in(self, prefix, *command, **options):
        return subprocess.run([*prefix, *map(str, command)], capture_output=True, text=True, check=False, cwd=self.folder,
                              timeout=program.PATIENCE, stdin=subprocess.DEVNULL, **options)

    def test_the_refusal_says_what_is_missing(self):
        done = self.run_in(NO_NAMESPACES, program.binary(), "dev", "--pods", "process", "--pods-dir", self.folder / "pods")
        self.assertEqual((done.returncode, done.stdout), (2, ""), done.stderr)
        self.assertIn("/proc/sys/user/max_user_namespaces is 0, so ordinary users may not make namespaces", done.stderr)
        self.assertIn("signalbox dev: --pods simulated needs nothing of it", done.stderr)
        self.assertEqual([path.name for path in (self.folder / "pods").iterdir()], ["lock"])

    def test_a_folder_that_cannot_be_used(self):
        (self.folder / "file").write_text("")
        done = self.run_in([], program.binary(), "dev", "--pods", "process", "--pods-dir", self.folder / "file/pods")
        self.assertEqual((done.returncode, done.stdout), (2, ""), done.stderr)
        self.assertIn(f"cannot use the folder {self.folder / 'file/pods'}: ", done.stderr)

    def test_a_folder_that_others_can_change(self):
        """Somebody else may have been there before, as with any name below /tmp."""
        open_to_all = self.folder / "open"
        open_to_all.mkdir()
        open_to_all.chmod(0o1777)
        seen, link = (self.folder / name for name in ("seen", "own-link"))
        seen.mkdir()
        seen.chmod(0o750)
        link.symlink_to(seen)
        (self.folder / "shared").mkdir()
        (self.folder / "shared").chmod(0o777)
        beside = self.folder / "shared" / "pods"
        beside.mkdir(mode=0o700)
        refused = {
            open_to_all: "everybody may write there",
            seen: "other users have rights there (mode 750): chmod 700",
            link: "it is a link: name the folder that it leads to",
            beside: f"everybody may write in {self.folder / 'shared'} above it"}
        if os.geteuid() == 0:
            own, foreign, link = (self.folder / name for name in ("own", "foreign", "link"))
            own.mkdir()
            foreign.mkdir()
            link.symlink_to(own)
            below = self.folder / "theirs" / "pods"
            below.mkdir(parents=True)
            below.chmod(0o700)
            for path in (foreign, link, below.parent):
                os.chown(path, NOBODY, NOBODY, follow_symlinks=False)
            refused |= {
                foreign: f"it is of user {NOBODY}", link: f"it is a link of user {NOBODY}",
                below: f"{below.parent} above it is of user {NOBODY}"}
        for folder, why in refused.items():
            with self.subTest(why):
                done = self.run_in([], program.binary(), "dev", "--pods", "process", "--pods-dir", folder)
                self.assertEqual((done.returncode, done.stdout), (2, ""), done.stderr)
                self.assertIn(f"cannot use the folder {folder}: {why}\n", done.stderr)
                self.assertIn("--pods-dir DIR names another folder", done.stderr)
                self.assertEqual(list(folder.iterdir()), [])

    @unittest.skipIf(os.geteuid() != 0, "needs two users")
    def test_what_another_user_has_put_there(self):
        """As an ordinary user, whom the folder's maker wants to write into one that is closed to him."""
        own = self.folder / "own"
        own.mkdir()
        own.chmod(0o755)
        os.chown(own, NOBODY, NOBODY)
        self.folder.chmod(0o755)
        planted = self.folder / f"signalbox-{NOBODY}"  # made by root, as it may be in /tmp
        planted.mkdir()
        planted.chmod(0o777)
        binary = shutil.copy(program.binary(), self.folder)
        environment = {**os.environ, "TMPDIR": str(self.folder), "HOME": str(own)}
        environment.pop("XDG_RUNTIME_DIR", None)
        user = dict(user=NOBODY, group=NOBODY, extra_groups=[], env=environment)
        done = self.run_in([], binary, "dev", "--pods", "process", "--kubeconfig", own / "config", **user)
        self.assertEqual((done.returncode, done.stdout), (2, ""), done.stderr)
        self.assertIn(f"cannot use the folder {planted}: it is of user 0\n", done.stderr)
        self.assertEqual(list(planted.iterdir()), [])
        # Of $XDG_RUNTIME_DIR, where it is one's own alone; nothing else of the start is needed.
        runtime = own / "run"
        runtime.mkdir()
        environment["XDG_RUNTIME_DIR"] = str(runtime)
        for owner, mode, used in ((0, 0o700, False), (NOBODY, 0o755, False), (NOBODY, 0o700, True)):
            os.chown(runtime, owner, owner)
            runtime.chmod(mode)
            done = self.run_in(NO_NAMESPACES, binary, "dev", "--pods", "process", "--kubeconfig", own / "config", **user)
            self.assertEqual(done.returncode, 2, done.stderr)
            self.assertEqual((runtime / "signalbox").exists(), used, done.stderr)

    def quickstart(self):
        """The script in a tree where everything is installed and built already."""
        tree = self.folder / "tree"
        shutil.copytree(os.path.join(program.source_dir(), "examples"), tree / "examples")
        (tree / "cmake").mkdir()
        (tree / "cmake/bootstrap.sh").write_text("")
        (tree / "build/release/bin").mkdir(parents=True)
        (tree / "build/release/build.ninja").write_text("")
        shutil.copy(program.binary(), tree / "build/release/bin/signalbox")
        (tree / "bin").mkdir()
        (tree / "bin/cmake").write_text("#!/bin/sh\n")
        (tree / "bin/cmake").chmod(0o755)
        environment = dict(os.environ, PATH=f"{tree}/bin:{os.environ['PATH']}", TMPDIR=str(self.folder), HOME=str(self.folder))
        environment.pop("XDG_RUNTIME_DIR", None)
        return tree / "examples/quickstart.sh", environment

    def test_the_quickstart_goes_on_with_simulated_pods(self):
        script, environment = self.quickstart()
        done = self.run_in(NO_NAMESPACES, "bash", script, "--speed", "10", env=environment)
        self.assertEqual(done.returncode, 0, done.stdout + done.stderr)
        self.assertIn("/proc/sys/user/max_user_namespaces is 0", done.stderr)
        self.assertIn("quickstart: the same without processes: simulated pods", done.stderr)
        for job in ("ddp", "torchrun"):
            self.assertRegex(done.stdout, rf"(?m)^{job} +PyTorchTrainingJob +Succeeded ")

    def test_the_quickstart_trains_for_an_ordinary_user(self):
        if subprocess.run(["/usr/bin/python3", "-c", "import torch"], capture_output=True, check=False).returncode != 0:
            skips.note("operator_cli_process_crash_test", "the quickstart does not train: python3-torch is not installed")
            return
        script, environment = self.quickstart()
        user = {}
        if os.geteuid() == 0:
            user = {"user": NOBODY, "group": NOBODY, "extra_groups": []}
            subprocess.run(["chown", "-R", f"{NOBODY}:{NOBODY}", self.folder], check=True)
        done = self.run_in([], "bash", script, "--offline", env=environment, **user)
        self.assertEqual(done.returncode, 0, done.stdout + done.stderr)
        self.assertNotIn("simulated pods", done.stdout)
        self.assertRegex(done.stdout, r"loss \d")
        self.assertRegex(done.stdout, r"(?m)^\S+ +PyTorchTrainingJob +Succeeded +\S+ +1 ")


if __name__ == "__main__":
    if shutil.which("unshare") is None:
        skips.skip_suite("operator_cli_process_crash_test", "there is no unshare")
    unittest.main(argv=[sys.argv[0], *sys.argv[2:]])
