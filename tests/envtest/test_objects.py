# SPDX-License-Identifier: Apache-2.0
"""Mutated objects of the built-in kinds that jobs and tests use: the embedded server against the real one."""

import collections
import json
import os
import re
import unittest

import cluster
import mutations
import verdicts

SEED = int(os.environ.get("SIGNALBOX_TEMPLATE_SEED", "1"))
CASES = int(os.environ.get("SIGNALBOX_TEMPLATE_CASES", "60"))  # of each kind, as many accepted as refused if possible

POD = {"metadata": {"labels": {"app": "a"}}, "spec": {"containers": [{"name": "c", "image": "example.com/a:1"}]}}
NAMESPACED = "/namespaces/default/"
# Path of the kind, and a good object of it.
OBJECTS = {
    "ConfigMap": ("/api/v1", "configmaps", {"data": {"hosts": "a b", "run.sh": "true"}}),
    "Secret": ("/api/v1", "secrets", {"type": "Opaque", "data": {"key": "YQ=="}, "stringData": {"b": "c"}}),
    "Service": (
        "/api/v1",
        "services",
        {"spec": {"clusterIP": "None", "selector": {"app": "a"}, "ports": [{"name": "http", "port": 80, "targetPort": 80}]}},
    ),
    "ServiceAccount": ("/api/v1", "serviceaccounts", {"imagePullSecrets": [{"name": "a"}]}),
    "PersistentVolumeClaim": (
        "/api/v1",
        "persistentvolumeclaims",
        {"spec": {"accessModes": ["ReadWriteOnce"], "resources": {"requests": {"storage": "1Gi"}}, "storageClassName": "a"}},
    ),
    "Deployment": (
        "/apis/apps/v1",
        "deployments",
        {"spec": {"replicas": 1, "selector": {"matchLabels": {"app": "a"}}, "template": POD}},
    ),
    "ReplicaSet": (
        "/apis/apps/v1",
        "replicasets",
        {"spec": {"replicas": 1, "selector": {"matchLabels": {"app": "a"}}, "template": POD}},
    ),
    "Lease": ("/apis/coordination.k8s.io/v1", "leases", {"spec": {"holderIdentity": "a", "leaseDurationSeconds": 15}}),
    "Role": (
        "/apis/rbac.authorization.k8s.io/v1",
        "roles",
        {"rules": [{"apiGroups": [""], "resources": ["pods"], "verbs": ["get", "list"]}]},
    ),
    "PodDisruptionBudget": (
        "/apis/policy/v1",
        "poddisruptionbudgets",
        {"spec": {"minAvailable": 1, "selector": {"matchLabels": {"app": "a"}}}},
    ),
}

# Where the embedded server says otherwise on purpose: a part of what the real one says, or of what was changed, and why.
KNOWN = [
]


class Objects(unittest.TestCase):
    maxDiff = None

    @classmethod
    def setUpClass(cls):
        cls.plane = cluster.servers.ControlPlane().started(cls.addClassCleanup)
        cls.real = verdicts.real_server(cls.plane)
        cls.embedded = verdicts.embedded_server(cls.plane, cls.addClassCleanup)

    def cases(self, kind, content):
        """Mutations and what the real server says of them."""
        mutator = mutations.Mutator(f"{SEED} {kind}", kind)
        group, plural, _ = OBJECTS[kind]
        counts = collections.Counter()
        for _ in range(20 * CASES):
            what, changed = mutator.mutate({"metadata": {"labels": {"app": "a"}}, **content})
            changed |= {"apiVersion": group.removeprefix("/api/").removeprefix("/apis/"), "kind": kind}
            if changed.get("metadata") is None:
                changed["metadata"] = {}
            if isinstance(changed["metadata"], dict):
                changed["metadata"]["name"] = "tried"
            said = self.real.refuses(changed, group + NAMESPACED + plural)
            accepted = said["code"] == 201
            if counts[accepted] < CASES / 2:
                counts[accepted] += 1
                yield what, changed, said
            if sum(counts.values()) == CASES:
                break
        self.assertGreater(min(counts[True], counts[False]), CASES / 6, kind)

    def test_same_verdicts(self):
        told, count, same = [], 0, 0
        for kind, (group, plural, content) in OBJECTS.items():
            for what, changed, real in self.cases(kind, content):
                here = self.embedded.refuses(changed, group + NAMESPACED + plural)
                count += 1
                same += real["message"] == here["message"]
                if here["code"] != real["code"] and not any(p.search(f"{kind} {what} {real['message']}") for p, _ in KNOWN):
                    told.append(
                        f"{kind} {what}\n  real server {real['code']}: {real['message'][:300]}\n"
                        f"  here {here['code']}: {here['message'][:300]}"
                    )
        print(f"{count} objects, {len(told)} verdicts differ, {same} with the same text")
        self.assertGreater(count, 300)
        self.assertEqual("\n".join(told), "")


if __name__ == "__main__":
    cluster.main("envtest_objects")
