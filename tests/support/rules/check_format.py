# SPDX-License-Identifier: Apache-2.0
"""All C++ sources are formatted by clang-format 14: other versions format differently."""

import pathlib
import re
import shutil
import subprocess
import sys

import sources

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1]))
import skips  # noqa: E402 (from the folder above)

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
    skips.skip_suite("rule_format", f"no clang-format {VERSION} on PATH")
paths = [str(path) for path in sources.files(["libjobcore", "libk8sio", "operator", "examples", "tests"], [".cpp", ".hpp"])]
if "--fix" in sys.argv:
    sys.exit(subprocess.run([program, "-i", *paths]).returncode if paths else 0)
# One line per file is enough: --fix shows the rest.
found = {}
if paths:
    result = subprocess.run([program, "--dry-run", "-Werror", *paths], capture_output=True, text=True)
    for path, line in re.findall(r"^(.+?):(\d+):\d+: error:", result.stderr, re.MULTILINE):
        found.setdefault(path, line)
    if result.returncode != 0 and not found:
        found["clang-format"] = result.stderr
if found:
    print("python3 tests/support/rules/check_format.py --fix formats them:")
sources.report([f"{path.removeprefix(f'{sources.ROOT}/')}:{line}: not formatted" for path, line in found.items()])
