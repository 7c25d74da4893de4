# SPDX-License-Identifier: Apache-2.0
"""The operator is killed at random writes while Kueue admits and evicts its jobs, and users pause, resize and delete them: in the
end Kueue counts no quota as taken, and every job is as wanted (BEHAVIOUR.md 8.13).

    SIGNALBOX_QUEUE_KILLS=200 SIGNALBOX_QUEUE_SEED=7 test_queue_kills.py
"""

import collections
import itertools
import os
import random
import time

import world  # first: it knows the folder of the others
import kueue_facts
import kueue_world
from auditor import PodAuditor
from executioner import Executioner
from waiting import PATIENCE
from world import cluster, eventually

KILLS = int(os.environ.get("SIGNALBOX_QUEUE_KILLS", "40"))
SEED = int(os.environ.get("SIGNALBOX_QUEUE_SEED", "20261126"))
CPUS = 10
MOST_JOBS = 7  # at once: about twice what there is quota for


def owner_of(workload):
    """The job's name, of the name of its Workload."""
    return workload.rpartition("-")[0]


class Users:
    """What people do to the queue and to the jobs in it."""

    def __init__(self, test, chance):
        self.test, self.chance, self.numbers = test, chance, itertools.count()
        self.jobs = {}  # what is done to each: its name, and whether it is paused
        self.removed = set()  # whose Workloads: of a job that has ended none is made again
        self.done = collections.Counter()

    def act(self):
        """One thing, by chance."""
        # Whatever holds a job is over soon: most of them are to run.
        acts = [self.apply, self.open] * 5 + [self.end, self.resume, self.activate] * 3 + [
            self.pause, self.resize, self.remove, self.drain, self.deactivate, self.remove_workload]
        act = self.chance.choice(acts)
        try:
            self.done[act.__name__] += bool(act())
        except world.Refused as refusal:
            if refusal.code not in (404, 409):  # somebody else was first
                raise

    def names(self, wanted):
        return [name for name, job in self.jobs.items() if wanted(job)]

    def pick(self, wanted=lambda job: True):
        found = self.names(wanted)
        return self.chance.choice(found) if found else None

    def patch(self, name, spec):
        return self.test.world.patch(cluster.KIND, name, {"spec": spec}, self.test.here)

    def apply(self):
        if len(self.jobs) >= MOST_JOBS:
            return False
        kind = self.chance.choice(("short", "endless", "endless", "elastic"))
        name, size = f"{kind}-{next(self.numbers)}", self.chance.randint(1, 5)
        priority = self.test.important if self.chance.random() < 0.3 else None
        more = {"runPolicy": {"backoffLimit": 0}}
        if kind == "elastic":
            more |= {
                "torchrunConfig": {"enabled": True, "rdzvBackend": "c10d"},
                "elastic": {"enabled": True, "minReplicas": 1, "maxReplicas": 6, "expectedReplicas": size}}
        self.test.job(name, size, priority, "1500ms" if kind == "short" else "never", **more)
        self.jobs[name] = {"paused": False, "kind": kind}
        return True

    def pause(self, wanted=True):
        name = self.pick(lambda job: job["paused"] != wanted)
        if name:
            self.patch(name, {"runMode": {"pause": {"enabled": wanted}}})
            self.jobs[name]["paused"] = wanted
        return name

    def resume(self):
        return self.pause(False)

    def remove(self):
        name = self.pick()
        if name:
            self.test.world.delete(cluster.KIND, name, self.test.here)
            del self.jobs[name]
        return name

    def resize(self):
        name = self.pick(lambda job: job["kind"] == "elastic")
        return name and self.patch(name, {"elastic": {"expectedReplicas": self.chance.randint(1, 6)}})

    def end(self, name=None):
        """The pod whose end is the job's, if it runs."""
        name = name or self.pick(lambda job: job["kind"] != "short")
        for pod in self.test.pods_of(name) if name else ():
            runs = pod["status"].get("phase") == "Running" and "deletionTimestamp" not in pod["metadata"]
            if runs and pod["metadata"]["labels"]["replica-index"] == "0":
                return self.test.world.patch("pod", pod["metadata"]["name"], cluster.end_of(pod), self.test.here, "status")
        return None

    def workload(self):
        found = self.test.world.plane.objects("workloads", self.test.here)
        return self.chance.choice(found)["metadata"]["name"] if found else None

    def deactivate(self, active=False):
        name = self.workload()
        return name and self.test.world.patch("workload", name, {"spec": {"active": active}}, self.test.here)

    def activate(self):
        return self.deactivate(True)

    def remove_workload(self):
        name = self.workload()
        self.removed.add(name and owner_of(name))
        return name and self.test.world.delete("workload", name, self.test.here)

    def drain(self):
        return self.stop("HoldAndDrain")

    def open(self):
        return self.stop("None")

    def stop(self, policy):
        return self.test.world.patch("clusterqueue", self.test.here, {"spec": {"stopPolicy": policy}})

    def settle(self):
        """All may run, and from now on they are only ended."""
        self.open()
        for name in self.names(lambda job: job["paused"]):
            self.patch(name, {"runMode": {"pause": {"enabled": False}}})
        for each in self.test.world.plane.objects("workloads", self.test.here):
            if not each["spec"].get("active", True):
                self.test.world.patch("workload", each["metadata"]["name"], {"spec": {"active": True}}, self.test.here)


