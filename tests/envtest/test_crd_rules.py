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

API = "/apis/batch.tensorstack.dev/v1beta1/namespaces/default"
RULES = rule_cases.RULES
BASE = RULES["PyTorchTrainingJob"]["base"]


def made(changes):
    return rule_cases.made_from_base(BASE, changes)


def path_of(kind, name=""):
    return f"{API}/{kind.lower()}s" + (f"/{name}" if name else "")


class CrdRules(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.plane = servers.ControlPlane()
        cls.addClassCleanup(cls.plane.stop)
        cls.plane.start()
        crds = {"apiVersion": "v1", "kind": "List", "items": cls.corpus["crds"]}
        cls.plane.serve_kinds("-", stdin=json.dumps(crds))
        context = ssl.create_default_context(cafile=str(cls.plane.ca_file))
        server = cls.plane.url.removeprefix("https://")
        cls.connection = http.client.HTTPSConnection(server, context=context, timeout=servers.PATIENCE)
        cls.addClassCleanup(cls.connection.close)

    def tearDown(self):
        for kind in RULES:  # whatever a failed test left
            self.call("DELETE", path_of(kind))

    @classmethod
    def kubectl(cls, *arguments, **options):
        return cls.plane.kubectl(*arguments, **options)

    def call(self, verb, path, body=None):
        """One request, as a user may send it: with null, which kubectl apply would drop."""
        headers = {"Authorization": f"Bearer {self.plane.admin_token}", "Content-Type": "application/json"}
        self.connection.request(verb, path, None if body is None else json.dumps(body), headers)
        answer = self.connection.getresponse()
        return answer.status, json.loads(answer.read())

    def refusal(self, verb, body, path=None, dry=False):
        """The server's message if it refused, empty if it accepted. With `dry` nothing is stored."""
        answer = self.answer(verb, body, path or path_of(body["kind"]), dry)
        return answer["message"] if answer["kind"] == "Status" else ""

    def answer(self, verb, body, path, dry=False):
        status, answer = self.call(verb, path + ("?dryRun=All" if dry else ""), body)
        self.assertIn(status, (200, 201, 400, 422), answer)
        return answer

    def send(self, verb, body):
        return self.refusal({"create": "POST", "replace": "PUT"}[verb], body)

    def delete(self, name, kind="PyTorchTrainingJob"):
        self.assertEqual(self.call("DELETE", path_of(kind, name))[0], 200)

    def disagree(self, cases):
        """Fails with every disagreement, if there is any: [(rule, what)]."""
        for rule, what in cases:
            print(f"DISAGREEMENT {rule}: {what}")
        self.assertEqual(len(cases), 0, f"{len(cases)} disagreements, printed above")

    def test_creation_agrees_with_the_library(self):
        """[api 6.1] marked S: refused by both; marked L or without: accepted by the server."""
        wrong = []
        for rules in RULES.values():
            for case in rules["create"]:
                if case.get("skip_server"):
                    continue
                body = rule_cases.created(rules, case)
                refusal = self.refusal("POST", body, dry=True)
                expected = case.get("mark") == "S" or case.get("server") == "refuse"
                if bool(refusal) != expected:
                    wrong.append((case["rule"], refusal or "accepted"))
        self.disagree(wrong)

    def test_one_changed_field_is_judged_as_by_the_library(self):
        """[api 6.1] by types, bounds, values and old names."""
        wrong = []
        for case in self.corpus["mutations"]:
            refusal = self.refusal("POST", case["object"], dry=True)
            if bool(refusal) == case["valid"]:
                wrong.append((case["rule"], refusal or "accepted"))
        self.assertGreater(len(self.corpus["mutations"]), 1000)
        self.disagree(wrong)

    def test_updates_agree_with_the_library(self):
        """[api 7.2] [api 7.3] [api 7.1] [api 7.4] by CEL as by the library."""
        wrong = []
        for kind, rules in RULES.items():
            name = rules["base"]["metadata"]["name"]
            for case in rules["update"]:
                before = rule_cases.made_from_base(rules["base"], case["before"])
                status, current = self.call("POST", path_of(kind), before)
                self.assertEqual(status, 201, (case["rule"], current))
                body = rule_cases.made_from_base(rules["base"], case["after"])
                body["metadata"]["resourceVersion"] = current["metadata"]["resourceVersion"]
                answer = self.answer("PUT", body, path_of(kind, name))
                self.delete(name, kind)
                # One rule per field: as many are broken as the library finds fields.
                causes = answer.get("details", {}).get("causes", [])
                if len(causes) != len(case["finds"]):
                    wrong.append((case["rule"], answer.get("message", "accepted")))
        self.disagree(wrong)

    def test_one_changed_field_is_updated_as_by_the_library(self):
        """[api 7.2] [api 7.3] [api 7.1] each field, of a running and of a paused job."""
        wrong, stored = [], {}
        for case in self.corpus["updates"]:
            before = json.dumps(case["before"])
            kind, name = case["before"]["kind"], f"base-{list(stored).index(before) if before in stored else len(stored)}"
            if before not in stored:
                body = dict(case["before"], metadata={"name": name})
                status, stored[before] = self.call("POST", path_of(kind), body)
                self.assertEqual(status, 201, stored[before])
            version = stored[before]["metadata"]["resourceVersion"]
            body = dict(case["after"], metadata={"name": name, "resourceVersion": version})
            answer = self.answer("PUT", body, path_of(kind, name), dry=True)
            causes = answer.get("details", {}).get("causes", [])
            if len(causes) != case["finds"]:
                wrong.append((case["rule"], answer.get("message", "accepted")))
        self.assertGreater(len(self.corpus["updates"]), 500)
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
        self.assertEqual(header.split()[6:], ["QUEUE", "STARTED", "DURATION"])
        self.assertIn("q1", row)
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
    CrdRules.corpus = rule_cases.corpus(os.environ.get("SIGNALBOX_BINARY", "signalbox"))
    if CrdRules.corpus is None:
        servers.skip_suite("envtest_crd_rules", "no program jobcore_tests beside $SIGNALBOX_BINARY to ask for the CRDs")
    try:
        servers.find_assets()
    except servers.AssetsMissing as missing:
        servers.skip_suite("envtest_crd_rules", str(missing))
    unittest.main()
