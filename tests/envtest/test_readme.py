# SPDX-License-Identifier: Apache-2.0
"""operator/deploy/README.md, "From nothing to a job", followed to the letter on a real API server: every line of shell in it is
run as it stands. The kubelet is simulated; the two replicas are the program in the image, run beside it."""

import os
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile
import unittest

import cluster
import deployed
from cluster import BINARY, ROOT, eventually
from image import Image, build, skip_where_impossible
from prometheus import Prometheus

sys.path.insert(0, str(ROOT / "tests" / "support"))
import skips  # noqa: E402 (from the folder above)

SUITE = "envtest_readme"
README = ROOT / "operator" / "deploy" / "README.md"
SYSTEM = "signalbox-system"


def steps():
    """The blocks of shell of the section."""
    section = README.read_text().split("## From nothing to a job\n")[1].split("\n## ")[0]
    return re.findall(r"```sh\n(.*?)```", section, re.DOTALL)


class Readme(unittest.TestCase):
    def setUp(self):
        self.folder = pathlib.Path(tempfile.mkdtemp(prefix="signalbox-readme-"))
        self.addCleanup(shutil.rmtree, self.folder)
        # What of a clone the lines need: they write into it.
        shutil.copytree(ROOT / "operator" / "deploy", self.folder / "operator" / "deploy")
        shutil.copytree(ROOT / "examples", self.folder / "examples")
        (self.folder / "image").mkdir()
        self.image = Image(build(self.folder / "image"))
        self.image.unpack(self.folder / "root")
        self.c = cluster.Cluster()
        self.plane = self.c.plane
        self.addCleanup(self.c.stop)
        self.plane.start()

    def follow(self, step):
        env = {
            **os.environ,
            "KUBECONFIG": str(self.plane.admin_kubeconfig),
            "HOME": str(self.folder),
            "PATH": f"{self.plane.assets}:{BINARY.parent}:{os.environ['PATH']}",
        }
        done = subprocess.run(
            ["bash", "-euo", "pipefail", "-c", step], cwd=self.folder, env=env, capture_output=True, text=True,
            timeout=2 * cluster.PATIENCE, check=False,
        )
        told = f"{step}\n{done.stdout}{done.stderr}\n{self.c.operator.tail() if self.c.operator else ''}"
        self.assertEqual(done.returncode, 0, told)
        return done.stdout

    def scrape(self, replicas):
        """Both, as the Service of the metrics has it. The dashboard's queries: test_metrics.py."""
        if not shutil.which("prometheus"):
            skips.note(SUITE, "no prometheus: metrics were not scraped")
            return
        prometheus = Prometheus(self.plane.folder / "prometheus", [deployed.address(each) for each in replicas])
        self.addCleanup(prometheus.kill)
        for expression in (
            'sum(up{job="signalbox"}) == 2',
            'sum by (name) (leader_election_master_status{job="signalbox"}) == 1',
            'min by (kind) (signalbox_jobs{phase="Succeeded",kind="PyTorchTrainingJob"}) == 1',
        ):
            eventually(expression, lambda: prometheus.query(expression))

    def test_from_nothing_to_a_job(self):
        install, run_job, upgrade, roll_back, remove = steps()
        # What a cluster has besides; the kubelet must be there for the rollout to end.
        self.plane.start_controllers()
        self.c.start_kubelet()
        self.addCleanup(self.c.kubelet.kill)
        self.follow(install)
        deployment = self.plane.object("deployment", "signalbox", SYSTEM)
        [container] = deployment["spec"]["template"]["spec"]["containers"]
        self.assertEqual(container["image"], "registry.example.com/signalbox:0.1.0")
        self.assertEqual(deployment["status"]["readyReplicas"], 2)
        replicas = [
            self.image.run(self.folder / "root", self.plane, deployed.arguments(container), name) for name in ("operator", "second")
        ]
        for each in replicas:
            self.addCleanup(each.kill)
        self.c.operator = replicas[0]
        said = self.follow(run_job)
        self.assertRegex(said, r"(?m)^ddp +Succeeded ")
        self.assertIn("is Succeeded", said)
        leads = ["leading: " in each.log.read_text() for each in replicas]
        self.assertEqual(sorted(leads), [False, True])
        self.scrape(replicas)
        self.follow(upgrade)
        self.assertNotIn("customresourcedefinition", self.follow(roll_back))
        self.follow(remove)
        left = self.plane.kubectl("get", "clusterrole,clusterrolebinding,crd,priorityclass", "-o", "name").stdout
        self.assertNotIn("signalbox", left)
        self.assertNotIn("tensorstack", left)
        gone = lambda: SYSTEM not in self.plane.kubectl("get", "namespaces", "-o", "name").stdout
        eventually("the namespace is gone", gone)


if __name__ == "__main__":
    skip_where_impossible(SUITE)
    cluster.main(SUITE)
