# SPDX-License-Identifier: Apache-2.0
"""The check of the rules, held against samples."""

import unittest

import rule_list

RULES = """# a heading

behaviour 5.5    counted
api deepspeed config.run  the program
"""

CPP = '''// TEST_CASE("[behaviour 9.9] in a comment")
TEST_CASE("[behaviour 5.5] one", "[engine]") {}
TEST_CASE(
    "[behaviour 5.5] [api deepspeed config.run] "
    "in two parts", "[api][launch]"
) { SECTION("[behaviour 1.1] inside") {} }
const char* text = "[behaviour 2.2] in a text";
'''

PYTHON = '''
class Tests:
    """[behaviour 3.3] of a class"""
    def test_this(self):
        """[behaviour 5.5] this.

        Not so: [behaviour 6.6].
        """
    def helper(self):
        """[behaviour 4.4]"""
'''

JSON = '''{"create": [
{"rule": "[api deepspeed config.run] one", "finds": []},
{"rule": "without"}
], "update": [
{"rule": "[api 7 never] two"}
]}'''


class CheckRules(unittest.TestCase):
    def test_the_list(self):
        rules, errors = rule_list.read_rules(RULES)
        self.assertEqual(rules, {"behaviour 5.5": "counted", "api deepspeed config.run": "the program"})
        self.assertEqual(errors, [])

    def test_mistakes_in_the_list(self):
        _, errors = rule_list.read_rules("behaviour 5.5  a\nbehaviour 5.5  b\nbehaviour 5.6\nother 1  c\n")
        self.assertEqual([error.split(":")[0] for error in errors], ["2", "3", "4"])

    def test_names_of_cpp(self):
        tests = rule_list.tests_in("a.cpp", CPP)
        self.assertEqual([(t.line, t.rules, t.title) for t in tests], [
            (2, ["behaviour 5.5"], "one"),
            (3, ["behaviour 5.5", "api deepspeed config.run"], "in two parts"),
            (6, ["behaviour 1.1"], "inside"),
        ])

    def test_docstrings_of_python(self):
        tests = rule_list.tests_in("a.py", PYTHON)
        self.assertEqual([(t.line, t.rules, t.title) for t in tests], [(4, ["behaviour 5.5"], "this.")])

    def test_cases_of_json(self):
        tests = rule_list.tests_in("rules.json", JSON)
        self.assertEqual([(t.line, t.rules) for t in tests], [(2, ["api deepspeed config.run"]), (5, ["api 7 never"])])

    def test_violations(self):
        rules, _ = rule_list.read_rules(RULES)
        tests = [rule_list.Test("a.cpp", 1, "[behaviour 5.5] x"), rule_list.Test("a.cpp", 2, "[behaviour 5.55] y")]
        found = rule_list.violations(rules, tests)
        self.assertEqual(found, [
            "a.cpp:2: there is no rule behaviour 5.55",
            "api deepspeed config.run: no test names this rule (the program)",
        ])
        self.assertEqual(rule_list.violations(rules, tests[:1] + [rule_list.Test("b", 1, "[api deepspeed config.run]")]), [])

    def test_the_table(self):
        rules, _ = rule_list.read_rules(RULES)
        text = rule_list.table(rules, [rule_list.Test("a.cpp", 7, "[behaviour 5.5] a | b")])
        self.assertIn("| behaviour 5.5 | counted | `a.cpp:7` a \\| b |\n", text)
        self.assertIn("| api deepspeed config.run | the program | **none** |\n", text)


if __name__ == "__main__":
    unittest.main()
