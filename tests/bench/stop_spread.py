# SPDX-License-Identifier: Apache-2.0
"""A checkpoint before the end: somebody deletes one pod of a job, and how long after it the last rank gets its SIGTERM.

Prints, for jobs of several sizes, medians and every single run: from the first rank that is told to the second, which is what a
decision costs, and to the last. Pods are processes of this machine on the embedded API server. Nothing is asserted.

    python3 tests/bench/stop_spread.py --build build/release [--runs 5] [--sizes 2,8,32,64]
"""

import argparse
import os
import pathlib
import statistics
import sys
import tempfile

ROOT = pathlib.Path(__file__).resolve().parent.parent.parent
sys.path.insert(0, str(ROOT / "tests" / "operator" / "cli"))
sys.path.insert(0, str(ROOT / "tests" / "support"))
import jobs  # noqa: E402 (found by the lines above)
import pods_of_dev  # noqa: E402
from pods_of_dev import PODS  # noqa: E402
from waiting import eventually  # noqa: E402

RANK = """exec perl -MTime::HiRes=time -e '$|=1; $SIG{TERM} = sub { printf qq(told %.6f\\n), time; exit 1 };
print qq(up\\n); sleep 1000 while 1'"""


def told(folder, name, count):
    """When each rank was told to end, sorted; nothing as long as one has not said it."""
    lines = [file.read_text() for file in folder.glob(f"{name}/attempt-1/*.log")]
    times = sorted(float(text.split("told ")[1]) for text in lines if "told " in text)
    return times if len(times) == count else None


def listening(folder, name, count):
    return sum("up" in file.read_text() for file in folder.glob(f"{name}/attempt-1/*.log")) == count


def measure(dev, folder, size, run):
    """Milliseconds from the first rank that is told to the second, and to the last. A job of its own: who lived short waits."""
    name = f"ranks-{size}-{run}"
    job = pods_of_dev.training(name, RANK, replicas=size, terminationGracePeriodSeconds=30)
    dev.apply(job)
    eventually(f"{size} ranks listen to signals", lambda: listening(folder, name, size))
    pods = dev.get(f"{PODS}?labelSelector=tensorstack.dev/owner-name={name}")["items"]
    dev.delete(f"{PODS}/{pods[size // 2]['metadata']['name']}")
    times = eventually("all are told", lambda: told(folder, name, size))
    dev.delete(f"{jobs.collection(job)}/{name}")
    return (times[1] - times[0]) * 1000, (times[-1] - times[0]) * 1000


def report(what, runs):
    print(f"{what:>46}: {statistics.median(runs):8.1f} ms; {' '.join(f'{run:.1f}' for run in runs)}", flush=True)


def main():
    options = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    options.add_argument("--build", required=True, type=pathlib.Path)
    options.add_argument("--runs", type=int, default=5)
    options.add_argument("--sizes", default="2,8,32,64")
    given = options.parse_args()
    sys.argv[1:] = [str(given.build.resolve() / "bin" / "signalbox")]  # where program.py looks
    print(f"load {os.getloadavg()[0]:.1f}, {os.cpu_count()} cores")
    with tempfile.TemporaryDirectory() as folder:
        with pods_of_dev.PodsOfDev("--log-dir", folder) as dev:
            for size in map(int, given.sizes.split(",")):
                found = [measure(dev, pathlib.Path(folder), size, run) for run in range(given.runs)]
                report(f"{size} ranks, from the first to the second", [second for second, _ in found])
                report(f"{size} ranks, from the first to the last", [last for _, last in found])


if __name__ == "__main__":
    main()
