# SPDX-License-Identifier: Apache-2.0
"""The program for a cluster: it has no local node and no API server of its own, and says so."""
import os
import re
import subprocess
import unittest

import program

# Of each part that it has not: a namespace, and of libarchive a function.
PARTS = ("archive_read_new", "signalbox::op::containers::", "signalbox::op::images::", "signalbox::op::kubelet::",
         "signalbox::op::pods::", "signalbox::k8sio::server::")
LIBRARIES = {"libc", "libcrypto", "libfmt", "libgcc_s", "libm", "libprometheus-cpp-core", "libspdlog", "libssl", "libstdc++",
             "libyaml-cpp"}


def cluster_program():
    return os.path.join(os.path.dirname(program.binary()), "signalbox-operator")


def symbols(of):
    return subprocess.run(["nm", "-C", "--defined-only", of], capture_output=True, text=True, check=True).stdout


def needed(of):
    """Names of the shared libraries, without versions."""
    told = subprocess.run(["readelf", "-d", of], capture_output=True, text=True, check=True).stdout
    return {name.split(".so")[0] for name in re.findall(r"\(NEEDED\).*\[(.*?)\]", told)} - {"ld-linux-x86-64", "ld-linux-aarch64"}


class ClusterProgram(unittest.TestCase):
    def test_it_has_nothing_of_the_node(self):
        own, all_parts = symbols(cluster_program()), symbols(program.binary())
        for part in PARTS:
            self.assertIn(part, all_parts)
            self.assertNotIn(part, own)

    def test_it_loads_what_it_needs_and_no_more(self):
        self.assertLessEqual(needed(cluster_program()), LIBRARIES)
        self.assertGreater(needed(program.binary()), needed(cluster_program()))

    def test_it_says_what_it_lacks(self):
        for command in ("dev", "pods"):
            done = subprocess.run([cluster_program(), command, "--apply", "x.yaml"], capture_output=True, text=True,
                                  timeout=program.PATIENCE)
            self.assertEqual((done.returncode, done.stdout), (2, ""))
            self.assertIn(f"signalbox {command}: this is the program for a cluster: it has no local node", done.stderr)

    def test_it_knows_the_same_commands(self):
        people, cluster = (
            [line.split("\t")[0] for line in subprocess.run(
                [each, "__complete", ""], capture_output=True, text=True, check=True, timeout=program.PATIENCE).stdout.splitlines()]
            for each in (program.binary(), cluster_program()))
        self.assertIn("run", people)
        self.assertEqual(cluster, people, "a command of the local node is in operator/cli/tree/without_node.cpp too, at the same place")

    def test_all_else_is_there(self):
        for arguments in (["version"], ["crds"], ["run", "--help"], ["rbac"], ["docs", "rule", "5.8"]):
            with self.subTest(arguments):
                told = [subprocess.run([each, *arguments], capture_output=True, text=True, timeout=program.PATIENCE)
                        for each in (program.binary(), cluster_program())]
                self.assertEqual(*((each.returncode, each.stdout, each.stderr) for each in told))


if __name__ == "__main__":
    unittest.main(argv=["cluster_program"], verbosity=1)
