# SPDX-License-Identifier: Apache-2.0
"""Records objects as this version writes them, for later versions to be tested on: jobs in `signalbox dev`, each listed by
kubectl once it is in its situation and the operator has nothing left to do.

Usage: record.py SIGNALBOX VERSION. Writes the folder VERSION beside this file. Needs kubectl, takes two minutes, is no test.
What a released version wrote is never recorded again: a folder is kept as it is.
"""
import json
import os
import pathlib
import subprocess
import sys
import tempfile
import time

HERE = pathlib.Path(__file__).resolve().parent
sys.path.insert(0, str(HERE.parent / "support"))
from recorder import COLOSSALAI, DEEPSPEED, LONG, NAMESPACE, PYTORCH, dev, job, pytorch, template, torchrun  # noqa: E402

CRDS = HERE.parent / "support" / "crds"
CHILDREN = ("pods", "svc", "secret", "cm", "deploy")
GROUPS = CHILDREN + ("podgroups", "tensorboards")

# What annotations cannot say: it depends on attempts and types.
SCENARIO = """
rules:
- match: {job: "*-resuming", attempt: "2-9"}
  do: {image-error: ImagePullBackOff}
- match: {job: below-minimum, nth: "1", index: "1"}
  do: {preempt-at: 2s}
- match: {job: below-minimum, nth: "2", index: "1"}
  do: {unschedulable: "true"}
- match: {job: "ds-*", index: "0"}
  do: {duration: 2h}
- match: {job: ds-failed, index: "0"}
  do: {duration: 1s, exit-code: 75, message: "signalbox: workers not reachable within 600 s: ds-failed-worker-1"}
- match: {job: ds-succeeded, index: "0"}
  do: {duration: 1s}
- match: {job: ds-unknown, index: "0"}
  do: {unknown-at: 1s}
- match: {job: "ca-*", type: launcher}
  do: {duration: 2h}
- match: {job: ca-succeeded, type: launcher}
  do: {duration: 1s}
- match: {job: ca-failed, type: launcher}
  do: {duration: 1s, exit-code: 3, message: "RuntimeError: loss is nan"}
- match: {job: ca-unknown, type: launcher}
  do: {unknown-at: 1s}
- match: {job: ca-pending, type: worker}
  do: {ready-after: 2h}
"""


def deepspeed(name, worker=None, options=(), **spec):
    body = {"config": {"run": {"python": ["train.py", "--deepspeed_config", "ds.json"]}, "otherArgs": list(options)},
            "worker": {"replicas": 2, "template": worker or template("worker")}}
    return job(DEEPSPEED, name, {**body, **spec})


def colossalai(name, worker=None, **spec):
    body = {"worker": {"replicas": 1, "command": ["train.py"], "template": worker or template("worker")}}
    return job(COLOSSALAI, name, {**body, **spec})


BOARD = {"image": "tensorflow/tensorflow:2.17.0", "trainingLogFilesets": ["t9k://pvc/logs/run1"]}
GANG = {"t9kScheduler": {"queue": "research", "priority": 50}}
PAUSED = {"pause": {"enabled": True}}


