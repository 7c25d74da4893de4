# SPDX-License-Identifier: Apache-2.0
"""One build of a suite's programs in which every mutant is there, behind a switch.

Sources are changed in a copy (switches.py) and compiled; the objects are linked with those of the build folder, which is
read only. What is made lies in its folder `mutants/<suite>`.
"""

import concurrent.futures
import functools
import json
import pathlib
import re
import shlex
import shutil
import subprocess
import threading

import switches
from suites import HERE, ROOT, fail

# Units of ours that are linked to each program: the switch, and what tells it of test cases.
SWITCH, LISTENER = HERE / "switch.cpp", HERE / "catch_listener.cpp"


def sort_out(file, mutants):
    """Those that can be behind switches in one source, and (mutant, why) for those that cannot."""
    text = (ROOT / file).read_text()
    fitting, unfit = [], []
    # Of two that are in each other's way the generated one gives way.
    for m in sorted((m for m in mutants if m.fits), key=lambda m: m.generated):
        try:
            switched(text, [*fitting, m])
            fitting.append(m)
        except switches.Unfit as why:
            unfit.append((m, why))
    return fitting, unfit


def switched(text, mutants):
    return switches.with_switches(text, [(m.number, m.old, m.new) for m in mutants])


def patched_text(file, mutants):
    """The source with all switches; generated mutants that cannot have one are marked so."""
    fitting, unfit = sort_out(file, mutants)
    for m, why in unfit:
        if not m.generated:
            fail(f"{file}: {m.rule}: {why}: bring the lists in tests/mutants up to date")
        m.fits = False
    return switched((ROOT / file).read_text(), fitting)


