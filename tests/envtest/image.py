# SPDX-License-Identifier: Apache-2.0
"""The image that operator/deploy/image writes: building and reading it, and running the program in it as a container would."""

import hashlib
import json
import os
import shutil
import subprocess
import sys
import tarfile

import cluster
from cluster import OPERATOR, ROOT, skip_suite

BUILD = ROOT / "operator" / "deploy" / "image" / "build_image.py"
EPOCH = "1700000000"
ACCOUNT = "/var/run/secrets/kubernetes.io/serviceaccount"


def build(folder, *flags, binary=OPERATOR, check=True):
    """Writes `folder`/image. Gives the layout, or with check=False the CompletedProcess."""
    layout = folder / "image"
    command = [sys.executable, "-B", BUILD, *flags, binary, layout]
    env = {**os.environ, "SOURCE_DATE_EPOCH": EPOCH}
    done = subprocess.run(command, capture_output=True, text=True, cwd=folder, env=env, check=False)
    if check and done.returncode != 0:
        raise AssertionError(done.stderr)
    return layout if check else done


class Image:
    """Reads a layout, and holds every digest and size in it to the bytes."""

    def __init__(self, layout):
        self.layout, self.size = layout, 0
        [self.descriptor] = json.loads((layout / "index.json").read_text())["manifests"]
        self.manifest = json.loads(self.blob(self.descriptor))
        self.config = json.loads(self.blob(self.manifest["config"]))
        [self.layer] = self.manifest["layers"]
        self.blob(self.layer)

    def path(self, descriptor):
        return self.layout / "blobs" / "sha256" / descriptor["digest"].removeprefix("sha256:")

    def blob(self, descriptor):
        data = self.path(descriptor).read_bytes()
        assert hashlib.sha256(data).hexdigest() == descriptor["digest"].removeprefix("sha256:"), descriptor
        assert len(data) == descriptor["size"], descriptor
        self.size += len(data)
        return data

    def unpack(self, folder):
        """Gives the members of the layer."""
        with tarfile.open(self.path(self.layer), "r:gz") as tar:
            tar.extractall(folder)
            return {each.name: each for each in tar.getmembers()}

    def run(self, root, plane, arguments, name="operator"):
        """The program, with these arguments, as its user on a root that no one can write to, with the token of the operator's
        service account where a kubelet puts it. `root`: where the image was unpacked."""
        account = plane.folder / "account"
        if not account.is_dir():
            account.mkdir()
            (account / "token").write_text(plane.operator_token)
            (account / "namespace").write_text("signalbox-system")
            shutil.copyfile(plane.ca_file, account / "ca.crt")
            for each in account.iterdir():
                each.chmod(0o644)  # as a kubelet does for pods that are not root's
        config = self.config["config"]
        env = {"KUBERNETES_SERVICE_HOST": "127.0.0.1", "KUBERNETES_SERVICE_PORT": str(plane.port)}
        env.update(word.split("=", 1) for word in config["Env"])
        user, group = config["User"].split(":")
        command = ["bwrap", "--ro-bind", root, "/", "--proc", "/proc", "--dev", "/dev"]
        command += ["--tmpfs", "/var/run", "--ro-bind", account, ACCOUNT, "--remount-ro", "/var/run"]
        command += ["--unshare-user", "--unshare-pid", "--unshare-ipc", "--cap-drop", "ALL", "--die-with-parent"]
        command += ["--uid", user, "--gid", group, "--clearenv"]
        for key, value in env.items():
            command += ["--setenv", key, value]
        return cluster.servers.Process(name, [*command, *config["Entrypoint"], *arguments], plane.folder / f"{name}.log")


def skip_where_impossible(suite):
    """Ends the program where images cannot be made or run."""
    for program in ("bwrap", "objcopy", "readelf", "dpkg-query"):
        if not shutil.which(program):
            skip_suite(suite, f"{program} is not installed")
    probe = ["bwrap", "--ro-bind", "/", "/", "--unshare-user", "--uid", "65532", "true"]
    tried = subprocess.run(probe, capture_output=True, text=True, check=False)
    if tried.returncode != 0:
        skip_suite(suite, f"no user namespaces here: {tried.stderr.strip()}")
