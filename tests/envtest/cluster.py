# SPDX-License-Identifier: Apache-2.0
"""A real API server with our kinds, the operator and the simulated kubelet: what the suites of jobs share.

    with Cluster() as cluster:
        cluster.start_operator()
        cluster.apply(job("mnist", {"master": pods(1), "worker": pods(2, duration="2s")}))
        cluster.wait_phase("mnist", "Succeeded")

Times are wall-clock, since the components are real, and any of them may be slow on a busy machine. So no test relies on one
thing being faster than another: pods that must outlive something run forever, and the test ends them when it has seen it
(Cluster.finish). How prompt the operator is, the tests in virtual time say (tests/operator/scenario).
"""

import json
import os
import pathlib
import subprocess
from datetime import datetime, timezone

import servers
from servers import PATIENCE, eventually, skip_suite  # noqa: F401 (for the suites too)

ROOT = servers.HERE.parent.parent
BINARY = pathlib.Path(os.environ.get("SIGNALBOX_BINARY", ROOT / "build" / "dev" / "bin" / "signalbox"))
# What runs in a cluster: without the local node.
OPERATOR = BINARY.with_name("signalbox-operator")
CRDS = ROOT / "tests" / "support" / "crds"  # of the kinds that a cluster may have beside ours
KIND = "pytorchtrainingjob"
FINAL = ("Succeeded", "Failed")
SIMULATION = "sim.signalbox.dev/"

# What manifests cannot say of their pods: the published debug jobs serve until they are told to end, and a launcher of
# ColossalAI has no annotations.
SCENARIO = {
    "rules": [
        {"match": {"job": "*-debug*"}, "do": {"duration": "never"}},
        {"match": {"job": "*-endless", "type": "launcher"}, "do": {"duration": "never"}},
    ]
}

# Delays that no test is about, in milliseconds.
SHORT_DELAYS = {"restart_delay": 200, "restart_delay_max": 1000, "free_delay": 200, "free_delay_max": 1000}


def pods(replicas, restart="OnFailure", **simulation):
    """One replica type. `simulation`: settings of the simulated kubelet, `_` for `-`."""
    annotations = {SIMULATION + key.replace("_", "-"): str(value) for key, value in simulation.items()}
    container = {"name": "pytorch", "image": "example.com/torch:2", "args": ["train.py"]}
    return {
        "replicas": replicas,
        "restartPolicy": restart,
        "template": {"metadata": {"annotations": annotations}, "spec": {"containers": [container]}},
    }


def job(name, types, namespace="default", **spec):
    """A PyTorchTrainingJob. `types`: what pods() gives, by type; `spec`: further fields of the specification."""
    return {
        "apiVersion": "batch.tensorstack.dev/v1beta1",
        "kind": "PyTorchTrainingJob",
        "metadata": {"name": name, "namespace": namespace},
        "spec": {"replicaSpecs": [{"type": kind, **each} for kind, each in types.items()], **spec},
    }


def ssh_job(kind, name, workers, namespace="default", simulation=None, **spec):
    """A DeepSpeedJob or ColossalAIJob that runs `train.py`. `simulation`: settings of all its simulated pods."""
    annotations = {SIMULATION + key: str(value) for key, value in (simulation or {}).items()}
    worker = {
        "replicas": workers,
        "template": {
            "metadata": {"annotations": annotations},
            "spec": {"containers": [{"name": "worker", "image": "example.com/train:2"}]},
        },
    }
    body = {"worker": worker}
    if kind == "DeepSpeedJob":
        body["config"] = {"run": {"python": ["train.py"]}}
    else:
        worker["command"] = ["train.py"]
    return {
        "apiVersion": "batch.tensorstack.dev/v1beta1",
        "kind": kind,
        "metadata": {"name": name, "namespace": namespace},
        "spec": {**body, **spec},
    }


def end_of(pod, code=0):
    """The patch by which the kubelet of a pod that runs says that it has ended."""
    now = datetime.now(timezone.utc).strftime("%Y-%m-%dT%H:%M:%SZ")
    statuses = pod["status"]["containerStatuses"]
    for each in statuses:
        each.update(ready=False, started=False)
        began = each["state"]["running"]["startedAt"]
        reason = "Error" if code else "Completed"
        each["state"] = {"terminated": {"exitCode": code, "reason": reason, "startedAt": began, "finishedAt": now}}
    phase = "Failed" if code else "Succeeded"
    return {"metadata": {"uid": pod["metadata"]["uid"]}, "status": {"phase": phase, "containerStatuses": statuses}}


