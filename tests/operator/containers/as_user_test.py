# SPDX-License-Identifier: Apache-2.0
"""The suite of containers as an ordinary user, where it is run by root: what root may do hides what users may not.

Usage: as_user_test.py <container_tests>
"""

import os
import pathlib
import shutil
import subprocess
import sys
import tempfile

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[2] / "support"))
import skips  # noqa: E402

NOBODY = 65534

if os.geteuid() != 0:
    skips.skip_suite("container_tests_as_user", "container_tests runs as an ordinary user already")
with tempfile.TemporaryDirectory() as folder:
    # The build may lie where only root can go, and be root's alone.
    program = shutil.copy(sys.argv[1], folder)
    for path in (folder, program):
        os.chmod(path, 0o755)
    own = pathlib.Path(folder) / "own"
    own.mkdir()
    os.chown(own, NOBODY, NOBODY)
    suite = subprocess.run(
        [program, "--order", "rand", "--warn", "NoAssertions"],
        env=os.environ | {"TMPDIR": str(own)},
        cwd="/",
        user=NOBODY,
        group=NOBODY,
        extra_groups=[],
    )
sys.exit(suite.returncode)
