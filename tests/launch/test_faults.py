# SPDX-License-Identifier: Apache-2.0
"""The cause that a job names when its training dies, under each launcher (BEHAVIOUR.md 3.13)."""
import contextlib
import subprocess
import sys
import time

import suite
from jobs import colossalai, deepspeed, environment_of, plain, torchrun

SCRIPT = "/probe/faulty.py"
NAN = r"ValueError: loss is NaN \(/probe/faulty\.py:\d+, in step\)"
KILLED = r"(killed by signal 9, SIGKILL|Signal 9 \(SIGKILL\))"
# What is looked for in the words about the failure: by fault.
CAUSES = {
    "nan": NAN,
    "all": NAN,
    "import": r"ModuleNotFoundError: No module named 'no_such_module' \(/probe/faulty\.py:\d+, in <module>\)",
    "killed": KILLED,
    "crash": r"(killed by signal 11, SIGSEGV|Signal 11 \(SIGSEGV\)|Fatal Python error: Segmentation fault)",
    "silent": r"exited with 3",
    "loader": r"LookupError: no sample \d \(/probe/faulty\.py:\d+, in __getitem__\)",
    "chain": r"RuntimeError: training ends \(\S*faulty\.py:\d+, in chain\), caused by " + NAN,
    "script": r"can't open file '/probe/faultyy\.py'",
}
LAUNCHERS = {
    "plain": lambda **more: plain("plain", [("node", 2)], **more),
    "static": lambda **more: torchrun("static", [("node", 2)], rdzvBackend="static", **more),
    "c10d": lambda **more: torchrun("agents", [("node", 2)], **more),
    "deepspeed": lambda **more: deepspeed("ds", slots=1, **more),
    "no-ssh": lambda **more: deepspeed("nossh", slots=1, disableCustomEnv=True, **more),
    "colossalai": lambda **more: colossalai("ca", **more),
}
# The first process of a pod cannot kill itself.
IMPOSSIBLE = {("plain", "killed")}
VICTIMS = r"(?m)^.*(Failed|ReplicaFailed).*(Connection closed by peer|Connection reset by peer)"


@contextlib.contextmanager
def busy_loop():
    """Somebody else who wants a processor."""
    other = subprocess.Popen([sys.executable, "-c", "while True: pass"])
    try:
        yield
    finally:
        other.kill()
        other.wait()


class Faults(suite.Case):
    def check_cause(self, launcher, fault):
        script = "/probe/faultyy.py" if fault == "script" else SCRIPT
        one = LAUNCHERS[launcher](env=environment_of({"FAULT": fault}), script=script)
        done = self.run_job(one)
        self.assertEqual(done.code, 1, done.output)
        self.assertRegex(done.output, CAUSES[fault])
        self.assertNotRegex(done.output, VICTIMS)

    def test_plain(self):
        """[behaviour 3.13] A rank that raises, and one that crashes, in a plain job."""
        self.check_cause("plain", "nan")
        self.check_cause("plain", "crash")

    def test_agents(self):
        """[behaviour 3.13] A rank that raises under torchrun, whose peers end first; a script that is not there."""
        self.check_cause("static", "nan")
        self.check_cause("c10d", "script")

    def test_over_ssh(self):
        """[behaviour 3.13] A rank that is killed under DeepSpeed."""
        self.check_cause("deepspeed", "killed")

    @suite.long
    def test_all(self):
        """[behaviour 3.13] All faults under all launchers, three times beside a busy loop."""
        began = time.monotonic()
        with busy_loop():
            for launcher in LAUNCHERS:
                for fault in CAUSES:
                    if (launcher, fault) in IMPOSSIBLE:
                        continue
                    for turn in range(3):
                        with self.subTest(launcher=launcher, fault=fault, turn=turn):
                            self.check_cause(launcher, fault)
        print(f"{time.monotonic() - began:.0f} s", flush=True)


if __name__ == "__main__":
    suite.main()
