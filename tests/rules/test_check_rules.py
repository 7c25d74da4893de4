# SPDX-License-Identifier: Apache-2.0
"""The check of the rules, held against samples."""

import unittest

import rule_list

FIELDS = """# a heading

api deepspeed config.run  the program
"""

BOOK = """# A book

## How it is read

Not a rule.

## 5. Failure

The chapter has no code of its own.

### 5.5 Counted

Text with ### 9.9 inside.

Code: `src/a.cpp` (`function`),
`src/b.cpp`

### 5.6 Scope

Held by: `tests/c.cpp`

Code: `src/a.cpp`

## 4. Phase

Code: `src/a.cpp`

## api 2. DeepSpeedJob

### api 2.2 What is run

Fields: deepspeed config.run

Code: `src/a.cpp`

## Invariants

### I7 The count

Code: `src/a.cpp`
"""

REQUIREMENTS = """# Requirements

## 1. Watch

### W3 A watch resumes

### W5 Streams

Not covered: no server has them.
"""

CPP = '''// TEST_CASE("[behaviour 9.9] in a comment")
TEST_CASE("[behaviour 5.5] one", "[engine]") {}
TEST_CASE(
    "[behaviour 5.5] [api deepspeed config.run] "
    "in two parts", "[api][launch]"
) { SECTION("[behaviour 1.1] inside") {} }
const char* text = "[behaviour 2.2] in a text";
TEST_CASE_METHOD(fixture, "[requirement W3] of a fixture") {}
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
{"rule": "[api 7.2] two"}
]}'''


def all_rules():
    """({tag: rule}, errors) of the samples."""
    fields, _ = rule_list.read_fields("rules.txt", FIELDS)
    book = rule_list.read_book("book.md", BOOK, "behaviour")
    return rule_list.collect(book + fields + rule_list.read_book("needs.md", REQUIREMENTS, "requirement"))


class Lists(unittest.TestCase):
    def test_the_fields(self):
        rules, errors = rule_list.read_fields("rules.txt", FIELDS)
        self.assertEqual([(r.place, r.tag, r.name) for r in rules], [("rules.txt:3", "api deepspeed config.run", "the program")])
        self.assertEqual(errors, [])

    def test_mistakes_in_the_fields(self):
        _, errors = rule_list.read_fields("rules.txt", "api one  a\nbehaviour 5.5  b\napi three\n")
        self.assertEqual([error.split(":")[1] for error in errors], ["2", "3"])

    def test_the_book(self):
        rules = rule_list.read_book("book.md", BOOK, "behaviour")
        self.assertEqual(
            [(r.tag, r.name) for r in rules],
            [("behaviour 5.5", "Counted"), ("behaviour 5.6", "Scope"), ("behaviour 4", "Phase"),
             ("api 2.2", "What is run"), ("behaviour I7", "The count")])
        self.assertEqual(rules[0].files("Code"), ["src/a.cpp", "src/b.cpp"])
        self.assertEqual(rules[3].fields(), ["api deepspeed config.run"])

    def test_facts_need_no_code(self):
        rules = rule_list.read_book("book.md", BOOK, "launchers", needs_code=False)
        self.assertIn("launchers 5", [rule.tag for rule in rules])

    def test_doubled_rules(self):
        book = rule_list.read_book("book.md", BOOK + "### 5.5 Again\n", "behaviour")
        _, errors = rule_list.collect(book)
        self.assertEqual(errors, ["book.md:41: behaviour 5.5 is at book.md:11 too"])

    def test_notes(self):
        rules, _ = all_rules()
        self.assertEqual(rule_list.wrong_notes(rules, lambda path: path != "src/b.cpp"), ["book.md:11: there is no file src/b.cpp"])
        book = rule_list.read_book("b.md", "### 1.1 A\nFields: x\nCode: nothing\n### 1.2 B\nFields: y\n### 1.3 C\nFields: y\n", "behaviour")
        fields, _ = rule_list.read_fields("rules.txt", "api y  why\n")
        rules, _ = rule_list.collect(book + fields)
        self.assertEqual(rule_list.wrong_notes(rules, lambda path: True), [
            "b.md:1: there is no field api x",
            "b.md:1: `Code:` names no file",
            "b.md:6: api y belongs to behaviour 1.2 already",
        ])


class Tests(unittest.TestCase):
    def test_names_of_cpp(self):
        tests = rule_list.tests_in("a.cpp", CPP)
        self.assertEqual([(t.line, t.rules, t.title) for t in tests], [
            (2, ["behaviour 5.5"], "one"),
            (3, ["behaviour 5.5", "api deepspeed config.run"], "in two parts"),
            (6, ["behaviour 1.1"], "inside"),
            (8, ["requirement W3"], "of a fixture"),
        ])

    def test_docstrings_of_python(self):
        tests = rule_list.tests_in("a.py", PYTHON)
        self.assertEqual([(t.line, t.rules, t.title) for t in tests], [(4, ["behaviour 5.5"], "this.")])

    def test_cases_of_json(self):
        tests = rule_list.tests_in("rules.json", JSON)
        self.assertEqual([(t.line, t.rules) for t in tests], [(2, ["api deepspeed config.run"]), (5, ["api 7.2"])])

    def test_violations(self):
        rules, errors = all_rules()
        self.assertEqual(errors, [])
        tests = [
            rule_list.Test("a.cpp", 1, "[behaviour 5.5] [behaviour 4] [behaviour I7] x"),
            rule_list.Test("a.cpp", 2, "[behaviour 5.55] [requirement W4] y"),
        ]
        self.assertEqual(rule_list.violations(rules, tests), [
            "a.cpp:2: there is no rule behaviour 5.55",
            "a.cpp:2: there is no rule requirement W4",
            "rules.txt:3: no test names api deepspeed config.run (the program)",
            "needs.md:5: no test names requirement W3 (A watch resumes)",
        ])
        self.assertEqual(rule_list.violations(rules, tests[:1], untested=["api ", "requirement "]), [])

    def test_the_table(self):
        rules, _ = all_rules()
        text = rule_list.table(rules, [rule_list.Test("a.cpp", 7, "[behaviour 5.5] a | b")])
        self.assertIn("| behaviour 5.5 | Counted | `a.cpp:7` a \\| b |\n", text)
        self.assertIn("| behaviour 5.6 | Scope | Held by: `tests/c.cpp` |\n", text)
        self.assertIn("| behaviour I7 | The count | **none** |\n", text)


if __name__ == "__main__":
    unittest.main()
