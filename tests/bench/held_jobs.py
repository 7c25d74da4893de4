# SPDX-License-Identifier: Apache-2.0
"""The operator's memory with large jobs that have no pods, on the embedded API server: while they are made, and when a new
process finds them all (BEHAVIOUR.md 12.13). Nothing is asserted.

    python3 tests/bench/held_jobs.py --build build/programs [--jobs 80 --bytes 1200000]
"""

import argparse
import pathlib
import sys

ROOT = pathlib.Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "tests" / "hostile"))
import large_jobs  # noqa: E402


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--build", default=str(ROOT / "build" / "programs"), help="folder of the built programs")
    parser.add_argument("--jobs", type=int, default=80)
    parser.add_argument("--bytes", type=int, default=1_200_000)
    options = parser.parse_args()
    with large_jobs.Cluster(pathlib.Path(options.build).resolve() / "bin" / "signalbox") as cluster:
        for phase, process in large_jobs.phases(cluster, options.jobs, options.bytes):
            most, now, cpu = process.cost()
            print(f"{phase:>22}: {most:4.0f} MB at most, {now:4.0f} now; {cpu:.2f} CPU s", flush=True)


if __name__ == "__main__":
    main()
