# SPDX-License-Identifier: Apache-2.0
"""`signalbox dev` shows how far training is: a bar on a terminal, and elsewhere few lines, however often a job reports."""
import json
import os
import re
import sys
import tempfile
import unittest

import jobs
import program
import screen

sys.path.insert(0, os.path.join(program.source_dir(), "tests/support"))
from waiting import eventually  # noqa: E402

JOB = jobs.run_by_another("mnist")


def at(percentage, step=None, **more):
    """Progress of the first attempt."""
    told = {"attempt": 1, "rank": 0, "currentStep": step or percentage * 50, "totalSteps": 5000, "progressPercentage": percentage}
    return {"progress": {**told, "lastUpdatedTime": "2026-01-01T00:00:00Z", **more}}


class Training(unittest.TestCase):
    def test_a_line_for_each_tenth(self):
        with program.Dev() as dev:
            dev.open("POST", jobs.collection(JOB), JOB).close()
            jobs.write_status(dev.open_text, JOB, phase="Running", attempt=1)

            def told():
                with open(dev.output, encoding="utf-8") as file:
                    return re.findall(r"(?m)^ *[\d.]+s  mnist +training: (.*)$", file.read())

            for percentage in (1, 2, 3, 9, 10, 11, 19, 35, 36):
                jobs.write_status(dev.open_text, JOB, **at(percentage))
            jobs.write_status(dev.open_text, JOB, **at(100, metrics=[{"name": "lo\u001b[31mss", "value": "2.31"}]))
            eventually("the end is told", lambda: "(100 %)" in " ".join(told()))
            self.assertEqual(told(), ["step 50 of 5000 (1 %)", "step 500 of 5000 (10 %)", "step 1750 of 5000 (35 %)",
                                      "step 5000 of 5000 (100 %), lo [31mss 2.31"])
            # Without a percentage a line says it at most each minute.
            for step in range(1, 30):
                jobs.write_status(dev.open_text, JOB, **at(None, step, totalSteps=None))
            jobs.write_status(dev.open_text, JOB, reason="Done")
            with open(dev.output, encoding="utf-8") as file:
                eventually("all was seen", lambda: "(Done)" in file.read())
            self.assertLessEqual(len(told()), 5)

    def test_simulated_pods_report_and_stand_still(self):
        """[behaviour 13.8] A rank stands still, all others behind it; the job starts again behind its checkpoint, and ends."""
        sim = {"step-every": "50ms", "total-steps": "190", "checkpoint-every": "10", "stall-at": "1500ms", "fail-times": "1",
               "only-index": "1"}
        # It ends some seconds after it is seen to stand still, and with its last step.
        job = jobs.pytorch("stands", "8s", {key.replace("-", "_"): value for key, value in sim.items()},
                           runPolicy={"backoffLimit": 1, "progress": {"stallAfterSeconds": 2, "stallAction": "Restart"}})
        job["spec"]["replicaSpecs"][0]["replicas"] = 2
        with tempfile.TemporaryDirectory() as folder:
            file = os.path.join(folder, "job.json")
            with open(file, "w", encoding="utf-8") as out:
                json.dump(job, out)
            done = program.run("dev", "--apply", file, "--until-finished", "--kubeconfig", os.path.join(folder, "kubeconfig"))
        self.assertEqual(done.code, 0, done.out + done.err)
        self.assertRegex(done.out, r"training: step \d+ of 190")
        self.assertRegex(done.out, r"no progress for 2 s: step \d+ of 190; rank 1 stood still first, at step 30")
        self.assertRegex(done.out, r"stands +PyTorchTrainingJob +Succeeded .* 1 ")

    def test_a_bar_on_a_terminal(self):
        with tempfile.TemporaryDirectory() as folder:
            kubeconfig = os.path.join(folder, "kubeconfig")
            terminal = program.Terminal("dev", "--kubeconfig", kubeconfig, columns=160)
            self.addCleanup(terminal.child.kill)
            shown = screen.Screen(160)
            shows = lambda words: terminal.until(lambda new: shown.write(new) or re.search(words, shown.text()))
            shows(r"export KUBECONFIG=")

            def ask(method, path, body, kind="application/json"):
                return program.open_text(kubeconfig, method, path, body, kind)

            ask("POST", jobs.collection(JOB), json.dumps(JOB)).close()
            jobs.write_status(ask, JOB, phase="Running", attempt=1)
            shows(r"(?m)^mnist +PyTorchTrainingJob +Running")
            self.assertNotIn("TRAINING", shown.text())
            jobs.write_status(ask, JOB, **at(24))
            shows(r"(?m)^JOB .* REASON +TRAINING +DURATION")
            shows(r"(?m)^mnist .* \[##--------\] step 1200 of 5000 \(24 %\) ")
            jobs.write_status(ask, JOB, **at(100))
            shows(r"(?m)^mnist .* \[##########\] step 5000 of 5000 \(100 %\) ")
            self.assertNotIn("24 %", shown.text())
            self.assertNotIn("training: ", shown.text())
            os.write(terminal.master, b"\x03")
            self.assertEqual(terminal.end(), 0)


if __name__ == "__main__":
    unittest.main(argv=sys.argv[:1])
