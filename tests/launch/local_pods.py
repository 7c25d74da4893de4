# SPDX-License-Identifier: Apache-2.0
"""Jobs whose pods are processes of this machine, for the launch suites: `signalbox dev --pods process`."""
import contextlib
import json
import os
import pathlib
import re
import subprocess
import sys
import tempfile

ROOT = pathlib.Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "tests" / "support"))
import skips  # noqa: E402

BINARY = os.environ.get("SIGNALBOX_BINARY", str(ROOT / "build" / "dev" / "bin" / "signalbox"))
PATIENCE = 300
# Texts that shells, Python, pdsh and sshd like to change.
ARGUMENTS = ["a b", "c;d", "$HOME", "50%n", "%h", "", "it's", '{"k": "v $x"}', "`id`", "a\tb", "\\", "é!", "--host", "zz"]
VALUES = {
    "PLAIN": "1",
    "SPACE": "a b",
    "QUOTES": "say \"hi\", it's",
    "DOLLAR": "$HOME `id` $(id) \\n 50%n %h",
    "LINES": "one\ntwo = 2\nPATH=x\n\nend\n",
    "EMPTY": "",
    "JSON": '{"k": "v $x"}',
    "UMLAUT": "é",
    "NCCL_ODD": "a b",
    "PYTHON_ODD": "x;y $z",
    "MLFLOW_TRACKING_TOKEN": "t$0 'k'",
}


def environment_of(values):
    """Entries of `env`; the kubelet makes $ of $$."""
    return [{"name": name, "value": text.replace("$", "$$")} for name, text in values.items()]


def template(name, arguments=None, command=None, env=None, container=None, pod=None):
    """A pod template whose training container has this name."""
    one = {"name": name, "image": "machine", "workingDir": "/", **(container or {})}
    for key, value in (("args", arguments), ("command", command), ("env", env)):
        if value is not None:
            one[key] = value
    return {"spec": {"containers": [one], **(pod or {})}}


def job(kind, name, **spec):
    return {"apiVersion": "batch.tensorstack.dev/v1beta1", "kind": kind, "metadata": {"name": name}, "spec": spec}


class Outcome:
    """What one run of `dev` left: its exit code, its output, and what ranks wrote."""

    def __init__(self, code, output, probes):
        self.code = code
        self.output = output
        self.ranks = {}
        for file in sorted(probes.glob("rank*.json")):
            rank, run = re.fullmatch(r"rank(\d+)\.(\d+)\.json", file.name).groups()
            self.ranks[int(rank)] = json.loads(file.read_text()) | {"run": int(run)}


def run(*objects, packages, bind=(), claims=None, image_env=(), options=()):
    """Runs the objects to their end with the launchers of a set of `packages/`."""
    with tempfile.TemporaryDirectory(prefix="signalbox-launch-") as folder:
        folder = pathlib.Path(folder)
        folder.chmod(0o755)
        probes = folder / "probe"
        probes.mkdir()
        probes.chmod(0o777)
        (probes / "probe.py").write_text((ROOT / "tests" / "launch" / "probe.py").read_text())
        command = [BINARY, "dev", "--pods", "process", "--until-finished", "--offline", "--pods-dir", folder / "pods"]
        command += ["--kubeconfig", folder / "kubeconfig", "--venv", launchers(packages), "--bind", f"{probes}:/probe"]
        for index, one in enumerate(objects):
            file = folder / f"{index}.json"
            file.write_text(json.dumps(one))
            command += ["--apply", file]
        for each in bind:
            command += ["--bind", each]
        for each in image_env:
            command += ["--image-env", each]
        if claims:
            command += ["--claims", claims]
        done = subprocess.run(
            [str(word) for word in [*command, *options]], stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True,
            timeout=PATIENCE, check=False, errors="replace",
        )
        return Outcome(done.returncode, done.stdout, probes)


@contextlib.contextmanager
def account(user):
    """Binds for pods in which this user has an account and a home, whatever the machine says."""
    with tempfile.TemporaryDirectory(prefix="signalbox-account-") as folder:
        file = pathlib.Path(folder, "passwd")
        others = [line for line in pathlib.Path("/etc/passwd").read_text().splitlines() if line.split(":")[2] != str(user)]
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
    tried = run(job("PyTorchTrainingJob", "try", replicaSpecs=[
        {"type": "one", "replicas": 1, "template": template("pytorch", command=["true"])}]), packages="debian")
    if tried.code == 2:
        skips.skip_suite(suite, tried.output.strip().splitlines()[-1])
