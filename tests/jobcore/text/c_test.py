# SPDX-License-Identifier: Apache-2.0
"""The door for C. Its ABI is the recorded one; and as somebody's program in C99 uses the installed library, misuse is refused,
and it answers the conformance set.

Usage: c_test.py LIBRARY, for the symbols alone, or c_test.py PROGRAM LIBRARY, PROGRAM being call_lines.c.
"""

import os
import pathlib
import subprocess
import sys
import unittest

HERE = pathlib.Path(__file__).resolve().parent
sys.path[:0] = [str(HERE), str(HERE.parents[1] / "support")]
import conformance  # noqa: E402 (from the folders above)
import skips  # noqa: E402

ABI = HERE.parents[2] / "libjobcore/c/abi.txt"
*PROGRAM, LIBRARY = sys.argv[1:]
ADVICE = """
Programs that were compiled against the library rely on each line of libjobcore/c/abi.txt.
+ new: a function that was added has its symbol in a new version of libjobcore/c/symbols.map (SIGNALBOX_JOBCORE_1.1); add the
  line to abi.txt, and for what a program can be compiled with, a row to print_abi or a pointer in call_lines.c.
- gone or changed: put it back, and add another function beside it. Only with a new soname (SOVERSION in
  libjobcore/c/CMakeLists.txt, and all symbols in SIGNALBOX_JOBCORE_2) may a line go."""


def run(*command):
    return subprocess.run(command, capture_output=True, text=True, check=True, env={**os.environ, "LC_ALL": "C"}).stdout


def found_symbols():
    """Lines as those of abi.txt."""
    for line in run("readelf", "--dynamic", "--wide", LIBRARY).splitlines():
        if "(SONAME)" in line:
            yield "library " + line.split("[")[1].rstrip("]")
        elif "(NEEDED)" in line and "[ld-linux" not in line:  # the loader of the machine
            yield "needs " + line.split("[")[1].rstrip("]")
    for line in run("nm", "--dynamic", "--defined-only", "--with-symbol-versions", LIBRARY).splitlines():
        kind, symbol = line.split()[-2:]
        if kind != "A":
            name, _, version = symbol.partition("@@")
            yield f"{'function' if kind == 'T' else 'data'} {name} {version}"


def changes(found, *kinds):
    """What of these kinds is otherwise than recorded, with what to do about it; empty if nothing."""
    found = set(found)
    recorded = {line for line in ABI.read_text().splitlines() if line.split()[0] in kinds}
    lines = [f"+ {line}" for line in sorted(found - recorded)] + [f"- {line}" for line in sorted(recorded - found)]
    return "\n".join(["the ABI has changed:", *lines, ADVICE]) if lines else ""


class Symbols(unittest.TestCase):
    def test_they_are_the_recorded_ones(self):
        told = changes(found_symbols(), "library", "needs", "function", "data")
        if told:
            self.fail(told)


@unittest.skipUnless(PROGRAM, "no program is given")
class Program(unittest.TestCase):
    def test_it_is_compiled_with_the_recorded_sizes_and_values(self):
        told = changes(run(*PROGRAM, "abi").splitlines(), "size", "offset", "value")
        if told:
            self.fail(told)

    def test_misuse_is_refused(self):
        version = run(*PROGRAM, "misuse").split()
        self.assertEqual(version[1], "text.jobcore/v1")

    def test_it_answers_the_conformance_set(self):
        self.assertEqual(conformance.differences(PROGRAM), [])

    def test_what_pkg_config_says_suffices(self):
        other = pathlib.Path(PROGRAM[0]).with_name("by_pkg_config")
        if not other.exists():
            skips.note("consumer_find_package_jobcore_c", "what pkg-config says is not tested: there is none")
            return
        self.assertEqual(run(other, "misuse"), run(*PROGRAM, "misuse"))


if __name__ == "__main__":
    unittest.main(argv=sys.argv[:1], verbosity=1)
