# SPDX-License-Identifier: Apache-2.0
"""Bad objects on a real API server: the schema refuses them, or the job says InvalidSpec; the operator goes on (api 6)."""

import copy
import unittest

import cluster
from cluster import eventually, job, pods, ssh_job


def changed(path, value, good=None):
    """A good job with one place changed; `value` None removes it. `path` goes down from the object, `/` between."""
    bad = copy.deepcopy(good or job("bad", {"worker": pods(2)}, torchrunConfig={"enabled": True}))
    place = bad
    *parents, last = [int(key) if key.isdigit() else key for key in path.split("/")]
    for key in parents:
        place = place[key] if isinstance(place, list) else place.setdefault(key, {})
    if value is None:
        del place[last]
    else:
        place[last] = value
    return bad


TEMPLATE = "spec/replicaSpecs/0/template"
ROWS = {
    "replicas-is-text": changed("spec/replicaSpecs/0/replicas", "two"),
    "replicas-is-negative": changed("spec/replicaSpecs/0/replicas", -1),
    "replicas-is-huge": changed("spec/replicaSpecs/0/replicas", 10001),
    "replicas-is-zero": changed("spec/replicaSpecs/0/replicas", 0),
    "no-replica-specs": changed("spec/replicaSpecs", []),
    "no-template": changed(TEMPLATE, None),
    "template-is-a-list": changed(TEMPLATE, []),
    "no-containers": changed(f"{TEMPLATE}/spec/containers", []),
    "no-image": changed(f"{TEMPLATE}/spec/containers/0/image", None),
    "fqdn-host-name": changed(f"{TEMPLATE}/spec/setHostnameAsFQDN", True),
    "unknown-restart-policy": changed("spec/replicaSpecs/0/restartPolicy", "Sometimes"),
    "unknown-clean-up": changed("spec/runPolicy/cleanUpPolicy", "Everything"),
    "type-in-capitals": changed("spec/replicaSpecs/0/type", "Worker"),
    "type-too-long": changed("spec/replicaSpecs/0/type", "w" * 21),
    "duplicate-types": changed("spec/replicaSpecs", [{"type": "a", **pods(1)}, {"type": "a", **pods(1)}]),
    "deadline-of-zero": changed("spec/runPolicy/activeDeadlineSeconds", 0),
    "backoff-is-negative": changed("spec/runPolicy/backoffLimit", -1),
    "reserved-option": changed("spec/torchrunConfig/extraOptions", ["--nnodes=4"]),
    "unknown-backend": changed("spec/torchrunConfig/rdzvBackend", "mpi"),
    "debug-of-unknown-type": changed("spec/runMode", {"debug": {"enabled": True, "replicaSpecs": [{"type": "ps"}]}}),
    "name-too-long": changed("metadata/name", "x" * 60),
    "spec-is-text": changed("spec", "train"),
}


def deepspeed(path, value):
    return changed(path, value, ssh_job("DeepSpeedJob", "bad", 2))


def colossalai(path, value):
    return changed(path, value, ssh_job("ColossalAIJob", "bad", 2))


def replica_specs(launcher_replicas, *worker_types, **worker):
    """The second shape of a ColossalAIJob."""
    template = {"spec": {"containers": [{"name": "worker", "image": "example.com/train:2"}]}}
    entries = [{"type": kind, "replicas": 2, "template": template, **worker} for kind in worker_types]
    launcher = {"type": "launcher", "replicas": launcher_replicas, "template": {}}
    return changed(
        "spec",
        {"torchConfig": {"script": ["train.py"], "procPerWorker": 1}, "replicaSpecs": [launcher, *entries]},
        ssh_job("ColossalAIJob", "bad", 2),
    )


