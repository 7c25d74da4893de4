# SPDX-License-Identifier: Apache-2.0
"""What `signalbox plan` prints is what a real API server accepts without a warning."""

import unittest

import cluster
import skips


class Plan(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.plane = cluster.servers.ControlPlane().started(cls.addClassCleanup)
        cls.plane.serve_kinds("-", stdin=cluster.signalbox("crds").stdout)
        cls.plane.serve_kinds(cluster.CRDS)

    def check(self, path):
        printed = cluster.signalbox("plan", "-f", path).stdout
        if "\n  phase: Paused\n" in printed:
            self.assertNotIn("kind: Pod\n", printed)  # created paused: it has no children
            return
        self.assertIn("kind: Pod\n", printed)
        self.assertIn("kind: Service\n", printed)
        result = self.plane.kubectl("apply", "--dry-run=server", "--validate=strict", "-f", "-", stdin=printed)
        self.assertNotIn("Warning", result.stderr)
        self.assertIn("pod/", result.stdout)

    def test_own_examples(self):
        files = sorted((cluster.ROOT / "examples" / "manifests").glob("*.yaml"))
        self.assertGreaterEqual(len(files), 23)
        for path in files:
            with self.subTest(path=path.name):
                self.check(path)

    def test_published_manifests(self):
        manifests = skips.published_manifests("envtest_plan")
        if not manifests:
            self.skipTest("no published manifests")
        for path in manifests:
            with self.subTest(path=path.name):
                self.check(path)


if __name__ == "__main__":
    cluster.main("envtest_plan")
