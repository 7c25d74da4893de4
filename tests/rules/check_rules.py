# SPDX-License-Identifier: Apache-2.0
"""Every rule of rules.txt is named by a test, and every tag of a test is a rule. Usage: check_rules.py TABLE

TABLE is written: Markdown, the rules with the tests that name them.
"""

import pathlib
import sys

import rule_list

HERE = pathlib.Path(__file__).resolve().parent
sys.path.insert(0, str(HERE.parent / "support" / "rules"))
import sources  # noqa: E402 (from the folder above)

LIST = HERE / "rules.txt"
FOLDERS = ["tests/jobcore", "tests/k8sio", "tests/operator", "tests/simulation", "tests/envtest", "tests/launch"]


def files():
    """Tests of C++ and Python, and the cases of tests/jobcore/api."""
    found = sources.files(FOLDERS, [".cpp", ".py"])
    return found + sorted((sources.ROOT / "tests/jobcore/api").glob("rules*.json"))


def main(table_file):
    rules, errors = rule_list.read_rules(LIST.read_text())
    name = LIST.relative_to(sources.ROOT)
    errors = [f"{name}:{error}" for error in errors]
    tests = []
    for path in files():
        tests += rule_list.tests_in(str(path.relative_to(sources.ROOT)), path.read_text())
    pathlib.Path(table_file).write_text(rule_list.table(rules, tests))
    print(f"{len(rules)} rules, {len(tests)} tests that name one; table: {table_file}")
    sources.report(errors + rule_list.violations(rules, tests))


if __name__ == "__main__":
    if len(sys.argv) != 2:
        sys.exit(__doc__)
    main(sys.argv[1])
