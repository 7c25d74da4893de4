# SPDX-License-Identifier: Apache-2.0
"""The cause that a job names when its training dies, under each launcher (BEHAVIOUR.md 3.13)."""
import concurrent.futures
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

import local_pods
import suite
from jobs import colossalai, deepspeed, environment_of, plain, second_shape, torchrun

SCRIPT = "/probe/faulty.py"
NAN = r"ValueError: loss is NaN \(/probe/faulty\.py:\d+, in step\)"
KILLED = r"killed by signal 9, SIGKILL"
CRASHED = r"(killed by signal 11, SIGSEGV|Fatal Python error: Segmentation fault)"
SILENT = r"exited with 3"
LEFT = r"no shard for this rank|rank 1( on \S+)? failed; its log says why|a rank failed: return code = 1"
# What is looked for in the words about the failure: by fault.
CAUSES = {
    "nan": NAN,
    "all-nan": NAN,
    "all-crash": CRASHED,
    "all-silent": SILENT,
    "all-record": NAN,
    "import": r"ModuleNotFoundError: No module named 'no_such_module' \(/probe/faulty\.py:\d+, in find_module\)",
    "syntax": r"SyntaxError: expected ':' \(/probe/model\.py:1\)",
    "argument": r"exited with 2: .*faulty\.py: error: unrecognized arguments: --rate 2",
    "killed": KILLED,
    "crash": CRASHED,
    "silent": SILENT,
    "c++": r"no room for a sample",
    "assert": r"loader\.c:42: read_shard: Assertion `size > 0' failed",
    "exit": LEFT,
    "late": LEFT,
    "thread": NAN,
    "spawn": NAN,
    "shapes": r"RuntimeError: (mm: )?mat1 and mat2 shapes cannot be multiplied \(2x3 and 4x5\) \(/probe/faulty\.py:\d+, in <lambda>\)",
    "memory": r"MemoryError \(/probe/faulty\.py:\d+, in <lambda>\)",
    "chinese": r"ValueError: 损失是 NaN \(/probe/faulty\.py:\d+, in words\)",
    "torn": r"ValueError: cannot read caf.{1,3}\.bin \(/probe/faulty\.py:\d+, in words\)",
    "bar": NAN,
    "loader-killed": r"DataLoader worker \(pid \d+\) is killed by signal: Killed",
    "loader": r"LookupError: no sample \d \(/probe/faulty\.py:\d+, in __getitem__\)",
    "chain": r"RuntimeError: training ends \(\S*faulty\.py:\d+, in chain\), caused by " + NAN,
    "script": r"can't open file '/probe/faultyy\.py'",
}


def nested(line, script=SCRIPT, **more):
    """A plain job whose shell starts the launcher."""
    line = line.format(script=script, module=pathlib.Path(script).stem).replace("$", "$$")
    return plain("nested", [("node", 2)], command=["sh", "-c", line], **more)


