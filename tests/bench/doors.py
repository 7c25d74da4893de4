# SPDX-License-Identifier: Apache-2.0
"""What a decision on a running job costs through each door: C++ with records and with texts, C, Python; with and without what
was compiled before. Usage: doors.py --build build/bench [--runs N] [pods...]

The requests are those of a job in which all pods run and nothing is to be done. Runs of the doors take turns; the time is the
processor's.
"""

import argparse
import json
import os
import pathlib
import statistics
import subprocess
import sys
import time

ROOT = pathlib.Path(__file__).resolve().parents[2]


def job(pods):
    container = {"name": "pytorch", "image": "example.com/train:1", "command": ["python", "train.py", "--epochs", "10"],
                 "env": [{"name": "NCCL_DEBUG", "value": "INFO"}], "resources": {"limits": {"nvidia.com/gpu": 8}},
                 "volumeMounts": [{"name": "data", "mountPath": "/data"}]}
    volumes = [{"name": "data", "persistentVolumeClaim": {"claimName": "data"}}]
    template = {"spec": {"containers": [container], "volumes": volumes}}
    return {"apiVersion": "batch.tensorstack.dev/v1beta1", "kind": "PyTorchTrainingJob", "metadata": {"name": "gpt-125m"},
            "spec": {"replicaSpecs": [{"type": "worker", "replicas": pods, "template": template}]}}


def measure(work):
    """Microseconds of the processor."""
    work()
    begun, n = time.process_time(), 0
    while time.process_time() - begun < 0.1:
        work()
        n += 1
    return (time.process_time() - begun) / n * 1e6


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--build", required=True, type=pathlib.Path)
    parser.add_argument("--runs", type=int, default=5)
    parser.add_argument("pods", nargs="*", type=int, default=[2, 16, 100, 1000])
    options = parser.parse_args()
    library = options.build.resolve() / "libjobcore/c/libsignalbox_jobcore.so"
    os.environ["SIGNALBOX_JOBCORE_LIBRARY"] = str(library)
    sys.path.insert(0, str(ROOT / "libjobcore/python"))
    import signalbox

    for pods in options.pods:
        story = signalbox.Story(job(pods)).run()
        seen = {"children": list(story.children.values())}
        members = {"job": story.job, "now": signalbox.engine.format_time(story.now), **seen}
        request = json.dumps({"apiVersion": signalbox.API_VERSION, "operation": "decide", **members})
        engine = signalbox.Engine()
        doors = {}
        for _ in range(options.runs):
            done = subprocess.run([options.build / "bin/bench_doors"], input=request + "\n", stdout=subprocess.PIPE,
                                  text=True, check=True)
            for line in done.stdout.splitlines():
                door, cost = line.split()
                doors.setdefault(door, []).append(float(cost))
            doors.setdefault("Python", []).append(measure(lambda: signalbox.decide(story.job, story.now, **seen)))
            doors.setdefault("Python-Engine", []).append(measure(lambda: engine.decide(story.job, story.now, **seen)))
        print(f"{pods} pods, a request of {len(request)} bytes")
        for door, runs in doors.items():
            print(f"  {door:14} {statistics.median(runs):10.1f} us   of {' '.join(f'{run:.1f}' for run in runs)}")


main()
