# SPDX-License-Identifier: Apache-2.0
"""No name of a test has a colon and a blank where Catch2 2.13 aborts in place of telling a failure.

Its console indents what follows them, and asserts that the indentation is within the line of 79 characters.
"""

import re

import sources

LIMIT = 77
NAME = re.compile(r"\b(?:TEST_CASE|TEST_CASE_METHOD|SECTION)\(\s*(?:\w+,\s*)?((?:\"(?:[^\"\\]|\\.)*\"\s*)+)")
PART = re.compile(r"\"((?:[^\"\\]|\\.)*)\"")

violations = []
for path in sources.files(["tests"], [".cpp", ".hpp"]):
    text = path.read_text(encoding="utf-8")
    for found in NAME.finditer(text):
        name = "".join(PART.findall(found[1]))
        if name.find(": ") >= LIMIT:
            line = text.count("\n", 0, found.start()) + 1
            violations.append(f"{path.relative_to(sources.ROOT)}:{line}: `: ` behind {LIMIT} characters: say it without")
sources.report(violations)
