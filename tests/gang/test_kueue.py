# SPDX-License-Identifier: Apache-2.0
"""What Signalbox relies on of Kueue, seen on it: how it answers a Workload, and what has to be written back."""

import kueue_facts
import kueue_world
import world
from kueue_facts import KueueFacts
from kueue_world import cluster_queue, flavor, local_queue, workload
from world import cluster, eventually

SUITE = "gang_kueue"
IN_USE = f"{kueue_world.GROUP}/resource-in-use"


class Admission(KueueFacts):
    world_of = kueue_world.Kueue

    def test_an_admission_names_pod_sets_flavors_and_what_they_use(self):
        self.queue(10)
        self.ask("w", 1, 4)
        found = self.wait_admitted("w", figure="admitted after it was made")
        self.assertEqual(world.told(found, "QuotaReserved")[0], "True")
        admission = found["status"]["admission"]
        self.assertEqual(admission["clusterQueue"], self.here)
        self.assertEqual(
            [(each["name"], each["count"], each["flavors"], each["resourceUsage"]) for each in admission["podSetAssignments"]],
            [("main", 1, {"cpu": self.flavor("only")}, {"cpu": "1"}), ("set-1", 4, {"cpu": self.flavor("only")}, {"cpu": "4"})])
        self.wait_used(5)

    def test_without_quota_it_waits_and_tells_what_is_missing(self):
        self.queue(10)
        self.ask("first", 8)
        self.wait_admitted("first")
        self.ask("second", 8)
        found = self.wait_told("workload", "second", "QuotaReserved", "False", "Pending")
        said = world.condition(found, "QuotaReserved")["message"]
        self.words("no quota left", said)
        self.assertIn("insufficient unused quota for cpu in flavor", said)
        self.ask("larger", 11)
        found = self.wait_told("workload", "larger", "QuotaReserved", "False", "Pending")
        said = world.condition(found, "QuotaReserved")["message"]
        self.words("more than the queue ever has", said)
        self.assertIn("maximum capacity", said)
        self.assertEqual(self.get("workload", "second")["status"].get("admission"), None)

    def test_without_a_queue_it_is_inadmissible_until_there_is_one(self):
        self.ask("w", 1)
        found = self.wait_told("workload", "w", "QuotaReserved", "False", "Inadmissible")
        self.words("no LocalQueue", world.condition(found, "QuotaReserved")["message"])
        self.create(local_queue("q", self.here))
        found = eventually("the reason changes", lambda: next((
            w for w in [self.get("workload", "w")] if "ClusterQueue" in world.condition(w, "QuotaReserved").get("message", "")), None))
        self.words("no ClusterQueue", world.condition(found, "QuotaReserved")["message"])
        self.create(flavor(self.flavor("only")), cluster_queue(self.here, {self.flavor("only"): 1}))
        self.wait_admitted("w", figure="admitted after its queue was made")

    def test_more_than_8_pod_sets_are_refused(self):
        self.queue(10)
        with self.refused(422) as caught:
            self.ask("w", *[1] * 9)
        self.words("9 pod sets", caught.exception.message)
        self.ask("w", *[1] * 8)
        self.wait_admitted("w")

    def test_a_minimum_is_admitted_in_part(self):
        self.queue(10)
        self.ask("w", 14, minimum=6)
        assigned, = self.wait_admitted("w")["status"]["admission"]["podSetAssignments"]
        self.assertEqual(assigned["count"], 10)
        self.wait_used(10)

    def test_another_admission_may_give_another_flavor(self):
        self.queue({"a": 4, "b": 10})
        self.ask("w", 8)
        flavors = self.wait_admitted("w")["status"]["admission"]["podSetAssignments"][0]["flavors"]
        self.assertEqual(flavors, {"cpu": self.flavor("b")})
        self.assertEqual(self.get("resourceflavor", flavors["cpu"])["spec"]["nodeLabels"], {"example.com/pool": "b"})
        self.world.patch("clusterqueue", self.here, {"spec": {"stopPolicy": "HoldAndDrain"}})
        self.wait_evicted("w", "ClusterQueueStopped")
        self.release("w")
        swapped = cluster_queue(self.here, {self.flavor("a"): 10, self.flavor("b"): 4})["spec"]
        self.world.patch("clusterqueue", self.here, {"spec": {"stopPolicy": "None", "resourceGroups": swapped["resourceGroups"]}})
        flavors = self.wait_admitted("w")["status"]["admission"]["podSetAssignments"][0]["flavors"]
        self.assertEqual(flavors, {"cpu": self.flavor("a")})

    def test_a_check_holds_the_admission_and_tells_what_pods_get(self):
        check = f"{self.here}-check"
        self.create(kueue_world.thing("AdmissionCheck", check, {"controllerName": "signalbox.test/check"}))
        active = kueue_world.with_conditions({"metadata": {}}, Active=("True", "Active"))
        self.world.patch("admissioncheck", check, {"status": {"conditions": active}}, subresource="status")
        self.queue(10, admissionChecksStrategy={"admissionChecks": [{"name": check}]})
        self.ask("w", 2)
        self.wait_told("workload", "w", "QuotaReserved", "True")
        self.world.settle()
        self.assertFalse(self.admitted("w"))
        update = {
            "name": "main", "labels": {"example.com/l": "1"}, "annotations": {"example.com/a": "2"}, "nodeSelector": {"example.com/n": "3"},
            "tolerations": [{"key": "example.com/t", "operator": "Exists", "effect": "NoSchedule"}]}
        state = {"name": check, "state": "Ready", "message": "made", "lastTransitionTime": kueue_world.now(), "podSetUpdates": [update]}
        self.status("w", {"admissionChecks": [state]})
        found = self.wait_admitted("w")
        self.assertEqual(found["status"]["admissionChecks"][0]["podSetUpdates"], [update])
        self.status("w", {"admissionChecks": [{**state, "state": "Retry"}]})
        self.wait_evicted("w", "AdmissionCheck")

    def test_pod_sets_change_while_it_waits_and_not_while_it_is_admitted(self):
        self.queue(10)
        self.ask("first", 8)
        self.wait_admitted("first")
        self.ask("w", 8)
        self.wait_told("workload", "w", "QuotaReserved", "False", "Pending")
        smaller = workload("w", "q", 2)["spec"]["podSets"]
        self.world.patch("workload", "w", {"spec": {"podSets": smaller}}, self.here)
        self.wait_admitted("w")
        with self.refused(403, 422) as caught:
            self.world.patch("workload", "w", {"spec": {"podSets": workload("w", "q", 1)["spec"]["podSets"]}}, self.here)
        self.words("another size while admitted", str(caught.exception))

    def test_what_others_write_into_an_admission_is_believed(self):
        """Why Signalbox never writes `admission` or `QuotaReserved=True`."""
        self.queue(10)
        self.ask("real", 3)
        admission = self.wait_admitted("real")["status"]["admission"]
        self.wait_used(3)
        self.ask("w", 50)
        self.wait_told("workload", "w", "QuotaReserved", "False", "Pending")
        admission["podSetAssignments"][0].update(count=50, resourceUsage={"cpu": "50"})
        conditions = kueue_world.with_conditions(self.get("workload", "w"), QuotaReserved=("True", "QuotaReserved"))
        self.status("w", {"admission": admission, "conditions": conditions})
        self.wait_used(53)


