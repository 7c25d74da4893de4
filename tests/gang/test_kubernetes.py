# SPDX-License-Identifier: Apache-2.0
"""What Signalbox relies on of Kubernetes' own gangs, seen on them: PodGroups of `scheduling.k8s.io/v1beta1`; and its jobs there."""

import json
import pathlib
import tempfile
import unittest

import job_stories
import kubernetes_world
import world
from kubernetes_world import group
from world import eventually, priority_class, servers

SUITE = "gang_kubernetes"
SCHEDULED = "PodGroupInitiallyScheduled"
DISRUPTED = "DisruptionTarget"


class Detection(unittest.TestCase):
    """Discovery of PodGroups tells whether a server has gangs; that it takes the field of a pod does not."""

    def served(self, plane):
        return any((group, version, each["resource"]) == ("scheduling.k8s.io", "v1beta1", "podgroups")
                   for group, version, each in plane.reader.discover())

    def kept(self, plane):
        """Whether a pod keeps the group that it names."""
        made = world.pod("member", "none", **kubernetes_world.member_of("g"))
        created = plane.connection().send("/api/v1/namespaces/default/pods?fieldValidation=Ignore", made)
        return "schedulingGroup" in json.loads(created)["spec"]

    def look_at(self, plane, kept, served):
        with plane:
            self.assertEqual((self.kept(plane), self.served(plane)), (kept, served))

    def test_a_server_of_1_34_has_neither(self):
        self.look_at(servers.ControlPlane(), kept=False, served=False)

    def look_at_newer(self, gates, apis, kept, served):
        with tempfile.TemporaryDirectory(prefix="signalbox-gang-") as folder:
            flags = kubernetes_world.server_flags(gates, apis)
            plane = servers.ControlPlane(kubernetes_world.assets(pathlib.Path(folder)), apiserver_arguments=flags)
            self.look_at(plane, kept, served)

    def test_without_the_gate_the_field_is_dropped(self):
        self.look_at_newer((), (), kept=False, served=False)

    def test_with_the_gate_alone_the_field_is_kept_and_there_are_no_groups(self):
        self.look_at_newer(kubernetes_world.GATES, (), kept=True, served=False)

    def test_with_both_there_are_groups(self):
        self.look_at_newer(kubernetes_world.GATES, (kubernetes_world.API,), kept=True, served=True)


class GangFacts(world.Facts):
    world_of = kubernetes_world.Kubernetes

    def member(self, name, of="g", **more):
        return self.pod(name, **kubernetes_world.member_of(of), **more)

    def members(self, *names, of="g", **more):
        self.create(*(self.member(name, of, **more) for name in names))
        return names

    def gang(self, *names, minimum=None, of="g", **more):
        """A group that runs."""
        made = self.create(group(of, minimum or len(names), **more))
        self.members(*names, of=of)
        self.wait_running(*names)
        return made

    def set_minimum(self, count, name="g"):
        self.world.patch("podgroup", name, {"spec": {"schedulingPolicy": {"gang": {"minCount": count}}}}, self.here)