WORKER = "spec/worker/template/spec/containers/0"
ROWS |= {
    "deepspeed-no-program": deepspeed("spec/config/run", {}),
    "deepspeed-two-programs": deepspeed("spec/config/run", {"python": ["a.py"], "module": ["b"]}),
    "deepspeed-no-worker": deepspeed("spec/worker", None),
    "deepspeed-no-replicas": deepspeed("spec/worker/replicas", 0),
    "deepspeed-no-slots": deepspeed("spec/config/slotsPerWorker", 0),
    "deepspeed-unknown-autotune": deepspeed("spec/config/autotune", "fast"),
    "deepspeed-autotuned-module": deepspeed("spec/config", {"autotune": "run", "run": {"module": ["a"]}}),
    "deepspeed-reserved-option": deepspeed("spec/config/otherArgs", ["--hostfile=/mine"]),
    "deepspeed-elastic-training": deepspeed("spec/config/otherArgs", ["--elastic_training"]),
    "deepspeed-reserved-mount": deepspeed(f"{WORKER}/volumeMounts", [{"name": "x", "mountPath": "/root/.ssh"}]),
    "deepspeed-no-image": deepspeed(f"{WORKER}/image", None),
    "deepspeed-elastic-no-maximum": deepspeed("spec/elastic", {"enabled": True, "minReplicas": 1}),
    "deepspeed-elastic-above-maximum": deepspeed(
        "spec/elastic", {"enabled": True, "minReplicas": 1, "maxReplicas": 2, "expectedReplicas": 3}
    ),
    "deepspeed-priority": deepspeed("spec/scheduler", {"t9kScheduler": {"queue": "q", "priority": 101}}),
    "colossalai-no-command": colossalai("spec/worker/command", None),
    "colossalai-no-script": colossalai("spec/worker/command", ["train.sh"]),
    "colossalai-no-processes": colossalai("spec/worker/procPerWorker", 0),
    "colossalai-no-worker": colossalai("spec/worker", None),
    "colossalai-relative-path": colossalai("spec/ssh", {"authMountPath": "keys"}),
    "colossalai-torch-argument": colossalai("spec/worker/torchArgs", ["-t"]),
    "colossalai-no-image": colossalai(f"{WORKER}/image", None),
    "colossalai-two-shapes": colossalai("spec/replicaSpecs", [{"type": "worker", "template": {}}]),
    "colossalai-two-launchers": replica_specs(2, "worker"),
    "colossalai-two-workers": replica_specs(1, "worker", "worker"),
    "colossalai-unknown-type": replica_specs(1, "trainer"),
    "colossalai-restarts": replica_specs(1, "worker", restartPolicy={"policy": "OnFailure", "limit": 3}),
}


class BadInput(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.cluster = cluster.Cluster().started(cls.addClassCleanup)
        cls.cluster.start_operator()

    def test_each_is_refused_or_says_invalid_spec(self):
        accepted = []
        for name, bad in ROWS.items():
            bad = copy.deepcopy(bad)
            if name != "name-too-long":
                bad["metadata"]["name"] = name
            text = cluster.json.dumps(bad)
            result = self.cluster.plane.kubectl("create", "-f", "-", stdin=text, check=False)
            with self.subTest(name):
                if result.returncode == 0:
                    accepted.append((bad["kind"].lower(), bad["metadata"]["name"]))
                else:
                    self.assertRegex(result.stderr, "is invalid|strict decoding error|invalid object|unable to")
        # What looks into templates or launcher arguments is known to the operator alone (api 6.1).
        names = [name for _, name in accepted]
        for known in (
            "no-containers", "no-image", "fqdn-host-name", "reserved-option", "deepspeed-reserved-option",
            "deepspeed-reserved-mount", "deepspeed-no-image", "colossalai-torch-argument", "colossalai-no-image",
        ):
            self.assertIn(known, names)
        for kind, name in accepted:
            with self.subTest(name):
                status = self.cluster.wait_phase(name, "Failed", kind=kind)
                self.assertEqual(status["reason"], "InvalidSpec")
                self.assertEqual(self.cluster.pods_of(name), [])
                # Events are written behind the decisions, one after the other.
                eventually("the event is there", lambda: self.cluster.events_of(name) == ["InvalidSpec"])

    def test_the_operator_serves_the_others(self):
        self.cluster.apply(
            job("good", {"worker": pods(2, duration="1s")}),
            ssh_job("DeepSpeedJob", "good", 2),
            ssh_job("ColossalAIJob", "good", 2),
        )
        for kind in ("pytorchtrainingjob", "deepspeedjob", "colossalaijob"):
            self.cluster.wait_phase("good", "Succeeded", kind=kind)


if __name__ == "__main__":
    cluster.main("envtest_bad_input")