class Build:
    """`mutants` in the programs of `suite`. make() sets `fits` of those that do not compile behind a switch to False."""

    def __init__(self, build, name, suite, mutants, jobs):
        self.build = build
        self.suite = suite
        self.scratch = build / "mutants" / name
        self.jobs = jobs
        self.lock = threading.Lock()
        self.broken = []
        self.by_file = {}
        for m in mutants:
            self.by_file.setdefault(m.file, []).append(m)
        self.commands = {}
        for entry in json.loads((build / "compile_commands.json").read_text()):
            words = shlex.split(entry["command"])
            self.commands[words[words.index("-o") + 1]] = (words, pathlib.Path(entry["file"]))
        if any(source.parent.name == "Unity" for _, source in self.commands.values()):
            fail(f"{build} compiles the units of a folder in one, where a changed copy of a unit has no part: take one of the preset dev")

    def make(self):
        """The paths of the programs, by name."""
        shutil.rmtree(self.scratch / "source", ignore_errors=True)
        for file in self.by_file:
            self.write(file)
        with concurrent.futures.ThreadPoolExecutor(self.jobs) as pool:
            objects = dict(pool.map(self.compile, self.units()))
        if self.broken:
            fail("these do not compile:\n" + "\n".join(self.broken))
        return {program: self.link(program, objects) for program in self.suite.programs}

    def write(self, file):
        path = self.scratch / "source" / file
        path.parent.mkdir(parents=True, exist_ok=True)
        # At once: a compiler may be reading it.
        whole = path.with_suffix(".new")
        whole.write_text(patched_text(file, self.by_file[file]))
        whole.replace(path)

    def ninja(self, tool, *arguments):
        # -n: the logs of ninja are not written anew, so that several suites can be built at once.
        done = subprocess.run(["ninja", "-n", "-C", self.build, "-t", tool, *arguments], capture_output=True, text=True)
        if done.returncode != 0:
            fail(f"ninja -t {tool}: {done.stdout}{done.stderr}")
        return done.stdout

    @functools.cache
    def link_command(self, target):
        """The last command for a program (`: && c++ ... && :`) or a library (`cmake -E rm ... && ar ...`), as words."""
        return shlex.split(self.ninja("commands", target).splitlines()[-1])

    def libraries_of(self, target):
        return {w for w in self.link_command(target)
                if w.endswith(".a") and w != target and not pathlib.Path(w).is_absolute()}

    @functools.cache
    def objects_of(self, target):
        """The objects that a program or a library is made of, also those in libraries of ours."""
        own = [w for w in self.link_command(target) if w in self.commands]
        return own + [o for library in sorted(self.libraries_of(target)) for o in self.objects_of(library)]

    @functools.cache
    def changed_files(self):
        """The files with mutants that each object is compiled from, by object."""
        out = {}
        for block in self.ninja("deps").split("\n\n"):
            made, *read = block.strip().split("\n")
            read = [line.strip() for line in read]
            files = {file for file in self.by_file for name in read if name == str(ROOT / file) or name.endswith("/" + file)}
            if files:
                out[made.split(":")[0]] = files
        return out

    def units(self):
        """What is compiled, as (command, source, object)."""
        every = {name for program in self.suite.programs for name in self.objects_of(f"bin/{program}")}
        out = [(*self.commands[name], name) for name in sorted(every & set(self.changed_files()))]
        # The command of any unit of the program's own will do for the switch.
        words = self.commands[self.objects_of(f"bin/{self.suite.programs[0]}")[0]][0]
        # Without the precompiled Catch2, which has no listeners.
        words = [w for w, before in zip(words, ["", *words]) if "-include" not in (w, before) and w != "-Winvalid-pch"]
        out += [(words, source, source.stem + ".o") for source in self.switch_units()]
        return out

    def switch_units(self):
        return [SWITCH] if self.suite.runs else [SWITCH, LISTENER]

    def compile(self, unit):
        words, source, made = unit
        target = self.scratch / "objects" / made
        target.parent.mkdir(parents=True, exist_ok=True)
        patched = self.scratch / "source" / source.relative_to(ROOT)
        command = []
        for word in words:
            if word.startswith(f"-I{ROOT}/"):
                command.append(word.replace(f"-I{ROOT}", f"-I{self.scratch}/source", 1))
            command.append(word)
        command[command.index("-o") + 1] = str(target)
        command[command.index("-c") + 1] = str(patched if patched.exists() else source)
        command = [w for w in command if w != "-Werror"] + ["-w"]
        if shutil.which("ccache"):
            command = ["env", "CCACHE_SLOPPINESS=pch_defines,time_macros", "ccache", *command]
        for _ in range(20):
            before = self.fitting(made)
            done = subprocess.run(command, cwd=self.build, capture_output=True, text=True)
            if done.returncode == 0:
                return made, target
            with self.lock:
                # Another unit may have taken something out of a header meanwhile.
                if self.fitting(made) == before and not self.drop_unfit(made, done.stderr):
                    break
        self.broken.append(f"{source}:\n{done.stderr[:4000]}")
        return made, target

    def fitting(self, made):
        return [m for file in sorted(self.changed_files().get(made, ())) for m in self.by_file[file] if m.fits]

    def drop_unfit(self, made, errors):
        """Takes the generated mutants on the lines of the errors out, else those in constants. False if there are none."""
        places = re.findall(r"/source/(\S+?):(\d+):\d+: +(?:error|required from)", errors)

        def is_named(m):
            text = (ROOT / m.file).read_text()
            first = text[:text.index(m.old)].count("\n") + 1
            return any(file == m.file and first <= int(line) <= first + m.old.count("\n") for file, line in places)

        def is_constant(m):
            return switches.in_constant((ROOT / m.file).read_text(), m.old, m.new)

        generated = [m for m in self.fitting(made) if m.generated]
        unfit = [m for m in generated if is_named(m)] or [m for m in generated if is_constant(m)]
        for m in unfit:
            m.fits = False
        for file in {m.file for m in unfit}:
            self.write(file)
        return bool(unfit)

    def link(self, program, objects):
        made = f"bin/{program}"
        target = self.scratch / program
        other = {made: str(target), **{name: str(path) for name, path in objects.items()}}
        other |= {library: self.archive(library, objects) for library in self.libraries_of(made)}
        words = [other.get(w, w) for w in self.link_command(made) if w not in (":", "&&")]
        words[words.index("-o"):words.index("-o")] = [str(objects[source.stem + ".o"]) for source in self.switch_units()]
        self.run(words, made)
        return target

    def archive(self, library, objects):
        """The library with the objects that were compiled here."""
        path = self.scratch / library
        path.parent.mkdir(parents=True, exist_ok=True)
        path.unlink(missing_ok=True)
        members = [str(objects.get(name, self.build / name)) for name in self.objects_of(library)]
        self.run(["ar", "qcsT", str(path), *members], library)
        return str(path)

    def run(self, words, made):
        done = subprocess.run(words, cwd=self.build, capture_output=True, text=True)
        if done.returncode != 0:
            fail(f"{made} cannot be linked:\n{done.stderr[:4000]}")
