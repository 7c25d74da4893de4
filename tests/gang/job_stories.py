# SPDX-License-Identifier: Apache-2.0
"""Stories of jobs of Signalbox under a real scheduler of gangs: the same for each (README.md has what was seen).

    class Jobs(job_stories.GroupedJobs):
        world_of = kubernetes_world.Kubernetes
        name = "kubernetes"
"""

import random
import time

import world  # first: it knows the folder of the others
from auditor import PodAuditor
from executioner import Executioner
from world import cluster, eventually

GATE = "example.com/gate"
SEED = 20261126


class GangJobs(world.Facts):
    """`name`: of the scheduler, in `spec.scheduler`."""

    name = None
    scope = ()  # of the operator, beside what it serves anyway
    # What is said of a gang that has no room, of one that waits for it once more, of one with a pod at a gate.
    no_room = ("WaitingForGang",)
    no_room_again = ("the scheduler has found none",)
    gated = ("WaitingForGang",)

    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        if cls.world.operator is None:
            world.operator_on(cls.world, *cls.scope)

    # Jobs.

    def types(self, sizes, priority=None, **more):
        """Replica types of pods of one CPU for the nodes of the test, which run until the test ends them. `more`: fields of the
        pods' specifications."""
        out = {}
        for name, size in sizes.items():
            made = out[name] = cluster.pods(size, duration="never")
            spec = made["template"]["spec"]
            spec["nodeSelector"] = {world.POOL: self.here}
            spec["containers"][0]["resources"] = {"requests": {"cpu": "1"}}
            spec.update({"priorityClassName": priority} if priority else {}, **more)
        return out

    def job(self, name, sizes=None, types=None, priority=None, **spec):
        """`sizes`: numbers of replicas by type; `types`: in place of that, what types() gives."""
        types = types or self.types(sizes, priority)
        return cluster.job(name, types, self.here, scheduler={self.name: {}}, **spec)

    def apply(self, *jobs):
        self.world.apply(*jobs)

    def change(self, name, **spec):
        self.world.patch(cluster.KIND, name, {"spec": spec}, self.here)

    def pause(self, name, wanted):
        self.change(name, runMode={"pause": {"enabled": wanted}})

    def status(self, name):
        return self.world.status(name, self.here)

    def told(self, name):
        """What the job says of why it does not run."""
        return world.condition({"status": self.status(name)}, "Running").get("message", "")

    def wait_job(self, name, what, holds, figure=None):
        """The status of the job, once that holds of it. `figure`: what the time until then is a figure of."""
        began = time.monotonic()

        def story():
            return f"{name}: {what}: {self.status(name)}\n{self.world.explained(name, self.here)}\n{self.world.tails()}"

        def seen():
            status = self.status(name)
            return status if holds(status) else None

        status = eventually(story, seen, interval=0.05, patience=self.patience)
        if figure:
            self.figure(figure, time.monotonic() - began)
        return status

    def wait_trains(self, name, size, figure=None, **numbers):
        """Until all its pods run. `numbers`: what the status has to say beside, as `attempt=2`."""
        return self.wait_job(
            name, f"{size} pods run, with {numbers}",
            lambda s: s.get("phase") == "Running" and s.get("ready") == f"{size}/{size}" and all(s.get(k) == v for k, v in numbers.items()),
            figure)

    def end(self, name, replica, code=0):
        """A pod of it ends by itself."""
        self.world.finish(name, replica, self.here, code=code)

    def remove(self, name):
        self.world.delete(cluster.KIND, name, self.here)

    def pods_of(self, name, bound=None):
        """Those of the job by `worker-0`; `bound`: only those that have a node, or that have none."""
        found = {}
        for each in self.world.pods_of(name, self.here):
            labels = each["metadata"]["labels"]
            if bound is None or bound == bool(each["spec"].get("nodeName")):
                found[f"{labels['replica-type']}-{labels['replica-index']}"] = each
        return found

    def uids(self, name):
        return {replica: each["metadata"]["uid"] for replica, each in self.pods_of(name).items()}

    def wait_explained(self, name, *words):
        """Until `explain` says this; what the job itself says is noted."""
        told = self.world.wait_explained(name, *words, namespace=self.here)
        self.words("told", self.told(name) or told)

    # Stories.

    def test_jobs_two_of_60_percent(self):
        """One trains whole, the other waits whole and says why, and trains then."""
        self.nodes(2, cpu=5)
        self.apply(self.job("one", {"worker": 6}), self.job("two", {"worker": 6}))
        winner = eventually(
            lambda: f"one of them trains: {self.world.statuses(self.here)}\n{self.world.tails()}",
            lambda: next((name for name, s in self.world.statuses(self.here).items() if s.get("ready") == "6/6"), None),
            patience=self.patience)
        loser = {"one": "two", "two": "one"}[winner]
        eventually("the other has all its pods", lambda: len(self.pods_of(loser)) == 6)
        self.world.settle()
        self.assertEqual(self.pods_of(loser, bound=True), {})
        self.assertEqual(len(self.pods_of(winner, bound=True)), 6)
        self.assertEqual(self.status(loser).get("phase"), "Pending")
        self.wait_explained(loser, *self.no_room)
        self.end(winner, "worker-0")
        self.world.wait_phase(winner, "Succeeded", self.here)
        self.wait_trains(loser, 6, figure="the other trains after the first has ended", backoffCount=0)

    def test_jobs_missing_member(self):
        """A pod for which there is no quota: the others wait for it without a word of the scheduler."""
        self.nodes(1, cpu=5)
        self.create({"apiVersion": "v1", "kind": "ResourceQuota", "metadata": {"name": "pods"}})
        self.allow_pods(2, used=0)
        self.apply(self.job("train", {"worker": 3}))
        eventually(lambda: f"two pods are there: {set(self.pods_of('train'))}", lambda: len(self.pods_of("train")) == 2)
        self.world.settle()
        self.assertEqual(self.pods_of("train", bound=True), {})
        self.wait_explained("train", "QuotaExceeded", "exceeded quota")
        self.allow_pods(3, used=2)
        self.wait_trains("train", 3, figure="it trains after there is quota for its last pod", attempt=1, backoffCount=0)

    def allow_pods(self, count, used):
        """What a controller of quotas would write, too: there is none."""
        hard = {"pods": str(count)}
        self.world.patch("resourcequota", "pods", {"spec": {"hard": hard}}, self.here)
        self.world.patch("resourcequota", "pods", {"status": {"hard": hard, "used": {"pods": str(used)}}}, self.here, "status")

    def test_jobs_gated_member(self):
        """A pod that somebody holds back from the scheduler."""
        self.nodes(1, cpu=5)
        types = {**self.types({"worker": 2}), **self.types({"late": 1}, schedulingGates=[{"name": GATE}])}
        self.apply(self.job("train", types=types))
        eventually("all pods are there", lambda: len(self.pods_of("train")) == 3)
        self.world.settle()
        self.assertEqual(self.pods_of("train", bound=True), {})
        self.wait_explained("train", "late-0", GATE, *self.gated)
        gated = self.pods_of("train")["late-0"]["metadata"]["name"]
        self.world.patch("pod", gated, {"spec": {"schedulingGates": None}}, self.here)
        self.wait_trains("train", 3, figure="it trains after the gate is off", attempt=1)

    def test_jobs_member_fails(self):
        """It is made again inside the gang; the others go on."""
        self.nodes(1, cpu=3)
        self.apply(self.job("train", {"worker": 3}, runPolicy={"restartScope": "Replica", "backoffLimit": 2}))
        self.wait_trains("train", 3, figure="it trains after it was applied")
        before = self.uids("train")
        self.end("train", "worker-1", code=1)
        self.wait_trains("train", 3, figure="it trains again after a member failed", attempt=1, backoffCount=1)
        after = self.uids("train")
        self.assertNotEqual(before.pop("worker-1"), after.pop("worker-1"))
        self.assertEqual(before, after)

    def test_jobs_all_made_again(self):
        """A failure costs all pods: the gang starts as a whole once more."""
        self.nodes(1, cpu=3)
        self.apply(self.job("train", {"worker": 3}, runPolicy={"backoffLimit": 2}))
        self.wait_trains("train", 3)
        before = self.uids("train")
        self.end("train", "worker-1", code=1)
        self.wait_trains("train", 3, figure="all run again after a member failed", attempt=2, backoffCount=1)
        self.assertFalse(set(before.values()) & set(self.uids("train").values()))

    def test_jobs_completed_members(self):
        """Members that are done do not hold one that is made again; the next attempt has all of them."""
        self.nodes(1, cpu=3)
        self.apply(self.job("train", {"worker": 3}, runPolicy={"restartScope": "Replica", "backoffLimit": 2}))
        self.wait_trains("train", 3)
        self.end("train", "worker-2")
        self.wait_job("train", "worker-2 is completed", lambda s: s["restarts"].get("completed"))
        self.end("train", "worker-1", code=1)
        self.wait_job(
            "train", "the other two run", lambda s: s.get("backoffCount") == 1 and s.get("aggregate", {}).get("running") == 2,
            figure="a member runs again beside one that is done")
        self.assertEqual(self.status("train").get("phase"), "Running")
        self.pause("train", True)
        self.world.wait_phase("train", "Paused", self.here)
        eventually("all pods are gone", lambda: not self.pods_of("train"))
        self.pause("train", False)
        self.wait_trains("train", 3, figure="all run after a resume", attempt=2)

    def test_jobs_elastic(self):
        """Up, up beyond the room that there is, and down, within one attempt."""
        self.nodes(1, cpu=4)
        elastic = {"enabled": True, "minReplicas": 2, "maxReplicas": 5, "expectedReplicas": 3}
        self.apply(self.job("train", {"node": 3}, torchrunConfig={"enabled": True, "rdzvBackend": "c10d"}, elastic=elastic))
        self.wait_trains("train", 3)
        before = self.uids("train")
        self.change("train", elastic={"expectedReplicas": 4})
        self.wait_trains("train", 4, figure="a fourth pod runs after the size was raised", attempt=1)
        self.change("train", elastic={"expectedReplicas": 5})
        eventually("a fifth pod is there", lambda: len(self.pods_of("train")) == 5)
        self.world.settle()
        self.assertEqual(set(self.pods_of("train", bound=False)), {"node-4"})
        self.assertEqual(self.status("train").get("phase"), "Running")
        self.change("train", elastic={"expectedReplicas": 2})
        self.wait_trains("train", 2, attempt=1, backoffCount=0)
        eventually("two pods are left", lambda: set(self.pods_of("train")) == {"node-0", "node-1"})
        after = self.uids("train")
        self.assertEqual(after, {replica: before[replica] for replica in after})

    def test_jobs_scheduler_dies(self):
        """Whoever trains goes on; whoever comes meanwhile trains once it is back."""
        self.nodes(1, cpu=6)
        self.apply(self.job("before", {"worker": 3}))
        self.wait_trains("before", 3)
        uids = self.uids("before")
        self.world.stop_scheduler()
        try:
            self.apply(self.job("meanwhile", {"worker": 3}))
            eventually("all pods are there", lambda: len(self.pods_of("meanwhile")) == 3)
            self.wait_explained("meanwhile", "the scheduler has not decided")
            self.assertEqual(self.status("before").get("phase"), "Running")
        finally:
            self.world.start_scheduler()
        self.wait_trains("meanwhile", 3, figure="it trains after the scheduler is started again", attempt=1)
        self.assertEqual(self.uids("before"), uids)

    def test_jobs_operator_dies(self):
        """While a gang is made, and while one of its members is made again: nothing is doubled, all run in the end."""
        auditor = PodAuditor(self.world.plane)
        auditor.start()
        self.assertTrue(auditor.ready.wait(self.patience))
        executioner, chance = Executioner(self.world.plane), random.Random(SEED)
        executioner.lead(self.world.plane, self.world.plane.operator_kubeconfig)
        self.world.operator.kill()
        world.operator_again(self.world)
        self.nodes(1, cpu=8)
        self.apply(self.job("train", {"worker": 8}, runPolicy={"restartScope": "Replica", "backoffLimit": 2}))
        self.kill_operator(executioner, chance, 8, lambda status: status.get("ready") == "8/8")
        self.wait_trains("train", 8, figure="8 pods run after the last of 8 kills of the operator", attempt=1, backoffCount=0)
        self.end("train", "worker-5", code=1)
        self.kill_operator(executioner, chance, 3, lambda status: status.get("ready") == "8/8" and status.get("backoffCount") == 1)
        self.wait_trains("train", 8, figure="they run again after a failure and the last of 3 kills", attempt=1, backoffCount=1)
        self.words("cut off", str(dict(executioner.hits)))
        self.assertEqual(auditor.doubles, [])
        self.assertEqual(len(self.pods_of("train")), 8)

    def kill_operator(self, executioner, chance, times, is_done):
        """At one of its next writes, each time. By a status that `is_done` it has nothing more to write, which may be sooner."""
        for kill in range(times):
            executioner.arm(self.world.operator.kill, chance.randint(1, 2), chance.random() < 0.5)
            eventually(
                lambda: f"the operator writes something: {self.status('train')}\n{self.world.operator.tail()}",
                lambda: executioner.hit.is_set() or is_done(self.status("train")), interval=0.05, patience=self.patience)
            if not executioner.hit.is_set() and executioner.disarm():
                self.assertGreater(kill, 0, "it was killed at least once")
                return
            self.assertTrue(executioner.hit.wait(self.patience))
            self.world.operator.child.wait()
            world.operator_again(self.world)


