# SPDX-License-Identifier: Apache-2.0
"""`mypy --strict` has nothing to say of the package for Python. mypy and pytest come from PyPI, into an environment of their own."""

import pathlib
import subprocess
import sys
import tempfile

ROOT = pathlib.Path(__file__).resolve().parents[3]
sys.path.insert(0, str(ROOT / "tests/support"))
import skips  # noqa: E402 (from the folder above)

with tempfile.TemporaryDirectory() as folder:
    python = pathlib.Path(folder, "venv/bin/python")
    subprocess.run([sys.executable, "-m", "venv", str(python.parents[1])], check=True)
    install = [str(python), "-m", "pip", "install", "-q", "--disable-pip-version-check", "mypy<2", "pytest<9"]
    if subprocess.run(install, check=False).returncode != 0:
        skips.skip_suite("python_types", "needs mypy and pytest, which pip could not fetch")
    check = [str(python), "-m", "mypy", "--strict", f"--cache-dir={folder}/cache", "signalbox"]
    sys.exit(subprocess.run(check, cwd=ROOT / "libjobcore/python", check=False).returncode)
