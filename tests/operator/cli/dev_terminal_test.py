# SPDX-License-Identifier: Apache-2.0
"""`signalbox dev` on a terminal: the table stays at the bottom, follows jobs, logs and the window's size, and goes at Ctrl-C."""
import json
import os
import re
import sys
import tempfile
import termios
import unittest

import program
import screen
from pods_of_dev import training


class OnATerminal(unittest.TestCase):
    def test_the_table_is_updated_in_place(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        control = os.path.join(folder.name, "control")
        os.mkdir(control)
        os.mkfifo(os.path.join(control, "lines"))
        manifest = os.path.join(folder.name, "job.json")
        with open(manifest, "w", encoding="utf-8") as file:
            json.dump(training("mnist", "exec 3<>/control/lines; while read line <&3; do echo $line; done"), file)
        terminal = program.Terminal(
            "dev", "--pods", "process", "--offline", "--pods-dir", os.path.join(folder.name, "pods"), "--kubeconfig",
            os.path.join(folder.name, "kubeconfig"), "--bind", f"{control}:/control", "--apply", manifest, columns=120)
        self.addCleanup(terminal.child.kill)
        before = termios.tcgetattr(terminal.master)
        shown = screen.Screen(120)
        shows = lambda words: terminal.until(lambda new: shown.write(new) or re.search(words, shown.text()))

        # Opening for both keeps it from waiting for the other end.
        with open(os.open(os.path.join(control, "lines"), os.O_RDWR), "w", encoding="utf-8", buffering=1) as lines:
            lines.write("loss 0.9\n")
            shows(r"(?m)^mnist +PyTorchTrainingJob +Running +1/1 +0 .* master-0: loss 0\.9$")
            lines.write("loss 0.5\n")
            shows(r"(?m)^mnist .* master-0: loss 0\.5$")
            self.assertNotIn("loss 0.9", shown.text())
            self.check_one_table(shown)

            for columns in (50, 70, 120):
                shown.columns = columns
                terminal.resize(columns, 24)
                cut = r"\A.{%d}$" % (columns - 1) if columns < 90 else r"master-0: loss 0\.5$"
                terminal.until(lambda new: shown.write(new) or re.search(cut, self.row(shown)))
                self.check_one_table(shown)
                self.assertLess(max(map(len, self.table(shown))), columns, shown.text())
            lines.write("loss 0.1\n")
            shows(r"(?m)^mnist .* master-0: loss 0\.1$")
            self.check_one_table(shown)
            os.write(terminal.master, b"\x03")
            after = None
            try:
                terminal.until(lambda new: shown.write(new))
            except EOFError:
                after = termios.tcgetattr(terminal.master)
        self.assertEqual(terminal.end(), 0)
        self.assertEqual(after, before)
        self.check_one_table(shown)  # the last one, without lines of logs
        self.assertNotIn("LAST LOG LINE", shown.text())
        self.assertEqual(shown.lines[-1], "")

    @staticmethod
    def table(shown):
        lines = shown.text().splitlines()
        return lines[next((i for i, line in enumerate(lines) if line.startswith("JOB ")), len(lines)) :]

    def row(self, shown):
        return next((line for line in self.table(shown) if line.startswith("mnist ")), "")

    def check_one_table(self, shown):
        self.assertEqual(shown.text().count("JOB  "), 1, shown.text())
        self.assertEqual(len(re.findall(r"(?m)^mnist ", shown.text())), 1, shown.text())


if __name__ == "__main__":
    unittest.main(argv=sys.argv[:1])
