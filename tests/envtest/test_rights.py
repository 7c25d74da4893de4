# SPDX-License-Identifier: Apache-2.0
"""[behaviour 2.8] Every verb of the operator's permissions is taken away in the middle of jobs, and given back: the log names
what is missing, nothing ends, nothing is lost. Each has a namespace of its own, so that all are tried at once."""

import itertools
import json
import sys
import unittest

import cluster
from auditor import PodAuditor
from cluster import PATIENCE, eventually, job, pods, ssh_job
from cut_proxy import CutProxy

FULL = "--full" in sys.argv

ENDLESS = {"duration": "never"}
ACCOUNT = {"kind": "ServiceAccount", "name": "signalbox", "namespace": "signalbox-system"}
API = "rbac.authorization.k8s.io"
# Of the three kinds of jobs, one: rights on the others are used by the same lines. Of TensorBoard, what takes its place where no
# such kind is served.
LEFT_OUT = ("deepspeedjobs", "colossalaijobs", "tensorboards")


# Not needed here. Services and Deployments go with their job, by the collector of garbage; the default size is written when an
# elastic job begins. Lists: a watch that was refused goes on where it ended.
UNUSED = {("services", "delete"), ("deployments", "delete"), ("pytorchtrainingjobs", "patch")}
SSH = ("secrets", "configmaps")
CHILDREN = ("pods", "services", "configmaps", "deployments", "podgroups")
REFUSED = "(ObjectRefused)"
EXPLAINED = {
    "pods": ("Pending " + REFUSED, 'cannot create resource "pods"', "Whatever made the API server refuse the object"),
    "services": ("Running " + REFUSED, 'cannot create resource "services"'),
    "secrets": ("Pending " + REFUSED, 'cannot create resource "secrets"'),
    "configmaps": ("Running " + REFUSED, 'cannot create resource "configmaps"'),
    "podgroups": ("Running " + REFUSED, 'cannot create resource "podgroups"'),
}
LABEL = "app.kubernetes.io/managed-by"


class Right:
    """One verb on one resource, the namespace where it is missing, and the job there, `mid`."""

    def __init__(self, group, resource, verb):
        self.group, self.resource, self.verb = group, resource, verb
        self.space = f"{resource}-{verb}".replace("/", "-")
        self.kind = "deepspeedjob" if resource in SSH else cluster.KIND
        # By its end the job needs this right, or by being watched when it has ended.
        of_ended = ("pytorchtrainingjobs", "get"), ("pytorchtrainingjobs", "delete"), ("secrets", "delete"), ("podgroups", "delete")
        self.ends = (resource, verb) in of_ended

    def __str__(self):
        return f"{self.verb} {self.resource}"

    def is_in(self, rule):
        return self.group in rule["apiGroups"] and self.resource in rule["resources"] and self.verb in rule["verbs"]

    def is_told(self, lines):
        """The server's refusal of this is in one of these lines."""
        if (self.resource, self.verb) in UNUSED or self.verb == "list":
            return True
        words = [f'cannot {self.verb} resource "{self.resource}" in API group "{self.group}" in the namespace "{self.space}"']
        if self.resource.endswith("/finalizers"):
            words = ["cannot set blockOwnerDeletion", f"/namespaces/{self.space}/"]
        return any(all(word in line for word in words) for line in lines)


def without(rules, right):
    """These rules but for this right."""
    out = []
    for rule in rules:
        if not right.is_in(rule):
            out.append(rule)
            continue
        others = [each for each in rule["resources"] if each != right.resource]
        verbs = [each for each in rule["verbs"] if each != right.verb]
        if others:
            out.append({**rule, "resources": others})
        if verbs:
            out.append({**rule, "resources": [right.resource], "verbs": verbs})
    return out


