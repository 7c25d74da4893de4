# SPDX-License-Identifier: Apache-2.0
"""The guide in examples/README.md: every block of commands, as it stands, on one `signalbox dev`."""
import os
import re
import subprocess
import sys
import unittest

import program

sys.path.insert(0, os.path.join(program.source_dir(), "tests/support"))
import kubectl_program  # noqa: E402 (found by the line above)
import skips  # noqa: E402

KUBECTL = None


def steps():
    """[(heading, commands)] of the guide, in order."""
    with open(os.path.join(program.source_dir(), "examples/README.md"), encoding="utf-8") as file:
        guide = file.read().partition("## A guide for people who write jobs\n")[2].partition("\n## ")[0]
    found = []
    for part in re.split(r"(?m)^### ", guide)[1:]:
        heading, _, text = part.partition("\n")
        found += [(heading, block) for block in re.findall(r"(?ms)^```sh\n(.*?)^```$", text)]
    return found


class Guide(unittest.TestCase):
    def test_each_step_works(self):
        self.assertGreaterEqual(len(steps()), 10)
        # One that hangs is ended by the suite's time limit.
        with program.Dev() as dev:
            programs = os.path.join(dev.folder.name, "bin")
            os.mkdir(programs)
            os.symlink(program.binary(), os.path.join(programs, "signalbox"))
            os.symlink(KUBECTL, os.path.join(programs, "kubectl"))
            environment = dict(os.environ, PATH=programs + ":" + os.environ["PATH"], HOME=dev.folder.name,
                               XDG_RUNTIME_DIR=dev.folder.name, KUBECONFIG=dev.kubeconfig)
            for heading, commands in steps():
                with self.subTest(heading):
                    done = subprocess.run(["bash", "-euxo", "pipefail", "-c", commands], env=environment, text=True,
                                          capture_output=True, cwd=program.source_dir(), timeout=program.PATIENCE)
                    self.assertEqual(done.returncode, 0, done.stdout + done.stderr)


if __name__ == "__main__":
    KUBECTL, missing = kubectl_program.find()
    if KUBECTL is None:
        skips.skip_suite("operator_cli_guide_test", missing)
    unittest.main(argv=sys.argv[:1], verbosity=1)
