# SPDX-License-Identifier: Apache-2.0
"""[behaviour 2.8] What admission does to jobs in the middle of their life: quotas, limit ranges, policies that refuse, and
policies that change what we write. Each is told by `explain`, and the job goes on when it is over."""

import json
import sys
import unittest

import cluster
import policies
from audit_log import AuditLog
from auditor import PodAuditor
from cluster import eventually, job, pods, ssh_job

FULL = "--full" in sys.argv
FULL_ONLY = unittest.skipUnless(FULL, "takes minutes with the others")
ENDLESS = {"duration": "never"}
NO = "no pods on Fridays"
POLICY = {"name_retry": 300, "name_retry_max": 600, "quota_retry": 300, "quota_retry_max": 600}
LABEL = "app.kubernetes.io/managed-by"


def training(name, namespace, backoff=50, **container):
    """One pod decides, another one can fail."""
    types = {"master": pods(1, **ENDLESS), "worker": pods(1, **ENDLESS)}
    made = job(name, types, namespace, runPolicy={"backoffLimit": backoff})
    for each in made["spec"]["replicaSpecs"]:
        each["template"]["spec"]["containers"][0].update(container)
    return made


class Admission(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        audit = AuditLog(cls.addClassCleanup, ["create", "update", "patch", "delete"])
        cls.audit_log = audit
        arguments = [*audit.arguments, *policies.ARGUMENTS]
        cls.c = cluster.Cluster(POLICY, apiserver_arguments=arguments, controllers=["resourcequota-controller"]).started(cls.addClassCleanup)
        cls.plane = cls.c.plane
        cls.auditor = PodAuditor(cls.plane)
        cls.auditor.start()
        assert cls.auditor.ready.wait(cluster.PATIENCE)
        cls.c.start_operator()

    def space(self, name, *objects):
        """A namespace with these objects, each of which gets its name."""
        self.c.create_namespace(name)
        for each in objects:
            each["metadata"] = {"name": name, "namespace": name}
        if objects:
            self.c.apply(*objects)

    def runs(self, name, space, **more):
        wanted = {"phase": "Running", "ready": "2/2", **more}
        return self.c.wait(name, f"{wanted}", lambda s: all(s.get(k) == v for k, v in wanted.items()), space)

    def begin(self, name, space, **options):
        self.c.apply(training(name, space, **options))
        self.runs(name, space)

    def end(self, name, space):
        self.c.finish(name, "master-0", space)
        return self.c.wait_phase(name, "Succeeded", space)

    def writes(self, space, resource):
        """What the operator wrote of such objects of the namespace."""
        return [
            entry for entry in self.audit_log.entries()
            if entry["user"]["username"] == self.plane.operator_user
            and entry["objectRef"].get("namespace") == space and entry["objectRef"]["resource"] == resource
        ]

    @unittest.skipIf(FULL, "a suite of its own")
    def test_a_quota_that_comes_in_the_middle(self):
        quota = {"apiVersion": "v1", "kind": "ResourceQuota", "spec": {"hard": {"pods": "1"}}}
        self.space("quota")
        self.begin("tight", "quota")
        self.c.apply({**quota, "metadata": {"name": "quota", "namespace": "quota"}})
        used = lambda: self.plane.object("quota", "quota", "quota").get("status", {}).get("used")
        eventually("the quota counts", lambda: used() == {"pods": "2"})
        self.c.finish("tight", "worker-0", "quota", code=1)
        self.c.wait_explained("tight", "QuotaExceeded", "exceeded quota: quota", "Room in the quota", namespace="quota")
        patch = json.dumps({"spec": {"hard": {"pods": "2"}}})
        self.plane.kubectl("patch", "quota", "quota", "-n", "quota", "--type=merge", "-p", patch)
        self.runs("tight", "quota", attempt=2)
        self.assertEqual(self.end("tight", "quota")["backoffCount"], 1)

    @FULL_ONLY
    def test_a_limit_range_that_comes_in_the_middle(self):
        """A refusal for good is a counted failure each time; nothing else is lost."""
        self.space("limits")
        self.begin("large", "limits", resources={"limits": {"cpu": "2"}})
        limit = {"type": "Container", "max": {"cpu": "1"}, "default": {"cpu": "1", "memory": "1Gi"}}
        meta = {"name": "limits", "namespace": "limits"}
        self.c.apply({"apiVersion": "v1", "kind": "LimitRange", "metadata": meta, "spec": {"limits": [limit]}})
        self.c.finish("large", "worker-0", "limits", code=1)
        self.c.wait_explained("large", "maximum cpu usage per Container is 1", namespace="limits")
        self.assertNotIn(self.c.status("large", "limits")["phase"], cluster.FINAL)
        # One that fits gets the range's defaults, which are not taken back.
        self.begin("small", "limits")
        self.plane.kubectl("delete", "limitrange", "limits", "-n", "limits")
        self.runs("large", "limits")
        self.end("large", "limits")
        self.end("small", "limits")

    @unittest.skipIf(FULL, "a suite of its own")
    def test_a_policy_that_refuses_pods(self):
        self.space("friday")
        self.begin("before", "friday")
        self.c.apply(*policies.refusing("friday", "pods", NO))
        policies.wait_refused(self.plane, "friday", "pods", NO)
        self.c.apply(training("never", "friday"))
        status = self.c.wait_phase("never", "Failed", "friday")
        self.assertEqual(status["reason"], "PodRejected")
        self.assertIn(NO, self.c.explained("never", "friday"))
        self.c.finish("before", "worker-0", "friday", code=1)
        self.c.wait_explained("before", NO, namespace="friday")
        self.assertNotIn(self.c.status("before", "friday")["phase"], cluster.FINAL)
        self.plane.kubectl("delete", "validatingadmissionpolicybindings", "friday")
        self.runs("before", "friday")
        self.end("before", "friday")

    @FULL_ONLY
    def test_a_policy_that_refuses_services_and_one_that_refuses_statuses(self):
        self.space("closed")
        self.c.apply(*policies.refusing("closed", "services", "no names here"))
        policies.wait_refused(self.plane, "closed", "services", "no names here")
        self.c.apply(training("nameless", "closed"))
        self.c.wait_explained("nameless", "ObjectRefused", "no names here", namespace="closed")
        self.space("mute")
        self.begin("mute", "mute")
        group = "batch.tensorstack.dev"
        self.c.apply(*policies.refusing("mute", "pytorchtrainingjobs/status", "be still", ["UPDATE"], group))

        def is_mute():
            tried = self.plane.kubectl(
                "patch", cluster.KIND, "mute", "-n", "mute", "--subresource=status", "--type=merge", "--dry-run=server",
                "-p", '{"status":{"ready":"0"}}', check=False,
            )
            return "be still" in tried.stderr

        eventually("statuses are refused", is_mute)
        self.c.finish("mute", "worker-0", "mute", code=1)
        eventually("the log tells", lambda: "be still" in self.c.operator.log.read_text())
        # Record first, act after: nothing happened.
        self.assertEqual(self.c.status("mute", "mute")["attempt"], 1)
        self.assertEqual(len(self.c.pods_of("mute", "mute")), 2)
        for space in ("closed", "mute"):
            self.plane.kubectl("delete", "validatingadmissionpolicybindings", space)
        self.runs("nameless", "closed")
        self.runs("mute", "mute", attempt=2, backoffCount=1)
        self.end("nameless", "closed")
        self.end("mute", "mute")

    @FULL_ONLY
    def test_a_policy_that_adds_to_pods_and_services(self):
        """Labels, a sidecar before our container, variables: they stay, and no one writes against them."""
        self.space("mesh")
        sidecar = 'Object.spec.containers{name: "proxy", image: "example.com/proxy:1"}'
        add = 'JSONPatch{op: "add", path: '
        self.c.apply(*policies.changing(
            "mesh", "pods",
            f'[{add}"/metadata/labels/mesh", value: "on"}}, {add}"/spec/containers/0", value: {sidecar}}}, '
            f'{add}"/spec/terminationGracePeriodSeconds", value: 7}}]',
        ))
        eventually("pods change", lambda: len(policies.probe(self.plane, "mesh", "pods")[0]["spec"]["containers"]) == 2)
        self.begin("meshed", "mesh")
        self.c.apply(ssh_job("DeepSpeedJob", "keys", 2, "mesh", simulation={"duration": "never"}))
        self.c.wait("keys", "runs", lambda s: s.get("ready") == "2/2", "mesh", kind="deepspeedjob")
        for pod in self.c.pods_of("meshed", "mesh"):
            self.assertEqual(pod["metadata"]["labels"]["mesh"], "on")
            self.assertEqual(pod["spec"]["containers"][0]["name"], "proxy")
        self.c.finish("meshed", "worker-0", "mesh", code=1)
        self.runs("meshed", "mesh", attempt=2, backoffCount=1)
        self.end("meshed", "mesh")
        patches = [entry for entry in self.writes("mesh", "pods") if entry["verb"] == "patch"]
        self.assertEqual(patches, [])

    @unittest.skipIf(FULL, "a suite of its own")
    def test_a_policy_that_takes_a_label(self):
        """By which pods are watched: the job waits and says so, without a storm of writes and without a second pod."""
        self.space("thief")
        remove = f'[JSONPatch{{op: "remove", path: "/metadata/labels/{LABEL.replace("/", "~1")}"}}]'
        self.c.apply(*policies.changing("thief", "pods", remove, ["CREATE", "UPDATE"]))
        labels = lambda: policies.probe(self.plane, "thief", "pods")[0]["metadata"].get("labels", {})
        eventually("labels go", lambda: LABEL not in labels())
        self.c.apply(training("robbed", "thief"))
        told = f"came back without our values of the labels {LABEL}"
        self.c.wait_explained("robbed", "Pending (ObjectRefused)", told, namespace="thief")
        self.plane.kubectl("delete", "mutatingadmissionpolicybindings", "thief")
        self.runs("robbed", "thief")
        self.end("robbed", "thief")
        self.assertEqual(self.auditor.doubles, [])

    @FULL_ONLY
    def test_a_policy_that_adds_to_a_selector(self):
        """Ours is put back, with growing pauses; the job runs when the policy goes."""
        self.space("selector")
        add = '[JSONPatch{op: "add", path: "/spec/selector", value: {"mesh": "on"}}]'
        self.c.apply(*policies.changing("selector", "services", add, ["CREATE", "UPDATE"]))
        probe = lambda: policies.probe(self.plane, "selector", "services")[0]["spec"]
        eventually("selectors change", lambda: "selector" in probe())
        self.c.apply(training("led", "selector"))
        wrote = lambda: len(self.writes("selector", "services"))
        eventually("it is put back", lambda: wrote() >= 8)
        self.c.wait_explained("led", "Patch Service", "differs from what the job needs", namespace="selector")
        self.assertLess(wrote(), 60)
        self.plane.kubectl("delete", "mutatingadmissionpolicybindings", "selector")
        self.runs("led", "selector")
        self.end("led", "selector")


if __name__ == "__main__":
    sys.argv = sys.argv[:1]
    cluster.main("envtest_admission_full" if FULL else "envtest_admission")
