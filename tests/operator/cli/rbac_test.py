# SPDX-License-Identifier: Apache-2.0
"""`signalbox rbac`: roles for what `run` does with the same flags. That its rules are the right ones, deploy_test.cpp shows."""
import json
import re
import sys
import unittest

import program

KINDS = ["ClusterRole", "ClusterRoleBinding"]


class Rbac(unittest.TestCase):
    def rbac(self, *flags):
        result = program.run("rbac", *flags)
        self.assertEqual(result.code, 0, result.err)
        return result.out

    def heads(self, text):
        """Kind, namespace and name of each document."""
        found = []
        for document in text.split("---\n")[1:]:
            value = lambda key: (re.search(rf"(?m)^ *{key}: (\S+)$", document) or [None, ""])[1]
            metadata = document[document.index("metadata:"):document.index("labels:")]
            namespace = re.search(r"namespace: (\S+)", metadata)
            found.append((value("kind"), namespace[1] if namespace else "", value("name")))
        return found

    def test_cluster_wide_or_by_namespace(self):
        self.assertEqual(self.heads(self.rbac()), [(kind, "", "signalbox") for kind in KINDS])
        self.assertEqual(
            self.heads(self.rbac("-n", "team-a", "-n", "team-b", "-n", "team-a", "--name", "sb")),
            [(kind, ns, "sb") for ns in ("team-a", "team-b") for kind in ("Role", "RoleBinding")])

    def test_leader_election_has_a_role_of_its_own(self):
        text = self.rbac("--leader-elect", "--leader-elect-resource-name", "mine", "--service-account-namespace", "ops")
        self.assertEqual(self.heads(text)[2:], [(k, "ops", "signalbox-leader-election") for k in ("Role", "RoleBinding")])
        self.assertIn("resourceNames: [mine]", text)
        other = self.rbac("--leader-elect", "--leader-elect-resource-namespace", "leases")
        self.assertEqual({ns for _, ns, _ in self.heads(other)[2:]}, {"leases"})
        self.assertIn("    namespace: signalbox-system", other.split("---\n")[-1])

    def test_without_a_feature_its_rights_are_not_there(self):
        for feature, resources in (("ssh", ["secrets", "configmaps"]), ("gang", ["podgroups"]),
                                   ("tensorboard", ["deployments", "tensorboards"]), ("events", ["events"])):
            for resource in resources:
                with self.subTest(feature=feature, resource=resource):
                    self.assertRegex(self.rbac(), rf"resources: \[{resource}\]")
                    self.assertNotIn(resource, self.rbac("--without", feature))
        self.assertNotRegex(self.rbac("--without", "ssh,gang,tensorboard,events"), "secrets|podgroups|deployments|events")

    def test_logs_are_read_only_where_that_is_asked_for(self):
        self.assertNotIn("pods/log", self.rbac())
        self.assertIn("resources: [pods/log]\n    verbs: [get]\n", self.rbac("--with", "logs"))
        rows = json.loads(self.rbac("--with", "logs", "-o", "json"))
        self.assertEqual([row["rule"]["resources"] for row in rows if row["feature"] == "logs"], [["pods/log"]])

    def test_tokens_are_reviewed_only_where_that_is_asked_for(self):
        self.assertNotIn("tokenreviews", self.rbac())
        for flags in ((), ("-n", "team-a")):
            with self.subTest(flags):
                text = self.rbac("--with", "progress", *flags)
                self.assertEqual(self.heads(text)[-2:], [(kind, "", "signalbox-progress") for kind in KINDS])
                self.assertIn("resources: [tokenreviews]\n    verbs: [create]\n", text)
        several = self.heads(self.rbac("--with", "progress", "--leader-elect", "--service-account-namespace", "ops"))
        self.assertEqual(several[4:6], [(kind, "ops", "signalbox-progress") for kind in ("Role", "RoleBinding")])
        rows = json.loads(self.rbac("--with", "progress", "--leader-elect", "-o", "json"))
        self.assertEqual([row["rule"]["resources"] for row in rows if row["feature"] == "progress"],
                         [["tokenreviews"], ["endpointslices"]])

    def test_schedulers_are_served_only_where_that_is_asked_for(self):
        groups = {"kubernetes": "scheduling.k8s.io", "coscheduling": "scheduling.x-k8s.io", "volcano": "scheduling.volcano.sh"}
        for name, group in groups.items():
            with self.subTest(scheduler=name):
                text = self.rbac("--scheduler", name)
                self.assertIn(f"  - apiGroups: [{group}]\n    resources: [podgroups]\n", text)
                others = [other for other in groups.values() if other != group]
                self.assertFalse([other for other in others if f"[{other}]" in text])
                self.assertNotIn(group, self.rbac())
        text = self.rbac("--scheduler", "kueue", "-n", "team-a")
        self.assertIn("  - apiGroups: [kueue.x-k8s.io]\n    resources: [workloads]\n", text)
        self.assertIn("resources: [workloads/status]\n    verbs: [patch]\n", text)
        flavors = text.index("resources: [resourceflavors, workloadpriorityclasses]\n    verbs: [get]\n")
        self.assertIn("kind: ClusterRole\n", text[:flavors].rsplit("---\n", 1)[1])
        self.assertNotIn("kueue", self.rbac())
        rows = json.loads(self.rbac("--scheduler", "kubernetes,volcano", "-o", "json"))
        self.assertEqual({row["feature"] for row in rows} & set(groups), {"kubernetes", "volcano"})

    def test_secrets_are_never_listed(self):
        rule = re.search(r"resources: \[secrets\]\n    verbs: \[(.*)\]", self.rbac())
        self.assertEqual(rule[1], "get, create, delete")

    def test_kinds_of_jobs(self):
        text = self.rbac("--kind", "caij")
        self.assertIn("resources: [colossalaijobs]", text)
        self.assertIn("resources: [colossalaijobs]\n    verbs: [patch]\n", text)
        self.assertNotRegex(text, "pytorch|deepspeed")
        self.assertIn("resources: [pytorchtrainingjobs, deepspeedjobs]", self.rbac("--kind", "dj,pytorchtrainingjob"))

    def test_json_has_the_same_rules_with_their_features(self):
        rows = json.loads(self.rbac("-o", "json"))
        text = self.rbac()
        self.assertEqual(len(rows), text.count("  - apiGroups:"))
        for row in rows:
            self.assertIn(f"resources: [{', '.join(row['rule']['resources'])}]", text)
        features = {row["feature"] for row in rows}
        self.assertEqual(features, {"", "ssh", "gang", "tensorboard", "events"})

    def test_mistakes(self):
        for command in ("rbac", "run"):
            for flags, why in (
                    (["--without", "secrets"], "--without: there is no feature `secrets`; there are: ssh, gang, tensorboard, events"),
                    (["--with", "ssh"], "--with: `ssh` cannot be asked for; what can: logs"),
                    (["--scheduler", "gang"],
                     "--scheduler: there is none `gang` to be asked for; there are: kubernetes, kueue, coscheduling, volcano"),
                    (["--kind", "pod"], "--kind: there is no kind of jobs `pod`; there are: pj, dj, caij"),
                    (["-n", "Team"], "--namespace: `Team` is no name of a namespace"),
                    (["-n", ""], "--namespace: `` is no name of a namespace")):
                with self.subTest(command=command, flags=flags):
                    result = program.run(command, *flags)
                    self.assertEqual(result.code, 2)
                    self.assertIn(why, result.err)


if __name__ == "__main__":
    unittest.main(argv=sys.argv[:1], verbosity=1)
