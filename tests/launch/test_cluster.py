# SPDX-License-Identifier: Apache-2.0
"""Real launchers on a real API server: `signalbox run` and `signalbox pods --runtime process` beside kube-apiserver and etcd.

There is no kubelet that kube-apiserver could reach, so nothing here reads logs or runs commands in pods.
"""
import pathlib
import socket
import sys
import tempfile
import unittest

import local_pods
import suite
import test_live
import test_transformers
from jobs import ARGUMENTS, IMAGE, PROBE, VALUES, colossalai, deepspeed, environment_of, torchrun
from live_pods import Jobs
from local_pods import BINARY, ROOT
from suite import PACKAGES

sys.path.insert(0, str(ROOT / "tests" / "envtest"))
import deployed  # noqa: E402
import servers  # noqa: E402


def own_address():
    """One of this machine at which its pods reach it: not that of the loopback, which each has for itself."""
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as tried:
        try:
            tried.connect(("192.0.2.1", 9))  # sends nothing
        except OSError as missing:
            raise unittest.SkipTest(f"this machine has no address that its pods reach: {missing}") from missing
        return tried.getsockname()[0]


class RealServer(Jobs):
    """`with RealServer(packages=...) as live:`; options as those of Live. `reports`: the operator receives reports of progress;
    `rules`: words for it alone."""

    def __init__(self, reports=False, rules=(), **options):
        self.reports, self.rules = own_address() if reports else None, rules
        self.folder = local_pods.Folder()
        self.options = self.folder.options(offline=not reports, **options)
        self.plane = servers.ControlPlane()
        self.processes = []

    def __enter__(self):
        try:
            return self.start_all()
        except BaseException:
            self.__exit__()
            raise

    def start_all(self):
        self.plane.start()
        self.kubeconfig = self.plane.admin_kubeconfig
        kinds = local_pods.output_of(BINARY, "crds")
        self.plane.serve_kinds("-", stdin=kinds)
        for part in ("base/namespace", "base/service_account", "overlays/cluster/rbac"):
            self.plane.kubectl("apply", "-f", ROOT / "operator" / "deploy" / f"{part}.yaml")
        self.plane.start_controllers()
        for name, kubeconfig, words in (
            ("run", self.plane.operator_kubeconfig, [*self.rules, *(self.receive() if self.reports else [])]),
            ("pods", self.plane.admin_kubeconfig, ["--runtime", "process", *self.options]),
        ):
            command = [BINARY, name, "--kubeconfig", kubeconfig, *words]
            self.processes.append(servers.Process(name, command, self.folder.path / f"{name}.log"))
        return self

    def receive(self):
        """Flags of `run`, and what it needs besides."""
        self.plane.kubectl("apply", "-f", ROOT / "operator" / "deploy" / "components" / "progress" / "rbac.yaml")
        [port] = servers.free_ports(1, self.reports)
        at = f"{self.reports}:{port}"
        return deployed.receiver_flags(deployed.secrets(self.folder.path / "secrets", self.reports), at, f"https://{at}")

    def __exit__(self, *_):
        for process in self.processes:
            process.kill()
        self.plane.stop()
        self.folder.__exit__()

    def explain(self, one):
        return "\n---\n".join([super().explain(one), *(each.tail() for each in self.processes)])


class Cluster(test_live.Anywhere, suite.Case):
    def live(self, **options):
        live = RealServer(packages=PACKAGES, image_env=IMAGE, **options)
        live.__enter__()
        self.addCleanup(live.__exit__)
        return live

    def check_job(self, live, one, world):
        live.apply(one)
        status = live.wait_phase(one, "Succeeded", "Failed")
        self.assertEqual(status["phase"], "Succeeded", live.explain(one))
        ranks = live.wait_ranks(world)
        self.check_world(ranks, world)
        return ranks

    def test_torchrun_and_deepspeed(self):
        """[behaviour 3.12] [launchers 2.5] torchrun and DeepSpeed over pdsh: arguments and environment byte for byte."""
        live = self.live()
        plain_words = [word.replace("$", "$$") for word in ARGUMENTS]
        for one, world in (
            (torchrun("agents", [("node", 2)], plain_words, environment_of(VALUES)), 2),
            (deepspeed("pdsh", env=environment_of(VALUES), config={"run": {"python": [PROBE, *ARGUMENTS]}, "localRank": False}), 4),
        ):
            for each in self.check_job(live, one, world).values():
                self.assertEqual(each["arguments"], ARGUMENTS)
                self.assertEqual({name: each["environment"].get(name) for name in VALUES}, VALUES)
            for file in live.folder.probes.glob("rank*"):
                file.unlink()

    @suite.long
    def test_colossalai(self):
        """[launchers 4.5] colossalai run."""
        self.check_job(self.live(), colossalai("ssh", arguments=["x y"]), 4)

    @suite.long
    def test_killed_rank(self):
        """[behaviour 3.9] A rank is killed under DeepSpeed, and no one may read logs: the launcher's pod says it by its message."""
        live = self.live()
        one = deepspeed("killed", slots=1, env=environment_of({"FAULT": "killed"}), script="/probe/faulty.py")
        live.apply(one)
        status = live.wait_phase(one, "Succeeded", "Failed")
        said = [each["message"] for each in status["conditions"] if each["type"] == "Failed"]
        self.assertRegex("".join(said), r"on \S*worker-1: a rank was killed by signal 9, SIGKILL", live.explain(one))

    @suite.long
    def test_training_resumes(self):
        """[behaviour 5.6] examples/train: a worker crashes, and the job goes on from the checkpoint, restarted once."""
        folder = tempfile.TemporaryDirectory(prefix="signalbox-claims-")
        self.addCleanup(folder.cleanup)
        pathlib.Path(folder.name, "train-checkpoints").mkdir()
        live = self.live(claims=folder.name)
        for name in ("script.yaml", "restart.yaml"):
            live.kubectl("apply", "-f", ROOT / "examples" / "train" / name)
        one = {"kind": "PyTorchTrainingJob", "metadata": {"name": "train-restart"}}
        status = live.wait_phase(one, "Succeeded", "Failed")
        self.assertEqual((status["phase"], status["backoffCount"]), ("Succeeded", 1), live.explain(one))


class Training(test_transformers.Anywhere, suite.Case):
    def live(self, claims):
        live = RealServer(packages=PACKAGES, reports=True, rules=test_transformers.OFTEN, claims=claims, logs=True)
        live.__enter__()
        self.addCleanup(live.__exit__)
        return live


if __name__ == "__main__":
    try:
        servers.find_assets()
    except servers.AssetsMissing as missing:
        servers.skip_suite("launch_cluster", str(missing))
    suite.main(kubectl=True)