def jobs():
    stays = template(duration=LONG)
    once = dict(duration=LONG, only_index="1", fail_times=1)
    return [
        pytorch("pending", ("master", 1, stays),
                ("worker", 1, template(duration=LONG, image_error="ImagePullBackOff"))),
        pytorch("running", ("master", 1, stays), ("worker", 1, stays), tensorboardSpec=BOARD),
        pytorch("paused", ("worker", 2, template(oom_at="1s", exit_code=1, **once)), runPolicy={"backoffLimit": 3}),
        pytorch("created-paused", ("worker", 2, stays), runMode=PAUSED),
        pytorch("pt-resuming", ("worker", 1, stays)),
        pytorch("succeeded", ("master", 1, template(duration="2s")),
                ("worker", 1, template(duration="1s")), runPolicy={"ttlSecondsAfterFinished": 86400}),
        pytorch("failed", ("worker", 2, template(
            duration="1s", exit_code=1, message="ValueError: checkpoint /ckpt/last.pt is truncated")),
            runPolicy={"backoffLimit": 1, "cleanUpPolicy": "None"}),
        pytorch("deadline", ("worker", 1, stays), runPolicy={"activeDeadlineSeconds": 2}),
        pytorch("unknown", ("master", 1, template(duration=LONG, unknown_at="1s"))),
        pytorch("restarting", ("worker", 2, template(duration=LONG, fail_at="1s", only_index="1", exit_code=1)),
                runPolicy={"backoffLimit": 5}),
        pytorch("settling", ("worker", 2, template(duration=LONG, fail_at="3s", only_index="1", exit_code=1)),
                torchrunConfig=torchrun(3)),
        pytorch("replaced", ("worker", 2, template(oom_at="1s", **once)), torchrunConfig=torchrun(3)),
        pytorch("renamed", ("worker", 2, template(grace=1, stop_after="never", preempt_at="2s", **once)),
                annotations={"batch.tensorstack.dev/stuck-after": "3"}, torchrunConfig=torchrun(3)),
        pytorch("given-up", ("master", 1, stays),
                ("evaluator", 1, template(duration="2s", exit_code=3, message="no checkpoint to evaluate"),
                 {"restartPolicy": "Never"}),
                ("preprocess", 1, template(duration="2s")), runPolicy={"failurePolicy": "Master"}),
        pytorch("exit-barrier", ("master", 1, template(duration="4s")), ("worker", 1, stays),
                torchrunConfig={"enabled": True}),
        pytorch("elastic", ("node", 1, stays), torchrunConfig={"enabled": True},
                elastic={"enabled": True, "minReplicas": 1, "maxReplicas": 4}),
        pytorch("below-minimum", ("node", 1, stays), torchrunConfig={"enabled": True},
                elastic={"enabled": True, "minReplicas": 2, "maxReplicas": 4, "expectedReplicas": 2}),
        pytorch("gang", ("worker", 1, stays), scheduler=GANG),
        pytorch("debug", ("master", 1, stays), ("worker", 1, stays),
                runMode={"debug": {"enabled": True, "replicaSpecs": [{"type": "worker", "command": ["sleep", "1d"]}]}}),
        pytorch("deleting", ("worker", 1, stays)),
        pytorch("name-conflict", ("worker", 1, stays), runMode=PAUSED),
        pytorch("managed-by", ("worker", 1, stays), managedBy="kueue.x-k8s.io/multikueue"),
        deepspeed("ds-pending", template("worker", unschedulable="true", only_index="1"), ["--no_ssh"]),
        deepspeed("ds-running", template("worker", fail_at="1s", only_index="1", fail_times=1, exit_code=1),
                  elastic={"enabled": True, "minReplicas": 1, "maxReplicas": 3}),
        deepspeed("ds-paused"),
        deepspeed("ds-resuming", template("worker", duration=LONG), ["--no_ssh"]),
        deepspeed("ds-succeeded"),
        deepspeed("ds-failed", runPolicy={"backoffLimit": 2}),
        deepspeed("ds-unknown", template("worker", duration=LONG), ["--no_ssh"]),
        colossalai("ca-pending"),
        colossalai("ca-running"),
        colossalai("ca-paused"),
        colossalai("ca-resuming"),
        colossalai("ca-succeeded", runPolicy={"cleanUpWorkers": True}),
        colossalai("ca-failed"),
        colossalai("ca-unknown"),
    ]


def phase(wanted):
    return lambda s: s.get("phase") == wanted


def reason(wanted):
    return lambda s: s.get("reason") == wanted


def ready(number, more=lambda s: True):
    return lambda s: s.get("ready") == f"{number}/{number}" and s.get("phase") == "Running" and more(s)


def restarts(member):
    return lambda s: s.get("restarts", {}).get(member)


# Who is stopped once it runs, and who of these goes on then.
STOPPED = [(PYTORCH, "paused"), (PYTORCH, "pt-resuming"), (DEEPSPEED, "ds-paused"), (DEEPSPEED, "ds-resuming"),
           (COLOSSALAI, "ca-paused"), (COLOSSALAI, "ca-resuming")]
