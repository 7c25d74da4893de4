# SPDX-License-Identifier: Apache-2.0
"""Kubernetes' own gangs: kube-apiserver and kube-scheduler of a release that has `scheduling.k8s.io/v1beta1` PodGroup."""

import pathlib
import tempfile

import world
from world import servers

SET = "kubernetes"
API = "scheduling.k8s.io/v1beta1"
GATES = ("GenericWorkload",)


def assets(folder):
    """Puts the programs of the release beside those that it lacks, in `folder`; gives it."""
    for source in (servers.find_assets(), world.programs(SET)):
        for program in source.iterdir():
            link = folder / program.name
            link.unlink(missing_ok=True)
            link.symlink_to(program)
    return folder


def gate_flag(gates):
    return f"--feature-gates={','.join(f'{gate}=true' for gate in gates)}"


def server_flags(gates=GATES, served=(API,)):
    """Of kube-apiserver."""
    flags = [gate_flag(gates)] if gates else []
    return flags + [f"--runtime-config={each}=true" for each in served]


class Kubernetes(world.World):
    """`gates`: those of all its programs."""

    set_name = SET
    jobs = True
    gates = GATES

    def __init__(self, **options):
        self.links = tempfile.TemporaryDirectory(prefix="signalbox-gang-")
        super().__init__(
            assets=assets(pathlib.Path(self.links.name)),
            apiserver_arguments=server_flags(self.gates),
            # It takes the finalizer off a group that no one uses any more.
            controllers=["podgroup-protection-controller"],
            controller_arguments=[gate_flag(self.gates)],
            **options,
        )

    def stop(self):
        super().stop()
        self.links.cleanup()

    def scheduler_command(self):
        configuration = self.write("scheduler.yaml", {
            "apiVersion": "kubescheduler.config.k8s.io/v1",
            "kind": "KubeSchedulerConfiguration",
            "leaderElection": {"leaderElect": False},
            "clientConnection": {"kubeconfig": str(self.plane.admin_kubeconfig), "qps": 500, "burst": 1000},
        })
        yield ("kube-scheduler", self.programs / "kube-scheduler", f"--config={configuration}", gate_flag(self.gates),
               "--secure-port=0", "-v=2")


def group(name, minimum, mode="all", priority_class=None, owner=None, **spec):
    """A PodGroup of at least `minimum` pods. `mode`: what a preemption takes, `all` or a `single` pod; `spec`: further fields."""
    made = {
        "apiVersion": API,
        "kind": "PodGroup",
        "metadata": {"name": name},
        "spec": {"schedulingPolicy": {"gang": {"minCount": minimum}}, "disruptionMode": {mode: {}}, **spec},
    }
    if priority_class:
        made["spec"]["priorityClassName"] = priority_class
    if owner:
        made["metadata"]["ownerReferences"] = [world.owner_reference(owner)]
    return made


def member_of(name):
    """What a pod's `spec` says."""
    return {"schedulingGroup": {"podGroupName": name}}
