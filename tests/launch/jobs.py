# SPDX-License-Identifier: Apache-2.0
"""Jobs of the launch suites. What they run is `probe.py`, unless they say otherwise."""

PROBE = "/probe/probe.py"
# Texts that shells, Python, pdsh and sshd like to change.
ARGUMENTS = ["a b", "c;d", "$HOME", "50%n", "%h", "", "it's", '{"k": "v $x"}', "`id`", "a\tb", "\\", "é!", "--host", "zz"]
VALUES = {
    "PLAIN": "1",
    "SPACE": "a b",
    "QUOTES": "say \"hi\", it's",
    "DOLLAR": "$HOME `id` $(id) \\n 50%n %h",
    "LINES": "one\ntwo = 2\nPATH=x\n\nend\n",
    "EMPTY": "",
    "JSON": '{"k": "v $x"}',
    "UMLAUT": "é",
    "NCCL_ODD": "a b",
    "PYTHON_ODD": "x;y $z",
    "MLFLOW_TRACKING_TOKEN": "t$0 'k'",
}

# Variables of an image, for jobs over ssh.
IMAGE = ["*:DS_ACCELERATOR=cpu", "*:HF_HOME=/cache/hf x"]


def environment_of(values):
    """Entries of `env`; the kubelet makes $ of $$."""
    return [{"name": name, "value": text.replace("$", "$$")} for name, text in values.items()]


def template(name, arguments=None, command=None, env=None, container=None, pod=None):
    """A pod template whose training container has this name."""
    one = {"name": name, "image": "machine", "workingDir": "/", **(container or {})}
    for key, value in (("args", arguments), ("command", command), ("env", env)):
        if value is not None:
            one[key] = value
    return {"spec": {"containers": [one], **(pod or {})}}


def job(kind, name, **spec):
    return {"apiVersion": "batch.tensorstack.dev/v1beta1", "kind": kind, "metadata": {"name": name}, "spec": spec}


def torchrun(name, types, arguments=(), env=None, processes="1", run_policy=None, elastic=None, script=PROBE, **config):
    """A job that runs the probe, or another script, under torchrun; `types` are pairs of type and replicas."""
    more = {"runPolicy": run_policy or {"backoffLimit": 0}, **({"elastic": elastic} if elastic else {})}
    return job(
        "PyTorchTrainingJob", name, torchrunConfig={"enabled": True, "procPerNode": processes, **config}, **more,
        replicaSpecs=[
            {"type": kind, "replicas": replicas,
             "template": template("pytorch", arguments=[script, *arguments], env=env)}
            for kind, replicas in types
        ],
    )


def plain(name, types, arguments=(), env=None, script=PROBE, command=None):
    """A job that runs the probe as it is, or a command of its own."""
    return job(
        "PyTorchTrainingJob", name, runPolicy={"backoffLimit": 0},
        replicaSpecs=[
            {"type": kind, "replicas": replicas, "template": template(
                "pytorch", command=command or ["python3", script], arguments=list(arguments), env=env)}
            for kind, replicas in types
        ],
    )


def deepspeed(name, replicas=2, slots=2, env=None, container=None, annotations=None, script=PROBE, **spec):
    config = {"slotsPerWorker": slots, **spec.pop("config", {"run": {"python": [script]}})}
    one = job(
        "DeepSpeedJob", name, config=config, runPolicy={"backoffLimit": 0}, **spec,
        worker={"replicas": replicas, "template": template("worker", env=env, container=container)})
    one["metadata"]["annotations"] = {"batch.tensorstack.dev/wait-timeout": "60", **(annotations or {})}
    return one


def colossalai(name, replicas=2, env=None, container=None, arguments=(), script=PROBE, **spec):
    return job(
        "ColossalAIJob", name, launcher={"workingDir": "/"}, **spec,
        worker={"replicas": replicas, "procPerWorker": 2, "command": [script, *arguments],
                "template": template("worker", env=env, container=container)})


def second_shape(name, processes=2, env=None, script=PROBE):
    """The same with `replicaSpecs`."""
    return job(
        "ColossalAIJob", name, torchConfig={"procPerWorker": processes, "script": [script, "a b"]},
        replicaSpecs=[
            {"type": "launcher", "replicas": 1, "template": {"spec": {"containers": [
                {"name": "launcher", "image": "machine", "workingDir": "/"}]}}},
            {"type": "worker", "replicas": 2, "template": template("worker", env=env)},
        ])
