# SPDX-License-Identifier: Apache-2.0
"""What pods that are processes cost: the start of `signalbox dev`, from a pod to its program, memory of idle pods, and a training.

Prints medians, every single run beside them, and the target. Nothing is asserted; of a busy machine the figures mean little, so
its load is printed too. The training needs torch in /usr/bin/python3.

    python3 tests/bench/process_pods.py --build build/release
"""

import argparse
import json
import os
import pathlib
import re
import statistics
import subprocess
import sys
import threading
import time

ROOT = pathlib.Path(__file__).resolve().parent.parent.parent
sys.path.insert(0, str(ROOT / "tests" / "operator" / "cli"))
import pods_of_dev  # noqa: E402 (found by the line above)
import program  # noqa: E402
from pods_of_dev import PODS  # noqa: E402

NOW = "exec perl -MTime::HiRes=time -e '$|=1; printf qq(%.6f\\n), time; sleep 1000'"
TRAINING = """
import os, socket, time
begin = time.time()
import torch.distributed as dist
ready = time.time()
where = (os.environ["MASTER_ADDR"], int(os.environ["MASTER_PORT"]))
while os.environ["WAIT"] == "yes" and os.environ["RANK"] != "0":
    try:
        socket.create_connection(where).close()
        break
    except OSError:
        time.sleep(0.002)
dist.init_process_group("gloo")
print(begin, ready, time.time(), flush=True)
dist.barrier()
"""


def report(name, runs, unit, target):
    each = " ".join(f"{run:.3g}" for run in runs)
    print(f"{name:>58}: {statistics.median(runs):6.4g} {unit}, target {target}; {each}", flush=True)


def milliseconds(begin, end):
    return (end - begin) * 1000


def ready_after():
    with pods_of_dev.PodsOfDev() as dev:
        return int(re.search(r"are ready after (\d+) ms", dev.first)[1])


def first_line(dev, name):
    with dev.open("GET", f"{PODS}/{name}/log?follow=true") as log:
        return log.readline().decode().split()


class BoundTimes:
    """When the watch shows each pod with its node."""

    def __init__(self, dev):
        self.seen = {}
        version = dev.get(PODS)["metadata"]["resourceVersion"]
        self.answer = dev.open("GET", f"{PODS}?watch=1&resourceVersion={version}")
        threading.Thread(target=self._read, daemon=True).start()

    def _read(self):
        for line in self.answer:
            now = time.time()
            pod = json.loads(line)["object"]
            if pod["spec"].get("nodeName"):
                self.seen.setdefault(pod["metadata"]["name"], now)


def own_start():
    """Milliseconds from the start of the same program without a pod until it tells the time."""
    begin = time.time()
    child = subprocess.Popen(["sh", "-c", NOW], stdout=subprocess.PIPE)
    told = float(child.stdout.readline())
    child.kill()
    child.wait()
    child.stdout.close()
    return milliseconds(begin, told)


def starts(count):
    created, bound, alone = [], [], []
    with pods_of_dev.PodsOfDev() as dev:
        warm = BoundTimes(dev)
        dev.create("warm", NOW)
        dev.until_pod("warm", lambda pod: pod["status"].get("phase") == "Running")
        for number in range(count):
            name = f"pod-{number}"
            begin = time.time()
            dev.create(name, NOW)
            dev.until_pod(name, lambda pod: pod["status"].get("phase") == "Running")
            told = float(first_line(dev, name)[0])
            created.append(milliseconds(begin, told))
            bound.append(milliseconds(warm.seen[name], told))
            alone.append(own_start())
    own = statistics.median(alone)
    report("the program alone", alone, "ms", "none")
    report("from bound to its program, beyond that", [each - own for each in bound], "ms", "30")
    report("from the request to its program, beyond that", [each - own for each in created], "ms", "none")


def family(pid):
    """The program and what belongs to the runtime: not the containers, which are children of the node process."""
    children = pathlib.Path(f"/proc/{pid}/task/{pid}/children").read_text().split()
    return [pid, *map(int, children)]


def own_memory(pid):
    """Megabytes, shared pages by their share."""
    total = 0
    for each in family(pid):
        text = pathlib.Path(f"/proc/{each}/smaps_rollup").read_text()
        total += int(re.search(r"Pss:\s+(\d+) kB", text)[1])
    return total / 1024


def memory(count):
    with pods_of_dev.PodsOfDev() as dev:
        dev.create("warm", "exec sleep 1000")
        dev.until_pod("warm", lambda pod: pod["status"].get("phase") == "Running")
        before = own_memory(dev.child.pid)
        for number in range(count):
            dev.create(f"pod-{number}", "exec sleep 1000")
        for number in range(count):
            dev.until_pod(f"pod-{number}", lambda pod: pod["status"].get("phase") == "Running")
        return (own_memory(dev.child.pid) - before) / count


def training(dev, name, wait):
    """wait: the other ranks look themselves whether rank 0 listens. Torch sleeps a second when it does not yet."""
    env = {"OMP_NUM_THREADS": "1", "WAIT": "yes" if wait else "no"}
    variables = [{"name": key, "value": value} for key, value in env.items()]
    run = {"command": ["/usr/bin/python3", "-c", TRAINING], "env": variables}
    job = pods_of_dev.training(name, "", replicas=3, container=run)
    job["spec"]["runPolicy"] = {"cleanUpPolicy": "None"}
    begin = time.time()
    dev.apply(job)
    status = dev.until_job(job, lambda status: status.get("phase") in ("Succeeded", "Failed"))
    if status["phase"] != "Succeeded":
        raise SystemExit(f"the training has failed: {json.dumps(status)}")
    times = [list(map(float, first_line(dev, pod["name"]))) for task in status["tasks"] for pod in task["replicas"]]
    imported = max(ready - started for started, ready, _ in times)
    return milliseconds(begin, max(joined for _, _, joined in times)) - imported * 1000, imported


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--build", default=str(ROOT / "build" / "release"), help="folder of the built programs")
    parser.add_argument("--runs", type=int, default=9)
    options = parser.parse_args()
    sys.argv[1:] = [str(pathlib.Path(options.build).resolve() / "bin" / "signalbox")]
    print(f"{program.binary()}, load {os.getloadavg()[0]:.1f} on {os.cpu_count()} processors", flush=True)
    report("`dev` is ready", [ready_after() for _ in range(options.runs)], "ms", "50")
    starts(options.runs)
    report("own memory of each of 100 idle pods", [memory(100) for _ in range(3)], "MB", "2")
    if subprocess.run(["/usr/bin/python3", "-c", "import torch"], stderr=subprocess.DEVNULL, check=False).returncode:
        print("no training: /usr/bin/python3 has no torch")
        return
    with pods_of_dev.PodsOfDev() as dev:
        training(dev, "warm", True)
        runs = [[training(dev, f"job-{number}-{wait}", wait == "wait") for wait in ("wait", "retry")] for number in range(options.runs)]
    waiting, retrying = zip(*runs)
    report("three ranks from the request to init_process_group, less", [run[0] for run in waiting], "ms", "300")
    report("the same with torch's own retry, a second later, less", [run[0] for run in retrying], "ms", "none")
    report("the longest import of torch", [run[1] * 1000 for run in waiting], "ms", "none")


if __name__ == "__main__":
    main()
