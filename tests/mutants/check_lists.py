# SPDX-License-Identifier: Apache-2.0
"""Says of which chosen mutants the place is gone from the sources, or cannot be put behind a switch. Builds nothing.

usage: check_lists.py [suite...]
"""

import sys

import build
import suites


def in_both(one, other):
    """Chosen mutants of the first suite that the second one has too."""
    known = {(m.file, m.old, m.new) for m in suites.chosen_mutants(suites.SUITES[other])}
    return [m for m in suites.chosen_mutants(suites.SUITES[one]) if (m.file, m.old, m.new) in known]


def main():
    wrong = 0
    for m in in_both("search", "core"):
        print(f"search.json: {m.file}: {m.rule}: core.json has it too")
        wrong += 1
    for name in sys.argv[1:] or suites.SUITES:
        by_file = {}
        for m in suites.chosen_mutants(suites.SUITES[name]):
            by_file.setdefault(m.file, []).append(m)
        for file, mutants in by_file.items():
            unfit = ([(m, "there is no such file") for m in mutants] if not (suites.ROOT / file).is_file()
                     else build.sort_out(file, mutants)[1])
            for m, why in unfit:
                print(f"{suites.SUITES[name].chosen}: {file}: {m.rule}: {why}")
            wrong += len(unfit)
    print(f"{wrong} rows to be brought up to date")
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
