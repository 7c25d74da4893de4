# SPDX-License-Identifier: Apache-2.0
"""The rules, and the tests that name them.

Rules are headings of the rule books (libjobcore/BEHAVIOUR.md, libjobcore/LAUNCH.md, libk8sio/REQUIREMENTS.md) and the lines
of rules.txt. A test names a rule by its tag in brackets, as in `[behaviour 5.5]`: in the name of a test case or section of
C++, in the docstring of a test of Python, or in the member `rule` of a case in tests/jobcore/api/rules*.json.
"""

import ast
import json
import re

TAG = re.compile(r"\[((?:behaviour|api|requirement|launchers) [^\]\[]+)\]")
LINE = re.compile(r"(api \S+(?: \S+)*?) {2,}(\S.*)")
HEADING = re.compile(r"(?:### |## )((?:api )?[0-9]+(?:\.[0-9]+)*|[A-Z][0-9]+)\.? (\S.*)")
# What stands below a heading about its tests and its code; a note goes on to the next one, or to an empty line.
NOTE = re.compile(r"([A-Z][a-z]*(?: [a-z]+)?): *(.*)")
# The name is the first argument: string literals side by side, before any comma.
CPP_TEST = re.compile(r'\b(?:TEST_CASE|TEST_CASE_METHOD|SECTION|DYNAMIC_SECTION)\(\s*(?:\w+,\s*)?((?:"(?:[^"\\\n]|\\.)*"\s*)+)')
CPP_TEXT = re.compile(r'"((?:[^"\\\n]|\\.)*)"')
COMMENT = re.compile(r"^\s*//.*$", re.MULTILINE)


class Rule:
    """A rule: where it is, its tag and name, and the notes below its heading: what `Code:` and the like say."""

    def __init__(self, place, tag, name):
        self.place, self.tag, self.name = place, tag, name
        self.notes = {}

    def fields(self):
        """The tags of the fields whose tests are this rule's."""
        return ["api " + field.strip() for field in self.notes.get("Fields", "").split(",") if field.strip()]

    def files(self, note):
        """The paths in a note; what else is in backquotes there has no slash."""
        return re.findall(r"`([^`]+/[^`]+)`", self.notes.get(note, ""))

    def needs_test(self):
        return not any(note in self.notes for note in ("Held by", "Fields", "Not covered"))


class Test:
    """A test that names rules: where it is, its title without tags, and the tags."""

    def __init__(self, path, line, text):
        self.path, self.line = path, line
        self.rules = TAG.findall(text)
        self.title = re.sub(r"\s+", " ", TAG.sub("", text)).strip(" :")


def collect(rules):
    """({tag: rule}, [error]) of rules in their order."""
    found, errors = {}, []
    for rule in rules:
        if rule.tag in found:
            errors.append(f"{rule.place}: {rule.tag} is at {found[rule.tag].place} too")
        else:
            found[rule.tag] = rule
    return found, errors


def read_fields(path, text):
    """(rules, errors) of the list of fields."""
    rules, errors = [], []
    for number, line in enumerate(text.splitlines(), 1):
        if not line.strip() or line.startswith("#"):
            continue
        match = LINE.fullmatch(line)
        if match:
            rules.append(Rule(f"{path}:{number}", match[1], match[2]))
        else:
            errors.append(f"{path}:{number}: no field: a tag that begins with `api`, two spaces, a name")
    return rules, errors


def read_book(path, text, prefix, needs_code=True):
    """The rules of a book: its headings with a number. `prefix` stands before the number in tags, but before `api 6.3`.

    A chapter is a rule only if its own text says where its code is.
    """
    rules, rule, note = [], None, None
    for number, line in enumerate(text.splitlines(), 1):
        heading = HEADING.fullmatch(line)
        if heading:
            tag = heading[1] if heading[1].startswith("api ") else f"{prefix} {heading[1]}"
            rule = Rule(f"{path}:{number}", tag, heading[2])
            rule.is_chapter = line.startswith("## ")
            rules.append(rule)
            note = None
        elif not line or line.startswith("#"):
            rule, note = None if line else rule, None
        elif rule and NOTE.fullmatch(line):
            note, rule.notes[note] = NOTE.fullmatch(line).groups()
        elif rule and note:
            rule.notes[note] += " " + line
    return [rule for rule in rules if not needs_code or not rule.is_chapter or "Code" in rule.notes]


def tests_in_cpp(path, text):
    code = COMMENT.sub(lambda comment: " " * len(comment[0]), text)
    for match in CPP_TEST.finditer(code):
        name = "".join(CPP_TEXT.findall(match[1]))
        yield Test(path, code.count("\n", 0, match.start()) + 1, name)


def tests_in_python(path, text):
    for node in ast.walk(ast.parse(text)):
        if isinstance(node, ast.FunctionDef) and node.name.startswith("test"):
            first = (ast.get_docstring(node) or "").split("\n\n")[0]
            yield Test(path, node.lineno, first)


def tests_in_json(path, text):
    cases = json.loads(text)
    lines = text.splitlines()
    for case in cases["create"] + cases["update"]:
        start = '{"rule": ' + json.dumps(case["rule"], ensure_ascii=False)
        line = next((n for n, line in enumerate(lines, 1) if line.startswith(start)), 0)
        yield Test(path, line, case["rule"])


READERS = {".cpp": tests_in_cpp, ".py": tests_in_python, ".json": tests_in_json}


def tests_in(path, text):
    """The tests of a file that name rules. `path` as it is to be reported."""
    suffix = "." + path.rsplit(".", 1)[-1]
    return [test for test in READERS[suffix](path, text) if test.rules]


def wrong_notes(rules, exists):
    """Texts: rules of a book that name fields or files that are not there. `exists` says whether a path is."""
    owners, found = {}, []
    for rule in rules.values():
        for field in rule.fields():
            if field not in rules:
                found.append(f"{rule.place}: there is no field {field}")
            elif field in owners:
                found.append(f"{rule.place}: {field} belongs to {owners[field]} already")
            owners.setdefault(field, rule.tag)
        for note in ("Code", "Held by"):
            missing = [file for file in rule.files(note) if not exists(file)]
            found += [f"{rule.place}: there is no file {file}" for file in missing]
            if note in rule.notes and not rule.files(note):
                found.append(f"{rule.place}: `{note}:` names no file")
    return found


def violations(rules, tests, untested=()):
    """Texts: tags that are no rule, then rules that no test names. Rules whose tag begins like `untested` need none."""
    found = []
    for test in tests:
        found += [f"{test.path}:{test.line}: there is no rule {tag}" for tag in test.rules if tag not in rules]
    named = {tag for test in tests for tag in test.rules}
    for tag, rule in rules.items():
        if tag not in named and rule.needs_test() and not tag.startswith(tuple(untested)):
            found.append(f"{rule.place}: no test names {tag} ({rule.name})")
    return found


def table(rules, tests):
    """Markdown: each rule with its tests."""
    rows = ["# Rules and their tests", "", "| rule | about | tests |", "|---|---|---|"]
    for tag, rule in rules.items():
        cells = [f"`{test.path}:{test.line}` {test.title}" for test in tests if tag in test.rules]
        cells += [f"{note}: {text}" for note, text in rule.notes.items() if note in ("Held by", "Fields", "Not covered")]
        cell = "<br>".join(cells).replace("|", "\\|") or "**none**"
        rows.append(f"| {tag} | {rule.name} | {cell} |")
    return "\n".join(rows) + "\n"
