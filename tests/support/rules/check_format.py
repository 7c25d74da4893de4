# SPDX-License-Identifier: Apache-2.0
"""All C++ sources are formatted by clang-format 14: other versions format differently."""

import re
import shutil
import subprocess
import sys

import sources

VERSION = 14


def find_program():
    for name in (f"clang-format-{VERSION}", "clang-format"):
        program = shutil.which(name)
        if program:
            text = subprocess.run([program, "--version"], capture_output=True, text=True).stdout
            match = re.search(r"version (\d+)", text)
            if match and int(match.group(1)) == VERSION:
                return program
    return None


program = find_program()
if not program:
    sources.skip("rule_format", f"no clang-format {VERSION} on PATH")
paths = sources.files(["libjobcore", "libk8sio", "operator", "examples", "tests"], [".cpp", ".hpp"])
if not paths:
    sys.exit(0)
if "--fix" in sys.argv:
    sys.exit(subprocess.run([program, "-i", *map(str, paths)]).returncode)
sys.exit(subprocess.run([program, "--dry-run", "-Werror", "--ferror-limit=3", *map(str, paths)]).returncode)