class Gangs(GangFacts):
    def test_the_server_protects_a_group_and_gives_it_the_priority_of_its_class(self):
        self.create(priority_class(f"{self.here}-p", 70))
        made = self.create(group("g", 2, priority_class=f"{self.here}-p"))
        self.assertIn("scheduling.k8s.io/podgroup-protection", made["metadata"].get("finalizers", []))
        self.assertEqual(made["spec"].get("priority"), 70)

    def test_too_few_pods_are_held_silently_until_the_last_one_comes(self):
        self.nodes(1, cpu=5)
        self.create(group("g", 3))
        self.members("a", "b")
        self.assert_held_silently("a", "b")
        self.assertEqual(self.get("podgroup", "g").get("status", {}).get("conditions", []), [])
        self.members("c")
        self.wait_running("a", "b", "c", figure="all run after the last pod came")
        self.wait_told("podgroup", "g", SCHEDULED, "True")

    def test_pods_wait_silently_for_their_group(self):
        self.nodes(1, cpu=5)
        self.members("a", "b")
        self.assert_held_silently("a", "b")
        self.create(group("g", 2))
        self.wait_running("a", "b", figure="all run after the group came")

    def test_of_two_gangs_of_60_percent_one_runs_whole_and_the_other_waits_whole(self):
        self.nodes(2, cpu=5)
        gangs = {name: [f"{name}-{number}" for number in range(6)] for name in ("one", "two")}
        self.create(group("one", 6), group("two", 6))
        for first, second in zip(*gangs.values()):
            self.members(first, of="one")
            self.members(second, of="two")
        winner = eventually("one of them runs", lambda: next((name for name, its in gangs.items() if set(its) <= self.running()), None))
        loser, = set(gangs) - {winner}
        waits = self.wait_told("podgroup", loser, SCHEDULED, "False", "Unschedulable")
        self.words("why a group waits", world.condition(waits, SCHEDULED)["message"])
        self.assertIn("minCount", world.condition(waits, SCHEDULED)["message"])
        self.world.settle()
        self.assertEqual(self.bound(), set(gangs[winner]))
        for name in gangs[loser]:
            self.assertEqual(world.told(self.get("pod", name), "PodScheduled"), ("False", "Unschedulable"))
        # It holds no place.
        self.create(self.pod("other", cpu=2), self.pod("another", cpu=2))
        self.wait_running("other", "another")
        self.remove_pods("other", "another")
        self.assertEqual(self.bound(), set(gangs[winner]))
        self.remove_pods(*gangs[winner])
        self.wait_running(*gangs[loser], figure="the other runs after the first is gone")
        self.wait_told("podgroup", loser, SCHEDULED, "True")

    def test_a_member_that_is_made_again_runs(self):
        self.nodes(1, cpu=5)
        self.gang("a", "b", "c")
        self.remove_pods("b")
        self.members("b")
        self.wait_running("a", "b", "c", figure="a member that was made again runs")

    def test_when_all_are_made_again_they_wait_for_the_last_and_the_condition_does_not_say_so(self):
        self.nodes(1, cpu=5)
        self.gang("a", "b", "c")
        self.remove_pods("a", "b", "c")
        self.members("a", "b")
        self.assert_held_silently("a", "b")
        self.assertEqual(world.told(self.get("podgroup", "g"), SCHEDULED)[0], "True")
        self.members("c")
        self.wait_running("a", "b", "c", figure="all run after the last one was made again")

    def ended_members_do_not_count(self, code):
        self.nodes(1, cpu=5)
        self.gang("a", "b", "c")
        self.end_pod("a", code)
        self.remove_pods("b")
        self.members("b")
        self.assert_held_silently("b")
        self.set_minimum(2)
        self.wait_running("b", "c", figure="a held member runs after minCount was lowered")

    def test_members_that_succeeded_do_not_count_and_a_lower_minimum_frees_the_others(self):
        self.ended_members_do_not_count(code=0)

    def test_members_that_failed_do_not_count_and_a_lower_minimum_frees_the_others(self):
        self.ended_members_do_not_count(code=1)

    def test_a_minimum_that_is_lowered_first_holds_nobody(self):
        """The order that Signalbox keeps: the minimum goes down, then members are made again."""
        self.nodes(1, cpu=5)
        self.gang("a", "b", "c")
        self.end_pod("a")
        self.set_minimum(2)
        self.remove_pods("b")
        self.members("b")
        self.wait_running("b", "c")

    def test_a_raised_minimum_disturbs_nobody_who_runs_and_holds_new_ones(self):
        self.nodes(1, cpu=9)
        self.gang("a", "b")
        before = {name: each["metadata"]["uid"] for name, each in self.pods().items()}
        self.set_minimum(4)
        self.members("c")
        self.assert_held_silently("c")
        self.assertEqual(self.running(), {"a", "b"})
        self.assertLessEqual(before.items(), {name: each["metadata"]["uid"] for name, each in self.pods().items()}.items())
        self.members("d")
        self.wait_running("a", "b", "c", "d", figure="all run after the raised minimum is there")

    def test_what_cannot_change_is_refused(self):
        self.create(priority_class(f"{self.here}-p", 70), group("g", 2))
        for name, change in {
            "a minimum of 0": {"schedulingPolicy": {"gang": {"minCount": 0}}},
            "a gang that is none any more": {"schedulingPolicy": {"gang": None, "basic": {}}},
            "what a preemption takes": {"disruptionMode": {"all": None, "single": {}}},
            "its priority": {"priorityClassName": f"{self.here}-p"},
        }.items():
            with self.subTest(name), self.refused(422) as caught:
                self.world.patch("podgroup", "g", {"spec": change}, self.here)
            self.words(f"refusal of {name}", caught.exception.message)

    def test_more_pods_than_the_minimum_are_placed_one_by_one(self):
        self.nodes(1, cpu=3)
        self.create(group("g", 2))
        self.members("a", "b", "c", "d", "e")
        eventually("three of five run", lambda: len(self.running()) == 3)
        self.world.settle()
        self.assertEqual(len(self.bound()), 3)

    def test_a_group_that_is_deleted_stays_until_no_pod_is_active(self):
        self.nodes(1, cpu=5)
        self.gang("a", "b")
        self.world.delete("podgroup", "g", self.here)
        self.members("c")
        self.wait_running("c")
        self.assertIn("deletionTimestamp", self.get("podgroup", "g")["metadata"])
        with self.refused(409) as caught:
            self.create(group("g", 2))
        self.words("refusal to make it again", caught.exception.message)
        self.assertIn("is being deleted", caught.exception.message)
        self.remove_pods("a", "c")
        self.assertIsNotNone(self.world.find("podgroup", "g", self.here))
        self.end_pod("b")  # one that ended is not active
        self.wait_gone("podgroup", "g")
        self.create(group("g", 2))

    def test_with_their_owner_pods_and_group_go(self):
        self.nodes(1, cpu=5)
        owner = self.create({"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "owner"}})
        self.create(group("g", 2, owner=owner))
        self.members("a", "b", owner=owner)
        self.wait_running("a", "b")
        self.world.delete("configmap", "owner", self.here)
        self.wait_gone("pod", "a", "b")
        self.wait_gone("podgroup", "g")

    def preempted(self, mode):
        """A gang of 8 on 8 CPUs, and a pod of 3 CPUs that is worth more, which runs then. Gives the victims."""
        self.nodes(1, cpu=8)
        low, high = f"{self.here[:40]}-low", f"{self.here[:40]}-high"
        self.create(priority_class(low, 100), priority_class(high, 1000), group("g", 8, mode, low))
        names = [f"m-{number}" for number in range(8)]
        # Their kubelet is slow: what a victim is told can be seen.
        self.members(*names, priorityClassName=low, simulation={"stop-after": "never"})
        self.wait_running(*names)
        self.create(self.pod("preemptor", cpu=3, priorityClassName=high))

        def marked():
            return {name for name, each in self.pods().items() if world.told(each, DISRUPTED) == ("True", "PreemptionByScheduler")}

        def deleted():
            return {name for name, each in self.pods().items() if "deletionTimestamp" in each["metadata"]}

        victims = eventually("enough victims are told to go", lambda: len(deleted()) >= {"single": 3, "all": 8}[mode] and deleted())
        self.assertEqual(marked(), victims, "what is deleted says why")
        for name in victims:
            self.world.delete("pod", name, self.here, grace=0)
        self.wait_running("preemptor", figure="the preemptor runs after the victims are gone")
        self.world.settle()
        self.assertEqual(world.told(self.get("podgroup", "g"), SCHEDULED)[0], "True", "the group does not say it")
        self.assertEqual(world.condition(self.get("podgroup", "g"), DISRUPTED), {})
        self.assertEqual(deleted(), set())
        return victims

    def test_a_preemption_of_a_group_in_mode_single_breaks_the_gang(self):
        self.assertEqual(len(self.preempted("single")), 3)
        self.assertEqual(len(self.running()), 5 + 1)

    def test_a_preemption_of_a_group_in_mode_all_takes_all(self):
        self.assertEqual(len(self.preempted("all")), 8)
        self.assertEqual(self.running(), {"preemptor"})

    def test_an_eviction_takes_one_pod_in_any_mode(self):
        self.nodes(1, cpu=5)
        self.gang("a", "b", "c")
        path = f"{self.world.plane.reader.path('pod', 'b', self.here)}/eviction"
        self.world.request("POST", path, {"apiVersion": "policy/v1", "kind": "Eviction", "metadata": {"name": "b", "namespace": self.here}})
        self.wait_gone("pod", "b")
        self.world.settle()
        self.assertEqual(self.running(), {"a", "c"})

    def test_a_pod_of_another_priority_holds_all(self):
        self.nodes(1, cpu=5)
        low = f"{self.here[:40]}-low"
        self.create(priority_class(low, 100), group("g", 3, priority_class=low))
        self.members("a", "b", priorityClassName=low)
        self.members("c")  # of priority 0
        told = eventually(
            lambda: f"a pod tells of it: {[each['status'] for each in self.pods().values()]}",
            lambda: next((each for each in self.pods().values() if world.told(each, "PodScheduled")[1] == "SchedulerError"), None))
        self.words("a pod of another priority", world.condition(told, "PodScheduled")["message"])
        self.world.settle()
        self.assertEqual(self.bound(), set())

    def test_the_number_of_a_priority_is_the_servers_to_write(self):
        with self.refused(403):
            self.create(group("g", 3, priority=7))

    def test_a_pod_of_another_scheduler_holds_all_silently(self):
        self.nodes(1, cpu=5)
        self.create(group("g", 3))
        self.members("a", "b")
        self.members("c", scheduler="somebody-else")
        self.assert_held_silently("a", "b", "c")

    def test_a_gated_pod_holds_all_silently_until_the_gate_is_off(self):
        self.nodes(1, cpu=5)
        self.create(group("g", 3))
        self.members("a", "b")
        self.members("c", schedulingGates=[{"name": "example.com/gate"}])
        self.assert_held_silently("a", "b")
        self.assertEqual(world.told(self.get("pod", "c"), "PodScheduled"), ("False", "SchedulingGated"))
        self.world.patch("pod", "c", {"spec": {"schedulingGates": None}}, self.here)
        self.wait_running("a", "b", "c", figure="all run after the gate is off")

    def test_a_gang_of_150(self):
        self.nodes(4, cpu=40)
        self.create(group("g", 150))
        names = self.members(*(f"m-{number}" for number in range(150)))
        self.wait_running(*names, figure="150 pods run after the last one came")


class Racks(GangFacts):
    """Groups that want all their pods in one place."""

    class world_of(kubernetes_world.Kubernetes):
        gates = (*kubernetes_world.GATES, "TopologyAwareWorkloadScheduling")

    def rack(self, number):
        return {"example.com/rack": f"{self.here}-{number // 2}"}

    def test_a_gang_stays_in_one_rack(self):
        self.nodes(6, cpu=2, labels=self.rack)
        constraints = {"topology": [{"key": "example.com/rack"}]}
        self.create(group("g", 4, schedulingConstraints=constraints))
        names = self.members("a", "b", "c", "d")
        self.wait_running(*names)
        racks = {int(each["spec"]["nodeName"].rsplit("-", 1)[1]) // 2 for each in self.pods().values()}
        self.assertEqual(len(racks), 1)
        self.create(group("large", 5, schedulingConstraints=constraints))
        self.members("e", "f", "h", "i", "j", of="large")
        waits = self.wait_told("podgroup", "large", SCHEDULED, "False")
        self.words("why a group that no rack holds waits", world.condition(waits, SCHEDULED)["message"])
        self.assertEqual(self.bound(), set(names))


class Jobs(job_stories.Preemption, job_stories.GroupedJobs):
    """Jobs of Signalbox."""

    world_of = kubernetes_world.Kubernetes
    name = "kubernetes"
    scope = ("--scheduler", "kubernetes")
    minimum_field = ("schedulingPolicy", "gang", "minCount")
    outlives_deletion = True


if __name__ == "__main__":
    world.main(SUITE, kubernetes_world.SET)
