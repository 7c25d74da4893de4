# SPDX-License-Identifier: Apache-2.0
"""The rules, and the tests that name them.

A test names a rule by its tag in brackets, as in `[behaviour 5.5]`: in the name of a test case or section of C++, in the
docstring of a test of Python, or in the member `rule` of a case in tests/jobcore/api/rules*.json.
"""

import ast
import json
import re

TAG = re.compile(r"\[((?:behaviour|api) [^\]\[]+)\]")
LINE = re.compile(r"((?:behaviour|api) \S+(?: \S+)*?) {2,}(\S.*)")
# The name is the first argument: string literals side by side, before any comma.
CPP_TEST = re.compile(r'\b(?:TEST_CASE|SECTION|DYNAMIC_SECTION)\(\s*((?:"(?:[^"\\\n]|\\.)*"\s*)+)')
CPP_TEXT = re.compile(r'"((?:[^"\\\n]|\\.)*)"')
COMMENT = re.compile(r"^\s*//.*$", re.MULTILINE)


class Test:
    """A test that names rules: where it is, its title without tags, and the tags."""

    def __init__(self, path, line, text):
        self.path, self.line = path, line
        self.rules = TAG.findall(text)
        self.title = re.sub(r"\s+", " ", TAG.sub("", text)).strip(" :")


def read_rules(text):
    """({tag: name}, [error]) of a list of rules, in its order."""
    rules, errors = {}, []
    for number, line in enumerate(text.splitlines(), 1):
        if not line.strip() or line.startswith("#"):
            continue
        match = LINE.fullmatch(line)
        if not match:
            errors.append(f"{number}: no rule: a tag, two spaces, a name")
        elif match[1] in rules:
            errors.append(f"{number}: {match[1]} stands here twice")
        else:
            rules[match[1]] = match[2]
    return rules, errors


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


def violations(rules, tests):
    """Texts: tags that are no rule, then rules that no test names."""
    found = []
    for test in tests:
        found += [f"{test.path}:{test.line}: there is no rule {tag}" for tag in test.rules if tag not in rules]
    named = {tag for test in tests for tag in test.rules}
    found += [f"{tag}: no test names this rule ({name})" for tag, name in rules.items() if tag not in named]
    return found


def table(rules, tests):
    """Markdown: each rule with its tests."""
    rows = ["# Rules and their tests", "", "| rule | about | tests |", "|---|---|---|"]
    for tag, name in rules.items():
        titles = [f"`{test.path}:{test.line}` {test.title}" for test in tests if tag in test.rules]
        cell = "<br>".join(titles).replace("|", "\\|") or "**none**"
        rows.append(f"| {tag} | {name} | {cell} |")
    return "\n".join(rows) + "\n"
