# SPDX-License-Identifier: Apache-2.0
"""Switches wrong lines of libk8sio and the controller on, one at a time, and sees whether the tests notice.

usage: run_switched.py [--seed N] [--count N] [--at-least PERCENT] [--jobs N] [--only LIST] [--show]
                       <build folder> [<word in a rule or file>]

The mutants are those of controller.json, and --count made by generate.py of --seed. Their sources are changed in a copy,
each behind a switch (switches.py), compiled once, and linked with the objects of the build folder to its programs
k8sio_tests and operator_tests. One run of each with all switches off says which test cases come to which switch; then
the programs run once per mutant, with these test cases alone, the quick ones first, up to the first failure.

The exit code is 1 if a chosen one survives that has no `equivalent`, the reason why nothing can notice it, and if fewer of
the generated ones are killed than --at-least says; those in equivalent.json are not counted. The build folder must hold the programs as they are now;
what is made lies in its folder `switched`. --show prints what the survivors change.
"""

import argparse
import collections
import concurrent.futures
import dataclasses
import json
import os
import pathlib
import re
import shlex
import shutil
import subprocess
import sys
import threading
import time
import zlib

import generate
import switches

HERE = pathlib.Path(__file__).resolve().parent
ROOT = HERE.parent.parent
GENERATED = ("libk8sio/src/protocol", "libk8sio/src/client", "libk8sio/src/runtime", "libk8sio/src/transport",
             "operator/src/controller")
# A process with signals: the tests in tests/operator/cli run it.
NOT_IN_THESE_PROGRAMS = ("operator/src/controller/run.cpp",)
PROGRAMS = ("k8sio_tests", "operator_tests")
TARGETS = ("libk8sio/CMakeFiles/signalbox_k8sio.dir/", "operator/CMakeFiles/signalbox_operator_lib.dir/",
           "tests/k8sio/CMakeFiles/k8sio_tests.dir/", "tests/operator/CMakeFiles/operator_tests.dir/")
# A change may make a loop without end that takes all memory.
LIMITED = ("prlimit", "--as=4294967296")
# Test cases that take more of the whole time are left out: every line must be noticed without them.
LONGEST = 0.02
# Of those that reach a mutant, so much of the whole time is tried first.
QUICK = 0.02


@dataclasses.dataclass
class Mutant:
    rule: str
    file: str
    old: str
    new: str
    generated: bool
    equivalent: str = ""
    fits: bool = True

    @property
    def number(self):
        """The same whatever else is in the lists, so that unchanged units are not compiled again."""
        return zlib.crc32(repr((self.file, self.old, self.new)).encode()) & 0x7FFFFFFF


@dataclasses.dataclass
class TestCase:
    program: str
    name: str
    seconds: float
    reached: set


def fail(message):
    sys.exit("mutants: " + message)


def chosen_mutants():
    return [Mutant(m["rule"], m["file"], m["from"], m["to"], False, m.get("equivalent", ""))
            for m in json.loads((HERE / "controller.json").read_text())]


def generated_mutants(seed, count):
    reasons = {(m["file"], m["from"], m["to"]): m["equivalent"]
               for m in json.loads((HERE / "equivalent.json").read_text())}
    made = generate.generate_stable(seed, count, [ROOT / folder for folder in GENERATED], ROOT)
    return [Mutant(m["rule"], m["file"], m["from"], m["to"], True,
                   reasons.get((m["file"], generate.line_of(m, "from"), generate.line_of(m, "to")), "")) for m in made
            if m["file"] not in NOT_IN_THESE_PROGRAMS]


def patched_text(file, mutants):
    """The source with all switches; generated mutants that cannot have one are marked so."""
    text = (ROOT / file).read_text()
    while True:
        fitting = [m for m in mutants if m.fits]
        try:
            for m in fitting:
                last = m
                switches.with_switches(text, [(m.number, m.old, m.new)])
            last = fitting[-1] if fitting else None
            return switches.with_switches(text, [(m.number, m.old, m.new) for m in fitting])
        except switches.Unfit as why:
            generated = [m for m in fitting if m.generated]
            if not last.generated and not generated:
                fail(f"{file}: {why}: bring the lists in tests/mutants up to date")
            (last if last.generated else generated[-1]).fits = False


