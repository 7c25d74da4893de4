# SPDX-License-Identifier: Apache-2.0
"""Jobs in `signalbox dev`, recorded by kubectl: what scripts that make recordings share (tests/operator/cli/recordings,
tests/upgrade). Needs kubectl.
"""

import contextlib
import copy
import json
import os
import pathlib
import subprocess
import sys
import tempfile
import time

PYTORCH, DEEPSPEED, COLOSSALAI = "PyTorchTrainingJob", "DeepSpeedJob", "ColossalAIJob"
SHORT = {PYTORCH: "pj", DEEPSPEED: "dj", COLOSSALAI: "caij"}
NAMESPACE = "team-a"
LONG = "2h"
PATIENCE = 60  # seconds


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
    spec["replicaSpecs"] = [dict(type=t, replicas=n, template=copy.deepcopy(pods), **(more[0] if more else {}))
                            for t, n, pods, *more in roles]
    return job(PYTORCH, name, spec, annotations)


def torchrun(restarts):
    return {"enabled": True, "maxRestarts": restarts}


class Recorder:
    """Jobs of the namespace NAMESPACE in one API server."""

    def __init__(self, program, kubeconfig):
        self.program = program
        self.env = dict(os.environ, KUBECONFIG=kubeconfig)

    def kubectl(self, *arguments, text=None):
        done = subprocess.run(["kubectl", "-n", NAMESPACE, *arguments], env=self.env, input=text, text=True,
                              stdout=subprocess.PIPE, check=True)
        return done.stdout

    def create(self, objects):
        self.kubectl("create", "-f", "-", text="\n".join(map(json.dumps, objects)))

    def patch(self, kind, name, spec):
        self.kubectl("patch", SHORT[kind], name, "--type=merge", "-p", json.dumps({"spec": spec}))

    def pause(self, kind, name, paused):
        self.patch(kind, name, {"runMode": {"pause": {"enabled": paused}}})

    def get(self, kind, name):
        return json.loads(self.kubectl("get", SHORT[kind], name, "-o", "json"))

    def wait(self, kind, name, reached):
        """Until `reached` is true of the job's status."""
        end = time.monotonic() + PATIENCE
        while not reached(self.get(kind, name).get("status", {})):
            if time.monotonic() > end:
                sys.exit(f"{kind} {name} does not get there: {self.get(kind, name).get('status')}")
            time.sleep(0.3)

    def listed(self, kind, name, *options, kinds=("pods", "svc", "secret", "cm", "deploy"), also=lambda item: False):
        """(what kubectl lists of the job, its children, and what is so by `also`; the time)."""
        whole = json.loads(self.kubectl("get", ",".join([SHORT[kind], *kinds]), "-o", "json", *options))
        now = time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime())
        uid = next(o["metadata"]["uid"] for o in whole["items"] if (o["kind"], o["metadata"]["name"]) == (kind, name))
        whole["items"] = [o for o in whole["items"] if also(o) or uid in
                          [o["metadata"]["uid"], *(r["uid"] for r in o["metadata"].get("ownerReferences", []))]]
        return whole, now

    def block_a_name(self, blocked):
        """Somebody's Service, labelled `app: gateway`, has the name that the Service of a PyTorchTrainingJob will need,
        which was created paused; then the job is resumed."""
        uid = self.get(PYTORCH, blocked["metadata"]["name"])["metadata"]["uid"]
        unpaused = dict(blocked, spec={k: v for k, v in blocked["spec"].items() if k != "runMode"})
        planned = subprocess.run([self.program, "plan", "--uid", uid, "-"], input=json.dumps(unpaused), text=True,
                                 stdout=subprocess.PIPE, check=True).stdout
        service = planned[planned.index("kind: Service\n"):]
        name = service[service.index("  name: ") + len("  name: "):].split("\n")[0]
        self.create([{"apiVersion": "v1", "kind": "Service",
                     "metadata": {"name": name, "namespace": NAMESPACE, "labels": {"app": "gateway"}},
                     "spec": {"selector": {"app": "gateway"}, "ports": [{"port": 80}]}}])
        self.pause(PYTORCH, blocked["metadata"]["name"], False)


@contextlib.contextmanager
def dev(program, scenario, *options):
    """A Recorder on `signalbox dev`, with the namespace made. `scenario` is the text of a scenario file."""
    with tempfile.TemporaryDirectory() as folder:
        kubeconfig, file, log = (pathlib.Path(folder, name) for name in ("kubeconfig", "scenario.yaml", "log"))
        file.write_text(scenario)
        with log.open("w") as output:
            child = subprocess.Popen([program, "dev", "--kubeconfig", kubeconfig, "--scenario", file, *options],
                                     stdout=output, stderr=subprocess.STDOUT)
        try:
            while not kubeconfig.exists():
                if child.poll() is not None:
                    sys.exit(log.read_text())
                time.sleep(0.1)
            recorder = Recorder(program, str(kubeconfig))
            recorder.kubectl("create", "namespace", NAMESPACE)
            yield recorder
        finally:
            child.terminate()
            child.wait()
