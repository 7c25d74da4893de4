# SPDX-License-Identifier: Apache-2.0
"""Runs a suite's programs with one mutant switched on, and says what notices it."""

import dataclasses
import json
import os
import re
import subprocess
import threading
import time

from suites import fail

# A change may make a loop without end that takes all memory.
LIMITED = ("prlimit", "--as=4294967296")
# A test case that takes more of the whole time is a long one.
LONGEST = 0.02
# Of those that reach a mutant, so much of the whole time is tried first.
QUICK = 0.02
NO_END = "(no end)"


@dataclasses.dataclass
class TestCase:
    program: str
    name: str
    seconds: float
    reached: set


def environment(suite, **more):
    return dict(os.environ, **suite.environment, **more)


class CatchJudge:
    """For programs with Catch2. One run with all switches off tells which test cases come to which switch; a mutant is tried
    with these alone, the quick ones first, up to the first failure."""

    def __init__(self, suite, programs, scratch):
        self.suite = suite
        self.programs = programs
        self.scratch = scratch
        self.cases = [case for program in programs for case in self.trace(program)]
        self.whole = sum(c.seconds for c in self.cases)
        # What noticed it the last time is tried first.
        self.memory = scratch / "killers.json"
        self.before = json.loads(self.memory.read_text()) if self.memory.exists() else {}
        self.now = dict(self.before)

    def summary(self):
        return f"{len(self.cases)} test cases traced"

    def remember(self):
        self.memory.write_text(json.dumps(self.now))

    def is_reached(self, mutant):
        return any(mutant.number in c.reached for c in self.cases)

    def trace(self, program):
        path = self.programs[program]
        file = path.with_suffix(".trace")
        done = subprocess.run([path, "--order", "decl"], env=environment(self.suite, SIGNALBOX_MUTANT_TRACE=str(file)),
                              capture_output=True, text=True, errors="replace", timeout=1800)
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

    def run(self, mutant, program, cases):
        """What fails, or None."""
        names = self.scratch / f"{mutant.number}.names"
        names.write_text("".join('"{}"\n'.format(c.name.replace(",", "\\,")) for c in cases))
        limit = 15 + 5 * sum(c.seconds for c in cases)
        try:
            done = subprocess.run([*LIMITED, self.programs[program], "-f", names, "--abort", "--order", "decl"],
                                  env=environment(self.suite, SIGNALBOX_MUTANT=str(mutant.number)), capture_output=True,
                                  text=True, errors="replace", timeout=limit)
        except subprocess.TimeoutExpired:
            return NO_END
        finally:
            names.unlink()
        if done.returncode == 0:
            if "No tests ran" in done.stdout:
                fail(f"no test case has one of these names: {[c.name for c in cases]}")
            return None
        if done.returncode < 0:
            return f"(signal {-done.returncode})"
        found = re.search(r"^NOTICED (.*)", done.stdout, re.M)
        return found[1] if found else "(an abort)"

    def parts(self, mutant):
        """Test cases in the order in which they are tried: named by the rule, quick, others, long."""
        named = re.match(r"(?:behaviour|requirement) \S+", mutant.rule)
        out = [[], [], [], []]
        total = 0.0
        for case in sorted((c for c in self.cases if mutant.number in c.reached), key=lambda c: c.seconds):
            is_long = case.seconds > LONGEST * self.whole
            if is_long and not self.suite.long_cases:
                continue
            if self.before.get(str(mutant.number)) == case.name or (
                    named and f"[{named[0]}]" in case.name and not is_long):
                out[0].append(case)
            elif is_long:
                out[3].append(case)
            else:
                total += case.seconds
                out[1 if total <= QUICK * self.whole else 2].append(case)
        return out

    def __call__(self, mutant):
        """What notices it, or None."""
        for part in self.parts(mutant):
            for program in self.programs:
                mine = [c for c in part if c.program == program]
                killer = self.run(mutant, program, mine) if mine else None
                if killer:
                    self.now[str(mutant.number)] = killer
                    return killer
        return None


class RunJudge:
    """For a program without Catch2: a mutant is tried with each of the suite's runs. What begins with VIOLATION or FAULT is a
    failure; nothing after it is waited for."""

    def __init__(self, suite, programs, scratch):
        self.suite = suite
        self.path = programs[suite.programs[0]]
        start = time.monotonic()
        if failure := self.run(None, suite.runs[0], 3600):
            fail(f"{self.path.name} fails with all switches off: {failure}")
        self.seconds = time.monotonic() - start

    def summary(self):
        return f"the quick run takes {self.seconds:.0f} s"

    def remember(self):
        pass

    def is_reached(self, _):
        return True

    def run(self, mutant, arguments, limit):
        on = {} if mutant is None else {"SIGNALBOX_MUTANT": str(mutant.number)}
        process = subprocess.Popen([*LIMITED, self.path, *arguments], env=environment(self.suite, **on),
                                   stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True, errors="replace")
        late = threading.Timer(limit, process.kill)
        late.start()
        with process:
            failure = next((line.strip() for line in process.stdout if line.startswith(("VIOLATION", "FAULT"))), None)
            if failure:
                process.kill()
            process.wait()
        in_time = late.is_alive()
        late.cancel()
        if failure or process.returncode == 0:
            return failure
        return f"(exit code {process.returncode})" if in_time else NO_END

    def __call__(self, mutant):
        """What notices it, or None."""
        for i, arguments in enumerate(self.suite.runs):
            # How long the later ones take is not known; the mutants that come so far are few.
            killer = self.run(mutant, arguments, 15 + 5 * self.seconds if i == 0 else 1200)
            if killer:
                return killer
        return None


def judge_of(suite, programs, scratch):
    return (RunJudge if suite.runs else CatchJudge)(suite, programs, scratch)