class Kills(kueue_facts.QueuedJobs):
    class world_of(kueue_world.Kueue):
        jobs = True

        def start(self):
            super().start()
            self.executioner = Executioner(self.plane)
            self.executioner.lead(self.plane, self.plane.operator_kubeconfig)
            return self

    def numbers(self):
        """What Kueue says of the queue, as far as it is not zero."""
        status = self.world.plane.object("clusterqueue", self.here)["status"]
        counts = {key: status.get(key, 0) for key in ("pendingWorkloads", "reservingWorkloads", "admittedWorkloads")}
        for key in ("flavorsReservation", "flavorsUsage"):
            for one in status.get(key, []):
                counts |= {f"{key} {one['name']} {each['name']}": int(each["total"]) for each in one["resources"]}
        return {key: count for key, count in counts.items() if count}

    def survive(self, users, chance):
        """One life of the operator."""
        executioner = self.world.executioner
        operator = self.world.operator
        executioner.arm(operator.kill, chance.randint(1, 8), chance.random() < 0.5)
        deadline = time.monotonic() + PATIENCE
        while not executioner.hit.is_set():
            self.assertTrue(operator.running() or executioner.hit.wait(PATIENCE), f"it ended by itself: {operator.tail()}")
            self.assertLess(time.monotonic(), deadline, f"the operator writes nothing:\n{operator.tail()}")
            users.act()
            executioner.hit.wait(0.1)  # the pace of users
        operator.child.wait()
        world.operator_again(self.world)

    def end_all(self, users):
        """Until every job that is left has ended well."""
        def left():
            phases = {name: s.get("phase") for name, s in self.world.statuses(self.here).items()}
            self.assertEqual(set(phases), set(users.jobs))
            wrong = {name: phase for name, phase in phases.items() if phase != "Succeeded"}
            for name in wrong:
                try:
                    if users.jobs[name]["kind"] != "short":
                        users.end(name)
                except world.Refused as refusal:
                    if refusal.code not in (404, 409):
                        raise
            return wrong

        def story():
            return "\n".join([f"every job ends well, but {left()}", *(self.world.explained(name, self.here) for name in left()),
                              str(self.world.plane.objects("workloads", self.here)), self.world.operator.tail()])

        eventually(story, lambda: not left())

    def test_all_quota_is_given_back(self):
        chance = random.Random(SEED)
        self.queue(CPUS)
        self.important, _ = self.importance()
        auditor = PodAuditor(self.world.plane)
        auditor.start()
        self.assertTrue(auditor.ready.wait(PATIENCE))
        users, began = Users(self, chance), time.monotonic()
        for _ in range(KILLS):
            self.survive(users, chance)
        killed = time.monotonic() - began
        users.settle()
        self.end_all(users)
        # Half of those that have ended are deleted: with neither is any quota left.
        for name in list(users.jobs)[::2]:
            self.world.delete(cluster.KIND, name, self.here)
            del users.jobs[name]
        eventually(lambda: f"Kueue counts nothing, not {self.numbers()}:\n{self.world.tails()}", lambda: not self.numbers())
        eventually(
            lambda: f"there are no Workloads but of {sorted(users.jobs)}: {self.workloads()}",
            lambda: self.owners() <= set(users.jobs))
        self.world.settle()
        self.assertEqual(self.numbers(), {})
        for name in users.jobs:
            status = self.world.status(name, self.here)
            self.assertEqual((status["phase"], status["backoffCount"]), ("Succeeded", 0), name)
        self.assertLessEqual(set(users.jobs) - self.owners(), users.removed)
        for name in self.owners():
            self.assertEqual(world.told(self.workload_of(name), "Finished")[0], "True", name)
        alive = [name for name, pod in self.pods().items() if pod["status"].get("phase") in ("Pending", "Running")]
        self.assertEqual(alive, [])
        self.assertEqual(auditor.doubles, [])
        hits = self.world.executioner.hits
        self.assertEqual(sum(hits.values()), KILLS)
        self.figure(f"{KILLS} kills, seed {SEED}", killed)
        self.words("cut off", str(dict(hits.most_common())))
        self.words("done by users", str(dict(users.done.most_common())))
        told = collections.Counter(each["reason"] for each in self.world.plane.objects("events", self.here))
        self.words("pods made, and events", f"{auditor.created}; {dict(told.most_common())}")

    def workloads(self):
        return [each["metadata"]["name"] for each in self.world.plane.objects("workloads", self.here)]

    def owners(self):
        return set(map(owner_of, self.workloads()))


if __name__ == "__main__":
    world.main("gang_queue_kills", kueue_world.Kueue.set_name)
