# SPDX-License-Identifier: Apache-2.0
"""Makes the recordings of this folder anew: jobs in `signalbox dev`, each recorded by kubectl once it is in its situation.

Usage: record.py SIGNALBOX. Needs kubectl and PyYAML, takes a minute, is no test. Look at the difference before you keep it.
"""
import json
import os
import pathlib
import subprocess
import sys
import tempfile
import time

import yaml

HERE = pathlib.Path(__file__).resolve().parent
PYTORCH, DEEPSPEED, COLOSSALAI = "PyTorchTrainingJob", "DeepSpeedJob", "ColossalAIJob"
SHORT = {PYTORCH: "pj", DEEPSPEED: "dj", COLOSSALAI: "caij"}
NAMESPACE = "team-a"
LONG = "2h"

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


def template(container="pytorch", grace=None, **behaviour):
    """A pod template; `behaviour` are settings of simulated pods."""
    spec = {"containers": [{
        "name": container, "image": "registry.example.org/team-a/train:2.4", "command": ["python", "train.py"],
        "resources": {"limits": {"nvidia.com/gpu": "8"}, "requests": {"nvidia.com/gpu": "8"}}}]}
    if grace is not None:
        spec["terminationGracePeriodSeconds"] = grace
    settings = {"sim.signalbox.dev/" + key.replace("_", "-"): str(value) for key, value in behaviour.items()}
    return {"metadata": {"annotations": settings}, "spec": spec}


def job(kind, name, spec, annotations=None):
    if spec.get("torchrunConfig"):
        for replica in spec["replicaSpecs"]:
            container = replica["template"]["spec"]["containers"][0]
            del container["command"]
            container["args"] = ["train.py", "--epochs", "10"]
    metadata = {"name": name, "namespace": NAMESPACE, **({"annotations": annotations} if annotations else {})}
    return {"apiVersion": "batch.tensorstack.dev/v1beta1", "kind": kind, "metadata": metadata, "spec": spec}


def pytorch(name, *roles, annotations=None, **spec):
    """Each role: (type, replicas, template, more members)."""
    spec["replicaSpecs"] = [dict(type=t, replicas=n, template=pods, **(more[0] if more else {}))
                            for t, n, pods, *more in roles]
    return job(PYTORCH, name, spec, annotations)


def torchrun(restarts):
    return {"enabled": True, "maxRestarts": restarts}


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


