# SPDX-License-Identifier: Apache-2.0
"""The manifests that others published for this API, on the real launchers.

What is replaced: the images by this machine, the training scripts by probe.py at the very paths that the manifests name, and sizes.
"""
import base64
import json
import pathlib
import re
import shutil
import subprocess
import tempfile

import local_pods
import skips
import suite
from jobs import IMAGE
from live_pods import Live, eventually
from suite import PACKAGES

# Sizes for two cores; and the node that one manifest names is not here.
SIZES = [
    (r'procPerNode: "4"', 'procPerNode: "2"'), (r"slotsPerWorker: 4", "slotsPerWorker: 2"), (r"replicas: 4", "replicas: 2"),
    (r"\n *nodeName: \w+", ""),
]
SCRIPTS = {
    "claims/tutorial/tutorial-examples": [
        "job/debug/torch_mnist_trainingjob.py", "job/pytorchtrainingjob/ddp/torch_mnist_trainingjob.py",
        "job/pytorchtrainingjob/ps/torch_mnist_trainingjob_ps.py", "em/data-parallel-training/torch_mnist_trainingjob_em.py",
        "job/deepspeedjob/cifar10_deepspeed.py"],
    "workspace/ColossalAI/examples/language": ["train.py", "palm/train.py"],
}
# What the image of a debug manifest has besides: sshd for an ordinary user, with keys from the Secrets that the manifest mounts.
SSH_SERVER = """
cp /t9k/host_keys/* /tmp/ && chmod 600 /tmp/ssh-host-key
exec /usr/sbin/sshd -D -e -p 2222 -o HostKey=/tmp/ssh-host-key -o PidFile=none -o UsePAM=no -o StrictModes=no \\
    -o AuthorizedKeysFile=/t9k/authorized_keys/ssh-user-public-key
"""


def secret(name, **files):
    return {"apiVersion": "v1", "kind": "Secret", "metadata": {"name": name},
            "data": {key: base64.b64encode(text.encode()).decode() for key, text in files.items()}}


