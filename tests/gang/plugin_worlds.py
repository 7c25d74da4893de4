# SPDX-License-Identifier: Apache-2.0
"""The coscheduling plugin of scheduler-plugins, and Koordinator's scheduler."""

import json
import re

import world

# Both forget to look again at pods that they rejected when room comes, until kube-scheduler itself looks at all that it holds:
# every five minutes, unless told otherwise.
LOOKS_AGAIN = "--pod-max-in-unschedulable-pods-duration=20s"


class Coscheduling(world.World):
    """As its manifests install it: a scheduler of its own beside the cluster's, here the only one, and its controller."""

    set_name = "coscheduling"
    jobs = True
    waiting = 10  # seconds that the members of a gang hold their places for those that have none

    def install_scheduler(self):
        self.plane.serve_kinds(self.programs / "files" / "bases", "--server-side")

    def scheduler_command(self):
        plugin = {"enabled": [{"name": "Coscheduling"}]}
        configuration = self.write("scheduler.yaml", {
            "apiVersion": "kubescheduler.config.k8s.io/v1",
            "kind": "KubeSchedulerConfiguration",
            "leaderElection": {"leaderElect": False},
            "clientConnection": {"kubeconfig": str(self.plane.admin_kubeconfig), "qps": 500, "burst": 1000},
            "profiles": [{
                "schedulerName": self.scheduler_name,
                "plugins": {"multiPoint": plugin, "queueSort": {**plugin, "disabled": [{"name": "*"}]}},
                "pluginConfig": [{"name": "Coscheduling", "args": {"permitWaitingTimeSeconds": self.waiting}}],
            }],
        })
        yield "scheduler", self.programs / "scheduler", f"--config={configuration}", LOOKS_AGAIN, "--secure-port=0", "-v=2"
        yield ("controller", "env", f"KUBECONFIG={self.plane.admin_kubeconfig}", self.programs / "controller", "--metricsAddr=0",
               "--probeAddr=0", "--qps=200", "--burst=400")


def coscheduling_group(name, minimum, **spec):
    return {
        "apiVersion": "scheduling.x-k8s.io/v1alpha1",
        "kind": "PodGroup",
        "metadata": {"name": name},
        "spec": {"minMember": minimum, **spec},
    }


def coscheduling_labels(name):
    """Of a member."""
    return {"scheduling.x-k8s.io/pod-group": name}


class Koordinator(world.World):
    set_name = "koordinator"
    jobs = True
    scheduler_name = "koord-scheduler"

    def install_scheduler(self):
        self.plane.serve_kinds(self.programs / "files" / "bases", "--server-side")
        self.plane.kubectl("create", "namespace", "koordinator-system")

    def scheduler_command(self):
        # The configuration that it ships: with fewer plugins it ends by a nil pointer.
        shipped = self.read_manifests(self.programs / "files" / "scheduler-config.yaml")[0]["data"]["koord-scheduler-config"]
        head = "- pluginConfig:\n"
        assert head in shipped
        # Unless it is told not to count rounds, two gangs that do not fit at once undo each other's again and again.
        arguments = {"apiVersion": "kubescheduler.config.k8s.io/v1", "kind": "CoschedulingArgs", "skipCheckScheduleCycle": True}
        shipped = shipped.replace(head, f"{head}    - {json.dumps({'name': 'Coscheduling', 'args': arguments})}\n")
        configuration = self.write("scheduler.yaml", with_members(shipped, {
            "leaderElection": {"leaderElect": False},
            "clientConnection": {"kubeconfig": str(self.plane.admin_kubeconfig), "qps": 500, "burst": 1000},
        }))
        port = world.servers.free_ports(1)[0]
        yield ("koord-scheduler", self.programs / "koord-scheduler", f"--config={configuration}", LOOKS_AGAIN, "--port=0",
               "--bind-address=127.0.0.1", f"--secure-port={port}", f"--cert-dir={self.plane.folder}/koordinator", "--authentication-skip-lookup=true", "-v=2")


def koordinator_annotations(name, minimum):
    """Of a member: there is no object."""
    prefix = "gang.scheduling.koordinator.sh/"
    return {prefix + "name": name, prefix + "min-available": str(minimum)}


def with_members(text, members):
    """A YAML document with other members at its top."""
    for name in members:
        text = re.sub(rf"^{name}:.*\n(?:[ \t#-].*\n|\n)*", "", text, flags=re.MULTILINE)
    return text + "".join(f"\n{name}: {json.dumps(value)}\n" for name, value in members.items())
