# SPDX-License-Identifier: Apache-2.0
"""No source file is longer than 600 lines."""

import sources

LIMIT = 600
FOLDERS = ["libjobcore", "libk8sio", "operator", "examples", "tests", "cmake"]
SUFFIXES = [".cpp", ".hpp", ".h", ".py", ".sh", ".cmake", "CMakeLists.txt"]

violations = []
for path in sources.files(FOLDERS, SUFFIXES):
    lines = path.read_bytes().count(b"\n")
    if lines > LIMIT:
        violations.append(f"{path.relative_to(sources.ROOT)}:{lines}: more than {LIMIT} lines: split it")
sources.report(violations)
