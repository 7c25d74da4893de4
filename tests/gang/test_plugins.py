# SPDX-License-Identifier: Apache-2.0
"""What Signalbox relies on of the coscheduling plugin and of Koordinator's scheduler, seen on them; and its jobs there."""

import job_stories
import plugin_worlds
import world
from world import eventually

SUITE = "gang_plugins"


class Coscheduling(world.Facts):
    world_of = plugin_worlds.Coscheduling

    def setUp(self):
        super().setUp()
        self.g = f"{self.here}-g"

    def group(self, name, minimum, **spec):
        return self.create(plugin_worlds.coscheduling_group(name, minimum, **spec))

    def members(self, *names, of=None, **more):
        self.create(*(self.pod(name, labels=plugin_worlds.coscheduling_labels(of or self.g), **more) for name in names))
        return names

    def wait_phase(self, phase, name=None):
        """The group's status, once it has the phase."""
        name = name or self.g
        return eventually(
            lambda: f"{name} is {phase}: {self.get('podgroup', name).get('status')}\n{self.world.tails()}",
            lambda: next((found for found in [self.get("podgroup", name).get("status", {})] if found.get("phase") == phase), None))

    def test_the_phases_of_a_group(self):
        self.nodes(1, cpu=5)
        self.group(self.g, 3)
        self.wait_phase("Pending")
        self.members("a", "b", "c")
        self.wait_running("a", "b", "c", figure="all run after the last pod came")
        self.assertEqual(self.wait_phase("Running")["running"], 3)
        self.end_pod("a")
        eventually("one is counted as done", lambda: self.get("podgroup", self.g)["status"].get("succeeded") == 1)
        self.end_pod("b")
        self.end_pod("c")
        self.assertEqual(self.wait_phase("Finished")["succeeded"], 3)

    def test_too_few_pods_are_held_until_the_last_one_comes(self):
        self.nodes(1, cpu=5)
        self.group(self.g, 3)
        self.members("a", "b")
        self.world.settle()
        self.assertEqual(self.bound(), set())
        for name in ("a", "b"):
            said = self.wait_told("pod", name, "PodScheduled", "False", "Unschedulable")
        self.words("too few pods", world.condition(said, "PodScheduled")["message"])
        self.members("c")
        self.wait_running("a", "b", "c", figure="all run after the last pod came")

    def test_of_two_gangs_of_60_percent_one_runs_whole_and_the_other_waits_whole(self):
        self.nodes(2, cpu=5)
        gangs = {name: [f"{name}-{number}" for number in range(6)] for name in ("one", "two")}
        for name in gangs:
            self.group(name, 6)
        for first, second in zip(*gangs.values()):
            self.members(first, of="one")
            self.members(second, of="two")
        winner = eventually("one of them runs", lambda: next((name for name, its in gangs.items() if set(its) <= self.running()), None))
        loser, = set(gangs) - {winner}
        self.world.settle()
        self.assertEqual(self.bound(), set(gangs[winner]))
        said = self.wait_told("pod", gangs[loser][0], "PodScheduled", "False", "Unschedulable")
        self.words("why a gang waits", world.condition(said, "PodScheduled")["message"])
        self.remove_pods(*gangs[winner])
        self.wait_running(*gangs[loser], figure="the other runs after the first is gone")

    def test_members_that_ended_do_not_count_and_a_lower_minimum_frees_the_others(self):
        self.nodes(1, cpu=5)
        self.group(self.g, 3)
        self.members("a", "b", "c")
        self.wait_running("a", "b", "c")
        self.end_pod("a")
        self.remove_pods("b")
        self.members("b")
        self.world.settle()
        self.assertNotIn("b", self.bound())
        self.world.patch("podgroup", self.g, {"spec": {"minMember": 2}}, self.here)
        self.wait_running("b", "c", figure="a held member runs after minMember was lowered")

    def test_the_phase_of_a_group_that_had_a_failed_pod_stays_failed_though_all_run(self):
        """Why Signalbox does not read it."""
        self.nodes(1, cpu=5)
        self.group(self.g, 3)
        self.members("a", "b", "c")
        self.wait_running("a", "b", "c")
        self.wait_phase("Running")
        self.end_pod("a", code=1)
        self.wait_phase("Failed")
        self.remove_pods("a")
        self.members("a")
        self.wait_running("a", "b", "c", figure="a member that failed and was made again runs")
        self.world.settle()
        self.assertEqual(self.get("podgroup", self.g)["status"]["phase"], "Failed")

    def test_the_counts_of_a_group_are_those_of_all_namespaces(self):
        """Why names of groups have to differ, and readiness is read from pods."""
        self.nodes(1, cpu=5)
        other = f"{self.here[:40]}-other"
        self.world.plane.kubectl("create", "namespace", other)
        labels = plugin_worlds.coscheduling_labels(self.g)
        self.world.create(plugin_worlds.coscheduling_group(self.g, 1) | {"metadata": {"name": self.g, "namespace": other}})
        self.world.create(world.pod("theirs", self.here, other, labels=labels))
        eventually("theirs runs", lambda: self.world.plane.object("pod", "theirs", other)["status"].get("phase") == "Running")
        self.group(self.g, 1)
        self.members("ours")
        self.wait_running("ours")
        eventually("both are counted", lambda: self.get("podgroup", self.g)["status"].get("running") == 2)


