# SPDX-License-Identifier: Apache-2.0
"""The package for Python as others get it: a wheel, installed into an empty environment of a machine without a compiler, runs
the program of the README, answers the conformance set, and explains failed tests to pytest. Usage: wheel_test.py LIBRARY"""

import os
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile
import textwrap
import unittest
import zipfile

HERE = pathlib.Path(__file__).resolve().parent
ROOT = HERE.parents[2]
PACKAGE = ROOT / "libjobcore/python"
sys.path.insert(0, str(ROOT / "tests/support"))
import skips  # noqa: E402 (from the folder above)

sys.path.insert(0, str(HERE.parent / "text"))
import conformance  # noqa: E402

SUITE, LIBRARY = "python_wheel", pathlib.Path(sys.argv[1]).resolve()
FAILING = """
import signalbox
from test_policy import TEMPLATE

def test_by_expectation():
    signalbox.Story(TEMPLATE).run().expect.phase("Failed")

def test_by_assertion(story):
    job = story(TEMPLATE).run()
    job.pod("worker-1").fails(1)
    assert job.retries == 0

def test_that_passes(story):
    story(TEMPLATE)
"""


def run(*command, **options):
    done = subprocess.run(list(map(str, command)), stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, check=False, **options)
    assert done.returncode == 0, f"{command}: {done.stdout}"
    return done.stdout


def build(folder):
    return pathlib.Path(run(sys.executable, "-B", PACKAGE / "signalbox_wheel.py", LIBRARY, folder).strip())


class Wheel(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.folder = pathlib.Path(tempfile.mkdtemp(prefix="signalbox wheel-"))
        cls.addClassCleanup(shutil.rmtree, cls.folder)
        cls.wheel = build(cls.folder / "dist")
        cls.bin = cls.folder / "venv/bin"
        # Nothing else is on its way: no compiler, no tool, nothing of this build.
        cls.surroundings = {"PATH": str(cls.bin), "HOME": str(cls.folder), "LC_ALL": "C.UTF-8"}
        run(sys.executable, "-m", "venv", cls.folder / "venv")
        run(cls.bin / "pip", "install", "--no-index", "--disable-pip-version-check", cls.wheel, env=cls.surroundings)

    def python(self, *arguments):
        return run(self.bin / "python", *arguments, env=self.surroundings, cwd=self.folder)

    def test_the_program_of_the_readme(self):
        program = re.search(r"```python\n(.*?)```", (PACKAGE / "README.md").read_text("utf-8"), re.DOTALL)[1]
        self.assertLessEqual(len([line for line in program.splitlines() if line and not line.startswith("import")]), 10)
        said = self.python("-c", program)
        self.assertIn("PyTorchTrainingJob default/mnist is Pending (Restarting).", said)

    def test_the_conformance_set(self):
        # Some would be found in this environment: what counts is the installed package.
        command = [str(self.bin / "python"), "-B", str(HERE.parent / "text/call_lines.py")]
        self.assertEqual(conformance.differences(command), [])

    def test_pip_builds_the_same_from_the_folder(self):
        copy = self.folder / "copy"
        shutil.copytree(PACKAGE, copy, ignore=shutil.ignore_patterns("__pycache__"))
        run(self.bin / "pip", "wheel", "--no-index", "--disable-pip-version-check", "--wheel-dir", self.folder / "by-pip", copy,
            env={**self.surroundings, "SIGNALBOX_JOBCORE_LIBRARY": str(LIBRARY)})
        [wheel] = (self.folder / "by-pip").glob("*.whl")
        self.assertEqual(wheel.name, self.wheel.name)
        self.assertEqual(wheel.read_bytes(), self.wheel.read_bytes())

    def test_it_says_what_machine_it_is_for(self):
        self.assertRegex(self.wheel.name, r"^signalbox-[0-9.]+-py3-none-manylinux_2_\d+_\w+\.whl$")
        names = zipfile.ZipFile(self.wheel).namelist()
        self.assertIn("signalbox/py.typed", names)
        self.assertIn("signalbox/libsignalbox_jobcore.so", names)

    def test_pytest_explains_what_fails(self):
        try:
            import pytest  # noqa: F401 (it is asked for)
        except ImportError:
            skips.note(SUITE, "the plugin is not tested: needs pytest (Debian: python3-pytest)")
            return
        # pytest is of this machine, and finds the plugin by the installed package.
        [site] = (self.folder / "venv/lib").glob("python*/site-packages")
        suite = self.folder / "suite"
        shutil.copytree(ROOT / "examples/python", suite, ignore=shutil.ignore_patterns("__pycache__"))
        environment = {**os.environ, "PYTHONPATH": str(site), "PYTHONDONTWRITEBYTECODE": "1"}
        pytest_of = [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider"]
        self.assertRegex(run(*pytest_of, suite, env=environment), r"\d+ passed")
        (suite / "test_failing.py").write_text(textwrap.dedent(FAILING))
        done = subprocess.run([*pytest_of, "test_failing.py"], cwd=suite, env=environment, capture_output=True, text=True, check=False)
        self.assertEqual(done.returncode, 1, done.stdout + done.stderr)
        self.assertIn("2 failed, 1 passed", done.stdout)
        self.assertIn("expected phase Failed, but the job is Running", done.stdout)
        self.assertEqual(done.stdout.count(" signalbox explain train "), 2, done.stdout)
        self.assertIn("PyTorchTrainingJob default/train is Pending (Restarting).", done.stdout)
        self.assertIn("worker-1 exits with 1", done.stdout)


if __name__ == "__main__":
    unittest.main(argv=sys.argv[:1], verbosity=1)
