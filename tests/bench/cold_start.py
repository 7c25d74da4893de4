# SPDX-License-Identifier: Apache-2.0
"""What it takes to hold all pods of a cluster: the operator, client-go's informers and curl, one after the other.

The operator makes the pods first. Then each reads the same lists from the same server, several times in turn: seconds until
all are held, resident memory in MB and CPU seconds a moment later. Also the operator's memory without any job. Nothing is
asserted; the ratios within one run are what counts.

    python3 tests/bench/cold_start.py --build build/bench
"""

import argparse
import json
import os
import pathlib
import re
import statistics
import subprocess
import sys
import time

HERE = pathlib.Path(__file__).resolve().parent
ROOT = HERE.parent.parent
sys.path.insert(0, str(HERE.parent / "envtest"))
import servers  # noqa: E402

GROUP = "/apis/batch.tensorstack.dev/v1beta1/"
OURS = "?labelSelector=app.kubernetes.io%2Fmanaged-by%3Dsignalbox"
LISTS = [
    *(GROUP + plural for plural in ("pytorchtrainingjobs", "deepspeedjobs", "colossalaijobs")),
    *("/api/v1/" + plural + OURS for plural in ("pods", "services", "secrets", "configmaps")),
    "/apis/apps/v1/deployments" + OURS,
]


def resident(pid):
    """Resident set of a process in MB (10^6 bytes)."""
    text = pathlib.Path(f"/proc/{pid}/status").read_text()
    return int(re.search(r"^VmRSS:\s+(\d+)", text, re.M)[1]) * 1024 / 1e6


def cpu_seconds(pid):
    fields = pathlib.Path(f"/proc/{pid}/stat").read_text().rsplit(")", 1)[1].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


def load_cluster(build):
    """The module `cluster` of the suites, with the programs of this build: it takes them from the environment."""
    os.environ["SIGNALBOX_BINARY"] = str(pathlib.Path(build).resolve() / "bin" / "signalbox")
    import cluster

    return cluster


def job(name, pods):
    container = {"name": "pytorch", "image": "example.com/torch:2", "command": ["python", "train.py"]}
    template = {"spec": {"containers": [container]}}
    return {
        "apiVersion": "batch.tensorstack.dev/v1beta1",
        "kind": "PyTorchTrainingJob",
        "metadata": {"name": name, "namespace": "default"},
        "spec": {"replicaSpecs": [{"type": "worker", "replicas": pods, "template": template}]},
    }


class Bench:
    def __init__(self, options):
        self.options = options
        self.signalbox = pathlib.Path(options.build).resolve() / "bin" / "signalbox"
        built = subprocess.run(
            ["bash", HERE.parent / "envtest" / "go_program.sh", HERE / "informer"], check=True, stdout=subprocess.PIPE, text=True
        )
        self.informer = built.stdout.split()[-1]
        self.plane = servers.ControlPlane(apiserver_arguments=["--max-requests-inflight=2000"])
        self.number = 0

    def start(self, name, *command):
        self.number += 1
        return servers.Process(name, command, self.plane.folder / f"{name}-{self.number}.log")

    def start_operator(self):
        return self.start("operator", self.signalbox, "run", "--kubeconfig", self.plane.admin_kubeconfig)

    def start_informer(self, *more):
        return self.start("informer", self.informer, "-kubeconfig", str(self.plane.admin_kubeconfig), *more)

    def await_line(self, process, begin, words):
        """Seconds from `begin` to the first line of the log with these words."""
        while words not in process.log.read_text():
            if not process.running():
                raise SystemExit(f"{process.name} has ended: {process.tail()}")
            time.sleep(0.005)
        return time.monotonic() - begin

    def measure(self, start, words):
        begin = time.monotonic()
        process = start()
        try:
            took = self.await_line(process, begin, words)
            time.sleep(3)  # what is only needed for the start is given back
            return took, resident(process.child.pid), cpu_seconds(process.child.pid)
        finally:
            process.kill()

    def curl(self):
        """All lists by one curl, each in one answer, side by side."""
        command = ["curl", "--silent", "--fail", "--parallel", "--parallel-immediate", "--cacert", self.plane.ca_file]
        command += ["--header", f"Authorization: Bearer {self.plane.admin_token}"]
        for path in LISTS:
            command += ["--output", "/dev/null", self.plane.url + path]
        begin = time.monotonic()
        subprocess.run([str(part) for part in command], check=True)
        return time.monotonic() - begin, 0.0, 0.0

    def pods(self):
        answer = json.loads(self.plane.get("/api/v1/pods?limit=1"))
        return len(answer["items"]) + answer["metadata"].get("remainingItemCount", 0)

    def run(self):
        with self.plane:
            crds = subprocess.run([self.signalbox, "crds"], check=True, stdout=subprocess.PIPE, text=True).stdout
            self.plane.serve_kinds("-", stdin=crds)
            self.report("operator, no job", [self.measure(self.start_operator, "views are complete")])
            jobs = self.options.pods // 1000
            self.plane.apply(*(job(f"bench-{n}", 1000) for n in range(jobs)))
            maker = self.start_operator()
            servers.eventually("all pods", lambda: self.pods() == jobs * 1000, interval=0.5)
            time.sleep(15)  # free memory is given back
            print(f"{'the operator that made them':>28}: {resident(maker.child.pid):6.1f} MB")
            maker.kill()
            what = {
                "curl": self.curl,
                "operator": lambda: self.measure(self.start_operator, "views are complete"),
                "client-go, protobuf": lambda: self.measure(self.start_informer, "synced"),
                "client-go, JSON": lambda: self.measure(lambda: self.start_informer("-json"), "synced"),
            }
            runs = {name: [] for name in what}
            for number in range(-1, self.options.runs):
                for name, measure in what.items():
                    got = measure()
                    if number >= 0:  # the first round warms the server up
                        runs[name].append(got)
            for name, got in runs.items():
                self.report(name, got, statistics.median(run[0] for run in runs["curl"]))

    @staticmethod
    def report(name, runs, base=None):
        took, memory, cpu = (statistics.median(run[k] for run in runs) for k in range(3))
        line = f"{name:>28}: {took:6.2f} s" + (f", {took / base:5.2f} times curl" if base else "")
        if memory:
            line += f"; {memory:6.1f} MB, {cpu:5.2f} CPU s"
        print(line + "; " + " ".join(f"{run[0]:.2f}" for run in runs), flush=True)


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--build", default=str(ROOT / "build" / "bench"), help="folder of the built programs")
    parser.add_argument("--pods", type=int, default=10000, help="a multiple of 1000")
    parser.add_argument("--runs", type=int, default=5)
    Bench(parser.parse_args()).run()


if __name__ == "__main__":
    main()