# (recording, kind, job, when it is in its situation), in the order in which they come about.
SITUATIONS = [
    ("restart-delay", PYTORCH, "resnet", lambda s: s.get("backoffCount") == 2),
    ("settling", PYTORCH, "swin", lambda s: last(s).get("pending")),
    ("paused", PYTORCH, "vit", lambda s: s.get("phase") == "Paused"),
    ("name-conflict", PYTORCH, "clip", lambda s: s.get("reason") == "NameConflict"),
    ("stuck-pod", PYTORCH, "t5", lambda s: s.get("restarts", {}).get("renamed")),
    ("exit-barrier", PYTORCH, "mae", lambda s: s.get("phase") == "Succeeded"),
    ("backoff-used-up", PYTORCH, "whisper", lambda s: s.get("phase") == "Failed"),
    ("below-minimum", PYTORCH, "llama-elastic", lambda s: s.get("reason") == "BelowMinReplicas"),
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


class Recorder:
    def __init__(self, kubeconfig):
        self.env = dict(os.environ, KUBECONFIG=kubeconfig)
        self.now = {}

    def kubectl(self, *arguments, text=None):
        done = subprocess.run(["kubectl", "-n", NAMESPACE, *arguments], env=self.env, input=text, text=True,
                              stdout=subprocess.PIPE, check=True)
        return done.stdout

    def apply(self, objects):
        self.kubectl("apply", "-f", "-", text=yaml.safe_dump_all(objects))

    def pause(self, kind, name, paused):
        self.kubectl("patch", SHORT[kind], name, "--type=merge", "-p",
                     json.dumps({"spec": {"runMode": {"pause": {"enabled": paused}}}}))

    def status(self, kind, name):
        return json.loads(self.kubectl("get", SHORT[kind], name, "-o", "json")).get("status", {})

    def wait(self, kind, name, reached, seconds=60):
        end = time.monotonic() + seconds
        while not reached(self.status(kind, name)):
            if time.monotonic() > end:
                sys.exit(f"{kind} {name} does not get there: {self.status(kind, name)}")
            time.sleep(0.3)

    def record(self, recording, kind, name):
        """All objects of the namespace, cut to the job, what it owns, and what stands in its way."""
        listed = yaml.safe_load(self.kubectl("get", SHORT[kind] + ",pods,svc,secret,cm,deploy", "-o", "yaml",
                                             "--show-managed-fields"))
        self.now[recording] = time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime())
        uid = next(o["metadata"]["uid"] for o in listed["items"]
                   if (o["kind"], o["metadata"]["name"]) == (kind, name))
        listed["items"] = [
            o for o in listed["items"]
            if uid in [o["metadata"]["uid"], *(r["uid"] for r in o["metadata"].get("ownerReferences", []))]
            or (recording == "name-conflict" and o["metadata"].get("labels", {}).get("app") == "gateway")]
        (HERE / f"{recording}.yaml").write_text(yaml.safe_dump(listed, sort_keys=False, width=200))
        print(self.now[recording], recording, len(listed["items"]), "objects")

    def block_a_name(self, program, blocked):
        """Somebody's Service has the name that the paused job's Service will need; then the job is resumed."""
        uid = json.loads(self.kubectl("get", SHORT[PYTORCH], blocked["metadata"]["name"], "-o", "json"))["metadata"]["uid"]
        unpaused = dict(blocked, spec={k: v for k, v in blocked["spec"].items() if k != "runMode"})
        planned = subprocess.run([program, "plan", "--uid", uid, "-"], input=yaml.safe_dump(unpaused), text=True,
                                 stdout=subprocess.PIPE, check=True).stdout
        name = next(o["metadata"]["name"] for o in yaml.safe_load_all(planned) if o and o["kind"] == "Service")
        self.apply([{"apiVersion": "v1", "kind": "Service",
                     "metadata": {"name": name, "namespace": NAMESPACE, "labels": {"app": "gateway"}},
                     "spec": {"selector": {"app": "gateway"}, "ports": [{"port": 80}]}}])
        self.pause(PYTORCH, blocked["metadata"]["name"], False)


def main(program):
    with tempfile.TemporaryDirectory() as folder:
        kubeconfig, scenario = os.path.join(folder, "kubeconfig"), os.path.join(folder, "scenario.yaml")
        pathlib.Path(scenario).write_text(SCENARIO)
        dev = subprocess.Popen([program, "dev", "--kubeconfig", kubeconfig, "--scenario", scenario],
                               stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
        try:
            dev.stdout.readline()  # it is ready
            recorder = Recorder(kubeconfig)
            recorder.kubectl("create", "namespace", NAMESPACE)
            recorder.apply(jobs())
            recorder.wait(PYTORCH, "vit", lambda s: s.get("phase") == "Running")
            recorder.pause(PYTORCH, "vit", True)
            recorder.block_a_name(program, next(j for j in jobs() if j["metadata"]["name"] == "clip"))
            for recording, kind, name, reached in SITUATIONS:
                recorder.wait(kind, name, reached)
                time.sleep(0.5)  # what follows from it is seen too
                recorder.record(recording, kind, name)
            (HERE / "now.json").write_text(json.dumps(recorder.now, indent=2) + "\n")
        finally:
            dev.terminate()
            dev.communicate()


if __name__ == "__main__":
    if len(sys.argv) != 2:
        sys.exit(__doc__)
    main(os.path.abspath(sys.argv[1]))
