# SPDX-License-Identifier: Apache-2.0
"""`signalbox dev train.py`: a job of one program, without a manifest. The launcher is a stand-in; tests/launch has the real one."""
import os
import shutil
import subprocess
import sys
import tempfile
import unittest

import program

sys.path.insert(0, os.path.join(program.source_dir(), "tests/support"))
import skips  # noqa: E402 (found by the line above)

# Tells what it was called with and where, runs nothing, and ends as the program's last argument says.
TORCHRUN = """#!/bin/sh
echo "called with: $*"
echo "in: $(pwd -P)"
echo "seen: $(cat train.py)"
echo new 2>/dev/null >model.pt || echo 'cannot write'
# The job is over with the first pod.
nodes=$(echo "$*" | sed 's/.*--nnodes=\\([0-9]*\\).*/\\1/')
touch "here-$(hostname)" 2>/dev/null && until [ "$(ls here-* | wc -l)" -ge "$nodes" ]; do sleep 0.05; done
for last; do :; done
case $last in fail) exit 5 ;; esac
"""


class DevProgram(unittest.TestCase):
    def setUp(self):
        temporary = tempfile.TemporaryDirectory()
        self.addCleanup(temporary.cleanup)
        self.home = os.path.realpath(temporary.name)
        self.folder = os.path.join(self.home, "my project")
        self.venv = os.path.join(self.home, "venv")
        os.makedirs(self.folder)
        os.makedirs(self.venv + "/bin")
        self.write(self.venv + "/bin/torchrun", TORCHRUN)
        self.write(self.venv + "/bin/python3", "#!/bin/sh\n")
        self.write(self.folder + "/train.py", "the program")

    def write(self, path, text):
        with open(path, "w", encoding="utf-8") as file:
            file.write(text)
        os.chmod(path, 0o755)

    def dev(self, *arguments, cwd=None, **variables):
        env = {name: value for name, value in os.environ.items() if name not in ("VIRTUAL_ENV", "CONDA_PREFIX")}
        env.update({"HOME": self.home, "XDG_RUNTIME_DIR": self.home, **variables})
        done = program.run("dev", *arguments, cwd=cwd or self.folder, env=env)
        done.text = done.out + done.err
        return done

    def run_program(self, *arguments, code=0, **options):
        done = self.dev(*arguments, **options)
        self.assertEqual(done.code, code, done.text)
        return done.text

    def test_a_program_is_a_job(self):
        """[behaviour 3.12] Pods and processes as asked, its own arguments as they are, its log shown, its folder its own."""
        said = self.run_program("train.py", "--nodes", "2", "--nproc", "3", "--offline", "--venv", self.venv,
                                "--", "--name", "$(HOME) x", "--")
        self.assertRegex(said, r"(?m)^train +PyTorchTrainingJob +Succeeded +[12]/2 ")
        for node in range(2):
            self.assertRegex(said, rf"node-{node} \| called with: --nnodes=2 --nproc_per_node=3 .*"
                                   r"/my project/train\.py --name \$\(HOME\) x --\n")
            self.assertIn(f"node-{node} | in: {self.folder}\n", said)
        self.assertIn("seen: the program\n", said)
        self.assertIn(f"pods: they work in {self.folder}: what they write there stays\n", said)
        self.assertIn(f"pods: their Python is that of {self.venv}\n", said)
        with open(self.folder + "/model.pt", encoding="utf-8") as file:
            self.assertEqual(file.read(), "new\n")

    def test_it_ends_as_the_job_does(self):
        """Nothing is tried again: whoever waits for it can do that."""
        said = self.run_program("train.py", "--offline", "--venv", self.venv, "--", "fail", code=1)
        self.assertRegex(said, r"(?m)^train +PyTorchTrainingJob +Failed +0/1 +0 ")
        self.assertIn("exited with 5", said)
        self.assertEqual(said.count("node-0 | called with: --nnodes=1 --nproc_per_node=1 "), 1)

    def test_a_home_folder_is_not_theirs(self):
        """Nor one that has it in it: pods could write over all that a person has."""
        self.write(self.home + "/1 Train_.py", "at home")
        said = self.run_program(self.home + "/1 Train_.py", "--offline", "--venv", self.venv, "--fake-resource", "nvidia.com/gpu=4",
                                cwd="/")
        self.assertRegex(said, r"(?m)^train-1-train +PyTorchTrainingJob +Succeeded ")
        self.assertIn("--nproc_per_node=4", said)
        self.assertNotIn("see no GPU", said)
        self.assertRegex(said, r"pods: they work in (a copy of )?\S.*, as it is the home folder, or has it in it")
        self.assertFalse(os.path.exists(self.home + "/model.pt"))

    def test_the_environment_of_the_shell(self):
        for name in ("VIRTUAL_ENV", "CONDA_PREFIX"):
            said = self.run_program("train.py", "--offline", **{name: self.venv})
            self.assertIn(f"pods: their Python is that of {self.venv}\n", said)
            self.assertIn("called with: ", said)

    def test_too_few_gpus(self):
        """A process has one of its own, or they have none."""
        said = self.run_program("train.py", "--offline", "--venv", self.venv, "--fake-resource", "nvidia.com/gpu=3", "--nodes", "2",
                                "--nproc", "2")
        self.assertIn("pods: they see no GPU: there are 3 here, for 4 processes\n", said)

    def test_manifests_without_apply(self):
        examples = os.path.join(program.source_dir(), "examples/manifests")
        said = self.run_program(examples + "/ddp.yaml", examples + "/torchrun.yaml", "--until-finished", "--speed", "10")
        self.assertRegex(said, r"(?m)^ddp +PyTorchTrainingJob +Succeeded ")
        self.assertRegex(said, r"(?m)^torchrun +PyTorchTrainingJob +Succeeded ")

    def test_what_cannot_be(self):
        """Each with what to do."""
        for arguments, why in (
                (["none.py"], "signalbox dev: there is no file none.py\n"),
                (["train.py", "--pods", "simulated"], "--pods: simulated pods run no program; leave it out"),
                (["--nodes", "2"], "--nodes: it is for a program: signalbox dev train.py --nodes 2"),
                (["job.yaml", "--nproc", "2"], "--nproc: it is for a program: signalbox dev train.py --nodes 2"),
                (["train.py", "--nodes", "0"], "--nodes"),
                (["train.py", "--epochs", "3"], "; those of a program come behind `--`\n")):
            with self.subTest(arguments):
                done = self.dev(*arguments)
                self.assertEqual((done.code, done.out), (2, ""))
                self.assertIn(why, done.err)

    def test_no_torchrun(self):
        """Said before anything starts. Only where the machine has one it is hidden for that."""
        os.remove(self.venv + "/bin/torchrun")
        command = [program.binary(), "dev", self.folder + "/train.py", "--venv", self.venv]
        there = [path for path in map(shutil.which, ["torchrun"]) if path]
        if there:
            hide = [word for path in there for word in ("--bind", "/dev/null", os.path.realpath(path))]
            command = ["bwrap", "--dev-bind", "/", "/", *hide, *command]
            if not shutil.which("bwrap") or subprocess.run([*command[:4 + len(hide)], "true"], capture_output=True).returncode:
                skips.note("operator_cli_dev_program_test", "bwrap cannot hide torchrun here")
                self.skipTest("no bwrap")
        done = subprocess.run(command, capture_output=True, text=True, timeout=program.PATIENCE)
        self.assertEqual((done.returncode, done.stdout), (2, ""), done.stderr)
        self.assertIn(f"signalbox dev: there is no torchrun in {self.venv}/bin, /usr/local/sbin, ", done.stderr)
        self.assertIn("venv/bin/pip install torch    and add --venv venv", done.stderr)


if __name__ == "__main__":
    unittest.main(argv=["dev_program_test"], verbosity=1)
