# SPDX-License-Identifier: Apache-2.0
"""Runs a suite's programs with one mutant switched on, and says what notices it."""

import dataclasses
import json
import os
import math
import pathlib
import re
import signal
import subprocess
import threading

from suites import fail

# A change may make a loop without end that takes all memory.
MOST_MEMORY = 4 << 30
# A change may make a program wait forever: one that has used next to no CPU time for so many seconds does.
PATIENCE = 30
# Clock ticks a second of a program that only waits: threads that beat for others to see go on.
IDLE_TICKS = 2
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


def cpu_time(pid):
    """Of a process with all its threads, in clock ticks; None if it has ended."""
    try:
        fields = pathlib.Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    except OSError:
        return None
    return int(fields[11]) + int(fields[12])


class Bounded:
    """A program that is killed when it has used `seconds` of CPU time, or waits and uses next to none: how busy the machine
    is changes nothing. `took`: the CPU time it has used, once it has ended."""

    def __init__(self, command, env, seconds):
        cpu = math.ceil(seconds)
        limits = ["prlimit", f"--as={MOST_MEMORY}", f"--cpu={cpu}:{cpu + 5}", "--core=0"]
        # In a process group of its own, as a change may make it kill its group.
        self.process = subprocess.Popen([*limits, *map(str, command)], env=env, stdout=subprocess.PIPE,
                                        stderr=subprocess.DEVNULL, text=True, errors="replace", start_new_session=True)
        self.ended = threading.Event()
        self.waits = False
        self.took = 0.0
        self.watch = threading.Thread(target=self.end_if_it_waits, daemon=True)
        self.watch.start()

    def end_if_it_waits(self):
        before = None
        while not self.ended.wait(PATIENCE):
            now = cpu_time(self.process.pid)
            if now is not None and before is not None and now - before <= PATIENCE * IDLE_TICKS:
                self.waits = True
                self.kill()
                return
            before = now

    def lines(self):
        """What it prints, as it comes; to be read to the end."""
        with self.process.stdout as out:
            yield from out

    def kill(self):
        if not self.ended.is_set():
            os.kill(self.process.pid, signal.SIGKILL)

    def end(self):
        """The exit code, or None if it had no end."""
        _, status, used = os.wait4(self.process.pid, 0)
        self.process.returncode = code = os.waitstatus_to_exitcode(status)
        self.ended.set()
        self.took = used.ru_utime + used.ru_stime
        return None if self.waits or code == -signal.SIGXCPU else code


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
        command = [self.programs[program], "-f", names, "--abort", "--order", "decl"]
        run = Bounded(command, environment(self.suite, SIGNALBOX_MUTANT=str(mutant.number)),
                      15 + 5 * sum(c.seconds for c in cases))
        output = "".join(run.lines())
        code = run.end()
        names.unlink()
        if code is None:
            return NO_END
        if code == 0:
            if "No tests ran" in output:
                fail(f"no test case has one of these names: {[c.name for c in cases]}")
            return None
        if code < 0:
            return f"(signal {-code})"
        found = re.search(r"^NOTICED (.*)", output, re.M)
        return found[1] if found else "(an abort)"

    def parts(self, mutant):
        """Test cases in the order in which they are tried: named by the rule, quick, others, long."""
        named = re.match(r"(?:behaviour|requirement) \S+", mutant.rule)
        out = [[], [], [], []]
        total = 0.0
        for case in sorted((c for c in self.cases if mutant.number in c.reached), key=lambda c: c.seconds):
            is_long = case.seconds > LONGEST * self.whole
            is_named = named is not None and f"[{named[0]}]" in case.name
            if self.before.get(str(mutant.number)) == case.name or (is_named and not is_long):
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
        failure, self.seconds = self.run(None, suite.runs[0], 3600)
        if failure:
            fail(f"{self.path.name} fails with all switches off: {failure}")

    def summary(self):
        return f"the quick run takes {self.seconds:.0f} s of CPU time"

    def remember(self):
        pass

    def is_reached(self, _):
        return True

    def run(self, mutant, arguments, limit):
        """(what fails or None, the CPU time)."""
        on = {} if mutant is None else {"SIGNALBOX_MUTANT": str(mutant.number)}
        run = Bounded([self.path, *arguments], environment(self.suite, **on), limit)
        failure = None
        for line in run.lines():
            if not failure and line.startswith(("VIOLATION", "FAULT")):
                failure = line.strip()
                run.kill()
        code = run.end()
        if not failure and code != 0:
            failure = NO_END if code is None else f"(exit code {code})"
        return failure, run.took

    def __call__(self, mutant):
        """What notices it, or None."""
        for i, arguments in enumerate(self.suite.runs):
            # How long the later ones take is not known; the mutants that come so far are few.
            killer, _ = self.run(mutant, arguments, 15 + 5 * self.seconds if i == 0 else 1200)
            if killer:
                return killer
        return None


def judge_of(suite, programs, scratch):
    return (RunJudge if suite.runs else CatchJudge)(suite, programs, scratch)