class GroupedJobs(GangJobs):
    """Of a scheduler that has an object for a gang. `minimum_field`: where that says how many pods it needs."""

    minimum_field = ()
    outlives_deletion = False  # it stays until its last pod is gone

    def group_of(self, name):
        found, = [each for each in self.world.plane.objects("podgroup", self.here) if each["metadata"]["name"].startswith(f"{name}-")]
        return found

    def minimum(self, name):
        value = self.group_of(name)["spec"]
        for key in self.minimum_field:
            value = value[key]
        return value

    def test_jobs_minimum(self):
        """It goes down as members complete, and up again for the next attempt."""
        self.nodes(1, cpu=3)
        self.apply(self.job("train", {"worker": 3}, runPolicy={"restartScope": "Replica", "backoffLimit": 2}))
        self.wait_trains("train", 3)
        group = self.group_of("train")
        self.assertEqual(self.minimum("train"), 3)
        self.end("train", "worker-2")
        eventually(lambda: f"the minimum falls: {self.group_of('train')['spec']}", lambda: self.minimum("train") == 2)
        self.end("train", "worker-1", code=1)
        self.wait_job("train", "the other two run", lambda s: s.get("backoffCount") == 1 and s.get("aggregate", {}).get("running") == 2)
        self.change("train", runPolicy={"backoffLimit": 3})
        self.assertEqual(self.minimum("train"), 2)
        self.assertEqual(self.group_of("train")["metadata"]["uid"], group["metadata"]["uid"])

    def test_jobs_group_deleted(self):
        """By hand, while the job trains: it goes on, a member can be made again, and the next attempt has a group."""
        self.nodes(1, cpu=3)
        self.apply(self.job("train", {"worker": 3}, runPolicy={"restartScope": "Replica", "backoffLimit": 3}))
        self.wait_trains("train", 3)
        before, uids = self.group_of("train")["metadata"], self.uids("train")
        self.world.delete("podgroup", before["name"], self.here)
        if self.outlives_deletion:
            self.assertIn("deletionTimestamp", self.group_of("train")["metadata"])
        else:
            eventually("there is another group", lambda: self.groups() and self.group_of("train")["metadata"]["uid"] != before["uid"])
        self.end("train", "worker-1", code=1)
        self.wait_trains("train", 3, figure="a member runs again after the group was deleted", attempt=1, backoffCount=1)
        self.assertEqual({k: v for k, v in self.uids("train").items() if k != "worker-1"}, {k: v for k, v in uids.items() if k != "worker-1"})
        self.pause("train", True)
        self.world.wait_phase("train", "Paused", self.here)
        eventually(lambda: f"the group is gone: {self.groups()}", lambda: not self.groups())
        self.pause("train", False)
        self.wait_trains("train", 3, figure="all run after pause and resume", attempt=2)
        after = self.group_of("train")["metadata"]
        self.assertNotEqual(after["uid"], before["uid"])
        self.assertNotIn("deletionTimestamp", after)

    def groups(self):
        return self.world.plane.objects("podgroup", self.here)