class Build:
    """The programs with all mutants in them."""

    def __init__(self, build, mutants, jobs):
        self.build = build
        self.scratch = build / "switched"
        self.jobs = jobs
        self.lock = threading.Lock()
        self.broken = []
        self.by_file = {}
        for m in mutants:
            self.by_file.setdefault(m.file, []).append(m)

    def make(self):
        shutil.rmtree(self.scratch / "source", ignore_errors=True)
        for file in self.by_file:
            self.write(file)
        with concurrent.futures.ThreadPoolExecutor(self.jobs) as pool:
            objects = list(pool.map(self.compile, self.units()))
        if self.broken:
            fail("these do not compile:\n" + "\n".join(self.broken))
        return {program: self.link(program, objects) for program in PROGRAMS}

    def write(self, file):
        path = self.scratch / "source" / file
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(patched_text(file, self.by_file[file]))

    def units(self):
        """Commands for what includes a changed file, and the switch itself, as (command, source, object)."""
        deps = subprocess.run(["ninja", "-C", self.build, "-t", "deps"], capture_output=True, text=True, check=True).stdout
        concerned = set()
        for block in deps.split("\n\n"):
            lines = block.strip().split("\n")
            if any(str(ROOT / file) in line or line.strip().endswith("/" + file) for file in self.by_file
                   for line in lines[1:]):
                concerned.add(lines[0].split(":")[0])
        out = []
        for entry in json.loads((self.build / "compile_commands.json").read_text()):
            words = shlex.split(entry["command"])
            made = words[words.index("-o") + 1]
            if made.startswith(TARGETS) and made in concerned and entry["file"].endswith(".cpp"):
                out.append((words, pathlib.Path(entry["file"]), made))
                if made.startswith(TARGETS[3]):
                    tests = words
        # Any test's command will do for the switch.
        tests = next(w for w, _, made in out if made.startswith(TARGETS[3])) if not out else tests
        if "-include" in tests:  # precompiled headers have Catch2 without what the switch needs of it
            at = tests.index("-include")
            tests = tests[:at] + tests[at + 2:]
        out.append((tests, HERE / "mutant_switch.cpp", "mutant_switch.o"))
        return out

    def compile(self, unit):
        words, source, made = unit
        target = self.scratch / "objects" / made
        target.parent.mkdir(parents=True, exist_ok=True)
        file = str(source.relative_to(ROOT)) if source.is_relative_to(ROOT) else None
        patched = self.scratch / "source" / (file or "none")
        command = []
        for word in words:
            if word.startswith(f"-I{ROOT}/"):
                command.append(word.replace(f"-I{ROOT}", f"-I{self.scratch}/source", 1))
            command.append(word)
        at = command.index("-o")
        command[at + 1] = str(target)
        command[command.index("-c") + 1] = str(patched if patched.exists() else source)
        command = [w for w in command if w != "-Werror"] + ["-w"]
        if shutil.which("ccache"):
            command = ["env", "CCACHE_SLOPPINESS=pch_defines,time_macros", "ccache", *command]
        for _ in range(20):
            done = subprocess.run(command, cwd=self.build, capture_output=True, text=True)
            if done.returncode == 0:
                return made, target
            with self.lock:
                if not self.drop_unfit(done.stderr):
                    break
        self.broken.append(f"{source}:\n{done.stderr[:4000]}")
        return made, target

    def drop_unfit(self, errors):
        """Takes the generated mutants on the lines of the errors out. False if there are none."""
        found = False
        for file, line in re.findall(r"switched/source/(\S+?):(\d+):\d+: +(?:error|required from)", errors):
            text = (ROOT / file).read_text()
            for m in self.by_file.get(file, []):
                first = text[:text.index(m.old)].count("\n") + 1
                if m.generated and first <= int(line) <= first + m.old.count("\n"):
                    found = True
                    m.fits = False
            self.write(file)
        return found

    def link(self, program, objects):
        lines = subprocess.run(["ninja", "-C", self.build, "-t", "commands", program], capture_output=True, text=True,
                               check=True).stdout.splitlines()
        words = shlex.split(lines[-1].removeprefix(": && ").removesuffix(" && :"))
        made = dict(objects)
        own = [str(made.pop(w)) if w in made else w for w in words]
        first = next(i for i, w in enumerate(own) if w.endswith(".a"))
        libraries = TARGETS[:1] if program == "k8sio_tests" else TARGETS[:2]
        more = [str(path) for name, path in made.items() if name.startswith(libraries) or name == "mutant_switch.o"]
        target = self.scratch / program
        linked = [str(target) if w == f"bin/{program}" else w for w in own[:first] + more + own[first:]]
        done = subprocess.run(linked, cwd=self.build, capture_output=True, text=True)
        if done.returncode != 0:
            fail(f"{program} cannot be linked:\n{done.stderr[:4000]}")
        return target


def trace(program, path):
    """Which switches each test case comes to, all off."""
    file = path.with_suffix(".trace")
    done = subprocess.run([path, "--order", "decl"], env=dict(os.environ, SIGNALBOX_MUTANT_TRACE=str(file)),
                          capture_output=True, text=True, errors="replace")
    if done.returncode != 0:
        fail(f"{program} fails with all switches off:\n{done.stdout[-4000:]}")
    out = []
    for line in file.read_text(errors="replace").splitlines():
        nanoseconds, reached, name = line.split(" ", 2)
        out.append(TestCase(program, name, int(nanoseconds) / 1e9, {int(n) for n in reached.split(",") if n}))
    # What is asked before the first test case concerns all of them.
    for case in out[1:]:
        case.reached |= out[0].reached
    return out[1:]


def first_failure(output):
    """The name of the test case that failed."""
    found = re.search(r"^NOTICED (.*)", output, re.M)
    return found[1] if found else "(an abort)"