class Cluster(servers.Started):
    """See the head of this file. `policy`: constants of the operator, in milliseconds; `plane`: arguments of ControlPlane."""

    kubelet_flags = ("--create-nodes",)

    def __init__(self, policy=None, **plane):
        self.plane = servers.ControlPlane(**plane)
        self.policy = {**SHORT_DELAYS, **(policy or {})}
        self.operator = self.kubelet = None

    def start(self):
        self.plane.start()
        self.install_kinds()
        self.plane.start_controllers()
        self.start_kubelet()
        return self

    def install_kinds(self):
        """Ours, and the rights of the operator."""
        self.plane.serve_kinds("-", stdin=signalbox("crds").stdout)
        for part in ("base/namespace", "base/service_account", "overlays/cluster/rbac"):
            self.plane.kubectl("apply", "-f", ROOT / "operator" / "deploy" / f"{part}.yaml")

    def start_kubelet(self):
        scenario = self.plane.folder / "scenario.yaml"
        scenario.write_text(json.dumps(SCENARIO))  # JSON is YAML
        self.kubelet = servers.Process(
            "simulated kubelet",
            [BINARY, "pods", "--kubeconfig", self.plane.admin_kubeconfig, *self.kubelet_flags, "--scenario", scenario],
            self.plane.folder / "pods.log",
        )

    def stop(self):
        for process in (self.operator, self.kubelet):
            if process:
                process.kill()
        self.plane.stop()

    def start_operator(self):
        self.operator = self.operator_process("operator", self.plane.operator_kubeconfig)

    def operator_process(self, name, kubeconfig, *flags, env=None):
        """Another one, with a log of its own; the caller ends it. `env`: variables beside those of this process."""
        overrides = [word for key, value in self.policy.items() for word in ("--policy", f"{key}={value}")]
        command = [OPERATOR, "run", "--kubeconfig", kubeconfig, *overrides, *flags]
        return servers.Process(name, command, self.plane.folder / f"{name}.log", {**os.environ, **(env or {})})

    def create_namespace(self, name):
        self.plane.kubectl("create", "namespace", name)

    def apply(self, *objects):
        self.plane.apply(*objects)

    def get(self, name, namespace="default", kind=KIND):
        return self.plane.object(kind, name, namespace)

    def status(self, name, namespace="default", kind=KIND):
        return self.get(name, namespace, kind).get("status", {})

    def statuses(self, namespace="default"):
        """Status by name of all jobs, in one request."""
        return {item["metadata"]["name"]: item.get("status", {}) for item in self.plane.objects(KIND, namespace)}

    def pods_of(self, name, namespace="default"):
        return self.plane.objects("pods", namespace, labels=f"tensorstack.dev/owner-name={name}")

    def children_of(self, uid, namespace="default"):
        """Names of everything that the job with this UID owns."""
        return [
            f"{item['kind']}/{item['metadata']['name']}"
            for item in self.plane.objects("pods,services,secrets,configmaps", namespace)
            if any(owner["uid"] == uid for owner in item["metadata"].get("ownerReferences", []))
        ]

    def message_of(self, name, condition, **where):
        """That of one of its conditions; empty if it has none."""
        conditions = self.status(name, **where).get("conditions", [])
        return next((c.get("message", "") for c in conditions if c["type"] == condition), "")

    def events_of(self, name, namespace="default"):
        """Reasons of the events of a job."""
        events = self.plane.objects("events", namespace, fields=f"involvedObject.name={name}")
        return [event["reason"] for event in events]

    def finish(self, name, replica, namespace="default", kind=KIND, code=0):
        """Ends a pod with this exit code, as its kubelet would: `replica`, e.g. "master-0", of the job's current attempt. Waits
        until it runs. For pods that the simulated kubelet lets run forever."""
        role, index = replica.rsplit("-", 1)

        def running():
            attempt = str(self.status(name, namespace, kind).get("attempt"))
            for pod in self.pods_of(name, namespace):
                labels = pod["metadata"]["labels"]
                place = (labels["replica-type"], labels["replica-index"], labels["batch.tensorstack.dev/attempt"])
                if place == (role, index, attempt) and pod["status"].get("phase") == "Running":
                    return pod
            return None

        self.finish_pod(eventually(f"{replica} of {name} runs", running), code)

    def finish_pod(self, pod, code=0):
        """Ends a pod that runs, as its kubelet would."""
        self.plane.kubectl(
            "patch", "pod", pod["metadata"]["name"], "-n", pod["metadata"]["namespace"], "--subresource=status",
            "--type=merge", "-p", json.dumps(end_of(pod, code)),
        )

    def explained(self, name, namespace="default"):
        """What `signalbox explain` says of a job, in one line."""
        words = signalbox("explain", name, "-n", namespace, "--kubeconfig", self.plane.admin_kubeconfig).stdout
        return " ".join(words.split())

    def wait_explained(self, name, *words, namespace="default"):
        """Until `signalbox explain` says all of this; gives all that it says."""
        told = {}

        def tells():
            told["text"] = self.explained(name, namespace)
            return all(word in told["text"] for word in words) and told["text"]

        return eventually(lambda: f"{name} is explained with {words}: {told}\n{self.operator.tail()}", tells)

    def wait(self, name, what, condition, namespace="default", kind=KIND):
        """The status of the job, once `condition(status)` holds."""
        last = {}

        def holds():
            last.clear()
            last.update(self.status(name, namespace, kind))
            return condition(last) and dict(last)

        def story():
            return f"{name}: {what}; status {json.dumps(last)}\n{self.operator.tail() if self.operator else ''}"

        return eventually(story, holds)

    def wait_phase(self, name, phase, namespace="default", kind=KIND):
        """Waits for the phase; another final phase fails at once."""
        status = self.wait(
            name, f"phase {phase}", lambda s: s.get("phase") in (phase, *FINAL), namespace, kind
        )
        if status["phase"] != phase:
            raise AssertionError(f"{name} is {status['phase']}, not {phase}: {json.dumps(status)}")
        return status


def signalbox(*arguments, check=True, stdin=None):
    """Runs a command of the program under test; gives the CompletedProcess."""
    result = subprocess.run(
        [str(BINARY), *map(str, arguments)], input=stdin, capture_output=True, text=True, timeout=PATIENCE
    )
    if check and result.returncode != 0:
        raise AssertionError(f"signalbox {' '.join(map(str, arguments))}: {result.stderr.strip()}")
    return result


def main(suite):
    """Ends a suite: runs its tests, or skips it where the programs are missing."""
    import unittest

    try:
        servers.find_assets()
    except servers.AssetsMissing as missing:
        skip_suite(suite, missing)
    unittest.main(verbosity=2)
