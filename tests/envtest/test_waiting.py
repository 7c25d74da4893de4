# SPDX-License-Identifier: Apache-2.0
"""Jobs that wait on a real API server, and that tell why: nodes, images, service accounts, rights; and running jobs whose
specification becomes invalid."""

import copy
import json
import unittest
from datetime import datetime, timezone

import cluster
from cluster import eventually, job, pods

ENDLESS = {"duration": "never"}
OURS = "batch.tensorstack.dev/training-container"
KUBECTL = "kubectl.kubernetes.io/default-container"


def with_sidecar(name, **spec):
    """A job of one pod, whose training container is the second one."""
    made = job(name, {"master": pods(1, **ENDLESS)}, **spec)
    containers = made["spec"]["replicaSpecs"][0]["template"]["spec"]["containers"]
    containers.insert(0, {"name": "proxy", "image": "example.com/proxy:1"})
    return made


def without_rules(value):
    """Of a definition: a server that has this one lets edits pass that ours refuses."""
    if isinstance(value, dict):
        return {key: without_rules(each) for key, each in value.items() if key != "x-kubernetes-validations"}
    return [without_rules(each) for each in value] if isinstance(value, list) else value


class Waiting(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.cluster = cluster.Cluster({"name_retry": 500, "name_retry_max": 1000}, service_accounts=True).started(cls.addClassCleanup)
        cls.kubectl = cls.cluster.plane.kubectl
        cls.kubectl("create", "serviceaccount", "default", "-n", "default")
        cls.cluster.start_operator()

    def wait_told(self, name, condition, *words):
        """The condition's message has all the words."""
        def told():
            message = self.cluster.message_of(name, condition)
            return all(word in message for word in words) and message

        return eventually(
            lambda: f"{name} tells {words} in {condition}: {json.dumps(self.cluster.status(name))}", told
        )

    def patch(self, name, spec):
        self.kubectl("patch", cluster.KIND, name, "--type=merge", "-p", json.dumps({"spec": spec}))

    def test_the_scheduler_and_the_kubelet_are_quoted(self):
        """[behaviour 4.12] [behaviour 4.13]"""
        self.cluster.apply(
            job("no-node", {"worker": pods(1, unschedulable="true")}),
            job("no-image", {"worker": pods(1, image_error="ErrImagePull")}),
        )
        self.wait_told("no-node", "Running", "cannot be scheduled: 0/4 nodes are available: 4 Insufficient")
        self.assertEqual(self.cluster.status("no-node")["reason"], "Unschedulable")
        self.wait_told("no-image", "ReplicaFailure", "cannot start: ErrImagePull: the image cannot be pulled")
        self.assertIn("0/4 nodes are available", self.cluster.explained("no-node"))
        self.assertIn("ErrImagePull: the image cannot be pulled", self.cluster.explained("no-image"))
        self.assertIn("0/4 nodes are available", self.kubectl("describe", "pj", "no-node").stdout)

    def test_a_service_account_that_is_missing_is_waited_for(self):
        """[behaviour 2.8]"""
        made = job("no-account", {"worker": pods(1, duration="1s")})
        made["spec"]["replicaSpecs"][0]["template"]["spec"]["serviceAccountName"] = "trainer"
        self.cluster.apply(made)
        self.wait_told("no-account", "Running", "service account", "trainer", "not found")
        status = self.cluster.status("no-account")
        self.assertEqual((status["phase"], status["reason"]), ("Pending", "ObjectRefused"))
        self.kubectl("create", "serviceaccount", "trainer", "-n", "default")
        self.cluster.wait_phase("no-account", "Succeeded")

    def test_rights_that_are_taken_are_waited_for(self):
        """[behaviour 2.8] One right after the other comes back; nothing is final."""
        role = self.cluster.plane.object("clusterrole", "signalbox")
        [core] = [rule for rule in role["rules"] if "pods" in rule["resources"]]

        def grant(created):
            """Only these of the core group may be created."""
            changed = copy.deepcopy(role)
            changed["metadata"].pop("resourceVersion")
            for rule in changed["rules"]:
                if rule == core:
                    rule["verbs"] = [verb for verb in core["verbs"] if verb != "create"]
            if created:
                changed["rules"].append({"apiGroups": [""], "resources": created, "verbs": ["create"]})
            self.kubectl("replace", "-f", "-", stdin=json.dumps(changed))

        self.addCleanup(grant, core["resources"])
        grant([])
        self.cluster.apply(job("no-right", {"worker": pods(1, duration="1s")}))
        self.wait_told("no-right", "Running", "Service", 'cannot create resource "services"')
        grant(["services"])
        self.wait_told("no-right", "Running", "Pod", 'cannot create resource "pods"')
        status = self.cluster.status("no-right")
        self.assertEqual((status["phase"], status["reason"]), ("Pending", "ObjectRefused"))
        self.assertIn('cannot create resource "pods"', self.cluster.explained("no-right"))
        grant(core["resources"])
        self.cluster.wait_phase("no-right", "Succeeded")

    def test_a_loss_is_told_by_its_cause(self):
        """[behaviour 3.9] The node's reason, not the exit code that followed from it; in an event too."""
        self.cluster.apply(job("evicted", {"worker": pods(1, evict_at="500ms")}, runPolicy={"backoffLimit": 0}))

        def told():
            events = self.cluster.plane.objects("events", fields="involvedObject.name=evicted,reason=ReplicaFailed")
            return [event["message"] for event in events]

        [first, *_] = eventually("the event", told)
        self.assertRegex(first, r"^pod evicted-\w+-worker-0 failed \(Evicted\): The node was low on resource: memory")

    def test_pods_say_which_container_trains_also_when_the_job_is_invalid(self):
        """[behaviour 1.6] [behaviour 4.2]"""
        self.cluster.apply(
            with_sidecar("ends-well"), with_sidecar("ends-badly", runPolicy={"backoffLimit": 0}),
            with_sidecar("may-restart", runPolicy={"backoffLimit": 3}),
        )
        names = ("ends-well", "ends-badly", "may-restart")
        for name in names:
            self.cluster.wait_phase(name, "Running")
            [pod] = self.cluster.pods_of(name)
            notes = pod["metadata"]["annotations"]
            self.assertEqual((notes[OURS], notes[KUBECTL]), ("pytorch", "pytorch"))
        definition = self.cluster.plane.object("crd", "pytorchtrainingjobs.batch.tensorstack.dev")
        self.kubectl("replace", "-f", "-", stdin=json.dumps(without_rules(definition)))
        broken = {"replicaSpecs": [{"type": "master", "replicas": 1, "template": {"spec": {"containers": []}}}]}
        for name in names:
            self.break_spec(name, broken)
            self.cluster.wait(name, "InvalidSpec", lambda s: s.get("reason") == "InvalidSpec")
        # The sidecar's end says nothing, that of the training container all.
        self.end_container("ends-well", "proxy", 1)
        self.end_container("ends-well", "pytorch", 0)
        self.cluster.wait_phase("ends-well", "Succeeded")
        self.end_container("ends-badly", "pytorch", 1)
        status = self.cluster.wait_phase("ends-badly", "Failed")
        self.assertEqual(status["reason"], "BackoffLimitExceeded")
        self.end_container("may-restart", "pytorch", 1)
        ended = lambda s: s["tasks"][0]["replicas"][0]["containers"][1]["state"] == "Terminated"
        self.cluster.wait("may-restart", "the end is seen", ended)
        self.assertEqual(self.cluster.status("may-restart")["phase"], "Running")
        self.patch("may-restart", {"replicaSpecs": with_sidecar("may-restart")["spec"]["replicaSpecs"]})
        self.cluster.wait("may-restart", "a restart", lambda s: (s["attempt"], s["backoffCount"]) == (2, 1))

    def break_spec(self, name, spec):
        """Once the server has the definition without rules."""
        def done():
            patch = json.dumps({"spec": spec})
            return self.kubectl("patch", cluster.KIND, name, "--type=merge", "-p", patch, check=False).returncode == 0

        eventually(f"{name} is broken", done)

    def end_container(self, name, container, code):
        """As its kubelet would; the pod goes on while another container runs."""
        [pod] = self.cluster.pods_of(name)
        now = datetime.now(timezone.utc).strftime("%Y-%m-%dT%H:%M:%SZ")
        statuses = pod["status"]["containerStatuses"]
        for each in statuses:
            if each["name"] == container:
                each.update(ready=False, started=False)
                each["state"] = {"terminated": {"exitCode": code, "reason": "Error" if code else "Completed",
                                                "startedAt": each["state"]["running"]["startedAt"], "finishedAt": now}}
        self.kubectl(
            "patch", "pod", pod["metadata"]["name"], "-n", "default", "--subresource=status", "--type=merge",
            "-p", json.dumps({"status": {"containerStatuses": statuses}}),
        )


if __name__ == "__main__":
    cluster.main("envtest_waiting")
