# SPDX-License-Identifier: Apache-2.0
"""What the suites of real launchers have in common: their set of packages, their checks, and the report of what was seen.

    python3 test_<name>.py [--long] [--full] [--report FOLDER] [names of tests]

--long: tests marked as long too. --full: these, with current torch in place of Debian's. --report: writes what each test came to
as `<suite>_<set>.json`, for results.py.
"""
import argparse
import json
import pathlib
import subprocess
import sys
import time
import unittest

import live_pods
import local_pods

PACKAGES = "current" if "--full" in sys.argv else "debian"
long = unittest.skipUnless({"--full", "--long"} & set(sys.argv), "long: with --full")
LAUNCHERS = ("torch", "deepspeed", "colossalai")


class Case(unittest.TestCase):
    def run_job(self, one, *others, **options):
        """Runs the job to its end, after the others."""
        return local_pods.run(*others, one, packages=PACKAGES, **options)

    def check_ranks(self, outcome, world):
        """All ranks of so many were there once and met, and the job succeeded."""
        self.assertEqual(outcome.code, 0, outcome.output)
        self.check_world(outcome.ranks, world, outcome.output)

    def check_world(self, ranks, world, said=None):
        self.assertEqual(sorted(ranks), list(range(world)), said)
        for each in ranks.values():
            self.assertEqual((each["world"], each["sum"]), (world, world * (world + 1) / 2))


class Recorder(unittest.TextTestResult):
    """Keeps what each test came to, and how long it took."""

    def startTest(self, test):
        super().startTest(test)
        self.began = time.monotonic()

    def stopTest(self, test):
        bad = [each for each, _ in self.failures + self.errors]
        skipped = [why for each, why in self.skipped if each is test]
        outcome = "failed" if any(each is test or getattr(each, "test_case", None) is test for each in bad) else (
            f"skipped: {skipped[0]}" if skipped else "passed")
        seen.append({
            "name": test.id().rpartition(".")[2], "does": test.shortDescription() or "", "outcome": outcome,
            "seconds": round(time.monotonic() - self.began, 1)})
        super().stopTest(test)


seen = []
kept = {}


def keep(name, what):
    """The report has it too, below that name."""
    kept[name] = what


def versions():
    """Those of the launchers, as their Python has them."""
    program = "import importlib.metadata as m\nfor name in %r: print(name, m.version(name))" % (LAUNCHERS,)
    python = pathlib.Path(local_pods.launchers(PACKAGES), "bin", "python")
    done = subprocess.run([python, "-c", program], stdout=subprocess.PIPE, text=True, check=True)
    return dict(line.split() for line in done.stdout.splitlines())


def write_report(file, name):
    """What tests came to that were not run this time stays, if it is of these versions and there still is such a test."""
    before = json.loads(file.read_text()) if file.exists() else {}
    now = {"suite": name, "packages": PACKAGES, "versions": versions()}
    cases = {each["name"]: each for each in before.get("cases", []) if before["versions"] == now["versions"]}
    cases.update((each["name"], each) for each in seen)
    tests = unittest.defaultTestLoader.loadTestsFromModule(sys.modules["__main__"])
    there = {test.id().rpartition(".")[2] for group in tests for test in group}
    now["cases"] = [each for test, each in sorted(cases.items()) if test in there]
    now.update({name: what for name, what in before.items() if name not in now} | kept)
    file.write_text(json.dumps(now, indent=1) + "\n")


def main(kubectl=False):
    """Runs the suite that is this program."""
    options = argparse.ArgumentParser(add_help=False)
    options.add_argument("--full", action="store_true")
    options.add_argument("--long", action="store_true")
    options.add_argument("--report", type=pathlib.Path)
    given, rest = options.parse_known_args()
    name = pathlib.Path(sys.argv[0]).stem.removeprefix("test_")
    label = f"launch_{name}" + ("_full" if given.full else "")
    if kubectl:
        live_pods.need_kubectl(label)
    local_pods.need(label)
    runner = unittest.TextTestRunner(verbosity=2, resultclass=Recorder)
    ended = unittest.main(argv=[sys.argv[0], *rest], testRunner=runner, exit=False)
    if given.report:
        write_report(given.report / f"{name}_{PACKAGES}.json", name)
    sys.exit(not ended.result.wasSuccessful())
