# SPDX-License-Identifier: Apache-2.0
"""The cause that a job names when its training dies, under each launcher (BEHAVIOUR.md 3.13)."""
import contextlib
import json
import os
import pathlib
import re
import subprocess
import sys
import tempfile
import time
from xml.etree import ElementTree

import suite
from jobs import colossalai, deepspeed, environment_of, plain, torchrun

SCRIPT = "/probe/faulty.py"
NAN = r"ValueError: loss is NaN \(/probe/faulty\.py:\d+, in step\)"
KILLED = r"killed by signal 9, SIGKILL"
CRASHED = r"(killed by signal 11, SIGSEGV|Fatal Python error: Segmentation fault)"
SILENT = r"exited with 3"
# What is looked for in the words about the failure: by fault.
CAUSES = {
    "nan": NAN,
    "all-nan": NAN,
    "all-crash": CRASHED,
    "all-silent": SILENT,
    "all-record": NAN,
    "import": r"ModuleNotFoundError: No module named 'no_such_module' \(/probe/faulty\.py:\d+, in <module>\)",
    "killed": KILLED,
    "crash": CRASHED,
    "silent": SILENT,
    "loader": r"LookupError: no sample \d \(/probe/faulty\.py:\d+, in __getitem__\)",
    "chain": r"RuntimeError: training ends \(\S*faulty\.py:\d+, in chain\), caused by " + NAN,
    "script": r"can't open file '/probe/faultyy\.py'",
}
LAUNCHERS = {
    "plain": lambda **more: plain("plain", [("node", 2)], **more),
    "static": lambda **more: torchrun("static", [("node", 2)], rdzvBackend="static", **more),
    "c10d": lambda **more: torchrun("agents", [("node", 2)], **more),
    "deepspeed": lambda **more: deepspeed("ds", slots=1, **more),
    "no-ssh": lambda script, **more: deepspeed(
        "nossh", slots=1, config={"run": {"python": [script]}, "otherArgs": ["--no_ssh"]}, **more),
    "colossalai": lambda **more: colossalai("ca", **more),
}
# The first process of a pod cannot kill itself.
IMPOSSIBLE = {("plain", "killed")}
VICTIMS = r"Connection closed by peer|Connection reset by peer"
TURNS = int(os.environ.get("SIGNALBOX_TURNS", 1))


@contextlib.contextmanager
def busy_loop():
    """Somebody else who wants a processor, as long as this process lives."""
    other = subprocess.Popen([sys.executable, "-c", "import os; parent = os.getppid()\nwhile os.getppid() == parent: pass"])
    try:
        yield
    finally:
        other.kill()
        other.wait()


# What is another in each run: the job's part of names, numbers of processes, times, where the packages are.
VARIES = [
    (r"\b[a-z]+-[0-9a-f]{5}-", ""), (r"\b(PID|pid|subprocess) \d+", r"\1 N"), (r"\[\d{4}-\d\d-\d\d [\d:,]+\]", "[time]"),
    (r"/[^ ']*/launchers-\w+-[0-9a-f]+/", "/venv/"),
]


def alike(said):
    for pattern, other in VARIES:
        said = re.sub(pattern, other, said)
    return said


class Faults(suite.Case):
    def check_cause(self, launcher, fault):
        """Gives what the job says."""
        script = "/probe/faultyy.py" if fault == "script" else SCRIPT
        one = LAUNCHERS[launcher](env=environment_of({"FAULT": fault}), script=script)
        with tempfile.TemporaryDirectory(prefix="signalbox-faults-") as folder:
            report = pathlib.Path(folder, "junit.xml")
            done = self.run_job(one, options=["--junit", report])
            self.assertEqual(done.code, 1, done.output)
            said = ElementTree.parse(report).find(".//failure").get("message")
        self.assertRegex(said, CAUSES[fault], done.output)
        self.assertNotRegex(said, VICTIMS, done.output)
        return alike(said)

    def test_plain(self):
        """[behaviour 3.13] A rank that raises in a plain job."""
        self.check_cause("plain", "nan")

    def test_agents(self):
        """[behaviour 3.13] A rank that raises under torchrun, whose peers end first."""
        self.check_cause("static", "nan")

    def test_over_ssh(self):
        """[behaviour 3.13] A rank that is killed under DeepSpeed."""
        self.check_cause("deepspeed", "killed")

    @suite.long
    def test_all(self):
        """[behaviour 3.13] All faults under all launchers, beside a busy loop, as many times as SIGNALBOX_TURNS says."""
        began = time.monotonic()
        said = {fault: {} for fault in CAUSES}
        with busy_loop():
            for fault in CAUSES:
                for launcher in LAUNCHERS:
                    if (launcher, fault) not in IMPOSSIBLE:
                        said[fault][launcher] = self.check_cell(launcher, fault)
        print(f"{time.monotonic() - began:.0f} s", flush=True)
        suite.keep("causes", said)

    def check_cell(self, launcher, fault):
        """Gives the one answer of all turns; None if there is none."""
        answers = []
        for turn in range(TURNS):
            with self.subTest(launcher=launcher, fault=fault, turn=turn):
                answers.append(self.check_cause(launcher, fault))
        print(f"{fault}, {launcher}: {json.dumps(sorted(set(answers)))}", flush=True)
        with self.subTest(launcher=launcher, fault=fault, answers=answers):
            self.assertEqual(len(set(answers)), 1)
        return answers[0] if len(answers) == TURNS and len(set(answers)) == 1 else None


if __name__ == "__main__":
    suite.main()
