# SPDX-License-Identifier: Apache-2.0
"""The image of operator/deploy/image: what is in it, and that the program in it serves a real API server as its own user on a root
that nobody can write to, the way its Deployment says."""

import gzip
import hashlib
import json
import os
import pathlib
import shutil
import subprocess
import sys
import tarfile
import tempfile
import unittest

import cluster
from cluster import BINARY, ROOT, eventually, job, pods, skip_suite, ssh_job

BUILD = ROOT / "operator" / "deploy" / "image" / "build_image.py"
DEPLOYMENT = ROOT / "operator" / "deploy" / "base" / "deployment.yaml"
EPOCH = "1700000000"
LIMIT = 40_000_000  # bytes, compressed


def build(folder, *flags, binary=BINARY, check=True):
    """Gives the layout."""
    layout = folder / "image"
    command = [sys.executable, "-B", BUILD, *flags, binary, layout]
    done = subprocess.run(command, capture_output=True, text=True, cwd=folder, env={**os.environ, "SOURCE_DATE_EPOCH": EPOCH}, check=False)
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

    def tar(self):
        return tarfile.open(self.path(self.layer), "r:gz")


class Built(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.folder = pathlib.Path(tempfile.mkdtemp(prefix="signalbox-image-"))
        cls.addClassCleanup(shutil.rmtree, cls.folder)
        cls.layout = build(cls.folder)
        cls.image = Image(cls.layout)
        with cls.image.tar() as tar:
            cls.members = {each.name: each for each in tar.getmembers()}
            tar.extractall(cls.folder / "root")

    def read(self, path):
        return (self.folder / "root" / path).read_bytes()

    def test_the_same_bytes_again(self):
        other = pathlib.Path(tempfile.mkdtemp(prefix="signalbox-image-"))
        self.addCleanup(shutil.rmtree, other)
        # Another time, another folder, another umask.
        copy = other / "program"
        shutil.copyfile(BINARY, copy)
        copy.chmod(0o700)
        before = os.umask(0o077)
        try:
            again = Image(build(other, binary=copy))
        finally:
            os.umask(before)
        self.assertEqual(again.descriptor["digest"], self.image.descriptor["digest"])

    def test_small_and_without_a_shell(self):
        self.assertLess(self.image.size, LIMIT)
        programs = {name for name, each in self.members.items() if each.isfile() and each.mode & 0o111}
        loader = {name for name in programs if "/ld-linux" in name}
        self.assertEqual(programs, {"usr/bin/signalbox"} | loader)
        self.assertEqual(len(loader), 1)
        for name, each in self.members.items():
            self.assertTrue(each.isfile() or each.isdir(), name)
            self.assertFalse(each.mode & 0o6000, name)
            self.assertTrue(name == "tmp" or not each.mode & 0o022, name)
            self.assertEqual((each.uid, each.gid, each.mtime), (0, 0, int(EPOCH)), name)

    def test_configuration_and_labels(self):
        config = self.image.config["config"]
        self.assertEqual(config["User"], "65532:65532")
        self.assertEqual(config["Entrypoint"], ["/usr/bin/signalbox"])
        self.assertIn("SSL_CERT_FILE=/etc/ssl/certs/ca-certificates.crt", config["Env"])
        self.assertIn(b"BEGIN CERTIFICATE", self.read("etc/ssl/certs/ca-certificates.crt"))
        version, revision = cluster.signalbox("version").stdout.split()[1:]
        self.assertEqual(config["Labels"]["org.opencontainers.image.version"], version)
        self.assertEqual(config["Labels"]["org.opencontainers.image.revision"], revision.strip("()"))
        self.assertEqual(config["Labels"]["org.opencontainers.image.created"], "2023-11-14T22:13:20Z")
        self.assertEqual(config["Labels"], self.image.manifest["annotations"])
        unpacked = hashlib.sha256(gzip.decompress(self.image.blob(self.image.layer))).hexdigest()
        self.assertEqual(self.image.config["rootfs"]["diff_ids"], [f"sha256:{unpacked}"])

    def test_the_list_of_what_is_inside(self):
        bill = json.loads(self.read("usr/share/sbom/signalbox.spdx.json"))
        self.assertEqual(bill, json.loads((self.folder / "image.spdx.json").read_text()))
        listed = {each["fileName"].removeprefix("./"): each["checksums"] for each in bill["files"]}
        inside = {name for name, each in self.members.items() if each.isfile()}
        self.assertEqual(set(listed), inside - {"usr/share/sbom/signalbox.spdx.json"})
        for name, sums in listed.items():
            [sha256] = [each["checksumValue"] for each in sums if each["algorithm"] == "SHA256"]
            self.assertEqual(hashlib.sha256(self.read(name)).hexdigest(), sha256, name)
        packages = {each["name"]: each for each in bill["packages"]}
        for name in ("libc6", "libssl3", "libstdc++6", "ca-certificates"):
            asked = subprocess.run(["dpkg-query", "-W", "-f", "${Version}", name], capture_output=True, text=True, check=True)
            self.assertEqual(packages[name]["versionInfo"], asked.stdout)
            self.assertIn(f"Package: {name}\n", self.read(f"var/lib/dpkg/status.d/{name}").decode())
            self.assertTrue(self.read(f"usr/share/doc/{name}/copyright"))
        known = {"SPDXRef-DOCUMENT", *(each["SPDXID"] for each in bill["packages"] + bill["files"])}
        self.assertEqual(len(known), 1 + len(bill["packages"]) + len(bill["files"]))
        for relation in bill["relationships"]:
            self.assertIn(relation["spdxElementId"], known)
            self.assertIn(relation["relatedSpdxElement"], known)

    def test_mistakes_are_named(self):
        other = pathlib.Path(tempfile.mkdtemp(prefix="signalbox-image-"))
        self.addCleanup(shutil.rmtree, other)
        self.assertIn("is no program", build(other, "--version=1", "--revision=1", binary=__file__, check=False).stderr)
        self.assertIn("/no/such is no file", build(other, binary="/no/such", check=False).stderr)
        (other / "image").mkdir()
        self.assertIn("is there already", build(other, check=False).stderr)

    def test_runs_as_the_deployment_says(self):
        with cluster.Cluster() as c:
            shown = c.plane.kubectl("create", "--dry-run=client", "-o", "json", "-f", DEPLOYMENT).stdout
            [container] = json.loads(shown)["spec"]["template"]["spec"]["containers"]
            self.assertTrue(container["securityContext"]["readOnlyRootFilesystem"])
            account = c.plane.folder / "account"
            account.mkdir()
            (account / "token").write_text(c.plane.operator_token)
            (account / "namespace").write_text("signalbox-system")
            shutil.copyfile(c.plane.ca_file, account / "ca.crt")
            for each in account.iterdir():
                each.chmod(0o644)  # as a kubelet does for pods that are not root's
            mounted = "/var/run/secrets/kubernetes.io/serviceaccount"
            env = {"KUBERNETES_SERVICE_HOST": "127.0.0.1", "KUBERNETES_SERVICE_PORT": str(c.plane.port)}
            env.update(word.split("=", 1) for word in self.image.config["config"]["Env"])
            command = ["bwrap", "--ro-bind", self.folder / "root", "/", "--proc", "/proc", "--dev", "/dev"]
            command += ["--tmpfs", "/var/run", "--ro-bind", account, mounted, "--remount-ro", "/var/run"]
            command += ["--unshare-user", "--unshare-pid", "--unshare-ipc", "--cap-drop", "ALL", "--die-with-parent"]
            user, group = self.image.config["config"]["User"].split(":")
            command += ["--uid", user, "--gid", group, "--clearenv"]
            for name, value in env.items():
                command += ["--setenv", name, value]
            command += [*self.image.config["config"]["Entrypoint"], *container["args"]]
            c.operator = cluster.servers.Process("operator", command, c.plane.folder / "operator.log")
            c.apply(job("mnist", {"worker": pods(2, duration="1s")}))
            c.apply(ssh_job("DeepSpeedJob", "cifar", 2, simulation={"duration": "1s"}))
            c.wait_phase("mnist", "Succeeded")
            c.wait_phase("cifar", "Succeeded", kind="deepspeedjob")
            self.assertIn("leading: lease=signalbox-system/signalbox", c.operator.log.read_text())
            # What asked the server was the service account, from inside: there is no other credential.
            eventually("the lease is held", lambda: self.holder(c) != "")

    def holder(self, c):
        lease = c.plane.kubectl_json("get", "lease", "signalbox", "-n", "signalbox-system")
        return lease["spec"].get("holderIdentity", "")


def main():
    for program in ("bwrap", "objcopy", "readelf", "dpkg-query"):
        if not shutil.which(program):
            skip_suite("envtest_image", f"{program} is not installed")
    probe = ["bwrap", "--ro-bind", "/", "/", "--unshare-user", "--uid", "65532", "true"]
    tried = subprocess.run(probe, capture_output=True, text=True, check=False)
    if tried.returncode != 0:
        skip_suite("envtest_image", f"no user namespaces here: {tried.stderr.strip()}")
    cluster.main("envtest_image")


if __name__ == "__main__":
    main()