class Published(suite.Case):
    def setUp(self):
        temporary = tempfile.TemporaryDirectory(prefix="signalbox-published-")
        self.addCleanup(temporary.cleanup)
        self.folder = pathlib.Path(temporary.name)
        for place, names in SCRIPTS.items():
            for name in names:
                script = self.folder / place / name
                script.parent.mkdir(parents=True, exist_ok=True)
                shutil.copy(local_pods.PROGRAMS[0], script)
        (self.folder / "app").mkdir()
        (self.folder / "app" / "ssh_server.sh").write_text(SSH_SERVER)
        subprocess.run(["chmod", "-R", "a+rwX", self.folder], check=True)
        account = local_pods.account(1000)
        self.options = {
            "image_env": IMAGE, "claims": self.folder / "claims", "options": ["--fake-resource", "nvidia.com/gpu=8"],
            "bind": [f"{self.folder}/workspace:/workspace", f"{self.folder}/app:/t9k/app", *account.__enter__()],
        }
        self.addCleanup(account.__exit__, None, None, None)

    def file(self, name):
        """The manifest with other sizes."""
        text = MANIFESTS[name].read_text()
        for pattern, other in SIZES:
            text = re.sub(pattern, other, text)
        file = self.folder / name
        file.write_text(text)
        return file

    def run_manifest(self, name, world):
        done = local_pods.run(files=[self.file(name)], packages=PACKAGES, **self.options)
        self.check_ranks(done, world)
        return done

    def live(self, name):
        """A `dev` in which the manifest was applied, and the job as it has it."""
        live = Live(packages=PACKAGES, **self.options)
        live.__enter__()
        self.addCleanup(live.__exit__)
        applied = json.loads(live.kubectl("create", "-o", "json", "-f", self.file(name)).stdout)
        return live, applied

    def test_ddp(self):
        """[behaviour 9.1] ddp/job.yaml: torchrun, GPUs, shared memory."""
        done = self.run_manifest("pytorchtrainingjob__ddp__job.yaml", 2)
        self.assertEqual(done.ranks[1]["arguments"], [
            "--save_path", "model_state_dict.pt", "--log_dir", "log", "--backend", "nccl"])

    def test_ddp_with_tensorboard(self):
        """[behaviour 9.2] ddp/job_cpu.yaml: as an ordinary user, with a TensorBoard, which outlives the training."""
        live, one = self.live("pytorchtrainingjob__ddp__job_cpu.yaml")
        status = live.wait_phase(one, "Succeeded", "Failed")
        self.assertEqual(status["phase"], "Succeeded", live.explain(one))
        ranks = live.wait_ranks(2)
        self.assertEqual({each["user"] for each in ranks.values()}, {1000})
        if PACKAGES != "current":  # Debian has no TensorBoard
            return
        eventually("TensorBoard is ready", lambda: live.status(one)["tensorboard"].get("ready"))
        pods = json.loads(live.kubectl("get", "pods", "-l", "app.kubernetes.io/name=tensorboard", "-o", "json").stdout)["items"]
        self.assertEqual(len(pods), 1)
        page = "import urllib.request as u; print(u.urlopen('http://127.0.0.1:6006/').read())"
        name = pods[0]["metadata"]["name"]
        self.assertIn("TensorBoard", live.execute(name, "python3", "-c", page).stdout)
        self.assertEqual(live.execute(name, "id", "-u").stdout.strip(), "1000")
        live.kubectl("patch", one["kind"], one["metadata"]["name"], "--type=merge", "-p",
                     json.dumps({"spec": {"tensorboardSpec": {"suspend": True}}}))
        eventually("TensorBoard's pod is gone", lambda: name not in live.kubectl("get", "pods", "-o", "name").stdout)

    def test_ddp_by_hand(self):
        """[behaviour 3.5] [launchers 3.4] ddp/job_torchrun.yaml: torchrun as the user's own command, with our address."""
        self.run_manifest("pytorchtrainingjob__ddp__job_torchrun.yaml", 4)

    def test_em(self):
        """[behaviour 3.5] em/job.yaml: torchrun with empty arguments."""
        done = self.run_manifest("em__data-parallel-training__job.yaml", 2)
        self.assertEqual(done.ranks[0]["arguments"][:4], ["--ais_host", "", "--api_key", ""])

    def test_parameter_server(self):
        """[behaviour 3.5] ps/job.yaml and ps/job_cpu.yaml: one replica of one type, two of another, no torchrun."""
        for name in ("pytorchtrainingjob__ps__job.yaml", "pytorchtrainingjob__ps__job_cpu.yaml"):
            with self.subTest(name):
                done = self.run_manifest(name, 3)
                self.assertTrue(done.ranks[0]["pod"].endswith("-ps-0"))

    def test_debug(self):
        """[behaviour 3.10] job_debug.yaml: it idles, and torchrun by hand trains in it."""
        live, one = self.live("debug__job_debug.yaml")
        pods = live.wait_running(one, 1)
        name = pods["worker-0"]["metadata"]["name"]
        live.kubectl("exec", name, "--", "torchrun", "--nproc_per_node=2", "torch_mnist_trainingjob.py", "--backend", "gloo")
        self.check_world(live.wait_ranks(2), 2)

    def test_debug_by_ssh(self):
        """[behaviour 3.10] [launchers 1.7] job_debug_ssh.yaml: the image's sshd takes the user's key from the Secrets."""
        live, one = self.live("debug__job_debug_ssh.yaml")
        for name in ("host", "user"):
            subprocess.run(["ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-f", self.folder / name], check=True)
        live.apply(
            secret("ssh-host-key", **{"ssh-host-key": (self.folder / "host").read_text()}),
            secret("ssh-user-public-key", **{"ssh-publickey": (self.folder / "user.pub").read_text()}))
        pods = live.wait_running(one, 1)
        name = pods["worker-0"]["metadata"]["name"]
        live.kubectl("cp", str(self.folder / "user"), f"{name}:/tmp/user")
        ssh = "chmod 600 /tmp/user; exec ssh -p 2222 -i /tmp/user -o StrictHostKeyChecking=no -o UserKnownHostsFile=/dev/null localhost"
        said = eventually(
            lambda: live.explain(one), lambda: live.execute(name, "sh", "-c", ssh + " whoami", check=False).stdout)
        self.assertEqual(said.strip(), "trainer")

    def test_deepspeed(self):
        """[behaviour 3.1] deepspeedjob/job.yaml: one worker with several slots."""
        done = self.run_manifest("deepspeedjob__job.yaml", 2)
        self.assertEqual(done.ranks[1]["arguments"], ["--local_rank=1", "--deepspeed", "--deepspeed_config=ds_config.json"])

    def test_colossalai(self):
        """[api colossalai shapes] colossalaijob/job.yaml and job_launcher_worker.yaml: both shapes."""
        for name in ("colossalaijob__job.yaml", "colossalaijob__job_launcher_worker.yaml"):
            with self.subTest(name):
                done = self.run_manifest(name, 2)
                self.assertEqual(done.ranks[1]["arguments"], ["--distplan=colossalai", "--dummy_data=True"])


if __name__ == "__main__":
    MANIFESTS = {file.name: file for file in skips.published_manifests("launch_published")}
    if not MANIFESTS:
        skips.skip_suite("launch_published", f"no published manifests at {skips.PUBLISHED_MANIFESTS}")
    suite.main(kubectl=True)
