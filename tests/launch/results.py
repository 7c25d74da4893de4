# SPDX-License-Identifier: Apache-2.0
"""Runs the suites of real launchers, and writes what was seen into the tables of README.md and examples/failures.md.

    python3 results.py FOLDER [--packages debian|current ...] [--suites torch ssh ...]    runs them; FOLDER keeps the reports
    python3 results.py FOLDER --table                                                     the table of reports that are there

A run replaces what is reported of the tests that it runs; the rest of FOLDER stays.
"""
import argparse
import json
import os
import pathlib
import re
import subprocess
import sys

HERE = pathlib.Path(__file__).resolve().parent
SETS = {"debian": ["--long"], "current": ["--full"]}
NAMES = {"torch": "torch", "deepspeed": "DeepSpeed", "colossalai": "ColossalAI"}
# By names of test_faults.py.
FAULTS = {
    "nan": "rank 1 raises an exception",
    "all-nan": "all ranks raise the same one",
    "all-crash": "all ranks crash",
    "all-silent": "all ranks end with code 3, without a word",
    "all-record": "all ranks raise the same one, under torch's `@record`",
    "import": "a module is missing",
    "killed": "rank 1 is killed",
    "crash": "rank 1 crashes in native code",
    "silent": "rank 1 ends with code 3, without a word",
    "loader": "a worker of rank 1's data loader raises",
    "chain": "one exception causes another one",
    "script": "the script is not there",
    "syntax": "a module has a mistake in its syntax",
    "argument": "the script refuses an argument",
    "thread": "a thread of rank 1 raises, and rank 1 ends",
    "spawn": "a child of rank 1's by `torch.multiprocessing.spawn` raises",
    "loader-killed": "a worker of rank 1's data loader is killed",
    "shapes": "rank 1 multiplies matrices that do not fit",
    "memory": "rank 1 finds no memory",
    "exit": "rank 1 ends with 1 and words of its own form (`sys.exit(text)`)",
    "late": "rank 1 does so 2 s after it has left the others",
    "c++": "no one catches an exception of C++ in rank 1",
    "assert": "an assertion of C fails in rank 1",
    "chinese": "rank 1 raises an exception with Chinese words",
    "torn": "rank 1 raises one whose words are no UTF-8",
    "bar": "rank 1 raises one behind a progress bar",
}
MARKS = re.compile(r"(<!-- results: written by \S+ -->\n).*?(<!-- end of results -->\n)", re.S)


def run(folder, packages, suites):
    for chosen in packages:
        for suite in suites:
            subprocess.run(
                [sys.executable, "-B", HERE / f"test_{suite}.py", *SETS[chosen], "--report", folder], check=False,
                env={**os.environ, "SIGNALBOX_TURNS": "3"})


def reports(folder):
    """By suite and set of packages."""
    read = [json.loads(file.read_text()) for file in sorted(folder.glob("*_*.json"))]
    return {(each["suite"], each["packages"]): each for each in read}


def cell(case):
    if case is None:
        return "not run"
    return f"{case['outcome']}, {case['seconds']:.0f} s" if case["outcome"] in ("passed", "failed") else case["outcome"]


def table(found):
    """Suites and their tests down, sets of packages across."""
    sets = [name for name in SETS if any(chosen == name for _, chosen in found)]
    versions = {name: next(each["versions"] for (_, chosen), each in found.items() if chosen == name) for name in sets}
    heads = [", ".join(f"{NAMES[name]} {number}" for name, number in versions[chosen].items()) for chosen in sets]
    lines = ["| suite | what is seen | " + " | ".join(heads) + " |", "|---|---|" + "---|" * len(sets)]
    for suite in sorted({suite for suite, _ in found}):
        cases = [{case["name"]: case for case in found.get((suite, chosen), {"cases": []})["cases"]} for chosen in sets]
        for name in sorted(set().union(*cases)):
            does = next(each[name]["does"] for each in cases if name in each)
            does = re.sub(r"^(\[[^]]*\] )+", "", does).replace("|", "\\|")
            lines.append(f"| `{suite}` | {does} | " + " | ".join(cell(each.get(name)) for each in cases) + " |")
    return "\n".join(lines) + "\n"


def causes(found):
    """What a job said of each fault, by set of packages where they differ; launchers of which it said the same in one row."""
    told = {chosen: each["causes"] for (_, chosen), each in found.items() if each.get("causes")}
    sets = [chosen for chosen in SETS if chosen in told]
    lines = ["| what happens | launcher | what the job says |", "|---|---|---|"]
    for fault in dict.fromkeys(name for chosen in sets for name in told[chosen]):
        rows = {}
        for launcher in dict.fromkeys(name for chosen in sets for name in told[chosen].get(fault, {})):
            cells = [told[chosen].get(fault, {}) for chosen in sets]
            said = [cell[launcher] or "not the same each time" for cell in cells if launcher in cell]
            # A change of the program moves its lines.
            said = [re.sub(r"/faulty\.py:\d+", "/faulty.py:N", each) for each in said]
            words = "<br>".join(f"`{each}`" for each in dict.fromkeys(said)).replace("|", "\\|")
            rows.setdefault(words, []).append(launcher)
        lines += [f"| {FAULTS.get(fault, fault)} | {', '.join(launchers)} | {words} |" for words, launchers in rows.items()]
    return "\n".join(lines) + "\n"


def rewrite(file, text):
    """Puts the text between the marks of a file."""
    file.write_text(MARKS.sub(lambda marks: marks[1] + text + marks[2], file.read_text()))


def main():
    options = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    options.add_argument("folder", type=pathlib.Path)
    options.add_argument("--table", action="store_true")
    options.add_argument("--packages", nargs="+", choices=SETS, default=list(SETS))
    options.add_argument("--suites", nargs="+", default=[file.stem.removeprefix("test_") for file in sorted(HERE.glob("test_*.py"))])
    given = options.parse_args()
    given.folder.mkdir(parents=True, exist_ok=True)
    if not given.table:
        run(given.folder.resolve(), given.packages, given.suites)
    found = reports(given.folder)
    rewrite(HERE / "README.md", table(found))
    if any(each.get("causes") for each in found.values()):
        rewrite(HERE.parents[1] / "examples" / "failures.md", causes(found))


if __name__ == "__main__":
    main()
