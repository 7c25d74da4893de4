# SPDX-License-Identifier: Apache-2.0
"""Every rule is named by a test, and every tag of a test is a rule. Usage: check_rules.py [TABLE]

Rules are the headings of the rule books and the fields in rules.txt. TABLE, if there is one, is written: Markdown, the rules with the
tests that name them.
"""

import pathlib
import sys

import rule_list

HERE = pathlib.Path(__file__).resolve().parent
sys.path.insert(0, str(HERE.parent / "support" / "rules"))
import sources  # noqa: E402 (from the folder above)

BEHAVIOUR = "libjobcore/BEHAVIOUR.md"
LAUNCH = "libjobcore/LAUNCH.md"
REQUIREMENTS = "libk8sio/REQUIREMENTS.md"
FIELDS = "tests/rules/rules.txt"
FOLDERS = ["tests/jobcore", "tests/k8sio", "tests/operator", "tests/search", "tests/envtest", "tests/launch"]


def files():
    """Tests of C++ and Python, and the cases of tests/jobcore/api."""
    found = sources.files(FOLDERS, [".cpp", ".py"])
    return found + sorted((sources.ROOT / "tests/jobcore/api").glob("rules*.json"))


def read(path, errors):
    """The text; empty, with an error, if the file is not there."""
    file = sources.ROOT / path
    if not file.is_file():
        errors.append(f"{path}: there is no such file; its rules are not known")
        return ""
    return file.read_text()


def main(table_file=None):
    errors = []
    behaviour = rule_list.read_book(BEHAVIOUR, read(BEHAVIOUR, errors), "behaviour")
    fields, mistakes = rule_list.read_fields(FIELDS, read(FIELDS, errors))
    requirements = rule_list.read_book(REQUIREMENTS, read(REQUIREMENTS, errors), "requirement")
    # Facts about launchers: to be cited, not kept by us.
    facts = rule_list.read_book(LAUNCH, read(LAUNCH, errors), "launchers", needs_code=False)
    rules, doubled = rule_list.collect(behaviour + fields + requirements + facts)
    errors += mistakes + doubled
    errors += [f"{rule.place}: no `Code:` line says where {rule.tag} is kept" for rule in behaviour if "Code" not in rule.notes]
    owned = {field for rule in behaviour for field in rule.fields()}
    errors += [f"{f.place}: no rule of {BEHAVIOUR} has {f.tag} among its `Fields:`" for f in fields if f.tag not in owned]
    errors += rule_list.wrong_notes(rules, lambda path: (sources.ROOT / path).exists())
    tests = []
    for path in files():
        tests += rule_list.tests_in(str(path.relative_to(sources.ROOT)), path.read_text())
    print(f"{len(rules)} rules, {len(tests)} tests that name one")
    if table_file:
        pathlib.Path(table_file).write_text(rule_list.table(rules, tests))
        print(f"table: {table_file}")
    sources.report(errors + rule_list.violations(rules, tests, untested=["launchers "]))


if __name__ == "__main__":
    if len(sys.argv) > 2 or any(argument.startswith("-") for argument in sys.argv[1:]):
        sys.exit(__doc__)
    main(*sys.argv[1:])
