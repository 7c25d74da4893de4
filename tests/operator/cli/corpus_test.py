# SPDX-License-Identifier: Apache-2.0
"""`signalbox validate` against the library: the same objects, the same findings. The API server is held against these
objects by tests/envtest/test_crd_rules.py.
"""
import json
import os
import re
import sys
import tempfile
import unittest

import program

sys.path.insert(0, os.path.join(program.source_dir(), "tests/envtest"))
import rule_cases  # noqa: E402 (from the folder above)


class Corpus(unittest.TestCase):
    def validate(self, objects, live=()):
        """The report on each object, in their order: [[finding]]. With `live`, as updates of these."""
        with tempfile.TemporaryDirectory() as folder, tempfile.TemporaryDirectory() as cluster:
            for number, value in enumerate(objects):
                with open(os.path.join(folder, "%05d.json" % number), "w", encoding="utf-8") as file:
                    json.dump(value, file)
            with open(os.path.join(cluster, "live.json"), "w", encoding="utf-8") as file:
                json.dump({"apiVersion": "v1", "kind": "List", "items": list(live)}, file)
            extra = ["--live", file.name] if live else []
            result = program.run("validate", "--output", "json", *extra, folder)
        self.assertEqual(result.err, "")
        report = json.loads(result.out)
        self.assertEqual(sum(o["update"] for o in report["objects"]), len(live))
        found = [[] for _ in objects]
        for finding in report["findings"]:
            found[int(os.path.basename(finding["file"]).split(".")[0])].append(finding)
        self.assertEqual(result.code, 2 if report["errors"] else 0)
        return found

    def disagree(self, cases):
        for rule, what in cases:
            print("DISAGREEMENT %s: %s" % (rule, what))
        self.assertEqual(len(cases), 0, "%d disagreements, printed above" % len(cases))

    def test_each_rule_finds_the_same(self):
        """[api 6.1] level and pointer of every finding of every rule, marked S or L."""
        wrong, compared = [], 0
        for rules in rule_cases.RULES.values():
            cases = [case for case in rules["create"] if "ignore_warnings" not in case]
            # No API server takes more; the command line reads no such file.
            cases = [case for case in cases if len(json.dumps(rule_cases.created(rules, case))) < 2 << 20]
            reports = self.validate([rule_cases.created(rules, case) for case in cases])
            for case, found in zip(cases, reports):
                wanted = sorted(finds.split(" ")[::2] for finds in case["finds"])
                # Besides, the command line knows what the compiled job warns of.
                seen = sorted(
                    [finding["level"], finding["pointer"]]
                    for finding in found
                    if finding["reason"] != "InvalidTemplate"  # tests/jobcore/api/templates_test.cpp
                    if finding["level"] == "error" or [finding["level"], finding["pointer"]] in wanted
                )
                if seen != wanted:
                    wrong.append((case["rule"], found))
                compared += 1
        self.assertGreater(compared, 300)
        self.disagree(wrong)

    def test_one_changed_field_is_judged_the_same(self):
        """[api 6.1] by types, bounds, values and old names."""
        cases = self.corpus["mutations"]
        reports = self.validate([case["object"] for case in cases])
        wrong = []
        for case, found in zip(cases, reports):
            errors = [finding for finding in found if finding["level"] == "error"]
            if bool(errors) == case["valid"]:
                wrong.append((case["rule"], errors))
        self.assertGreater(len(cases), 1000)
        self.disagree(wrong)

    def update(self, changes):
        """The fields that each change may not touch: [(before, after)] -> [[pointer]]. Every object is valid as such."""
        named = [
            [dict(value, metadata=dict(value["metadata"], name="job-%d" % number)) for value in pair]
            for number, pair in enumerate(changes)
        ]
        reports = self.validate([after for _, after in named], [before for before, _ in named])
        return [
            sorted(finding["pointer"] for finding in found
                   if finding["level"] == "error" and re.search("changed|must be its size", finding["message"]))
            for found in reports
        ]

    def test_each_update_finds_the_same(self):
        """[api 7.2] [api 7.3] [api 7.1] [api 7.4] every field that must stay."""
        wrong, compared = [], 0
        for rules in rule_cases.RULES.values():
            cases = rules["update"]
            made = lambda case, side: rule_cases.made_from_base(rules["base"], case[side])
            reports = self.update([(made(case, "before"), made(case, "after")) for case in cases])
            for case, found in zip(cases, reports):
                if found != sorted(case["finds"]):
                    wrong.append((case["rule"], found))
                compared += 1
        self.assertGreater(compared, 80)
        self.disagree(wrong)

    def test_one_changed_field_is_updated_the_same(self):
        """[api 7.2] [api 7.3] [api 7.1] each field, of a running and of a paused job."""
        cases = self.corpus["updates"]
        reports = self.update([(case["before"], case["after"]) for case in cases])
        wrong = [(case["rule"], found) for case, found in zip(cases, reports) if len(found) != case["finds"]]
        self.assertGreater(len(cases), 500)
        self.disagree(wrong)


if __name__ == "__main__":
    Corpus.corpus = rule_cases.corpus(program.binary())
    if Corpus.corpus is None:
        rule_cases.skips.skip_suite("operator_cli_corpus_test", "no program jobcore_tests beside the binary")
    unittest.main(argv=sys.argv[:1], verbosity=1)
