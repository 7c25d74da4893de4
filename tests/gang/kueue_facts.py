# SPDX-License-Identifier: Apache-2.0
"""Words for tests under Kueue: its queues and Workloads, and jobs of Signalbox that stand in them."""

import time

import kueue_world
import world
from kueue_world import cluster_queue, flavor, local_queue, priority_class, workload
from world import cluster, eventually


class KueueFacts(world.Facts):
    """Each test has a ClusterQueue of its own, named after it, a LocalQueue `q` into it, and flavours `<here>-<name>`."""

    def queue(self, cpus=10, **spec):
        """`cpus`: a number, or numbers by flavour."""
        quota = cpus if isinstance(cpus, dict) else {"only": cpus}
        self.create(*(flavor(self.flavor(name), labels={"example.com/pool": name}) for name in quota))
        self.create(cluster_queue(self.here, {self.flavor(name): count for name, count in quota.items()}, **spec))
        self.create(local_queue("q", self.here))

    def flavor(self, name):
        return f"{self.here}-{name}"

    def importance(self):
        """The higher one of two priorities; Workloads without one have 0."""
        name = f"{self.here}-p"
        self.create(priority_class(name, 1000))
        return name, 1000

    def ask(self, name, *counts, **more):
        return self.create(workload(name, "q", *counts, **more))

    def used(self):
        """CPUs that Kueue counts as reserved. It tells a second late."""
        flavors = self.world.plane.object("clusterqueue", self.here).get("status", {}).get("flavorsReservation", [])
        return sum(int(each["total"]) for one in flavors for each in one["resources"])

    def wait_used(self, count, figure=None):
        began = time.monotonic()
        eventually(lambda: f"{count} CPUs are reserved, not {self.used()}:\n{self.world.tails()}", lambda: self.used() == count, interval=0.03)
        if figure:
            self.figure(figure, time.monotonic() - began)

    def wait_admitted(self, name, figure=None):
        began = time.monotonic()
        found = self.wait_told("workload", name, "Admitted", "True")
        if figure:
            self.figure(figure, time.monotonic() - began)
        return found

    def wait_evicted(self, name, reason):
        return self.wait_told("workload", name, "Evicted", "True", reason)

    def admitted(self, name):
        return world.told(self.get("workload", name), "Admitted")[0] == "True"

    def status(self, name, change):
        """Writes the status of a Workload."""
        return self.world.patch("workload", name, {"status": change}, self.here, "status")

    def say(self, name, **statuses):
        """Writes conditions of a Workload."""
        return self.status(name, {"conditions": kueue_world.with_conditions(self.get("workload", name), **statuses)})

    def release(self, name):
        """Gives the quota of an evicted Workload back. Kueue may write its status meanwhile, too."""
        def done():
            try:
                patch = kueue_world.release(self.get("workload", name))
                return self.world.patch("workload", name, patch, self.here, "status")
            except world.Refused as refusal:
                if refusal.code != 409:
                    raise
                return None

        return eventually(f"the release of {name} is written", done)

    def preempted(self):
        """`low`, with 8 of 10 CPUs, is to go for `high`, with 8 as well."""
        self.queue(10)
        self.ask("low", 8)
        self.wait_admitted("low")
        self.wait_used(8)
        self.ask("high", 8, priority=self.importance())
        return self.wait_evicted("low", "Preempted")


class QueuedJobs(KueueFacts):
    """Jobs of Signalbox that ask for quota."""

    def operator(self):
        """Started once for all tests."""
        if getattr(self.world, "operator", None) is None:
            world.operator_on(self.world, "--scheduler", "kueue")

    def setUp(self):
        super().setUp()
        self.operator()

    def job(self, name, count, priority=None, duration="never", **spec):
        """Of pods of one CPU, in the queue `q`."""
        pods = cluster.pods(count, duration=duration)
        pods["template"]["spec"]["containers"][0]["resources"] = {"requests": {"cpu": "1"}}
        asked = {"queueName": "q", **({"workloadPriorityClassName": priority} if priority else {})}
        made = cluster.job(name, {"worker": pods}, self.here, scheduler={"kueue": asked}, **spec)
        self.world.apply(made)
        return made

    def workload_of(self, name):
        found, = [w for w in self.world.plane.objects("workloads", self.here) if w["metadata"]["name"].startswith(f"{name}-")]
        return found

    def pods_of(self, name):
        return [each for each in self.pods().values() if each["metadata"]["labels"]["tensorstack.dev/owner-name"] == name]

    def wait_status(self, name, phase, reason=None):
        def seen():
            status = self.world.get(name, self.here).get("status", {})
            return status if status.get("phase") == phase and (reason is None or status.get("reason") == reason) else None

        return eventually(
            lambda: f"{name} is {phase} {reason or ''}: {self.world.get(name, self.here).get('status')}\n{self.world.tails()}", seen)
