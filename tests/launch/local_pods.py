# SPDX-License-Identifier: Apache-2.0
"""Jobs whose pods are processes of this machine, for the launch suites: `signalbox dev --pods process`."""
import contextlib
import json
import os
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile

import jobs

ROOT = pathlib.Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "tests" / "support"))
import skips  # noqa: E402

BINARY = os.environ.get("SIGNALBOX_BINARY", str(ROOT / "build" / "dev" / "bin" / "signalbox"))
# The training programs of the suites: in every pod below /probe.
HERE = ROOT / "tests" / "launch"
PROGRAMS = [HERE / "probe.py", HERE / "faulty.py", HERE / "tuned.py", HERE / "hf_train.py",
            *(ROOT / "examples" / "train" / name for name in ("ddp.py", "signalbox_progress.py"))]


def ranks_of(probes):
    """What ranks wrote, by rank: the last that each wrote."""
    found = {}
    for file in sorted(probes.glob("rank*.json"), key=lambda file: file.stat().st_mtime_ns):
        rank, run_number = map(int, re.fullmatch(r"rank(\d+)\.(\d+)\.json", file.name).groups())
        found[rank] = json.loads(file.read_text()) | {"run": run_number}
    return found


class Outcome:
    """What one run of `dev` left: its exit code, its output, and what ranks wrote."""

    def __init__(self, code, output, probes):
        self.code = code
        self.output = output
        self.ranks = ranks_of(probes)


class Folder:
    """A new folder for one run of pods, with what every pod sees below /probe, and the options of `dev` that go with it."""

    def __init__(self):
        self.temporary = tempfile.TemporaryDirectory(prefix="signalbox-launch-")
        self.path = pathlib.Path(self.temporary.name)
        self.path.chmod(0o755)
        self.probes, self.logs = self.path / "probe", self.path / "logs"
        self.probes.mkdir()
        self.probes.chmod(0o777)
        for program in PROGRAMS:
            there = self.probes / program.name
            there.write_text(program.read_text())
            there.chmod(0o644)

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.temporary.cleanup()

    def options(self, packages, bind=(), claims=None, image_env=(), offline=True, logs=False, options=()):
        """Those of pods that are processes, for `dev` and for `pods`. `logs`: they are kept."""
        words = [*(["--offline"] if offline else []), "--pods-dir", self.path / "pods", "--venv", launchers(packages)]
        for option, values in (("--bind", [f"{self.probes}:/probe", *bind]), ("--image-env", image_env)):
            words += [word for value in values for word in (option, value)]
        if claims:
            words += ["--claims", claims]
        if logs:
            self.logs.mkdir()
            words += ["--log-dir", self.logs]
        return [str(word) for word in [*words, *options]]

    def write(self, name, one):
        """The file of that object."""
        file = self.path / name
        file.write_text(json.dumps(one))
        return str(file)


def run(*objects, files=(), user=None, **options):
    """Runs the objects, and manifests in files, to their end with the launchers of a set of `packages/`. `user`: as that one,
    where root runs the suite."""
    with Folder() as folder:
        files = [*map(str, files), *(folder.write(f"{index}.json", one) for index, one in enumerate(objects))]
        binary, whose = BINARY, {}
        if user is not None and os.geteuid() == 0:
            # The build may lie where only root can go.
            binary = shutil.copy(BINARY, folder.path)
            os.chmod(binary, 0o755)
            for there in (folder.path, *folder.path.iterdir()):
                os.chown(there, user, user)
            whose = {"user": user, "group": user, "extra_groups": [], "cwd": folder.path}
        command = [binary, "dev", "--pods", "process", "--until-finished", "--kubeconfig", str(folder.path / "kubeconfig")]
        command += [word for file in files for word in ("--apply", file)]
        done = subprocess.run(
            [*command, *folder.options(**options)], stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True,
            check=False, errors="replace", **whose,  # without a bound on the clock: run_suite.py ends what makes no progress
        )
        return Outcome(done.returncode, done.stdout, folder.probes)


def output_of(*command):
    return subprocess.run(command, stdout=subprocess.PIPE, text=True, check=True).stdout


@contextlib.contextmanager
def account(user):
    """Binds for pods in which this user has an account and a home, whatever accounts the machine has."""
    with tempfile.TemporaryDirectory(prefix="signalbox-account-") as folder:
        file = pathlib.Path(folder, "passwd")
        accounts = [line.split(":") for line in pathlib.Path("/etc/passwd").read_text().splitlines()]
        others = [":".join(fields) for fields in accounts if fields[0] != "trainer" and fields[2] != str(user)]
        file.write_text("\n".join([*others, f"trainer:x:{user}:{user}::/tmp:/bin/sh", ""]))
        pathlib.Path(folder).chmod(0o755)
        file.chmod(0o644)
        yield [f"{file}:/etc/passwd"]


_launchers = {}


def launchers(packages):
    """The folder of that Python environment, made if it is not there."""
    if packages not in _launchers:
        made = subprocess.run(
            ["bash", ROOT / "tests" / "launch" / "packages" / "make.sh", packages], stdout=subprocess.PIPE, text=True,
            check=True,
        )
        _launchers[packages] = made.stdout.splitlines()[-1]
    return _launchers[packages]


def need(suite):
    """Skips the suite where pods cannot be processes, and says why."""
    if "--pods" not in subprocess.run([BINARY, "dev", "--help"], stdout=subprocess.PIPE, text=True, check=True).stdout:
        skips.skip_suite(suite, f"{BINARY} has no pods that are processes")
    for program in ("/usr/sbin/sshd", "pdsh", "ssh"):
        if subprocess.run(["sh", "-c", f"command -v {program}"], stdout=subprocess.DEVNULL, check=False).returncode:
            skips.skip_suite(suite, f"{program} is not installed")
    tried = run(jobs.job("PyTorchTrainingJob", "try", replicaSpecs=[
        {"type": "one", "replicas": 1, "template": jobs.template("pytorch", command=["true"])}]), packages="debian")
    if tried.code == 2:
        skips.skip_suite(suite, tried.output.strip().splitlines()[-1])
