# SPDX-License-Identifier: Apache-2.0
"""Jobs whose pods are processes of this machine, on a real API server: `signalbox pods --runtime process`."""
import pathlib
import re
import unittest

import cluster
import servers
from cluster import BINARY, eventually, job

# A rendezvous as trainings have it: rank 0 waits for all others at MASTER_ADDR, and hangs when one of them is lost. The first
# run of rank 2 fails.
PROGRAM = """
import os, signal, socket, sys
rank, size = int(os.environ["RANK"]), int(os.environ["WORLD_SIZE"])
at = os.environ["MASTER_ADDR"], int(os.environ["MASTER_PORT"])
if rank == 0:
    peers = []
    with socket.create_server(("", at[1])) as server:
        while len(peers) < size - 1:
            peers.append(server.accept()[0])
    print("rank 0 of", size, "has met the others", flush=True)
    for each in peers:
        if each.recv(4) != b"done":
            signal.pause()
    sys.exit()
while True:
    try:
        peer = socket.create_connection(at)
        break
    except OSError:
        pass  # the name or the port is not there yet
if rank == 2 and not os.path.exists("/control/failed"):
    os.mkdir("/control/failed")
    sys.exit("the first run of rank 2 fails")
peer.sendall(b"done")
"""


class ProcessCluster(cluster.Cluster):
    def start_kubelet(self):
        self.control = pathlib.Path(self.plane.folder, "control")
        self.control.mkdir()
        self.kubelet = servers.Process(
            "pods",
            [BINARY, "pods", "--runtime", "process", "--kubeconfig", self.plane.admin_kubeconfig, "--offline", "--bind",
             f"{self.control}:/control", "--pods-dir", self.plane.folder / "pods"],
            self.plane.folder / "pods.log",
        )


def pods(replicas):
    container = {"name": "pytorch", "image": "machine", "command": ["python3", "-c", PROGRAM]}
    template = {"spec": {"containers": [container], "terminationGracePeriodSeconds": 1}}
    return {"replicas": replicas, "restartPolicy": "OnFailure", "template": template}


class Processes(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.cluster = ProcessCluster().started(cls.addClassCleanup)
        cls.cluster.start_operator()

    def test_a_training_of_three_pods_with_a_restart(self):
        said = "kubectl logs, exec, attach, cp and port-forward do not work here; logs are in "
        eventually("the pods' program is there", lambda: said in self.cluster.kubelet.tail() or not self.cluster.kubelet.running())
        logs = pathlib.Path(re.search(said + "(.+)", self.cluster.kubelet.tail())[1])
        self.cluster.apply(job("mnist", {"master": pods(1), "worker": pods(2)}))
        status = self.cluster.wait_phase("mnist", "Succeeded")
        self.assertEqual((status["backoffCount"], status["attempt"]), (1, 2))
        master = next(p for p in self.cluster.pods_of("mnist") if p["metadata"]["labels"]["replica-type"] == "master")
        name = master["metadata"]["name"]
        log = logs / f"default_{name}_{master['metadata']['uid']}" / "pytorch" / "0.log"
        self.assertRegex(log.read_text(), r"(?m)^\S+ stdout F rank 0 of 3 has met the others$")
        refused = self.cluster.plane.kubectl("logs", name, check=False)
        self.assertNotEqual(refused.returncode, 0, refused.stdout)
        reasons = self.cluster.events_of("mnist")
        for reason in ("Running", "ReplicaFailed", "Restarting", "Succeeded"):
            self.assertIn(reason, reasons)


if __name__ == "__main__":
    cluster.main("envtest_processes")
