# SPDX-License-Identifier: Apache-2.0
"""A `signalbox dev --pods process` that goes on, and a kubectl that talks to it: for what people do by hand."""
import functools
import json
import os
import pathlib
import re
import signal
import subprocess
import sys

import local_pods
from local_pods import BINARY, ROOT

sys.path.insert(0, str(ROOT / "tests" / "support"))
import api_reader  # noqa: E402
import kubectl_program  # noqa: E402
import skips  # noqa: E402
from waiting import PATIENCE, eventually  # noqa: E402


def need_kubectl(suite):
    """Skips the suite where there is no kubectl."""
    program, missing = kubectl_program.find()
    if program is None:
        skips.skip_suite(suite, missing)


class Jobs:
    """What kubectl shows and does of jobs, wherever they run."""

    def kubectl(self, *arguments, stdin=None, check=True):
        """Runs kubectl; gives the CompletedProcess."""
        done = subprocess.run(
            self.command(*arguments), input=stdin, capture_output=True, text=True, errors="replace", timeout=PATIENCE, check=False,
            env=self.environment)
        if check and done.returncode:
            raise AssertionError(f"kubectl {' '.join(map(str, arguments))}: {done.stderr.strip()}\n{done.stdout}")
        return done

    def execute(self, pod, *command, check=True):
        """`kubectl exec` of a command that begins when kubectl is ready: until its version 1.34 it loses what is put out before
        (kubernetes/kubernetes#131203). Input it sends after that."""
        begin = ["sh", "-c", 'read -r go; exec "$@"', "sh"]
        return self.kubectl("exec", "-i", pod, "--", *begin, *command, stdin="go\n", check=check)

    def command(self, *arguments):
        return [kubectl_program.find()[0], f"--kubeconfig={self.kubeconfig}", *map(str, arguments)]

    @property
    def environment(self):
        return {"HOME": str(self.folder.path), "PATH": os.environ.get("PATH", "")}

    def start(self, *arguments):
        """A kubectl that goes on; its output is one text."""
        return subprocess.Popen(
            self.command(*arguments), stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True,
            errors="replace", env=self.environment)

    def apply(self, *objects):
        self.kubectl("apply", "-f", "-", stdin=json.dumps({"apiVersion": "v1", "kind": "List", "items": objects}))

    @functools.cached_property
    def reader(self):
        return api_reader.Reader(api_reader.Connection.of(self.kubectl).get)

    def object(self, one):
        return self.reader.object(one["kind"].lower(), one["metadata"]["name"])

    def status(self, one):
        return self.object(one).get("status", {})

    def pods(self, one):
        """Pods of a job by `<type>-<index>`; of two the newer."""
        found = self.reader.objects("pods", labels=f"tensorstack.dev/owner-name={one['metadata']['name']}")
        found.sort(key=lambda pod: pod["metadata"]["creationTimestamp"])
        labels = [pod["metadata"]["labels"] for pod in found]
        return {f"{label['replica-type']}-{label['replica-index']}": pod for label, pod in zip(labels, found)}

    def name_of(self, one, replica):
        return self.pods(one)[replica]["metadata"]["name"]

    def wait_running(self, one, count):
        """Waits until so many pods of the job run; gives them."""
        def running():
            pods = self.pods(one)
            good = [pod for pod in pods.values() if pod["status"].get("phase") == "Running" and "deletionTimestamp" not in pod["metadata"]]
            return pods if len(good) == count else None
        return eventually(lambda: f"{count} pods run: {self.explain(one)}", running)

    def wait_phase(self, one, *phases):
        """Waits until the job is in one of these phases; gives its status."""
        def there():
            status = self.status(one)
            return status if status.get("phase") in phases else None
        return eventually(lambda: f"{' or '.join(phases)}: {self.explain(one)}", there)

    def wait_log(self, one, replica, pattern):
        """Waits until the log of a pod has that; gives the match. Pods come and go meanwhile."""
        def there():
            pod = self.pods(one).get(replica)
            return pod and re.search(pattern, self.reader.log(pod["metadata"]["name"]))
        return eventually(lambda: f"{pattern} in the log of {replica}: {self.explain(one)}", there)

    def said(self, one, attempt, replica):
        """The log of that pod of the attempt so far, as the option `logs` keeps them."""
        file = self.folder.logs / one["metadata"]["name"] / f"attempt-{attempt}" / f"{replica}.log"
        return file.read_text(errors="replace") if file.exists() else ""

    def wait_said(self, one, attempt, replica, pattern):
        """Waits until that log has it; gives the match."""
        return eventually(lambda: f"{pattern} in the log of {replica} in attempt {attempt}: {self.explain(one)}",
                          lambda: re.search(pattern, self.said(one, attempt, replica)))

    def wait_ranks(self, world):
        """Waits until all ranks of a run with so many have written; gives them."""
        def there():
            ranks = {rank: each for rank, each in local_pods.ranks_of(self.folder.probes).items() if each["world"] == world}
            return ranks if len(ranks) == world else None
        return eventually(f"{world} ranks", there)

    def explain(self, one):
        """What a failure shows: the job as the program explains it, and the ends of its pods' logs."""
        said = subprocess.run(
            [BINARY, "explain", "--kubeconfig", str(self.kubeconfig), f"{one['kind']}/{one['metadata']['name']}"],
            capture_output=True, text=True, check=False, timeout=PATIENCE)
        logs = [self.kubectl("logs", pod["metadata"]["name"], "--tail=15", check=False).stdout for pod in self.pods(one).values()]
        return "\n---\n".join([said.stdout + said.stderr, *logs])


class Live(Jobs):
    """`with Live(packages=...) as live:`; further options as those of local_pods.run."""

    def __init__(self, **options):
        self.folder = local_pods.Folder()
        self.kubeconfig = self.folder.path / "kubeconfig"
        self.log = self.folder.path / "dev.log"
        self.arguments = ["--kubeconfig", str(self.kubeconfig), *self.folder.options(**options)]

    def __enter__(self):
        with open(self.log, "w", encoding="utf-8") as log:
            self.child = subprocess.Popen(
                [BINARY, "dev", "--pods", "process", *self.arguments], stdin=subprocess.DEVNULL, stdout=log, stderr=subprocess.STDOUT)
        try:
            eventually(lambda: f"dev is ready: {self.output()}", self.ready)
        except BaseException:
            self.__exit__()
            raise
        return self

    def ready(self):
        if self.child.poll() is not None:
            raise AssertionError(f"dev ended: {self.output()}")
        return "are ready" in self.output()

    def output(self):
        return self.log.read_text(errors="replace")

    def __exit__(self, *_):
        if self.child.poll() is None:
            self.child.send_signal(signal.SIGTERM)
            try:
                self.child.wait(timeout=60)
            except subprocess.TimeoutExpired:
                self.child.kill()
                self.child.wait()
        self.folder.__exit__()


def processes_with(text, variable=None):
    """Processes of this machine, in whatever namespace, whose command line has this text and whose environment that variable, as
    `NAME=value`: command lines by process ID."""
    found = {}
    for folder in pathlib.Path("/proc").glob("[0-9]*"):
        try:
            line = (folder / "cmdline").read_bytes().replace(b"\0", b" ").decode(errors="replace")
            if text in line and (variable is None or variable.encode() in (folder / "environ").read_bytes().split(b"\0")):
                found[int(folder.name)] = line
        except OSError:  # it has ended
            continue
    return found