RESUMED = [(kind, name) for kind, name in STOPPED if name.endswith("-resuming")]

# (kind, job, when it is in its situation), in the order in which they come about: those that pass are first.
SITUATIONS = [
    (PYTORCH, "settling", lambda s: s.get("restarts", {}).get("last", {}).get("pending")),
    (PYTORCH, "restarting", lambda s: s.get("backoffCount", 0) >= 2 and s.get("reason") == "Restarting"),
    (PYTORCH, "exit-barrier", phase("Succeeded")),
    (PYTORCH, "renamed", ready(2, restarts("renamed"))),
    (PYTORCH, "pending", lambda s: s.get("ready") == "1/2"),
    (PYTORCH, "running", ready(2, lambda s: s.get("tensorboard", {}).get("ready"))),
    (PYTORCH, "paused", phase("Paused")),
    (PYTORCH, "created-paused", phase("Paused")),
    (PYTORCH, "pt-resuming", lambda s: s.get("phase") == "Resuming" and s.get("aggregate", {}).get("pending") == 1),
    (PYTORCH, "succeeded", phase("Succeeded")),
    (PYTORCH, "failed", phase("Failed")),
    (PYTORCH, "deadline", phase("Failed")),
    (PYTORCH, "unknown", phase("Unknown")),
    (PYTORCH, "replaced", ready(2, restarts("replaced"))),
    (PYTORCH, "given-up", lambda s: restarts("givenUp")(s) and restarts("completed")(s)),
    (PYTORCH, "elastic", ready(2)),
    (PYTORCH, "below-minimum", reason("BelowMinReplicas")),
    (PYTORCH, "debug", ready(2)),
    (PYTORCH, "deleting", ready(1)),
    (PYTORCH, "name-conflict", reason("NameConflict")),
    (PYTORCH, "managed-by", lambda s: True),
    (DEEPSPEED, "ds-pending", reason("Unschedulable")),
    (DEEPSPEED, "ds-running", ready(1, lambda s: s.get("backoffCount"))),
    (DEEPSPEED, "ds-paused", phase("Paused")),
    (DEEPSPEED, "ds-resuming", lambda s: s.get("phase") == "Resuming" and s.get("aggregate", {}).get("pending") == 2),
    (DEEPSPEED, "ds-succeeded", phase("Succeeded")),
    (DEEPSPEED, "ds-failed", phase("Failed")),
    (DEEPSPEED, "ds-unknown", phase("Unknown")),
    (COLOSSALAI, "ca-pending", reason("WaitingForWorkers")),
    (COLOSSALAI, "ca-running", ready(2)),
    (COLOSSALAI, "ca-paused", phase("Paused")),
    (COLOSSALAI, "ca-resuming", lambda s: s.get("phase") == "Resuming" and s.get("aggregate", {}).get("pending") == 1),
    (COLOSSALAI, "ca-succeeded", phase("Succeeded")),
    (COLOSSALAI, "ca-failed", phase("Failed")),
    (COLOSSALAI, "ca-unknown", phase("Unknown")),
]

# Before and after the server serves PodGroup and TensorBoard.
WITHOUT = [(PYTORCH, "gang", reason("WaitingForPodGroup"))]
WITH = [(PYTORCH, "gang", ready(1)), (PYTORCH, "board", ready(1, lambda s: s.get("tensorboard", {}).get("dependent")))]


# What an operator that comes anew does, where it is not nothing: status members that change, and actions. It learns by a
# refusal of the server that a name is taken.
NOT_AT_REST = {
    "name-conflict": {
        "status": {
            "/conditions/1/message": "the pods are being created and started",
            "/conditions/1/reason": "CreatingPods",
            "/reason": "CreatingPods",
        },
        "actions": ["create Service"],
    },
}

# How `explain` begins, where it does not name the phase.
EXPLAINED = {"deleting": "is being deleted", "managed-by": "this operator leaves it alone"}


