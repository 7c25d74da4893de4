# SPDX-License-Identifier: Apache-2.0
"""Large jobs without pods: an embedded API server with the definitions, the operator beside it as a process, and what that takes."""
import json
import os
import pathlib
import re
import subprocess
import sys
import tempfile
import time

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "envtest"))
import rule_cases  # noqa: E402 (from the folder beside)

JOBS = "/apis/batch.tensorstack.dev/v1beta1/namespaces/lab/pytorchtrainingjobs"
PATIENCE = 300  # seconds until something that never comes is a failure


def paused_job(name, size):
    env = [{"name": f"V{number:06d}", "value": "x" * 70} for number in range(size // 100)]
    container = {"name": "pytorch", "image": "i", "command": ["a.py"], "env": env}
    return {
        "apiVersion": "batch.tensorstack.dev/v1beta1", "kind": "PyTorchTrainingJob",
        "metadata": {"name": name, "namespace": "lab"},
        "spec": {"runMode": {"pause": {"enabled": True}},
                 "replicaSpecs": [{"type": "worker", "template": {"spec": {"containers": [container]}}}]}}


class Operator:
    def __init__(self, binary, kubeconfig, log):
        self.log = log
        self.file = open(log, "w")
        self.child = subprocess.Popen([binary, "run", "--kubeconfig", kubeconfig], stderr=self.file)

    def cost(self):
        """MB (10^6 bytes) resident at most and now, and CPU seconds."""
        folder = pathlib.Path("/proc", str(self.child.pid))
        status = (folder / "status").read_text()
        most, now = (int(re.search(rf"^{key}:\s+(\d+)", status, re.M)[1]) * 1024 / 1e6 for key in ("VmHWM", "VmRSS"))
        times = (folder / "stat").read_text().rpartition(")")[2].split()
        return most, now, (int(times[11]) + int(times[12])) / os.sysconf("SC_CLK_TCK")

    def stop(self):
        self.child.kill()
        self.child.wait()
        self.file.close()


class Cluster:
    def __init__(self, binary):
        self.binary = str(binary)

    def __enter__(self):
        self.folder = tempfile.TemporaryDirectory()
        self.server = rule_cases.EmbeddedServer(self.binary, rule_cases.corpus(self.binary)["crds"])
        self.port = self.server.connection.port
        self.create("/api/v1/namespaces", {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": "lab"}})
        return self

    def __exit__(self, *_):
        self.server.stop()
        self.folder.cleanup()

    def create(self, path, body):
        status, answer = self.server.call("POST", path, body)
        assert status == 201, answer

    def operator(self):
        kubeconfig = pathlib.Path(self.folder.name, "kubeconfig")
        kubeconfig.write_text(json.dumps({
            "apiVersion": "v1", "kind": "Config", "current-context": "it",
            "clusters": [{"name": "it", "cluster": {"server": f"http://127.0.0.1:{self.port}"}}],
            "contexts": [{"name": "it", "context": {"cluster": "it", "user": "it"}}],
            "users": [{"name": "it", "user": {"token": "none"}}]}))
        return Operator(self.binary, str(kubeconfig), pathlib.Path(self.folder.name, "log"))


def eventually(process, what):
    end = time.monotonic() + PATIENCE
    while not what():
        assert process.child.poll() is None, process.log.read_text()[-2000:]
        assert time.monotonic() < end, process.log.read_text()[-2000:]
        time.sleep(0.1)


def phases(cluster, jobs, size):
    """Gives (what it has come to, operator) for each moment that is worth a look."""
    process = cluster.operator()
    try:
        eventually(process, lambda: "views are complete" in process.log.read_text())
        for number in range(jobs):
            cluster.create(JOBS, paused_job(f"job-{number}", size))
        eventually(process, lambda: process.log.read_text().count("status written") >= jobs)
        yield "made while it runs", process
    finally:
        process.stop()
    process = cluster.operator()
    try:
        eventually(process, lambda: "views are complete" in process.log.read_text())
        # It has looked at all once it no longer computes; a machine that lets it wait makes the test weaker, not wrong.
        cpu = -1.0
        while cpu != process.cost()[2]:
            cpu = process.cost()[2]
            time.sleep(2)
        yield "a new process", process
    finally:
        process.stop()