LAUNCHERS = {
    "plain": lambda **more: plain("plain", [("node", 2)], **more),
    "static": lambda **more: torchrun("static", [("node", 2)], rdzvBackend="static", **more),
    "c10d": lambda **more: torchrun("agents", [("node", 2)], **more),
    "deepspeed": lambda **more: deepspeed("ds", slots=1, **more),
    "no-ssh": lambda script, **more: deepspeed(
        "nossh", slots=1, config={"run": {"python": [script]}, "otherArgs": ["--no_ssh"]}, **more),
    "colossalai": lambda **more: colossalai("ca", **more),
    "colossalai 2": lambda **more: second_shape("shape", processes=1, **more),
    "elastic": lambda **more: torchrun(
        "elastic", [("node", 2)], maxRestarts=0,
        elastic={"enabled": True, "minReplicas": 2, "maxReplicas": 3, "expectedReplicas": 2}, **more),
    "torchrun in a shell": lambda **more: nested("torchrun " + STATIC + " {script}", **more),
    "python -m": lambda **more: nested("cd /probe && python3 -m torch.distributed.run " + STATIC + " -m {module}", **more),
    "accelerate": lambda **more: nested(
        "accelerate launch --num_processes=2 --num_machines=2 --machine_rank=$RANK --main_process_ip=$MASTER_ADDR"
        " --main_process_port=$MASTER_PORT {script}", **more),
}
# A launcher in a plain job, which knows nothing of it.
STATIC = "--nnodes=2 --nproc_per_node=1 --node_rank=$RANK --master_addr=$MASTER_ADDR --master_port=$MASTER_PORT"
# The first process of a pod cannot kill itself. An agent that loses the store of another one ends its rank, and no one says
# which rank was first.
IMPOSSIBLE = {("plain", "killed"), ("c10d", "late")}
# What others are made of: faults that they tell in their own way are enough.
VARIANTS = ("colossalai 2", "elastic", "torchrun in a shell", "python -m", "accelerate")
OF_VARIANTS = ("nan", "all-nan", "import", "script", "killed", "silent", "exit")
# What is told in other words by one launcher.
OTHER_CAUSES = {
    ("python -m", "script"): r"No module named '?faultyy",
    ("accelerate", "killed"): r"died with <Signals\.SIGKILL: 9>",
    ("accelerate", "silent"): r"returned non-zero exit status 3\.",
    ("accelerate", "exit"): r"returned non-zero exit status 1\.",
}
# Old torch does not say whose a line is: of several ranks in one log which one left without an error.
if suite.PACKAGES == "debian":
    OTHER_CAUSES |= {
        (launcher, fault): r"exited with 1: a rank failed; its log says why"
        for launcher in ("colossalai", "colossalai 2") for fault in ("exit", "late")}
VICTIMS = r"Connection closed by peer|Connection reset by peer"
TURNS = int(os.environ.get("SIGNALBOX_TURNS", 1))


def can_be(launcher, fault):
    installed = launcher != "accelerate" or pathlib.Path(local_pods.launchers(suite.PACKAGES), "bin", launcher).exists()
    return (launcher, fault) not in IMPOSSIBLE and (launcher not in VARIANTS or fault in OF_VARIANTS) and installed


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
    (r"\b[a-z]+-[0-9a-f]{5}-", ""), (r"\b(PID|pid|pid\(s\)|subprocess) \d+", r"\1 N"), (r"\[\d{4}-\d\d-\d\d [\d:,]+\]", "[time]"),
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
        self.assertRegex(said, OTHER_CAUSES.get((launcher, fault), CAUSES[fault]), done.output)
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
        # Jobs wait more than they compute: as many at once as there are processors, which also are in each other's way.
        with busy_loop(), concurrent.futures.ThreadPoolExecutor(os.cpu_count()) as pool:
            cells = [
                (launcher, fault, [pool.submit(self.check_cause, launcher, fault) for _ in range(TURNS)])
                for fault in CAUSES for launcher in LAUNCHERS if can_be(launcher, fault)]
            for launcher, fault, turns in cells:
                said[fault][launcher] = self.check_cell(launcher, fault, turns)
        print(f"{time.monotonic() - began:.0f} s", flush=True)
        suite.keep("causes", said)

    def check_cell(self, launcher, fault, turns):
        """Gives the one answer of all turns; None if there is none."""
        answers = []
        for turn, done in enumerate(turns):
            with self.subTest(launcher=launcher, fault=fault, turn=turn):
                answers.append(done.result())
        print(f"{fault}, {launcher}: {json.dumps(sorted(set(answers)))}", flush=True)
        with self.subTest(launcher=launcher, fault=fault, answers=answers):
            self.assertEqual(len(set(answers)), 1)
        return answers[0] if len(answers) == TURNS and len(set(answers)) == 1 else None


if __name__ == "__main__":
    suite.main()