class Recording:
    def __init__(self, recorder, folder):
        self.recorder, self.folder, self.expected = recorder, folder, {}

    def record(self, name, kind, of, reached, kinds, served):
        """Records the job `of` once the operator has nothing left to do for it."""
        foreign = lambda o: of == "name-conflict" and o["metadata"].get("labels", {}).get("app") == "gateway"
        for _ in range(20):
            self.recorder.wait(kind, of, reached)
            time.sleep(0.5)
            listed, now = self.recorder.listed(kind, of, kinds=kinds, also=foreign)
            said = self.planned(listed, now)
            if name in NOT_AT_REST or ("# the status stays as it is" in said and "\n# stage " not in said):
                break
        else:
            sys.exit(f"{name} does not come to rest:\n{said}")
        # One line for each object.
        items = ",\n".join(json.dumps(item, separators=(",", ":")) for item in listed["items"])
        (self.folder / f"{name}.json").write_text(f'{{"apiVersion":"v1","kind":"List","items":[\n{items}\n]}}\n')
        status = next(o for o in listed["items"] if o["kind"] == kind).get("status", {})
        self.expected[name] = {
            "at": now, "kind": kind, "job": of, "phase": status.get("phase"), "reason": status.get("reason"),
            "explained": EXPLAINED.get(name, f"is {status.get('phase')}\\b"), "served": served, **NOT_AT_REST.get(name, {"status": {}, "actions": []}),
        }
        print(now, name, len(listed["items"]), "objects", status.get("phase"), status.get("reason", ""), flush=True)

    def planned(self, listed, now):
        with tempfile.NamedTemporaryFile("w", suffix=".json") as file:
            json.dump(listed, file)
            file.flush()
            return subprocess.run([self.recorder.program, "plan", "--at", file.name, "--now", now], text=True,
                                  stdout=subprocess.PIPE, check=True).stdout


def main(program, version):
    folder = HERE / version
    folder.mkdir()
    made = {each["metadata"]["name"]: each for each in jobs()}
    with dev(program, SCENARIO, "--policy", "capability_retry=1000") as recorder:
        made["deleting"]["metadata"]["finalizers"] = ["example.org/backup"]
        recorder.create(list(made.values()))
        recording = Recording(recorder, folder)
        for kind, name in STOPPED:
            recorder.wait(kind, name, lambda s: s.get("phase") == "Running" and (name != "paused" or s.get("backoffCount")))
            recorder.pause(kind, name, True)
        for kind, name in RESUMED:
            recorder.wait(kind, name, lambda s: s.get("phase") == "Paused" and "aggregate" in s)
            recorder.pause(kind, name, False)
        recorder.block_a_name(made["name-conflict"])
        recorder.kubectl("scale", "pj/elastic", "--replicas=2")
        recorder.wait(DEEPSPEED, "ds-running", ready(2, lambda s: s.get("backoffCount")))
        recorder.kubectl("scale", "dj/ds-running", "--replicas=1")
        recorder.wait(PYTORCH, "deleting", ready(1))
        recorder.kubectl("delete", "pj", "deleting", "--wait=false")
        no, yes = ({"podGroup": said, "tensorBoard": said} for said in ("no", "yes"))
        for kind, name, reached in SITUATIONS:
            recording.record(name, kind, name, reached, CHILDREN, no)
        for kind, name, reached in WITHOUT:
            recording.record(name + "-waits", kind, name, reached, CHILDREN, no)
        recorder.kubectl("apply", "-f", str(CRDS))
        recorder.wait(PYTORCH, "gang", ready(1))
        recorder.create([pytorch("board", ("worker", 1, template(duration=LONG)), tensorboardSpec=BOARD)])
        for kind, name, reached in WITH:
            recording.record(name, kind, name, reached, GROUPS, yes)
    expected = ",\n".join(f"  {json.dumps(name)}: {json.dumps(each)}" for name, each in sorted(recording.expected.items()))
    (folder / "expected.json").write_text("{\n" + expected + "\n}\n")


if __name__ == "__main__":
    if len(sys.argv) != 3:
        sys.exit(__doc__)
    main(os.path.abspath(sys.argv[1]), sys.argv[2])
