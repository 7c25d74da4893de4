# SPDX-License-Identifier: Apache-2.0
"""Every document, rule, file and symbol that a text of the project names is there, and nothing outside of it is named.

What is looked at and how is in citations.py. What may be named though it is not there stands below, with the reason.
"""

import citations
import sources

SAMPLES = "samples of what is wrong"
USERS = "a script of the user's"
ALLOWED = {
    ("tests/support/rules/check_citations.py", "*"): "this list",
    ("tests/support/rules/citations.py", "*"): "the patterns themselves",
    ("tests/support/rules/test_check_citations.py", "*"): SAMPLES,
    ("tests/support/rules/test_check_includes.py", "*"): SAMPLES,
    ("tests/rules/test_check_rules.py", "*"): SAMPLES,
    ("tests/operator/cli/docs_test.py", "BEHAVIOUR.md api 99"): "a rule that `docs rule` must not find",
    ("*", "train.py"): USERS,
    ("*", "launch.py"): "of DeepSpeed",
    ("examples/failures.md", "faulty.py"): "as the program calls itself",
    ("*", "id_rsa"): "of ssh",
    ("*", "scheduling.volcano.sh"): "an API group, which ends like a script",
}

if __name__ == "__main__":
    project = citations.Project(sources.ROOT, ALLOWED)
    print(f"{len(project.texts)} files looked at")
    sources.report(project.violations())