class Preemption:
    """Stories of a scheduler that takes pods away for a gang that is worth more."""

    def test_jobs_preempted(self):
        """The one that is worth less stops as a whole, waits, and trains again; that costs it nothing."""
        self.nodes(1, cpu=8)
        low, high = f"{self.here}-low", f"{self.here}-high"
        self.create(world.priority_class(low, 100), world.priority_class(high, 1000))
        self.apply(self.job("low", {"worker": 6}, priority=low, runPolicy={"backoffLimit": 0}))
        self.wait_trains("low", 6)
        self.apply(self.job("high", {"worker": 6}, priority=high))
        self.wait_trains("high", 6, figure="the one that is worth more trains after it was applied")
        self.wait_job("low", "it waits", lambda s: s.get("phase") in ("Pending", "Restarting") and s["attempt"] == 2)
        eventually("all its pods are there", lambda: len(self.pods_of("low")) == 6)
        self.world.settle()
        self.assertEqual(self.pods_of("low", bound=True), {})
        self.wait_explained("low", *self.no_room_again)
        self.end("high", "worker-0")
        self.world.wait_phase("high", "Succeeded", self.here)
        status = self.wait_trains("low", 6, figure="the victim trains again after the other has ended", attempt=2, backoffCount=0)
        self.assertEqual(status["restarts"]["disruptions"], 1)

