# SPDX-License-Identifier: Apache-2.0
"""What run_suite.py does with suites that end, work forever, or hang."""

import ast
import os
import pathlib
import subprocess
import sys
import tempfile
import unittest

PROGRAM = pathlib.Path(__file__).resolve().with_name("run_suite.py")
WORK = "while True: pass"
HANG = "import signal; signal.pause()"


class RunSuite(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = pathlib.Path(folder.name)

    def run_suite(self, text, *options):
        """A suite that is this program in Python."""
        done = subprocess.run(
            [sys.executable, PROGRAM, *options, "suite", sys.executable, "-c", text], capture_output=True, text=True,
            env={**os.environ, "SIGNALBOX_COST_DIR": str(self.folder)}, check=False)
        return done.returncode, done.stdout

    def processors(self):
        return float((self.folder / "suite.txt").read_text().split()[1])

    def test_its_exit_code_is_the_suite_s(self):
        for code in (0, 3, 77):
            self.assertEqual(self.run_suite(f"print('said'); raise SystemExit({code})"), (code, "said\n"))
        self.assertEqual(self.run_suite("import os; os.kill(os.getpid(), 9)"), (137, ""))

    def test_it_sees_nothing_of_the_machine(self):
        """Its home and temporary folder are empty, its own, and gone with it; no file that it makes is for others."""
        told = ("import os, tempfile; made = open(os.path.join(tempfile.gettempdir(), 'made'), 'x')\n"
                "home = os.path.expanduser('~'); here = os.path.dirname(made.name)\n"
                "print(repr((os.stat(made.name).st_mode & 0o777, os.listdir(home), os.listdir(here), home, here)))")
        seen = []
        for _ in range(2):
            code, said = self.run_suite(told)
            self.assertEqual(code, 0)
            mode, *rest = ast.literal_eval(said)
            self.assertEqual((mode, *rest[:2]), (0o600, [], ["made"]))
            seen += rest[2:]
        self.assertEqual(len(set(seen)), 4)
        for folder in seen:
            self.assertIn(" ", folder)
            self.assertFalse(os.path.exists(folder))

    def test_a_suite_that_works_for_ever_is_ended(self):
        code, said = self.run_suite(WORK, "--cpu", "1")
        self.assertEqual(code, 1)
        self.assertIn("suite: ended, as it used", said)
        self.assertGreaterEqual(self.processors(), 1)

    def test_so_is_what_it_has_started(self):
        """And what that has left behind; a signal to end is ignored."""
        ignore = "import signal; signal.signal(signal.SIGTERM, signal.SIG_IGN)\n"
        child = f"subprocess.Popen([sys.executable, '-c', {ignore + WORK!r}], start_new_session=True)"
        left = f"import subprocess, sys; {child}"
        code, said = self.run_suite(
            f"import subprocess, sys; subprocess.run([sys.executable, '-c', {left!r}]); {HANG}", "--cpu", "1")
        self.assertEqual(code, 1)
        self.assertIn("it used", said)

    def test_a_suite_that_hangs_is_ended(self):
        code, said = self.run_suite(HANG, "--stall", "1")
        self.assertEqual(code, 1)
        self.assertIn("suite: ended, as nothing of it used the processors for 1 s", said)

    def test_nothing_of_it_stays_a_zombie(self):
        """An orphan that ends is gone for those who look for it."""
        orphan = "import subprocess, sys; print(subprocess.Popen(['true']).pid)"
        text = (f"import os, subprocess, sys; pid = subprocess.check_output([sys.executable, '-c', {orphan!r}], text=True).strip()\n"
                "while os.path.exists('/proc/' + pid): pass")
        self.assertEqual(self.run_suite(text, "--cpu", "20"), (0, ""))


if __name__ == "__main__":
    unittest.main()
