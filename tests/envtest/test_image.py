# SPDX-License-Identifier: Apache-2.0
"""The image of operator/deploy/image: what is in it, and that the program in it serves a real API server as its own user on a root
that no one can write to, the way its Deployment says."""

import gzip
import hashlib
import json
import os
import pathlib
import shutil
import subprocess
import tempfile
import unittest

import cluster
import deployed
from cluster import OPERATOR, ROOT, eventually, job, pods, ssh_job
from image import EPOCH, Image, build, skip_where_impossible

DEPLOYMENT = ROOT / "operator" / "deploy" / "base" / "deployment.yaml"
LIMIT = 40_000_000  # bytes, compressed


class Built(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.folder = pathlib.Path(tempfile.mkdtemp(prefix="signalbox-image-"))
        cls.addClassCleanup(shutil.rmtree, cls.folder)
        cls.layout = build(cls.folder)
        cls.image = Image(cls.layout)
        cls.members = cls.image.unpack(cls.folder / "root")

    def read(self, path):
        return (self.folder / "root" / path).read_bytes()

    def test_the_same_bytes_again(self):
        other = pathlib.Path(tempfile.mkdtemp(prefix="signalbox-image-"))
        self.addCleanup(shutil.rmtree, other)
        # Another time, another folder, another umask.
        copy = other / "program"
        shutil.copyfile(OPERATOR, copy)
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
            c.operator = self.image.run(self.folder / "root", c.plane, deployed.arguments(container))
            c.apply(job("mnist", {"worker": pods(2, duration="1s")}))
            c.apply(ssh_job("DeepSpeedJob", "cifar", 2, simulation={"duration": "1s"}))
            c.wait_phase("mnist", "Succeeded")
            c.wait_phase("cifar", "Succeeded", kind="deepspeedjob")
            self.assertIn("leading: lease=signalbox-system/signalbox", c.operator.log.read_text())
            # What asked the server was the service account, from inside: there is no other credential.
            eventually("the lease is held", lambda: self.holder(c) != "")

    def holder(self, c):
        lease = c.plane.object("lease", "signalbox", "signalbox-system")
        return lease["spec"].get("holderIdentity", "")


if __name__ == "__main__":
    skip_where_impossible("envtest_image")
    cluster.main("envtest_image")