class Eviction(KueueFacts):
    world_of = kueue_world.Kueue

    def test_the_quota_of_who_is_preempted_stays_until_it_is_released_by_one_patch(self):
        found = self.preempted()
        self.assertEqual(world.told(found, "Preempted")[0], "True")
        self.words("preempted", world.condition(found, "Evicted")["message"])
        self.world.settle()
        self.assertFalse(self.admitted("high"))
        self.assertEqual(self.used(), 8)
        self.assertTrue(self.get("workload", "low")["status"].get("admission"))
        self.release("low")
        self.wait_admitted("high", figure="the preemptor is admitted after the release")
        self.wait_told("workload", "low", "QuotaReserved", "False", "Pending")
        self.world.delete("workload", "high", self.here)
        self.wait_admitted("low", figure="the victim is admitted again after the preemptor is gone")
        self.wait_used(8)

    def test_a_release_without_admitted_false_never_comes_back(self):
        found = self.preempted()
        self.status("low", {
            "admission": None, "conditions": kueue_world.with_conditions(found, QuotaReserved=("False", "Pending"))})
        self.wait_admitted("high")
        self.world.delete("workload", "high", self.here)
        self.wait_used(0)
        self.world.settle()
        self.assertEqual(self.get("workload", "low")["status"].get("admission"), None)
        self.assertEqual(self.used(), 0)
        self.say("low", Admitted=("False", "NoReservation"))
        self.wait_used(8)
        self.assertTrue(self.get("workload", "low")["status"].get("admission"))

    def test_a_release_of_the_admission_alone_is_an_error(self):
        self.preempted()
        with self.refused(500) as caught:
            self.status("low", {"admission": None})
        self.words("`admission: null` alone", caught.exception.message[:300])
        self.world.settle()
        self.assertFalse(self.admitted("high"))
        self.assertTrue(self.get("workload", "low")["status"].get("admission"))

    def test_a_release_of_the_condition_alone_gives_quota_back_and_never_comes_back(self):
        self.preempted()
        self.say("low", QuotaReserved=("False", "Pending"))
        self.wait_admitted("high")
        self.world.delete("workload", "high", self.here)
        self.wait_used(0)
        self.world.settle()
        self.words("`QuotaReserved=False` alone", str([(c["type"], c["status"], c["reason"]) for c in self.get("workload", "low")["status"]["conditions"]]))
        self.assertEqual(self.used(), 0)
        self.release("low")
        self.wait_admitted("low")
        self.wait_used(8)

    def test_a_deletion_gives_quota_back(self):
        self.preempted()
        self.world.delete("workload", "low", self.here)
        self.wait_gone("workload", "low")
        self.wait_admitted("high", figure="the preemptor is admitted after the victim's Workload was deleted")

    def test_kueue_takes_its_finalizer_off_a_workload_without_owner(self):
        self.queue(10)
        self.ask("w", 8, finalizers=[IN_USE])
        self.wait_admitted("w")
        self.wait_used(8)
        self.world.delete("workload", "w", self.here)
        self.wait_gone("workload", "w")
        self.wait_used(0)

    def test_a_deletion_waits_with_the_quota_for_the_owners_side_to_take_the_finalizer_off(self):
        self.queue(10)
        owner = self.create({"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "owner"}})
        self.ask("w", 8, finalizers=[IN_USE], owner=owner)
        self.wait_admitted("w")
        self.wait_used(8)
        self.world.delete("workload", "w", self.here)
        self.world.settle()
        self.assertIn("deletionTimestamp", self.get("workload", "w")["metadata"])
        self.assertEqual(self.used(), 8)
        self.world.patch("workload", "w", {"metadata": {"finalizers": None}}, self.here)
        self.wait_gone("workload", "w")
        self.wait_used(0, figure="quota is free after the finalizer was taken off")

    def test_a_stopped_queue_drains_or_holds(self):
        self.queue(10)
        self.ask("w", 4)
        self.wait_admitted("w")
        self.world.patch("clusterqueue", self.here, {"spec": {"stopPolicy": "Hold"}})
        self.ask("late", 4)
        self.world.settle()
        self.assertTrue(self.admitted("w"))
        self.assertNotEqual(world.told(self.get("workload", "w"), "Evicted")[0], "True")
        self.assertFalse(self.admitted("late"))
        self.words("a held queue", world.condition(self.get("workload", "late"), "QuotaReserved").get("message", "nothing"))
        self.world.patch("clusterqueue", self.here, {"spec": {"stopPolicy": "HoldAndDrain"}})
        self.wait_evicted("w", "ClusterQueueStopped")
        self.release("w")
        self.wait_used(0)
        self.world.patch("clusterqueue", self.here, {"spec": {"stopPolicy": "None"}})
        self.wait_admitted("w", figure="admitted again after the queue goes on")
        self.wait_admitted("late")

    def test_who_is_not_active_is_evicted_and_comes_back(self):
        self.queue(10)
        self.ask("w", 4)
        self.wait_admitted("w")
        self.world.patch("workload", "w", {"spec": {"active": False}}, self.here)
        self.wait_evicted("w", "Deactivated")
        self.release("w")
        self.wait_used(0)
        self.world.settle()
        self.assertFalse(self.admitted("w"))
        self.world.patch("workload", "w", {"spec": {"active": True}}, self.here)
        self.wait_admitted("w", figure="admitted again after it is active")


class Ends(KueueFacts):
    world_of = kueue_world.Kueue

    def test_who_is_finished_gives_quota_back_for_good(self):
        self.queue(10)
        self.ask("w", 8)
        self.wait_admitted("w")
        self.wait_used(8)
        self.say("w", Finished=("True", "Succeeded"))
        self.wait_used(0, figure="quota is free after Finished")

    def reclaim(self, name, count):
        return self.status(name, {"reclaimablePods": [{"name": "main", "count": count}]})

    def test_pods_that_ended_give_quota_back_and_cannot_take_it_again(self):
        self.queue(10)
        self.ask("w", 8)
        self.wait_admitted("w")
        self.reclaim("w", 3)
        self.wait_used(5, figure="quota falls after reclaimablePods")
        with self.refused(403, 422) as caught:
            self.reclaim("w", 2)
        self.words("fewer reclaimablePods", str(caught.exception))

    def test_reclaimable_pods_survive_an_eviction_unless_the_release_takes_them(self):
        self.queue(10)
        for name, kept in (("keeps", True), ("releases", False)):
            with self.subTest(name):
                self.ask(name, 8)
                self.wait_admitted(name)
                self.reclaim(name, 3)
                self.wait_used(5)
                self.world.patch("clusterqueue", self.here, {"spec": {"stopPolicy": "HoldAndDrain"}})
                found = self.wait_evicted(name, "ClusterQueueStopped")
                patch = kueue_world.release(found)["status"]
                if kept:
                    del patch["reclaimablePods"]
                self.status(name, patch)
                self.wait_used(0)
                self.assertEqual(self.get("workload", name)["status"].get("reclaimablePods"),
                                 [{"name": "main", "count": 3}] if kept else None)
                self.world.patch("clusterqueue", self.here, {"spec": {"stopPolicy": "None"}})
                self.wait_admitted(name)
                self.wait_used(5 if kept else 8)
                self.world.delete("workload", name, self.here)
                self.wait_used(0)


class Jobs(KueueFacts):
    """Signalbox on a cluster with Kueue."""

    class world_of(kueue_world.Kueue):
        jobs = True

    def test_a_job_that_names_no_queue_is_none_of_kueues_business(self):
        world.operator_on(self.world)
        self.world.apply(cluster.job("unqueued", {"worker": cluster.pods(2, duration="200ms")}, self.here))
        self.world.wait_phase("unqueued", "Succeeded", self.here)
        self.assertEqual(self.world.plane.objects("workloads", self.here), [])


class QueuedJobs(kueue_facts.QueuedJobs):
    """Jobs of Signalbox that ask for quota."""

    class world_of(kueue_world.Kueue):
        jobs = True

    def test_a_job_has_quota_while_it_runs(self):
        self.queue(10)
        self.job("train", 4, duration="2s")
        self.wait_status("train", "Running")
        self.wait_used(4)
        self.wait_status("train", "Succeeded")
        self.wait_used(0)
        self.assertEqual(world.told(self.workload_of("train"), "Finished")[0], "True")

    def test_without_quota_there_are_no_pods_and_kueues_words(self):
        self.queue(10)
        self.job("first", 8)
        self.wait_status("first", "Running")
        self.job("second", 8)
        eventually("it waits with words", lambda: "insufficient unused quota" in world.condition(
            self.world.get("second", self.here), "Running").get("message", ""))
        self.wait_status("second", "Pending", "WaitingForQuota")
        self.assertEqual(self.pods_of("second"), [])
        self.world.delete("pytorchtrainingjob", "first", self.here)
        self.wait_status("second", "Running")
        self.wait_used(8)
        self.world.delete("pytorchtrainingjob", "second", self.here)
        self.wait_used(0)

    def test_who_is_preempted_stops_and_comes_back(self):
        self.queue(10)
        name, _ = self.importance()
        self.job("low", 8)
        self.wait_status("low", "Running")
        self.job("high", 8, priority=name)
        self.wait_status("high", "Running")
        self.wait_status("low", "Pending", "WaitingForQuota")
        self.assertEqual(self.pods_of("low"), [])
        self.wait_used(8)
        self.world.delete("pytorchtrainingjob", "high", self.here)
        status = self.wait_status("low", "Running")
        self.assertEqual((status["attempt"], status["backoffCount"]), (2, 0))
        self.wait_used(8)

    def test_a_pause_gives_quota_back_and_a_resume_asks_again(self):
        self.queue(10)
        self.job("train", 4)
        self.wait_status("train", "Running")
        self.wait_used(4)
        self.world.patch("pytorchtrainingjob", "train", {"spec": {"runMode": {"pause": {"enabled": True}}}}, self.here)
        self.wait_status("train", "Paused")
        self.wait_used(0)
        self.world.patch("pytorchtrainingjob", "train", {"spec": {"runMode": {"pause": {"enabled": False}}}}, self.here)
        self.wait_status("train", "Running")
        self.wait_used(4)

    def test_pods_run_where_their_flavor_is(self):
        self.queue({"a": 4, "b": 10})
        self.job("train", 8)
        self.wait_status("train", "Running")
        selectors = {each["spec"].get("nodeSelector", {}).get("example.com/pool") for each in self.pods_of("train")}
        self.assertEqual(selectors, {"b"})

    def test_a_workload_that_is_deactivated_says_so_and_comes_back(self):
        self.queue(10)
        self.job("train", 4)
        self.wait_status("train", "Running")
        name = self.workload_of("train")["metadata"]["name"]
        self.world.patch("workload", name, {"spec": {"active": False}}, self.here)
        self.wait_status("train", "Pending", "WaitingForQuota")
        self.wait_used(0)
        eventually("it says why", lambda: "spec.active" in world.condition(
            self.world.get("train", self.here), "Running").get("message", ""))
        self.world.patch("workload", name, {"spec": {"active": True}}, self.here)
        self.wait_status("train", "Running")

    def test_a_workload_that_somebody_deletes_is_made_anew(self):
        self.queue(10)
        self.job("train", 4)
        self.wait_status("train", "Running")
        name = self.workload_of("train")["metadata"]["name"]
        self.world.delete("workload", name, self.here)
        eventually("it has another attempt", lambda: self.world.get("train", self.here)["status"]["attempt"] == 2)
        status = self.wait_status("train", "Running")
        self.assertEqual(status["backoffCount"], 0)
        self.wait_used(4)

    def test_an_elastic_job_is_admitted_in_part_and_grows_with_another_admission(self):
        self.queue(10)
        self.job("other", 6)
        self.wait_status("other", "Running")
        self.job(
            "train", 8, torchrunConfig={"enabled": True, "rdzvBackend": "c10d"},
            elastic={"enabled": True, "minReplicas": 2, "maxReplicas": 8, "expectedReplicas": 8})
        self.wait_status("train", "Running")
        eventually("4 pods run", lambda: len(self.pods_of("train")) == 4)
        self.wait_used(10)


class Readiness(KueueFacts):
    """With `waitForPodsReady`."""

    class world_of(kueue_world.Kueue):
        configuration = {"waitForPodsReady": {
            "timeout": "2s",
            "blockAdmission": False,
            "requeuingStrategy": {"backoffLimitCount": 1, "backoffBaseSeconds": 1},
        }}

    def test_who_does_not_get_ready_is_evicted_and_in_the_end_deactivated(self):
        self.queue(10)
        self.ask("w", 4)
        self.wait_admitted("w")
        found = self.wait_evicted("w", "PodsReadyTimeout")
        self.words("not ready in time", world.condition(found, "Evicted")["message"])
        found = eventually("it is counted", lambda: next((
            w for w in [self.get("workload", "w")] if w["status"].get("requeueState")), None))
        self.assertEqual(found["status"]["requeueState"]["count"], 1)
        self.assertIn("requeueAt", found["status"]["requeueState"])
        self.release("w")
        self.wait_admitted("w")
        found = self.wait_evicted("w", "DeactivatedDueToRequeuingLimitExceeded")
        self.assertFalse(found["spec"]["active"])

    def test_ready_pods_that_are_not_reset_hide_a_time_out(self):
        """Of three attempts whose pods do not get ready only that is found out which says so, and in Kueue's own word."""
        says = {"forgets": ("True", "Started"), "in-other-words": ("False", "Starting"), "resets": ("False", "WaitForStart")}
        self.queue(10)
        for name in says:
            self.ask(name, 2)
            self.wait_admitted(name)
            self.say(name, PodsReady=("True", "Started"))
        self.world.patch("clusterqueue", self.here, {"spec": {"stopPolicy": "HoldAndDrain"}})
        for name, said in says.items():
            self.wait_evicted(name, "ClusterQueueStopped")
            self.release(name)
            self.say(name, PodsReady=said)
        self.wait_used(0)
        self.world.patch("clusterqueue", self.here, {"spec": {"stopPolicy": "None"}})
        for name in says:
            self.wait_admitted(name)
        # The last one to be admitted is the first whose time is over.
        self.wait_evicted("resets", "PodsReadyTimeout")
        for name in ("forgets", "in-other-words"):
            self.assertTrue(self.admitted(name))
            self.assertNotEqual(world.told(self.get("workload", name), "Evicted")[0], "True", name)


if __name__ == "__main__":
    world.main(SUITE, kueue_world.Kueue.set_name)
