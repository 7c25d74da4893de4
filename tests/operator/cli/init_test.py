# SPDX-License-Identifier: Apache-2.0
"""`signalbox init`: first manifests that are valid, run as they stand, and never cost somebody a file."""
import os
import re
import subprocess
import sys
import tempfile
import unittest

import program

sys.path.insert(0, os.path.join(program.source_dir(), "tests/support"))
import kubectl_program  # noqa: E402 (found by the line above)
import skips  # noqa: E402

KINDS = {"pytorch": "PyTorchTrainingJob", "torchrun": "PyTorchTrainingJob", "deepspeed": "DeepSpeedJob",
         "colossalai": "ColossalAIJob"}


class Init(unittest.TestCase):
    def setUp(self):
        temporary = tempfile.TemporaryDirectory()
        self.addCleanup(temporary.cleanup)
        self.folder = temporary.name

    def init(self, *arguments, code=0):
        done = program.run("init", *arguments, cwd=self.folder)
        self.assertEqual(done.code, code, done.out + done.err)
        return done

    def read(self, name):
        with open(os.path.join(self.folder, name), encoding="utf-8") as file:
            return file.read()

    def names(self):
        return sorted(os.listdir(self.folder))

    def test_each_kind_is_valid_and_runs(self):
        for kind, name in KINDS.items():
            done = self.init(kind)
            self.assertIn(f"kubectl apply -f {kind}.yaml\n", done.out)
            self.assertEqual(done.err, "")
            self.assertIn(f"\nkind: {name}\n", self.read(f"{kind}.yaml"))
        files = [f"{kind}.yaml" for kind in KINDS]
        self.assertEqual(self.names(), sorted(files))
        checked = program.run("validate", "--strict", *files, cwd=self.folder)
        self.assertEqual((checked.code, checked.out.splitlines()[-1]), (0, "4 jobs: 0 errors, 0 warnings"), checked.out)
        done = program.run("dev", "--until-finished", "--speed", "20", "--apply", *files, cwd=self.folder,
                           env=dict(os.environ, XDG_RUNTIME_DIR=self.folder))
        self.assertEqual(done.code, 0, done.out + done.err)
        for kind, name in KINDS.items():
            self.assertRegex(done.out, rf"(?m)^{kind} +{name} +Succeeded ")

    def test_the_commands_in_its_comments_work(self):
        """They name the file that it was written to, also with a name that shells do not take as it is."""
        for name, word in (("a.yaml", "a.yaml"), ("my job.yaml", "'my job.yaml'")):
            self.init("torchrun", name)
            text = self.read(name)
            commands = re.findall(r"(?m)^#   signalbox (\w+ .*?)(?: +#.*)?$", text)
            self.assertEqual([each.split()[0] for each in commands], ["validate", "dev", "dev", "explain"])
            self.assertNotIn("torchrun.yaml", text)
            for command in commands[:2]:
                self.assertIn(f" {word}", command)
                done = subprocess.run(f'"$0" {command}', shell=True, cwd=self.folder, capture_output=True, text=True,
                                      executable="/bin/bash", timeout=program.PATIENCE,
                                      env=dict(os.environ, BASH_ARGV0=program.binary(), XDG_RUNTIME_DIR=self.folder))
                self.assertEqual(done.returncode, 0, done.stdout + done.stderr)
        self.init("torchrun", "two\nlines.yaml")
        self.assertEqual(program.run("validate", "--strict", "two\nlines.yaml", cwd=self.folder).code, 0)

    def test_a_file_that_is_there_stays(self):
        path = os.path.join(self.folder, "pytorch.yaml")
        with open(path, "w", encoding="utf-8") as file:
            file.write("mine\n" * 1000)
        done = self.init("pytorch", code=2)
        self.assertEqual(done.err, "signalbox init: pytorch.yaml: is there already; --force writes over it\n")
        self.assertEqual(self.read("pytorch.yaml"), "mine\n" * 1000)
        self.init("pytorch", "--force")
        self.assertEqual(self.read("pytorch.yaml"), self.init("pytorch", "-").out)

    def test_without_a_kind_it_says_which_it_chose(self):
        done = self.init()
        self.assertEqual(self.names(), ["pytorch.yaml"])
        self.assertEqual(done.err, "signalbox init: no kind is named: pytorch; there are: pytorch, torchrun, deepspeed, colossalai\n")

    def test_standard_output(self):
        text = self.init("torchrun", "-").out
        self.assertTrue(text.startswith("# Training with torchrun"))
        for arguments in (["torchrun", "-o"], ["torchrun", "-o", "-"], ["-o", "torchrun"], ["--output=-", "torchrun"]):
            self.assertEqual(self.init(*arguments).out, text, arguments)
        for arguments in (["-"], ["-o"]):
            self.assertTrue(self.init(*arguments).out.startswith("# Data-parallel training with PyTorch"), arguments)
        self.assertEqual(self.names(), [])
        self.init("torchrun", "-o", "torch.yaml")
        self.assertEqual(self.read("torch.yaml"), text.replace("torchrun.yaml", "torch.yaml"))

    def test_what_cannot_be(self):
        done = self.init("tensorflow", code=2)
        self.assertEqual(done.err, "signalbox init: there is no manifest for `tensorflow`; there are: pytorch, torchrun, "
                                   "deepspeed, colossalai\n")
        done = self.init("pytorch", "none/a.yaml", code=2)
        self.assertEqual(done.err, "signalbox init: none/a.yaml: No such file or directory\n")
        self.assertEqual(self.names(), [])

    def test_kubectl_takes_it(self):
        kubectl, why = kubectl_program.find()
        if not kubectl:
            skips.note("operator_cli_init_test", f"without kubectl: {why}")
            self.skipTest(why)
        with program.Dev("--speed", "20") as dev:
            env = {"HOME": dev.folder.name, "PATH": os.environ.get("PATH", ""), "KUBECONFIG": dev.kubeconfig}
            for kind, name in KINDS.items():
                done = subprocess.run([kubectl, "apply", "--validate=strict", "-f", "-"], input=self.init(kind, "-").out,
                                      capture_output=True, text=True, env=env, timeout=program.PATIENCE)
                self.assertEqual(done.returncode, 0, done.stdout + done.stderr)
                self.assertIn(f"{name.lower()}.batch.tensorstack.dev/{kind} created", done.stdout)


if __name__ == "__main__":
    unittest.main(argv=["init_test"], verbosity=1)
