# SPDX-License-Identifier: Apache-2.0
"""Containers limited by control groups of version 2, in a virtual machine: this one may have those of version 1.

Usage: suite.py <signalbox>
"""
import pathlib
import re
import sys

import machine

HERE = pathlib.Path(__file__).resolve().parent
SOURCES = HERE.parents[2]
sys.path.insert(0, str(SOURCES / "tests/support"))
import skips  # noqa: E402 (found by the line above)

CHECKS = ["root", "delegated", "groups that no one may enter", "not delegated", "part of the hierarchy"]

try:
    shown = machine.boot(HERE / "init.sh", "/bin/sh", HERE / "inside.sh", SOURCES, pathlib.Path(sys.argv[1]).resolve(),
                         memory="1536M", seconds=840)
except machine.Unavailable as why:
    skips.skip_suite("operator_unified_groups", f"no virtual machine: {why}")
print(shown)
ended = re.findall(r"^== (.*): exit code (\d+)$", shown, re.MULTILINE)
if ended != [(check, "0") for check in CHECKS]:
    sys.exit(f"not all checks passed: {ended}")
