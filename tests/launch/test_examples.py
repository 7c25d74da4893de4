# SPDX-License-Identifier: Apache-2.0
"""The manifests of examples/manifests as pods that are processes, on this machine's own file system, with the real launchers.

What is replaced: the images by this machine, the training scripts by probe.py at the very paths that the manifests name, sizes.
A table says of each what came of it.
"""
import pathlib
import re
import shutil
import subprocess
import tempfile

import local_pods
import suite
from jobs import IMAGE
from live_pods import Live, eventually
from suite import PACKAGES

MANIFESTS = local_pods.ROOT / "examples" / "manifests"
# Sizes for two cores and one machine: nodes of another kind, and more than one process of a kind, are not here.
SIZES = [
    (r"(procPerWorker|slotsPerWorker): \d+", r"\1: 1"), (r'procPerNode: "?\w+"?', 'procPerNode: "1"'),
    (r"(nvidia.com/gpu|rdma/hca): \d+", r"\1: 1"), (r"replicas: [3-9]", "replicas: 2"), (r"(?m)^ *nodeSelector: .*\n", ""),
]
# Below the folder of the claim `workspace`; of manifests without it that folder is a bind.
SCRIPTS = [
    "train.py", "train_ps.py", "cifar/train.py", "palm/train.py", "vit/train.py",
    "trainer/pretrain.py", "finetune/main.py", "autotune/train.py",
]
# By manifest: the phase it comes to, with the reason of one that waits, and how many ranks met; None: it runs no probe.
ENDS = {
    "colossalai-debug": ("Running", None),
    "colossalai-launcher": ("Succeeded", 2),
    "colossalai-module": ("Pending (Unschedulable)", None),  # one machine has the port of its network once
    "colossalai-replica-specs": ("Succeeded", 2),
    "colossalai-torch-args": ("Succeeded", 2),
    "colossalai": ("Succeeded", 2),
    "ddp": ("Succeeded", None),
    "debug": ("Running", None),
    "deepspeed-autotune": ("Failed", None),  # the probe writes no metric
    "deepspeed-custom-command": ("Succeeded", 2),
    "deepspeed-debug": ("Running", None),
    "deepspeed-elastic": ("Succeeded", 3),  # as many as are expected
    "deepspeed-one-worker": ("Succeeded", 1),
    "deepspeed-resume": ("Succeeded", 2),
    "deepspeed-without-ssh": ("Succeeded", 2),
    "deepspeed": ("Succeeded", 2),
    "elastic": ("Succeeded", None),  # of those that are there
    "gang": ("Pending (WaitingForPodGroup)", None),  # no T9k scheduler is here
    "parameter-server": ("Succeeded", 3),
    "pause-resume": ("Paused", None),
    "restart": ("Succeeded", 3),
    "tensorboard": ("Succeeded", 1),
    "torchrun": ("Succeeded", 2),
}


class Examples(suite.Case):
    def setUp(self):
        temporary = tempfile.TemporaryDirectory(prefix="signalbox-examples-")
        self.addCleanup(temporary.cleanup)
        self.folder = pathlib.Path(temporary.name)
        workspace = self.folder / "claims" / "workspace"
        for name in SCRIPTS:
            script = workspace / name
            script.parent.mkdir(parents=True, exist_ok=True)
            shutil.copy(local_pods.PROGRAMS[0], script)
        for name in ("prepare.py", "evaluate.py"):
            (workspace / name).write_text("print('nothing to do')\n")
        (workspace / "autotune" / "ds_config_autotune.json").write_text('{"autotuning": {"enabled": true}}')
        (self.folder / "claims" / "checkpoints").mkdir()
        subprocess.run(["chmod", "-R", "a+rwX", self.folder], check=True)
        self.live = Live(
            packages=PACKAGES, image_env=IMAGE, claims=self.folder / "claims",
            bind=[f"{workspace}:/workspace", f"{workspace}/train.py:/train.py"],
            options=["--fake-resource", "nvidia.com/gpu=8", "--fake-resource", "rdma/hca=8"])
        self.live.__enter__()
        self.addCleanup(self.live.__exit__)

    def outcome(self, name, phase, world):
        """The job's phase, and what it says of it."""
        text = (MANIFESTS / f"{name}.yaml").read_text()
        for pattern, other in SIZES:
            text = re.sub(pattern, other, text)
        kind = re.search(r"(?m)^kind: (\w+)", text).group(1)
        one = {"kind": kind, "metadata": {"name": name}}
        for file in self.live.folder.probes.glob("rank*"):
            file.unlink()
        self.live.kubectl("create", "-f", "-", stdin=text)
        try:
            status = eventually(lambda: f"{phase}: {self.live.explain(one)}", lambda: self.arrived(one, phase))
            self.assertEqual(status["phase"], phase.partition(" ")[0], self.live.explain(one))
            if world is not None:
                self.check_world(self.live.wait_ranks(world), world)
            said = [each["message"] for each in status["conditions"] if each["status"] == "True" and each.get("message")]
            return status["phase"], status.get("reason") or "", said[-1] if said else ""
        finally:
            self.live.kubectl("delete", kind.lower(), name)

    def arrived(self, one, phase):
        """The job's status, if it has ended or is in that phase."""
        status = self.live.status(one)
        shown = f"{status.get('phase')} ({status.get('reason')})" if "(" in phase else status.get("phase")
        return status if shown == phase or status.get("phase") in ("Succeeded", "Failed") else None

    def test_manifests(self):
        """[behaviour 3.1] Every manifest of examples/manifests comes to its end, or idles or waits as it says."""
        self.assertEqual(set(ENDS), {file.stem for file in MANIFESTS.glob("*.yaml")})
        table = {}
        for name, (phase, world) in ENDS.items():
            with self.subTest(name):
                table[name] = self.outcome(name, phase, world)
                print(" | ".join((f"{name}.yaml", *table[name])), flush=True)
        suite.keep("examples", table)


if __name__ == "__main__":
    suite.main(kubectl=True)
