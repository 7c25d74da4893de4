# SPDX-License-Identifier: Apache-2.0
"""How fast the operator creates the pods of one large job, against what the client alone gets out of the same server.

The client runs first with several numbers of requests at a time; the best one is what the operator is compared with. Prints
the medians of interleaved runs, their ratio and the operator's memory. Nothing is asserted: absolute figures of one machine
mean little, the ratio is what counts.

    python3 tests/bench/create_rate.py --build build/bench [--monitored]
"""

import argparse
import pathlib
import statistics
import subprocess
import sys
import time

HERE = pathlib.Path(__file__).resolve().parent
sys.path.insert(0, str(HERE.parent / "envtest"))
import servers  # noqa: E402

from monitored import FLAGS  # noqa: E402

ROOT = HERE.parent.parent
IN_FLIGHT = (8, 16, 32, 64)


def resident(pid):
    """Resident set of a process in MB (10^6 bytes)."""
    for line in pathlib.Path(f"/proc/{pid}/status").read_text().splitlines():
        if line.startswith("VmRSS:"):
            return int(line.split()[1]) * 1024 / 1e6
    raise ValueError(f"process {pid} tells no VmRSS")


class Bench:
    def __init__(self, options):
        self.options = options
        build = pathlib.Path(options.build).resolve()
        self.signalbox, self.create_rate = build / "bin" / "signalbox", build / "bin" / "bench_create_rate"
        self.plane = servers.ControlPlane()
        self.memory = []
        self.namespaces, self.best = 0, IN_FLIGHT[0]

    def run(self):
        with self.plane as plane:
            plane.serve_kinds("-", stdin=self.output(self.signalbox, "crds"))
            plane.kubectl("create", "namespace", "signalbox-system")  # of the Lease
            operator = servers.Process(
                "operator",
                [
                    self.signalbox, "run", "--kubeconfig", plane.admin_kubeconfig, "--log-level", "warning",
                    *FLAGS["with" if self.options.monitored else "without"],
                ],
                plane.folder / "operator.log",
            )
            try:
                self.idle = None
                self.once("raw", operator)  # warms the server up
                tried = {n: statistics.median(self.once("raw", operator, n) for _ in range(3)) for n in IN_FLIGHT}
                self.best = min(tried, key=tried.get)
                for n, took in tried.items():
                    print(f"{'client alone':>14}: {self.options.pods / took:.0f} pods/s with {n} requests at a time")
                times = {"raw": [], "job": []}
                for number in range(-1, self.options.runs):
                    for mode in (list(times) if number % 2 else list(reversed(times))):
                        took = self.once(mode, operator)
                        if number >= 0:  # the first pair warms the operator up
                            times[mode].append(took)
                return times
            finally:
                operator.kill()

    def once(self, mode, operator, in_flight=None):
        self.namespaces += 1
        namespace = f"{mode}-{self.namespaces}"
        self.plane.kubectl("create", "namespace", namespace)
        if mode == "job" and self.idle is None:
            time.sleep(1)
            self.idle = resident(operator.child.pid)
        took = float(
            self.output(
                self.create_rate, mode, self.plane.admin_kubeconfig, namespace, "bench", self.options.pods,
                in_flight or self.best,
            )
        )
        if mode == "job":
            time.sleep(2)  # the last status is written
            self.memory.append(resident(operator.child.pid))
            self.plane.kubectl("delete", "pytorchtrainingjob", "bench", "-n", namespace, "--wait=false")
        self.plane.kubectl("delete", "pods", "--all", "-n", namespace, "--wait=false", "--grace-period=0", "--force")
        time.sleep(2)  # the server settles
        return took

    def output(self, *command):
        return subprocess.run(
            [str(part) for part in command], check=True, stdout=subprocess.PIPE, text=True, timeout=300
        ).stdout


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--build", default=str(ROOT / "build" / "bench"), help="folder of the built programs")
    parser.add_argument("--pods", type=int, default=1000)
    parser.add_argument("--runs", type=int, default=5)
    parser.add_argument("--monitored", action="store_true", help="with metrics, probes and leader election")
    options = parser.parse_args()
    bench = Bench(options)
    times = bench.run()
    rates = {mode: [options.pods / took for took in each] for mode, each in times.items()}
    for mode, label in (("raw", "client alone"), ("job", "operator")):
        all_runs = " ".join(f"{rate:.0f}" for rate in rates[mode])
        print(f"{label:>14}: median {statistics.median(rates[mode]):.0f} pods/s of {all_runs}")
    print(f"{'ratio':>14}: {statistics.median(rates['job']) / statistics.median(rates['raw']):.2f}")
    print(f"{'operator RSS':>14}: {bench.idle:.1f} MB idle, {statistics.median(bench.memory):.1f} MB with {options.pods} pods, {max(bench.memory):.1f} MB at most")


if __name__ == "__main__":
    main()