class Koordinator(world.Facts):
    """Pods that come while it counts their gang may wait for the next look at all that is held, after five minutes."""
    world_of = plugin_worlds.Koordinator
    patience = 600

    def members(self, *names, of="g", minimum, **more):
        annotations = plugin_worlds.koordinator_annotations(of, minimum)
        self.create(*(self.pod(name, annotations=annotations, **more) for name in names))
        return names

    def test_too_few_pods_are_held_until_the_last_one_comes(self):
        self.nodes(1, cpu=5)
        self.members("a", "b", minimum=3)
        self.assert_held_silently("a", "b")
        self.members("c", minimum=3)
        self.wait_running("a", "b", "c", figure="all run after the last pod came")

    def test_of_two_gangs_of_60_percent_one_runs_whole_and_the_other_waits_whole(self):
        self.nodes(2, cpu=5)
        gangs = {name: [f"{name}-{number}" for number in range(6)] for name in ("one", "two")}
        for first, second in zip(*gangs.values()):
            self.members(first, of="one", minimum=6)
            self.members(second, of="two", minimum=6)
        winner = eventually("one of them runs", lambda: next((name for name, its in gangs.items() if set(its) <= self.running()), None))
        loser, = set(gangs) - {winner}
        self.world.settle()
        self.assertEqual(self.bound(), set(gangs[winner]))
        self.remove_pods(*gangs[winner])
        self.wait_running(*gangs[loser], figure="the other runs after the first is gone")

    def test_a_member_that_is_made_again_beside_one_that_ended_runs(self):
        self.nodes(1, cpu=5)
        self.members("a", "b", "c", minimum=3)
        self.wait_running("a", "b", "c")
        self.end_pod("a")
        self.remove_pods("b")
        self.members("b", minimum=3)
        self.wait_running("b", "c", figure="a member that was made again runs")


class CoschedulingJobs(job_stories.Preemption, job_stories.GroupedJobs):
    """Jobs of Signalbox under the plugin. Whom it has once rejected may wait for minutes (README.md)."""

    world_of = plugin_worlds.Coscheduling
    name = "coscheduling"
    patience = 600
    scope = ("--scheduler", "coscheduling")
    minimum_field = ("minMember",)


class KoordinatorJobs(job_stories.GangJobs):
    """Jobs of Signalbox under Koordinator, which has no object for a gang. Its patience as above. Whom it preempts may be placed
    and preempted once more (README.md)."""

    world_of = plugin_worlds.Koordinator
    name = "koordinator"
    patience = Koordinator.patience
    no_room = job_stories.GangJobs.no_room_again  # the pods say it: there is no object


if __name__ == "__main__":
    world.main(SUITE, plugin_worlds.Coscheduling.set_name, plugin_worlds.Koordinator.set_name)
