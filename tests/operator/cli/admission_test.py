# SPDX-License-Identifier: Apache-2.0
"""What the embedded server refuses of jobs, by the CRDs alone: the cases that tests/envtest/test_crd_rules.py holds a real
server to, and what `signalbox dev` does with a job that only the operator finds wrong.
"""
import json
import os
import sys
import unittest

import program

sys.path.insert(0, os.path.join(program.source_dir(), "tests/envtest"))
import rule_cases  # noqa: E402 (from the folder above)


class Embedded(rule_cases.ServerRules, unittest.TestCase):
    """[requirement A7] It accepts and refuses what rules*.json say."""

    @classmethod
    def setUpClass(cls):
        cls.corpus = rule_cases.corpus(program.binary())
        cls.server = rule_cases.EmbeddedServer(program.binary(), cls.corpus["crds"])
        cls.addClassCleanup(cls.server.stop)

    def call(self, verb, path, body=None):
        return self.server.call(verb, path, body)

    def test_it_says_what_a_real_server_says(self):
        """[requirement A7] of a rule over several fields, and where a field is too wrong for such rules."""
        changes = {"/spec/replicaSpecs/0/replicas": 0}
        base = rule_cases.RULES["PyTorchTrainingJob"]["base"]
        status, answer = self.call("POST", rule_cases.path_of(base["kind"]), rule_cases.made_from_base(base, changes))
        self.assertEqual(status, 422)
        self.assertEqual(answer["message"], "PyTorchTrainingJob.batch.tensorstack.dev \"mnist\" is invalid: spec.replicaSpecs: "
                         "Invalid value: \"object\": the job needs at least one replica")
        changes = {"/metadata/name": "1", "/spec/runPolicy": {"backoffLimit": "x"}}
        status, answer = self.call("POST", rule_cases.path_of(base["kind"]), rule_cases.made_from_base(base, changes))
        self.assertEqual([cause["field"] for cause in answer["details"]["causes"]], ["spec.runPolicy.backoffLimit", "<nil>"])
        self.assertIn("some validation rules were not checked", answer["message"])


class Dev(unittest.TestCase):
    def test_what_only_the_operator_finds_wrong_is_accepted_and_fails(self):
        """[requirement A7] [api 6.1] as on a real server: without an image a job is stored, and becomes InvalidSpec."""
        job = rule_cases.made_from_base(rule_cases.RULES["PyTorchTrainingJob"]["base"], {}, (
            "/spec/replicaSpecs/0/template/spec/containers/0/image",))
        with program.Dev() as dev:
            path = rule_cases.path_of(job["kind"])
            with dev.open("POST", path, job) as created:
                self.assertEqual(created.status, 201)
            with dev.open("GET", path + "?watch=true") as changes:
                for line in changes:
                    status = json.loads(line)["object"].get("status", {})
                    if status.get("phase"):
                        break
        self.assertEqual((status["phase"], status["reason"]), ("Failed", "InvalidSpec"))


if __name__ == "__main__":
    unittest.main(argv=sys.argv[:1], verbosity=1)
