# SPDX-License-Identifier: Apache-2.0
"""How fast the operator creates the pods of one large job, against what the client alone gets out of the same server.

Prints the medians of interleaved runs, their ratio and the operator's memory. Nothing is asserted: absolute figures of one
machine mean little, the ratio is what counts.

    python3 tests/bench/create_rate.py --build build/bench
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

ROOT = HERE.parent.parent


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

    def run(self):
        with self.plane as plane:
            plane.serve_kinds("-", stdin=self.output(self.signalbox, "crds"))
            operator = servers.Process(
                "operator",
                [self.signalbox, "run", "--kubeconfig", plane.admin_kubeconfig, "--log-level", "warning"],
                plane.folder / "operator.log",
            )
            try:
                self.idle = None
                times = {"raw": [], "job": []}
                for number in range(-1, self.options.runs):
                    for mode in (list(times) if number % 2 else list(reversed(times))):
                        took = self.once(mode, number, operator)
                        if number >= 0:  # the first pair warms the server up
                            times[mode].append(took)
                return times
            finally:
                operator.kill()

    def once(self, mode, number, operator):
        namespace = f"{mode}-{number}" if number >= 0 else f"{mode}-warm"
        self.plane.kubectl("create", "namespace", namespace)
        if mode == "job" and self.idle is None:
            time.sleep(1)
            self.idle = resident(operator.child.pid)
        took = float(
            self.output(self.create_rate, mode, self.plane.admin_kubeconfig, namespace, "bench", self.options.pods)
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
