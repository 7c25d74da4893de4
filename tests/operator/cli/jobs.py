# SPDX-License-Identifier: Apache-2.0
"""Jobs for tests of commands about jobs of a cluster."""
import json

PLURALS = {"PyTorchTrainingJob": "pytorchtrainingjobs", "DeepSpeedJob": "deepspeedjobs", "ColossalAIJob": "colossalaijobs"}


def _job(kind, name, spec):
    return {"apiVersion": "batch.tensorstack.dev/v1beta1", "kind": kind, "metadata": {"name": name}, "spec": spec}


def _template(container, duration, sim):
    """Of pods that live until `duration` is over, then end with 0 or as `sim` says."""
    sim = {"duration": duration, **(sim or {})}
    return {
        "metadata": {"annotations": {f"sim.signalbox.dev/{key.replace('_', '-')}": value for key, value in sim.items()}},
        "spec": {"containers": [{"name": container, "image": "example.org/torch:2", "args": ["train.py"]}]},
    }


def pytorch(name, duration="never", sim=None, **spec):
    """A PyTorchTrainingJob of one pod."""
    roles = [{"type": "master", "replicas": 1, "template": _template("pytorch", duration, sim)}]
    return _job("PyTorchTrainingJob", name, {"replicaSpecs": roles, **spec})


def elastic(name, replicas, least, most):
    """An elastic PyTorchTrainingJob, run by torchrun."""
    roles = [{"type": "worker", "replicas": replicas, "template": _template("pytorch", "never", None)}]
    return _job("PyTorchTrainingJob", name, {
        "replicaSpecs": roles, "torchrunConfig": {"enabled": True},
        "elastic": {"enabled": True, "minReplicas": least, "maxReplicas": most}})


def run_by_another(name):
    """A PyTorchTrainingJob that another controller runs: its status is what write_status() writes."""
    return pytorch(name, managedBy="example.org/other")


def write_status(open_text, body, **status):
    """Merges into the status; `open_text` is as that of program.Dev."""
    path = f"{collection(body)}/{body['metadata']['name']}/status"
    open_text("PATCH", path, json.dumps({"status": status}), "application/merge-patch+json").close()


def collection(body, ns="default"):
    """The path of the jobs of its kind."""
    return f"/apis/batch.tensorstack.dev/v1beta1/namespaces/{ns}/{PLURALS[body['kind']]}"
