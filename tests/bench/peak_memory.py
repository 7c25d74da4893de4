# SPDX-License-Identifier: Apache-2.0
"""The operator's memory over the life of many pods on a real API server: when it starts, while it makes them, one of each job
fails and all are made again, and when a new process finds them all.

Of each: the most memory that was resident (the kernel's own mark, VmHWM), and what of it was private and what of files, by
samples; memory some seconds later; CPU seconds. Nothing is asserted.

    python3 tests/bench/peak_memory.py --build build/bench [--jobs 10 --pods 1000] [--runs 3]
"""

import argparse
import pathlib
import re
import statistics
import threading
import time

from cold_start import ROOT, cpu_seconds, load_cluster

REST = 15  # seconds; free memory is given back
SAMPLES = 0.02  # seconds from one to the next
PARTS = ("VmRSS", "RssAnon", "RssFile")


def megabytes(pid):
    """VmHWM and PARTS of a process in MB (10^6 bytes)."""
    text = pathlib.Path(f"/proc/{pid}/status").read_text()
    return {name: int(re.search(rf"^{name}:\s+(\d+)", text, re.M)[1]) * 1024 / 1e6 for name in ("VmHWM", *PARTS)}


class Watch(threading.Thread):
    """Looks at a process until it ends; knows when most memory was resident since the last begin()."""

    def __init__(self, pid):
        super().__init__(daemon=True)
        self.pid = pid
        self.lock = threading.Lock()
        self.begin()
        self.start()

    def begin(self):
        pathlib.Path(f"/proc/{self.pid}/clear_refs").write_text("5")  # the kernel's mark begins anew
        with self.lock:
            self.most = megabytes(self.pid)

    def run(self):
        try:
            while True:
                now = megabytes(self.pid)
                with self.lock:
                    self.most = max(self.most, now, key=lambda each: each["VmRSS"])
                time.sleep(SAMPLES)
        except (OSError, TypeError):
            return  # the process has ended


class Bench:
    def __init__(self, options):
        self.options = options
        self.rows = {}  # by phase: of each run a dictionary

    def busy(self, name):
        pid = self.c.operator.child.pid
        cpu = cpu_seconds(pid)
        self.watch.begin()
        self.work()
        cpu = cpu_seconds(pid) - cpu
        time.sleep(REST)
        self.note(name, pid, cpu)

    def start(self, name):
        """A new process, until it has all in view and is at rest."""
        self.c.operator = self.c.operator_process(f"operator-{time.monotonic_ns()}", self.c.plane.operator_kubeconfig)
        process = self.c.operator
        self.watch = Watch(process.child.pid)
        cluster.eventually("views", lambda: "views are complete" in process.log.read_text(), interval=0.02)
        time.sleep(REST)
        self.note(name, process.child.pid, cpu_seconds(process.child.pid))

    def note(self, name, pid, cpu):
        now = megabytes(pid)
        row = {**self.watch.most, "VmHWM": now["VmHWM"], "end": now["VmRSS"], "cpu": cpu}
        self.rows.setdefault(name, []).append(row)
        print(self.line(name, row), flush=True)

    @staticmethod
    def line(name, row):
        return (
            f"{name:>26}: {row['VmHWM']:5.1f} MB at most ({row['RssAnon']:.1f} private, {row['RssFile']:.1f} of files), "
            f"{row['end']:5.1f} at rest; {row['cpu']:6.2f} CPU s"
        )

    def work(self):
        """Of each job the last pod fails a second after it began, and all of the job's begin again."""
        fails = {"fail_at": "1s", "fail_times": 1, "only_index": self.options.pods - 1}
        pods = cluster.pods(self.options.pods, duration="never", **fails)
        jobs = [cluster.job(f"job-{number}", {"worker": pods}) for number in range(self.options.jobs)]
        for begin in range(0, len(jobs), 50):
            self.c.apply(*jobs[begin:begin + 50])
        through, done = ("Running", f"{self.options.pods}/{self.options.pods}", 1), 0

        def count():
            assert self.c.operator.running(), self.c.operator.tail()
            states = self.c.statuses().values()
            return sum((s.get("phase"), s.get("ready"), s.get("backoffCount")) == through for s in states)

        # As long as it takes on this machine, while there is progress.
        while done < self.options.jobs:
            done = cluster.eventually(
                f"more than {done} jobs run again", lambda: now if (now := count()) > done else None, interval=2)

    def run_once(self):
        with cluster.Cluster() as self.c:
            self.start("start without a job")
            self.busy("made, failed, made again")
            self.c.operator.kill()
            self.start("start with all of them")

    def run(self):
        for _ in range(self.options.runs):
            self.run_once()
        if self.options.runs > 1:
            print("medians:")
            for name, rows in self.rows.items():
                print(self.line(name, {key: statistics.median(row[key] for row in rows) for key in rows[0]}))


def main():
    global cluster
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--build", default=str(ROOT / "build" / "bench"), help="folder of the built programs")
    parser.add_argument("--jobs", type=int, default=500)
    parser.add_argument("--pods", type=int, default=20, help="of each job")
    parser.add_argument("--runs", type=int, default=1)
    options = parser.parse_args()
    cluster = load_cluster(options.build)

    Bench(options).run()


if __name__ == "__main__":
    main()
