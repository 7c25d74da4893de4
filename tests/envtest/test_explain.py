# SPDX-License-Identifier: Apache-2.0
"""`signalbox explain` read from a real cluster: what it says of jobs that a real API server, quotas, permissions and
deletion brought into their situations, and what it says to users who may not read everything.
"""

import json
import re
import unittest

import cluster
import servers
from cluster import job, pods, ssh_job

NAMESPACE = "explained"
ENDLESS = {"duration": "never"}


def words(lines, section=None):
    return [line["sentence"] for line in lines if section in (None, line["section"])]


def timeless(lines):
    """The lines without what depends on the moment of the question: how long ago, and where the time went."""
    return [
        {**line, "sentence": re.sub(r"\((now|in [^()]*|[^()]* ago)\)", "", line["sentence"])}
        for line in lines
        if line.get("rule") != "behaviour 13.1"
    ]


class Explain(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.cluster = cluster.Cluster().started(cls.addClassCleanup)
        cls.plane = cls.cluster.plane
        cls.cluster.create_namespace(NAMESPACE)
        cls.cluster.start_operator()

    def apply(self, name, types, namespace=NAMESPACE, **spec):
        self.cluster.apply(job(name, types, namespace, **spec))

    def wait(self, name, what, condition, namespace=NAMESPACE):
        return self.cluster.wait(name, what, condition, namespace)

    def run_explain(self, target, *arguments, kubeconfig=None, namespace=NAMESPACE):
        return cluster.signalbox(
            "explain", target, "-n", namespace, "--kubeconfig", kubeconfig or self.plane.admin_kubeconfig, *arguments,
            check=False,
        )

    def explain(self, target, **options):
        """The only job that is explained."""
        result = self.run_explain(target, "--output", "json", **options)
        self.assertEqual(result.returncode, 0, result.stderr)
        jobs = json.loads(result.stdout)["jobs"]
        self.assertEqual(len(jobs), 1)
        return jobs[0]

    def assert_said(self, lines, section, pattern):
        self.assertTrue(any(re.search(pattern, text) for text in words(lines, section)), words(lines))

    def refused(self, target, pattern, **options):
        result = self.run_explain(target, **options)
        self.assertEqual((result.returncode, result.stdout), (2, ""), result.stderr)
        self.assertRegex(result.stderr, pattern)

    def user(self, name, *rules):
        """The kubeconfig of a service account with these rights alone: (group, resources, verbs)."""
        account = {"kind": "ServiceAccount", "name": name, "namespace": NAMESPACE}
        meta = {"name": name, "namespace": NAMESPACE}
        api = "rbac.authorization.k8s.io"
        self.cluster.apply(
            {"apiVersion": "v1", "kind": "ServiceAccount", "metadata": meta},
            {
                "apiVersion": f"{api}/v1", "kind": "Role", "metadata": meta,
                "rules": [{"apiGroups": [g], "resources": list(r), "verbs": list(v)} for g, r, v in rules],
            },
            {
                "apiVersion": f"{api}/v1", "kind": "RoleBinding", "metadata": meta, "subjects": [account],
                "roleRef": {"apiGroup": api, "kind": "Role", "name": name},
            },
        )
        token = self.plane.kubectl("create", "token", name, "-n", NAMESPACE).stdout.strip()
        path = self.plane.folder / f"{name}.kubeconfig"
        self.plane.write_kubeconfig(path, name, token)
        return path

    def test_a_running_job_and_its_recording_say_the_same(self):
        self.apply("runs", {"master": pods(1, **ENDLESS), "worker": pods(2, **ENDLESS)})
        self.wait("runs", "all pods", lambda s: s.get("ready") == "3/3" and s.get("phase") == "Running")
        servers.eventually("nothing is left to do", lambda: "Nothing: all that can be done" in str(self.explain("pj/runs")))
        live = self.explain("pj/runs")
        self.assert_said(live["lines"], "phase", rf"PyTorchTrainingJob {NAMESPACE}/runs is Running since")
        self.assert_said(live["lines"], "awaited", r"The end of pod runs-\w+-master-0, which decides")
        self.assertEqual(live["notes"], [])
        recording = self.plane.kubectl("get", "pj,pods,svc,secret,cm", "-n", NAMESPACE, "-o", "yaml").stdout
        result = cluster.signalbox("explain", "-f", "-", "--now", live["now"], "--output", "json", stdin=recording)
        recorded = {each["name"]: each for each in json.loads(result.stdout)["jobs"]}
        self.assertEqual(timeless(recorded["runs"]["lines"]), timeless(live["lines"]))

    def test_a_full_quota(self):
        """[behaviour 2.8] the quota's own words, and when it is tried again."""
        self.cluster.create_namespace("full")
        hard = {"pods": "1"}
        meta = {"name": "small", "namespace": "full"}
        self.cluster.apply({"apiVersion": "v1", "kind": "ResourceQuota", "metadata": meta, "spec": {"hard": hard}})
        # As the quota controller would, which does not run here.
        status = json.dumps({"status": {"hard": hard, "used": {"pods": "0"}}})
        self.plane.kubectl(
            "patch", "quota", "small", "-n", "full", "--subresource=status", "--type=merge", "-p", status
        )
        self.apply("wide", {"worker": pods(3, **ENDLESS)}, "full")
        self.wait("wide", "QuotaExceeded", lambda s: s.get("reason") == "QuotaExceeded", "full")
        lines = self.explain("wide", namespace="full")["lines"]
        self.assert_said(lines, "phase", r"is Pending \(QuotaExceeded\)")
        self.assert_said(lines, "phase", r"exceeded quota: small")
        self.assert_said(lines, "awaited", r"Room in the quota")
        self.assert_said(lines, "next", r"doubling to")

    def test_an_invalid_specification(self):
        bad = pods(1)
        bad["template"]["spec"]["setHostnameAsFQDN"] = True
        self.apply("wrong", {"worker": bad})
        self.wait("wrong", "InvalidSpec", lambda s: s.get("reason") == "InvalidSpec")
        lines = self.explain("wrong")["lines"]
        self.assert_said(lines, "phase", r"is Failed \(InvalidSpec\)")
        self.assert_said(lines, "specification", r"/spec/replicaSpecs/0/template/spec/setHostnameAsFQDN: ")

    def test_a_job_that_is_being_deleted(self):
        held = job("leaves", {"worker": pods(1, **ENDLESS)}, NAMESPACE)
        held["metadata"]["finalizers"] = ["example.com/backup"]
        self.cluster.apply(held)
        self.wait("leaves", "Running", lambda s: s.get("phase") == "Running")
        self.plane.kubectl("delete", "pj", "leaves", "-n", NAMESPACE, "--wait=false")
        lines = self.explain("leaves")["lines"]
        self.assert_said(lines, "phase", r"leaves is being deleted, as asked at")
        self.assert_said(lines, "awaited", r"removes 3 objects of it as soon as the job itself is gone")
        self.assert_said(lines, "awaited", r"until this is removed from metadata\.finalizers, .*example\.com/backup")
        patch = '{"metadata":{"finalizers":null}}'
        self.plane.kubectl("patch", "pj", "leaves", "-n", NAMESPACE, "--type=merge", "-p", patch)

    def test_a_job_that_no_operator_has_seen(self):
        self.cluster.operator.kill()
        self.addCleanup(self.cluster.start_operator)
        self.apply("unseen", {"worker": pods(1, **ENDLESS)})
        lines = self.explain("unseen")["lines"]
        self.assert_said(lines, "phase", r"has no status: the operator has not reconciled it yet")
        self.assert_said(lines, "actions", r"Create Service unseen-\w+: ")

    def test_kinds_that_a_user_may_not_list(self):
        """They are noted and taken as there; pods are indispensable."""
        self.cluster.apply(ssh_job("DeepSpeedJob", "zero", 2, NAMESPACE, simulation=ENDLESS))
        self.cluster.wait(
            "zero", "all pods", lambda s: (s.get("phase"), s.get("ready")) == ("Running", "2/2"), NAMESPACE, kind="deepspeedjob"
        )
        jobs = ("batch.tensorstack.dev", ("deepspeedjobs",), ("get",))
        reader = self.user("reader", jobs, ("", ("pods",), ("list",)))
        # By its bare name: the other kinds of jobs may not be read.
        explained = self.explain("zero", kubeconfig=reader)
        noted = " ".join(explained["notes"])
        for kind in ("services", "secrets", "configmaps"):
            self.assertRegex(noted, rf"{kind} could not be listed: .*forbidden")
        self.assertRegex(noted, r"The recording has no .*Secret.*: those of the job are taken as there")
        self.assertEqual(timeless(explained["lines"]), timeless(self.explain("zero")["lines"]))
        blind = self.user("blind", jobs)
        self.refused("dj/zero", r"pods could not be listed: .*forbidden", kubeconfig=blind)
        self.refused("pj/zero", r"pytorchtrainingjobs.*forbidden", kubeconfig=blind)

    def test_what_is_not_there(self):
        self.refused("nobody", rf"namespace {NAMESPACE} has no training job nobody")
        stranger = self.plane.folder / "stranger.kubeconfig"
        self.plane.write_kubeconfig(stranger, "stranger", "a token that no one gave")
        self.refused("nobody", r"(?i)unauthorized", kubeconfig=stranger)


if __name__ == "__main__":
    cluster.main("envtest_explain")
