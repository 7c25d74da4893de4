# SPDX-License-Identifier: Apache-2.0
"""The source files that the rules look at, and how a rule reports."""

import os
import pathlib
import sys

ROOT = pathlib.Path(__file__).resolve().parents[3]


def files(folders, suffixes):
    """All files below `folders` of the repository whose name ends with one of `suffixes`, sorted."""
    found = []
    for folder in folders:
        for directory, subdirectories, names in os.walk(ROOT / folder):
            subdirectories[:] = [
                name for name in subdirectories if not name.startswith((".", "build")) and name != "__pycache__"
            ]
            found += [pathlib.Path(directory, name) for name in names if name.endswith(tuple(suffixes))]
    return sorted(found)


def report(violations):
    """Prints the violations, each `path:line: text`, and ends the program: 1 if there are any."""
    for violation in violations:
        print(violation)
    print(f"{len(violations)} violations")
    sys.exit(1 if violations else 0)