class Judge:
    def __init__(self, programs, cases, scratch):
        self.programs = programs
        self.whole = sum(c.seconds for c in cases)
        self.cases = [c for c in cases if c.seconds <= LONGEST * self.whole]
        self.scratch = scratch
        # What noticed it the last time is tried first.
        self.memory = scratch / "killers.json"
        self.before = json.loads(self.memory.read_text()) if self.memory.exists() else {}
        self.now = dict(self.before)

    def remember(self):
        self.memory.write_text(json.dumps(self.now))

    def run(self, mutant, program, cases):
        """What fails, or None."""
        names = self.scratch / f"{mutant.number}.names"
        names.write_text("".join('"{}"\n'.format(c.name.replace(",", "\\,")) for c in cases))
        limit = 15 + 5 * sum(c.seconds for c in cases)
        try:
            done = subprocess.run([*LIMITED, self.programs[program], "-f", names, "--abort", "--order", "decl"],
                                  env=dict(os.environ, SIGNALBOX_MUTANT=str(mutant.number)), capture_output=True,
                                  text=True, errors="replace", timeout=limit)
        except subprocess.TimeoutExpired:
            return "(no end)"
        finally:
            names.unlink()
        if done.returncode == 0:
            if "No tests ran" in done.stdout:
                fail(f"no test case has one of these names: {[c.name for c in cases]}")
            return None
        return first_failure(done.stdout) if done.returncode > 0 else f"(signal {-done.returncode})"

    def __call__(self, mutant):
        """What notices it, or None."""
        reaching = sorted((c for c in self.cases if mutant.number in c.reached), key=lambda c: c.seconds)
        if not reaching:
            return None
        # First what names the rule, then what is quick.
        named = re.match(r"(?:behaviour|requirement) \S+", mutant.rule)
        parts = [[], [], []]
        total = 0.0
        for case in reaching:
            if self.before.get(str(mutant.number)) == case.name or (named and f"[{named[0]}]" in case.name):
                parts[0].append(case)
            else:
                total += case.seconds
                parts[1 if total <= QUICK * self.whole else 2].append(case)
        for part in parts:
            for program in PROGRAMS:
                mine = [c for c in part if c.program == program]
                killer = self.run(mutant, program, mine) if mine else None
                if killer:
                    self.now[str(mutant.number)] = killer
                    return killer
        return None


def main():
    parser = argparse.ArgumentParser(usage=__doc__)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--count", type=int, default=120, help="generated mutants")
    parser.add_argument("--at-least", type=int, default=100, metavar="PERCENT")
    parser.add_argument("--jobs", type=int, default=os.cpu_count())
    parser.add_argument("--only", choices=("chosen", "generated"))
    parser.add_argument("--show", action="store_true")
    parser.add_argument("build", type=lambda text: pathlib.Path(text).resolve())
    parser.add_argument("word", nargs="?", default="")
    options = parser.parse_args()
    mutants = [] if options.only == "generated" else chosen_mutants()
    # Some do not compile behind a switch: a few more are made, and the first that do are taken.
    spare = [] if options.only == "chosen" else generated_mutants(options.seed, options.count * 5 // 4)
    start = time.monotonic()
    build = Build(options.build, mutants + spare, options.jobs)
    programs = build.make()
    mutants += [m for m in spare if m.fits][:options.count]
    mutants = [m for m in mutants if options.word in m.rule + m.file]
    print(f"built after {time.monotonic() - start:.0f} s", flush=True)
    cases = [case for program in PROGRAMS for case in trace(program, programs[program])]
    print(f"{len(cases)} test cases traced after {time.monotonic() - start:.0f} s", flush=True)
    killed, survived, equivalent = collections.Counter(), collections.Counter(), 0
    judge = Judge(programs, cases, build.scratch)
    with concurrent.futures.ThreadPoolExecutor(options.jobs) as pool:
        for m, killer in zip(mutants, pool.map(judge, mutants)):
            if killer:
                verdict = f"killed by {killer}"
                killed[m.generated] += 1
            elif m.equivalent:
                verdict = f"changes nothing: {m.equivalent}"
                equivalent += 1
            else:
                reached = any(m.number in c.reached for c in cases)
                verdict = "SURVIVED" if reached else "SURVIVED, no test comes there"
                survived[m.generated] += 1
            if killer and m.equivalent:
                verdict += "; it is no equivalent"
                survived[m.generated] += 1
            print(f"{m.rule}\n    {m.file}: {verdict}", flush=True)
            if options.show and not killer and not m.equivalent:
                print(f"    for: {m.old.strip()}\n    now: {m.new.strip()}", flush=True)
    judge.remember()
    print(f"chosen: {killed[False]} killed, {survived[False]} survived; generated: {killed[True]} killed, "
          f"{survived[True]} survived; {equivalent} equivalent ({time.monotonic() - start:.0f} s)")
    enough = killed[True] * 100 >= (killed[True] + survived[True]) * options.at_least
    return 0 if enough and not survived[False] else 1


if __name__ == "__main__":
    sys.exit(main())
