# SPDX-License-Identifier: Apache-2.0
"""The CRDs of all kinds against a real API server: it accepts and refuses what tests/jobcore/api/rules*.json say (rules
marked S, and what the library alone refuses, L, is accepted), its transition rules agree with the library's, and it
judges objects with one changed field (tests/jobcore/api/mutations.cpp) as the library does.

The CRDs, the changed objects and the library's verdicts come from rule_cases.py. The third validator, the command line, is
held against the same cases by tests/operator/cli/corpus_test.py.
"""

import http.client
import json
import os
import ssl
import unittest

import rule_cases
import servers

RULES = rule_cases.RULES
BASE = RULES["PyTorchTrainingJob"]["base"]
BINARY = os.environ.get("SIGNALBOX_BINARY", "signalbox")


def made(changes):
    return rule_cases.made_from_base(BASE, changes)


def verdict(status, answer):
    """What somebody learns of a refusal, whatever its order; of an acceptance that it is one."""
    causes = answer.get("details", {}).get("causes", []) if answer["kind"] == "Status" else []
    return status, answer.get("reason"), sorted((cause["field"], cause["message"]) for cause in causes)


class CrdRules(rule_cases.ServerRules, unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.plane = servers.ControlPlane().started(cls.addClassCleanup)
        crds = {"apiVersion": "v1", "kind": "List", "items": cls.corpus["crds"]}
        cls.plane.serve_kinds("-", stdin=json.dumps(crds))
        context = ssl.create_default_context(cafile=str(cls.plane.ca_file))
        server = cls.plane.url.removeprefix("https://")
        cls.connection = http.client.HTTPSConnection(server, context=context, timeout=servers.PATIENCE)
        cls.addClassCleanup(cls.connection.close)

    @classmethod
    def kubectl(cls, *arguments, **options):
        return cls.plane.kubectl(*arguments, **options)

    judged = {}  # what was asked dry before, with its answer: several tests ask the same of the same objects

    def call(self, verb, path, body=None):
        ask = lambda: rule_cases.request(self.connection, verb, path, body, self.plane.admin_token)
        if verb != "POST" or not path.endswith("?dryRun=All"):
            return ask()
        asked = path, json.dumps(body)
        if asked not in self.judged:
            self.judged[asked] = ask()
        return self.judged[asked]

    def send(self, verb, body):
        return self.refusal({"create": "POST", "replace": "PUT"}[verb], body)

    def test_the_embedded_server_says_the_same(self):
        """[requirement A7] to everybody who creates one of these objects: verdict, fields and texts."""
        embedded = rule_cases.EmbeddedServer(BINARY, self.corpus["crds"])
        self.addCleanup(embedded.stop)
        cases = [
            (case["rule"], rule_cases.created(rules, case))
            for rules in RULES.values()
            for case in rules["create"]
            if not case.get("skip_server")
        ]
        cases += [(case["rule"], case["object"]) for case in self.corpus["mutations"]]
        wrong = []
        for rule, body in cases:
            path = rule_cases.path_of(body["kind"]) + "?dryRun=All"
            real, ours = (verdict(*call("POST", path, body)) for call in (self.call, embedded.call))
            if real != ours:
                wrong.append((rule, f"{real} there, {ours} here"))
        self.disagree(wrong)

    def test_a_refusal_says_what_would_be_right(self):
        body = made({"/spec/replicaSpecs/0/replicas": 0})
        self.assertIn("the job needs at least one replica", self.send("create", body))
        self.assertEqual(self.send("create", made({})), "")
        patched = self.kubectl(
            "patch", "pj", "mnist", "--type=merge", "-p", '{"spec":{"managedBy":"other"}}', check=False
        )
        self.assertIn("`managedBy` cannot be changed", patched.stderr)
        self.delete("mnist")

    def test_a_third_party_may_pause_a_job_without_run_mode(self):
        """[api runMode.pause.enabled] with a merge patch."""
        self.assertEqual(self.send("create", made({})), "")
        patch = '{"spec":{"runMode":{"pause":{"enabled":true}}}}'
        self.kubectl("patch", "pj", "mnist", "--type=merge", "-p", patch)
        self.delete("mnist")

    def test_templates_and_aliases_are_kept_and_unknown_fields_pruned(self):
        """[api template] [api aliases] [api unknown fields] by the server."""
        body = made(
            {"/spec/torchrunConfig": {"enable": True, "bogus": 1}, "/spec/replicaSpecs/0/template/spec/bogus": {"x": [1]}}
        )
        self.assertEqual(self.send("create", body), "")
        spec = json.loads(self.kubectl("get", "pj", "mnist", "-o", "json").stdout)["spec"]
        self.assertEqual(spec["torchrunConfig"], {"enable": True})
        self.assertEqual(spec["replicaSpecs"][0]["template"]["spec"]["bogus"], {"x": [1]})
        self.assertEqual(set(spec), {"torchrunConfig", "replicaSpecs"})
        self.delete("mnist")

    def test_columns_category_and_short_name(self):
        """[api columns] [api kinds] as kubectl prints them."""
        body = made({"/spec/scheduler": {"t9kScheduler": {"queue": "q1"}}})
        self.assertEqual(self.send("create", body), "")
        status = {"phase": "Running", "ready": "3/4", "backoffCount": 2, "reason": "R", "duration": "1m"}
        patch = json.dumps({"status": status})
        self.kubectl("patch", "pj", "mnist", "--type=merge", "--subresource=status", "-p", patch)
        header, row = self.kubectl("get", "training").stdout.splitlines()
        self.assertEqual(header.split(), ["NAME", "PHASE", "READY", "RESTARTS", "REASON", "AGE"])
        # With the kind in front, since the category has several.
        self.assertEqual(row.split()[0].split("/")[-1], "mnist")
        self.assertEqual(row.split()[1:5], ["Running", "3/4", "2", "R"])
        header, row = self.kubectl("get", "pj", "-o", "wide").stdout.splitlines()
        self.assertEqual(header.split()[6:], ["QUEUE", "PROGRESS", "STARTED", "DURATION", "DISRUPTIONS"])
        self.assertIn("q1", row)
        self.delete("mnist")

    def test_the_queue_of_every_scheduler_is_a_column(self):
        """[api columns] whichever scheduler a job asks for, or none."""
        status = {"progress": {"attempt": 1, "rank": 0, "progressPercentage": 24}}
        for scheduler, queue in (({"t9kScheduler": {"Queue": "q2"}}, "q2"), ({"volcano": {"queue": "q3"}}, "q3"),
                                 ({"kueue": {"queueName": "q4"}}, "q4"), ({"koordinator": {}}, ""), (None, "")):
            body = made({} if scheduler is None else {"/spec/scheduler": scheduler})
            self.assertEqual(self.send("create", body), "")
            self.kubectl("patch", "pj", "mnist", "--type=merge", "--subresource=status", "-p", json.dumps({"status": status}))
            header, row = self.kubectl("get", "pj", "-o", "wide").stdout.splitlines()
            begin, end = header.index("QUEUE"), header.index("PROGRESS")
            self.assertEqual((row[begin:end].strip(), row[end:].split()[0]), (queue, "24"), row)
            self.delete("mnist")

    def test_scale_writes_expected_replicas(self):
        """[api elastic.expectedReplicas] [behaviour 7.5] within the bounds alone."""
        changes = {"/spec/elastic": {"enabled": True, "maxReplicas": 4}, "/spec/torchrunConfig": {"enabled": True}}
        self.assertEqual(self.send("create", made(changes)), "")
        self.kubectl("scale", "pj/mnist", "--replicas=3")
        spec = json.loads(self.kubectl("get", "pj", "mnist", "-o", "json").stdout)["spec"]
        self.assertEqual(spec["elastic"]["expectedReplicas"], 3)
        self.assertNotEqual(self.kubectl("scale", "pj/mnist", "--replicas=5", check=False).returncode, 0)
        self.delete("mnist")

    def accept(self, manifests):
        for manifest in manifests:
            with self.subTest(manifest.name):
                self.kubectl("create", "--validate=strict", "-f", manifest)
                self.kubectl("delete", "-f", manifest)

    def test_own_examples_are_accepted(self):
        manifests = sorted((rule_cases.ROOT / "examples/manifests").glob("*.yaml"))
        for kind in RULES:  # at least four of each
            self.assertGreaterEqual(sum(f"\nkind: {kind}\n" in path.read_text() for path in manifests), 4)
        self.accept(manifests)

    def test_published_manifests_are_accepted(self):
        manifests = rule_cases.skips.published_manifests("envtest_crd_rules")
        if not manifests:
            self.skipTest("no published manifests")
        self.assertGreaterEqual(len(manifests), 11)
        self.accept(manifests)


if __name__ == "__main__":
    CrdRules.corpus = rule_cases.corpus(BINARY)
    if CrdRules.corpus is None:
        servers.skip_suite("envtest_crd_rules", "no program jobcore_tests beside $SIGNALBOX_BINARY to ask for the CRDs")
    try:
        servers.find_assets()
    except servers.AssetsMissing as missing:
        servers.skip_suite("envtest_crd_rules", str(missing))
    unittest.main()
