# SPDX-License-Identifier: Apache-2.0
"""What metrics, probes and leader election cost the operator: with and without, in turn, on a real API server.

Each time: memory at rest without any job, then instructions of user mode, CPU seconds and memory for jobs from their creation
until all their pods run. With metrics, they are read each second. Nothing is asserted; the ratios within one run are what counts.

    python3 tests/bench/monitored.py --build build/bench
"""

import argparse
import re
import signal
import statistics
import subprocess
import threading

from cold_start import ROOT, cpu_seconds, load_cluster, resident

REST = 15  # seconds; what is only needed for the start is given back
FLAGS = {
    "without": [],
    "with": [
        "--leader-elect", "--leader-elect-resource-namespace", "signalbox-system",
        "--metrics-bind-address", "127.0.0.1:0", "--health-probe-bind-address", "127.0.0.1:0",
    ],
}
COLUMNS = ("MB at rest", "million instructions", "CPU s", "MB with jobs")


class Bench:
    def __init__(self, options):
        self.options = options
        self.number = 0

    def scrape(self, process, ended):
        while not ended.wait(1):
            for what, path in (("metrics and health", "/metrics"), ("health", "/livez"), ("health", "/readyz")):
                deployed.get(process, path, what)

    def run_once(self, flags):
        self.number += 1
        process = self.c.operator_process(f"operator-{self.number}", self.c.plane.operator_kubeconfig, *flags)
        self.c.operator = process
        ended = threading.Event()
        words = "leading: " if flags else "views are complete"
        cluster.eventually(words, lambda: words in process.log.read_text())
        scraper = threading.Thread(target=self.scrape, args=(process, ended))
        try:
            if flags:
                scraper.start()
            ended.wait(REST)
            at_rest, cpu = resident(process.child.pid), cpu_seconds(process.child.pid)
            count = ["perf", "stat", "-x,", "-e", "instructions:u", "-p", str(process.child.pid)]
            counting = subprocess.Popen(count, stderr=subprocess.PIPE, text=True)
            names = [f"bench-{self.number}-{n}" for n in range(self.options.jobs)]
            self.c.apply(*(cluster.job(name, {"worker": cluster.pods(self.options.pods, duration="never")}) for name in names))
            phases = lambda: [self.c.statuses().get(name, {}).get("phase") for name in names]
            cluster.eventually("all run", lambda: set(phases()) == {"Running"}, interval=1)
            counting.send_signal(signal.SIGINT)
            instructions = re.search(r"(?m)^(\d+),,instructions:u", counting.communicate()[1])
            done = (
                at_rest, int(instructions[1]) / 1e6 if instructions else 0.0,
                cpu_seconds(process.child.pid) - cpu, resident(process.child.pid),
            )
            self.c.plane.kubectl("delete", "pj", "--all", "--wait=false")
            cluster.eventually("all are gone", lambda: not self.c.plane.objects("pj,pods"), interval=1)
            return done
        finally:
            ended.set()
            if scraper.is_alive():
                scraper.join()
            process.kill()

    def run(self):
        runs = {name: [] for name in FLAGS}
        with cluster.Cluster() as self.c:
            for _ in range(self.options.runs):
                for name, flags in FLAGS.items():
                    runs[name].append(self.run_once(flags))
        for column, title in enumerate(COLUMNS):
            values = {name: [each[column] for each in got] for name, got in runs.items()}
            medians = {name: statistics.median(each) for name, each in values.items()}
            told = "; ".join(f"{name} {medians[name]:.2f} ({' '.join(f'{v:.2f}' for v in each)})" for name, each in values.items())
            print(f"{title:>21}: ratio {medians['with'] / (medians['without'] or 1):.2f}; {told}", flush=True)


def main():
    global cluster, deployed
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--build", default=str(ROOT / "build" / "bench"), help="folder of the built programs")
    parser.add_argument("--jobs", type=int, default=20)
    parser.add_argument("--pods", type=int, default=20, help="of each job")
    parser.add_argument("--runs", type=int, default=3)
    options = parser.parse_args()
    cluster = load_cluster(options.build)
    import deployed

    Bench(options).run()


if __name__ == "__main__":
    main()
