# SPDX-License-Identifier: Apache-2.0
"""Changes one line of libjobcore at a time and sees whether its tests notice.

usage: run.py [--list NAME] [--jobs N] [--seed N] [--count N] [--at-least PERCENT]
              <build folder> [<word in a rule or file>]

Lists are `tests` (list.json, against jobcore_tests and jobcore_stories; the default), `search` (search.json, against the
search alone) and `generated` (made by generate.py of --seed and --count, against jobcore_tests and jobcore_stories).
The exit code is 1 if fewer are noticed than --at-least says; that is all, unless it is given. The build folder must hold their programs as they are now. Nothing in it or in the sources is changed:
the mutated unit is compiled in a scratch folder, and the programs are linked to it before the library: what it defines is
not taken from there any more.
"""

import argparse
import concurrent.futures
import functools
import json
import os
import pathlib
import shlex
import subprocess
import sys
import tempfile

import generate

HERE = pathlib.Path(__file__).resolve().parent
SOURCES = HERE.parent.parent / "libjobcore" / "src"
LIBRARY = "libsignalbox_jobcore.a"

TESTS = (("jobcore_tests", "--abort"), ("jobcore_stories", "--abort"))
# Of each list: its file, and the runs in which a mutant may be noticed, the quick ones first.
LISTS = {
    "tests": ("list.json", TESTS),
    "search": ("search.json", (("search", "--steps", "12000", "--walks", "10", "--new-only"), ("search", "--new-only"))),
    "generated": (None, TESTS),
}
# A change may make a loop without end that takes all memory.
LIMITED = ("prlimit", "--as=4294967296")


def fail(message):
    sys.exit("mutants: " + message)


def compile_command(build, source):
    for entry in json.loads((build / "compile_commands.json").read_text()):
        if pathlib.Path(entry["file"]) == source:
            return entry
    fail(f"{build}/compile_commands.json does not name {source}")


@functools.cache
def link_command(build, program):
    lines = subprocess.run(["ninja", "-C", str(build), "-t", "commands", program],
                           capture_output=True, text=True, check=True).stdout.splitlines()
    # `: && c++ ... -o bin/<program> ... && :`
    return shlex.split(lines[-1].removeprefix(": && ").removesuffix(" && :"))


def mutate(mutant, scratch):
    source = SOURCES / mutant["file"]
    text = source.read_text()
    if text.count(mutant["from"]) != 1:
        fail(f"{source}: `{mutant['from'].strip()}` must be there once, not {text.count(mutant['from'])} times: "
             "bring the lists in tests/mutants up to date")
    changed = scratch / source.name
    changed.write_text(text.replace(mutant["from"], mutant["to"]))
    return source, changed


def replace_argument(command, old, new):
    return [new if word == old else word for word in command]


def compile_mutant(build, mutant, scratch):
    """The object of the changed unit, or None if it does not compile."""
    source, changed = mutate(mutant, scratch)
    entry = compile_command(build, source)
    words = shlex.split(entry["command"])
    built = words[words.index("-o") + 1]
    made = scratch / pathlib.Path(built).name
    words = replace_argument(replace_argument(words, built, str(made)), entry["file"], str(changed))
    done = subprocess.run(words + ["-Wno-error"], cwd=entry["directory"], capture_output=True, text=True)
    if done.returncode != 0:
        return None
    return made


def link(build, name, unit, scratch):
    program = scratch / name
    words = list(link_command(build, name))
    words.insert(next(i for i, word in enumerate(words) if word.endswith(LIBRARY)), str(unit))
    subprocess.run(replace_argument(words, f"bin/{name}", str(program)), cwd=build, check=True, capture_output=True)
    return program


def first_failure(output):
    """The line of Catch2 or of the search that names what failed."""
    lines = [line for line in output.splitlines() if line.startswith(("[", "VIOLATION", "FAULT"))]
    return lines[0] if lines else None


def noticed(build, runs, unit, scratch):
    """What fails first, or None."""
    programs = {}
    for name, *arguments in runs:
        if name not in programs:
            programs[name] = link(build, name, unit, scratch)
        environment = dict(os.environ, SIGNALBOX_STORIES="1,600")
        try:
            done = subprocess.run([*LIMITED, programs[name], *arguments], cwd=scratch, env=environment,
                                  capture_output=True, text=True, errors="replace", timeout=600)
        except subprocess.TimeoutExpired:
            return "(no end)"
        if done.returncode != 0:
            return first_failure(done.stdout) or f"(exit code {done.returncode})"
    return None


def judge(build, runs, mutant):
    """What notices it; "" if nothing does, None if it does not compile."""
    with tempfile.TemporaryDirectory() as folder:
        scratch = pathlib.Path(folder)
        unit = compile_mutant(build, mutant, scratch)
        return None if unit is None else noticed(build, runs, unit, scratch) or ""


def mutants_of(options):
    file = LISTS[options.list][0]
    every = json.loads((HERE / file).read_text()) if file else generate.generate(options.seed, options.count)
    return [m for m in every if options.word in m["rule"] + m["file"]]


def describe(killer):
    if killer is None:
        return "DOES NOT COMPILE"
    return f"killed by {killer}" if killer else "SURVIVED"


def main():
    parser = argparse.ArgumentParser(usage=__doc__)
    parser.add_argument("--list", choices=LISTS, default="tests")
    parser.add_argument("--jobs", type=int, default=1, help="mutants at a time")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--count", type=int, default=60)
    parser.add_argument("--at-least", type=int, default=100, metavar="PERCENT")
    parser.add_argument("build", type=lambda text: pathlib.Path(text).resolve())
    parser.add_argument("word", nargs="?", default="")
    options = parser.parse_args()
    runs = LISTS[options.list][1]
    mutants = mutants_of(options)
    killed, judged = 0, 0
    with concurrent.futures.ThreadPoolExecutor(options.jobs) as pool:
        for mutant, killer in zip(mutants, pool.map(lambda m: judge(options.build, runs, m), mutants)):
            killed += bool(killer)
            # A chosen mutant has to compile, to be one.
            judged += killer is not None or options.list != "generated"
            print(f"{mutant['rule']}\n    {mutant['file']}: {describe(killer)}", flush=True)
            if options.list == "generated" and killer == "":
                print(f"    for: {mutant['from'].strip()}\n    now: {mutant['to'].strip()}", flush=True)
    print(f"{killed} of {judged} killed")
    return 0 if killed * 100 >= judged * options.at_least else 1


if __name__ == "__main__":
    sys.exit(main())
