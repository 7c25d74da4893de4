# SPDX-License-Identifier: Apache-2.0
"""The suites of mutants: which sources are changed, by which lists, and which programs have to notice.

A row of SUITES is all that a suite is.
"""

import dataclasses
import json
import pathlib
import sys
import zlib

import generate

HERE = pathlib.Path(__file__).resolve().parent
ROOT = HERE.parent.parent


@dataclasses.dataclass(frozen=True)
class Suite:
    chosen: str
    """The file with the list of chosen mutants."""
    base: str
    """The folder that the `file` of a chosen mutant is relative to."""
    programs: tuple
    """Names in the folder bin of the build. They have Catch2 unless there are `runs`."""
    folders: tuple = ()
    """Sources that generated mutants change: folders, or single files."""
    never: tuple = ()
    """Sources in these folders that `programs` do not run."""
    runs: tuple = ()
    """Arguments of the one program, which has no test cases of Catch2: the runs that may notice, the quick one first."""
    environment: dict = dataclasses.field(default_factory=dict)


SUITES = {
    "core": Suite(
        chosen="core.json",
        base="libjobcore/src",
        programs=("jobcore_tests", "jobcore_extension", "jobcore_stories"),
        folders=("libjobcore/src",),
        environment={"SIGNALBOX_STORIES": "1,600"}),
    # No line of its list is in that of `core`: the search alone has to notice.
    "search": Suite(
        chosen="search.json",
        base="libjobcore/src",
        programs=("search",),
        runs=(("--steps", "12000", "--walks", "10", "--new-only"), ("--new-only",))),
    "controller": Suite(
        chosen="controller.json",
        base="",
        programs=("k8sio_tests", "operator_tests"),
        folders=("libk8sio/src/protocol", "libk8sio/src/client", "libk8sio/src/runtime", "libk8sio/src/serving",
                 "libk8sio/src/transport", "operator/src/controller", "operator/progress",
                 # The public headers that have code.
                 *(f"libk8sio/include/k8sio/{name}.hpp"
                   for name in ("byte_budget", "controller", "slow_start", "store", "synchronization"))),
        # A process with signals: the tests in tests/operator/cli run it.
        never=("operator/src/controller/run.cpp",)),
    "server": Suite(
        chosen="server.json",
        base="libk8sio/server",
        programs=("k8sio_server_tests", "k8sio_tests"),
        folders=("libk8sio/server",)),
    "kubelet": Suite(
        chosen="kubelet.json",
        base="operator",
        programs=("operator_tests", "operator_threads_tests", "container_tests"),
        folders=("operator/dev/kubelet", "operator/dev/pods", "operator/http", "operator/src/monitoring", "operator/job_metrics",
                 "operator/cli/manifests")),
}


@dataclasses.dataclass
class Mutant:
    rule: str
    file: str
    """Relative to the repository."""
    old: str
    new: str
    generated: bool
    equivalent: str = ""
    """Why nothing can notice it, if so."""
    fits: bool = True
    """It can be put behind a switch."""

    @property
    def number(self):
        """The same whatever else is in the lists, so that unchanged units are not compiled again."""
        return zlib.crc32(repr((self.file, self.old, self.new)).encode()) & 0x7FFFFFFF


def fail(message):
    sys.exit("mutants: " + message)


def chosen_mutants(suite):
    return [Mutant(m["rule"], str(pathlib.PurePath(suite.base, m["file"])), m["from"], m["to"], False,
                   m.get("equivalent", ""))
            for m in json.loads((HERE / suite.chosen).read_text())]


def generated_mutants(suite, seed, count):
    reasons = {(m["file"], m["from"], m["to"]): m["equivalent"]
               for m in json.loads((HERE / "equivalent.json").read_text())}
    made = generate.generate(seed, count, [ROOT / folder for folder in suite.folders], ROOT)
    return [Mutant(m["rule"], m["file"], m["from"], m["to"], True,
                   reasons.get((m["file"], generate.line_of(m, "from"), generate.line_of(m, "to")), ""))
            for m in made if m["file"] not in suite.never]
