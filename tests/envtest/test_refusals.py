# SPDX-License-Identifier: Apache-2.0
"""What a real API server refuses of pods: for good, or until something else changes; and how jobs end (2.8, 4.13, 5.13)."""

import unittest

import cluster
from cluster import eventually, job, pods


def changed(name, change, **spec):
    """A job with one worker whose pod template `change` has edited."""
    made = job(name, {"worker": pods(1, duration="1s")}, **spec)
    change(made["spec"]["replicaSpecs"][0]["template"])
    return made


def in_container(**fields):
    return lambda template: template["spec"]["containers"][0].update(fields)


def in_pod(**fields):
    return lambda template: template["spec"].update(fields)


def label_number(template):
    template["metadata"].setdefault("labels", {})["step"] = 7


# What the server's decoder or its validation says no to: the pod can never be made.
FINAL = {
    "env-number": (in_container(env=[{"name": "STEPS", "value": 4}]), "cannot unmarshal number"),
    "env-yes": (in_container(env=[{"name": "FAST", "value": True}]), "cannot unmarshal bool"),
    "cpu-lots": (in_container(resources={"limits": {"cpu": "lots"}}), "quantities must match"),
    "gpu-true": (in_pod(nodeSelector={"gpu": True}), "cannot unmarshal bool"),
    "label-number": (label_number, "cannot unmarshal number"),
    "volume-missing": (in_container(volumeMounts=[{"name": "data", "mountPath": "/data"}]), "data"),
}

# What somebody else can mend.
PASSING = {
    "no-priority": (in_pod(priorityClassName="urgent"), "PriorityClass"),
    "no-runtime": (in_pod(runtimeClassName="gvisor"), "RuntimeClass"),
}


class Refusals(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.cluster = cluster.Cluster({"name_retry": 500, "name_retry_max": 1000, "finish_barrier": 2000}).started(cls.addClassCleanup)
        cls.cluster.start_operator()

    def test_what_never_can_be_fails_with_the_servers_words(self):
        self.cluster.apply(*(changed(name, change) for name, (change, _) in FINAL.items()))
        for name, (_, words) in FINAL.items():
            with self.subTest(name):
                status = self.cluster.wait_phase(name, "Failed")
                self.assertEqual(status["reason"], "PodRejected")
                self.assertIn(words, self.cluster.message_of(name, "Running"))
                self.assertEqual(self.cluster.pods_of(name), [])

    def test_what_can_be_mended_waits_and_says_for_what(self):
        self.cluster.apply(*(changed(name, change) for name, (change, _) in PASSING.items()))
        for name, (_, words) in PASSING.items():
            with self.subTest(name):
                eventually(f"{name} says why", lambda: words in self.cluster.message_of(name, "Running"))
                status = self.cluster.status(name)
                self.assertEqual((status["phase"], status["reason"]), ("Pending", "ObjectRefused"))
        urgent = {
            "apiVersion": "scheduling.k8s.io/v1", "kind": "PriorityClass", "metadata": {"name": "urgent"}, "value": 5,
        }
        self.cluster.apply(urgent)
        self.cluster.wait_phase("no-priority", "Succeeded")

    def test_kubectl_waits_for_succeeded_and_what_never_started_goes(self):
        made = job("ends", {"master": pods(1, duration="1s"), "worker": pods(2, duration="600s")})
        made["spec"]["replicaSpecs"].append({"type": "late", **pods(1, unschedulable="true")})
        made["spec"]["runPolicy"] = {"cleanUpPolicy": "None"}
        self.cluster.apply(made)
        self.cluster.plane.kubectl(
            "wait", "--for=condition=Succeeded", "pytorchtrainingjob/ends", "-n", "default", "--timeout=60s"
        )

        def names():
            return sorted(pod["metadata"]["labels"]["replica-type"]
                          for pod in self.cluster.pods_of("ends"))

        eventually("only the pods that ran are left", lambda: names() == ["master", "worker", "worker"])


if __name__ == "__main__":
    cluster.main("envtest_refusals")
