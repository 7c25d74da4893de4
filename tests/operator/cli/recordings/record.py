# SPDX-License-Identifier: Apache-2.0
"""Makes the recordings of this folder anew: jobs in `signalbox dev`, each recorded by kubectl once it is in its situation.

Usage: record.py SIGNALBOX. Needs kubectl and PyYAML, takes a minute, is no test. Look at the difference before you keep it.
"""
import json
import os
import pathlib
import sys
import time

import yaml

HERE = pathlib.Path(__file__).resolve().parent
sys.path.insert(0, str(HERE.parents[2] / "support"))
from recorder import COLOSSALAI, DEEPSPEED, LONG, PYTORCH, dev, job, pytorch, template, torchrun  # noqa: E402

# What annotations cannot say: it depends on index or succession.
SCENARIO = """
rules:
- match: {job: llama-elastic, nth: "1", index: "1-3"}
  do: {preempt-at: 4s}
- match: {job: llama-elastic, nth: "2", index: "1-3"}
  do: {unschedulable: "true"}
- match: {job: palm, index: "3"}
  do: {ready-after: 2h}
- match: {job: opt, index: "0"}
  do: {duration: 1s, exit-code: 75, message: "signalbox: workers not reachable within 600 s: opt-worker-1"}
- match: {job: bloom, index: "0-1"}
  do: {duration: 2h}
"""


def jobs():
    stays = template(duration=LONG)
    return [
        pytorch("bert", ("master", 1, stays),
                ("worker", 2, template(duration=LONG, image_error="ImagePullBackOff", only_index="1"))),
        pytorch("resnet", ("worker", 2, template(
            duration=LONG, fail_at="1s", only_index="1", exit_code=1,
            message="RuntimeError: CUDA error: an illegal memory access was encountered")),
            runPolicy={"backoffLimit": 5}),
        pytorch("whisper", ("worker", 2, template(
            duration="1s", exit_code=1, message="ValueError: checkpoint /ckpt/last.pt is truncated")),
            runPolicy={"backoffLimit": 1}),
        pytorch("gpt", ("worker", 4, template(duration=LONG)), runPolicy={"activeDeadlineSeconds": 7200}),
        pytorch("vit", ("worker", 2, template(duration=LONG, stop_after="never"))),
        pytorch("t5", ("worker", 2, template(duration=LONG, grace=1, stop_after="never", preempt_at="3s", only_index="1",
                                             fail_times="1")),
                annotations={"batch.tensorstack.dev/stuck-after": "3"}, torchrunConfig=torchrun(3)),
        job(COLOSSALAI, "palm", {"worker": {"replicas": 4, "command": ["train.py"], "template": template("worker")}}),
        pytorch("clip", ("worker", 2, template(duration=LONG)), runMode={"pause": {"enabled": True}}),
        pytorch("llama-elastic", ("node", 1, template(duration=LONG)), torchrunConfig={"enabled": True},
                elastic={"enabled": True, "minReplicas": 3, "maxReplicas": 6, "expectedReplicas": 4}),
        pytorch("gang", ("worker", 4, template(duration=LONG)),
                scheduler={"t9kScheduler": {"queue": "research", "priority": 50}}),
        pytorch("mae", ("master", 1, template(duration="4s")), ("worker", 2, template(duration=LONG)),
                torchrunConfig={"enabled": True}),
        pytorch("dino", ("worker", 1, template(duration="2s")), runPolicy={"ttlSecondsAfterFinished": 86400}),
        job(DEEPSPEED, "bloom", {
            "config": {"run": {"python": ["train.py", "--deepspeed_config", "ds.json"]}},
            "worker": {"replicas": 3, "template": template("worker", unschedulable="true", only_index="2")}}),
        job(DEEPSPEED, "opt", {"runPolicy": {"backoffLimit": 2}, "config": {"run": {"python": ["train.py"]}},
                               "worker": {"replicas": 2, "template": template("worker")}}),
        pytorch("swin", ("worker", 3, template(
            duration=LONG, fail_at="3s", only_index="2", exit_code=1,
            message='{"message":{"message":"RuntimeError: NCCL communicator was aborted on rank 17","errorCode":1}}')),
            torchrunConfig=torchrun(3)),
        pytorch("moe", ("master", 1, template(duration=LONG)),
                ("evaluator", 1, template(duration="2s", exit_code=3, message="no checkpoint to evaluate"),
                 {"restartPolicy": "Never"}),
                ("preprocess", 2, template(duration="2s")), runPolicy={"failurePolicy": "Master"}),
        pytorch("kueue", ("worker", 1, template(duration=LONG)), managedBy="kueue.x-k8s.io/multikueue"),
        pytorch("drained", ("worker", 2, template(duration=LONG, preempt_at="3s", only_index="1", fail_times="1")),
                torchrunConfig=torchrun(3),
                tensorboardSpec={"image": "tensorflow/tensorflow:2.17.0",
                                 "trainingLogFilesets": ["t9k://pvc/logs/run1"]}),
    ]