class Rights(unittest.TestCase):
    def setUp(self):
        arguments = ["--enable-admission-plugins=OwnerReferencesPermissionEnforcement"]
        policy = {"name_retry": 500, "name_retry_max": 1000, "finish_barrier": 2000}
        self.c = cluster.Cluster(policy, apiserver_arguments=arguments).started(self.addCleanup)
        self.plane = self.c.plane
        self.plane.serve_kinds(cluster.CRDS / "podgroup.yaml")
        self.rules = self.plane.object("clusterrole", "signalbox")["rules"]
        self.plane.kubectl("delete", "clusterrolebinding,clusterrole", "signalbox")
        self.rights = [
            Right(group, resource, verb)
            for rule in self.rules for group in rule["apiGroups"] for resource in rule["resources"] for verb in rule["verbs"]
            if resource.split("/")[0] not in LEFT_OUT
        ]
        self.plane.apply(*({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": r.space}} for r in self.rights))
        self.plane.apply(*(self.role(r, self.rules) for r in self.rights), *(self.binding(r) for r in self.rights))

    def role(self, right, rules):
        meta = {"name": "signalbox", "namespace": right.space}
        return {"apiVersion": f"{API}/v1", "kind": "Role", "metadata": meta, "rules": rules}

    def binding(self, right):
        meta = {"name": "signalbox", "namespace": right.space}
        role = {"apiGroup": API, "kind": "Role", "name": "signalbox"}
        return {"apiVersion": f"{API}/v1", "kind": "RoleBinding", "metadata": meta, "subjects": [ACCOUNT], "roleRef": role}

    def wait_all(self, what, condition):
        """`condition(status)` holds for the job of every namespace."""
        left = {}

        def holds():
            found = self.statuses()
            left.clear()
            left.update({r.space: found.get(r.space) for r in self.rights if not condition(r, found.get(r.space))})
            return not left

        eventually(lambda: f"{what}: {json.dumps(left)}\n{self.c.operator.tail(60)}", holds, interval=0.5)

    def begin(self, right):
        """The job of a namespace."""
        policy = {"runPolicy": {"cleanUpPolicy": "All", "backoffLimit": 9}} if right.ends else {}
        types = {"master": pods(1, **ENDLESS), "worker": pods(1, **ENDLESS)}
        if right.resource in SSH:
            return ssh_job("DeepSpeedJob", "mid", 2, right.space, simulation=ENDLESS, **policy)
        if right.resource == "podgroups":
            policy["scheduler"] = {"t9kScheduler": {"queue": "q"}}
        if right.resource == "deployments":
            logs = {"pvc": [{"name": "workspace", "subPath": ["logs"]}]}
            policy["tensorboardSpec"] = {"image": "example.com/tensorboard:2", "logDir": logs}
        if (right.resource, right.verb) == ("pytorchtrainingjobs", "delete"):
            policy["runPolicy"]["ttlSecondsAfterFinished"] = 1
        if (right.resource, right.verb) == ("pytorchtrainingjobs", "get"):
            policy["runPolicy"]["cleanUpPolicy"] = "None"
        return job("mid", types, right.space, **policy)

    def disturb(self, right):
        """Something after which the operator has to use that right."""
        kubectl = lambda *words: self.plane.kubectl(*words, "-n", right.space)
        if (right.resource, right.verb) == ("events", "patch"):
            # What is told again is counted on the first one.
            for phase in ("Paused", "Running") * 2:
                self.pause(right.space, phase == "Paused")
                self.c.wait("mid", phase, lambda s: s.get("phase") == phase, right.space)
        elif right.ends:
            self.c.finish("mid", "worker-0" if right.resource in SSH else "master-0", right.space, right.kind)
        elif right.resource in CHILDREN and right.verb in ("get", "patch"):
            kubectl("label", right.resource, "--all", f"{LABEL}-")
        elif right.resource in CHILDREN and right.verb == "create" and right.resource != "pods":
            kubectl("delete", right.resource, "--all", "--wait=false")
        else:
            if right.resource == "secrets":
                kubectl("delete", "secrets", "--all")
            self.c.finish("mid", "worker-1" if right.resource in SSH else "worker-0", right.space, right.kind, code=1)

    def wait_told(self, but):
        numbers = itertools.count()
        left = lambda: self.untold() - {str(right) for right in but}

        def told():
            # A job that has ended is let go, and read again when one of its pods changes.
            seen = f"seen={next(numbers)}"
            self.plane.kubectl("label", "pods", "--all", "-n", "pytorchtrainingjobs-get", seen, "--overwrite")
            return not left()

        eventually(lambda: f"the log names {left()}", told, interval=1)

    def pause(self, namespace, wanted):
        patch = {"spec": {"runMode": {"pause": {"enabled": wanted}}}}
        self.plane.kubectl("patch", cluster.KIND, "mid", "-n", namespace, "--type=merge", "-p", json.dumps(patch))

    def is_back(self, right, status):
        """The job is where it would be without all this."""
        if right.ends:
            return status is None if right.resource == "pytorchtrainingjobs" and right.verb == "delete" else (
                status["phase"] == "Succeeded")
        return status and (status.get("phase"), status.get("ready")) == ("Running", "2/2") and not status.get("reason")

    def untold(self):
        """Rights whose lack the log does not name yet."""
        lines = self.c.operator.log.read_text().replace('\\"', '"').splitlines()
        return {str(r) for r in self.rights if not r.is_told(lines)}

    @unittest.skipUnless(FULL, "takes minutes")
    def test_each(self):
        proxy = CutProxy(self.plane.port)
        self.addCleanup(proxy.close)
        kubeconfig = self.plane.operator_kubeconfig
        kubeconfig.write_text(kubeconfig.read_text().replace(f":{self.plane.port}", f":{proxy.port}"))
        self.c.operator = self.c.operator_process(
            "operator", kubeconfig, *(f"--namespace={r.space}" for r in self.rights)
        )
        auditor = PodAuditor(self.plane)
        auditor.start()
        self.assertTrue(auditor.ready.wait(PATIENCE))
        self.plane.apply(*(self.begin(r) for r in self.rights))
        self.wait_all("runs", lambda r, s: s and s.get("ready") == "2/2")
        self.plane.apply(*(self.role(r, without(self.rules, r)) for r in self.rights))
        # Of a watch that stands the server asks no right again.
        proxy.cut("drop")
        proxy.mend()
        # The log has the last of several errors of events: that of this right comes alone.
        repeated = [right for right in self.rights if (right.resource, right.verb) == ("events", "patch")]
        for right in self.rights:
            if right not in repeated:
                self.disturb(right)
        self.c.wait_phase("mid", "Succeeded", "pytorchtrainingjobs-get")
        self.wait_told(repeated)
        for right in repeated:
            self.disturb(right)
        self.wait_told([])
        for resource, words in EXPLAINED.items():
            self.c.wait_explained("mid", *words, namespace=f"{resource}-create")
        self.c.wait_explained("mid", "Delete Pod", "its log says what", namespace="pods-delete")
        self.c.wait_explained("mid", "becomes Pending (Restarting)", namespace="pytorchtrainingjobs-status-update")
        self.assertEqual({space: status for space, status in self.statuses().items() if status["phase"] == "Failed"}, {})
        self.plane.apply(*(self.role(r, self.rules) for r in self.rights))
        self.wait_all("is back", self.is_back)
        for right in self.rights:
            status = self.c.status("mid", right.space, right.kind) if not right.ends else {}
            with self.subTest(right=str(right)):
                self.assertLessEqual(status.get("backoffCount", 0), 1)
        self.assertEqual(auditor.doubles, [])

    def statuses(self):
        """Of the jobs by their namespaces."""
        items = self.plane.objects("pj,dj", namespace=None)
        return {item["metadata"]["namespace"]: item.get("status", {}) for item in items}


if __name__ == "__main__":
    sys.argv = sys.argv[:1]
    cluster.main("envtest_rights_full" if FULL else "envtest_rights")