def last(status):
    return status.get("restarts", {}).get("last", {})


def made_again(status):
    """Has every index a pod? Lost ones are made again after a delay."""
    return all("uid" in replica for task in status["tasks"] for replica in task["replicas"])


# (recording, kind, job, when it is in its situation), in the order in which they come about.
SITUATIONS = [
    ("restart-delay", PYTORCH, "resnet", lambda s: s.get("backoffCount") == 2),
    ("settling", PYTORCH, "swin", lambda s: last(s).get("pending")),
    ("paused", PYTORCH, "vit", lambda s: s.get("phase") == "Paused"),
    ("name-conflict", PYTORCH, "clip", lambda s: s.get("reason") == "NameConflict"),
    ("stuck-pod", PYTORCH, "t5", lambda s: s.get("restarts", {}).get("renamed")),
    ("exit-barrier", PYTORCH, "mae", lambda s: s.get("phase") == "Succeeded"),
    ("backoff-used-up", PYTORCH, "whisper", lambda s: s.get("phase") == "Failed"),
    ("below-minimum", PYTORCH, "llama-elastic", lambda s: s.get("reason") == "BelowMinReplicas" and made_again(s)),
    ("image-error", PYTORCH, "bert", lambda s: s.get("phase") == "Pending"),
    ("deadline", PYTORCH, "gpt", lambda s: s.get("phase") == "Running"),
    ("launcher-waits", COLOSSALAI, "palm", lambda s: s.get("reason") == "WaitingForWorkers"),
    ("pod-group", PYTORCH, "gang", lambda s: s.get("reason") == "WaitingForPodGroup"),
    ("ttl", PYTORCH, "dino", lambda s: s.get("phase") == "Succeeded"),
    ("unschedulable", DEEPSPEED, "bloom", lambda s: s.get("reason") == "Unschedulable"),
    ("unreachable", DEEPSPEED, "opt", lambda s: s.get("phase") == "Failed"),
    ("given-up", PYTORCH, "moe", lambda s: s.get("restarts", {}).get("givenUp")),
    ("managed-by", PYTORCH, "kueue", lambda s: True),
    ("disruption", PYTORCH, "drained", lambda s: s.get("restarts", {}).get("disruptions")),
]


def main(program):
    now = {}
    with dev(program, SCENARIO) as recorder:
        recorder.create(jobs())
        recorder.wait(PYTORCH, "vit", lambda s: s.get("phase") == "Running")
        recorder.pause(PYTORCH, "vit", True)
        recorder.block_a_name(next(j for j in jobs() if j["metadata"]["name"] == "clip"))
        for recording, kind, name, reached in SITUATIONS:
            recorder.wait(kind, name, reached)
            time.sleep(1.5)  # what follows from it is seen too
            foreign = lambda o: recording == "name-conflict" and o["metadata"].get("labels", {}).get("app") == "gateway"
            listed, now[recording] = recorder.listed(kind, name, "--show-managed-fields", also=foreign)
            (HERE / f"{recording}.yaml").write_text(yaml.safe_dump(listed, sort_keys=False, width=200))
            print(now[recording], recording, len(listed["items"]), "objects")
    (HERE / "now.json").write_text(json.dumps(now, indent=2) + "\n")


if __name__ == "__main__":
    if len(sys.argv) != 2:
        sys.exit(__doc__)
    main(os.path.abspath(sys.argv[1]))
