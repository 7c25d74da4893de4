# SPDX-License-Identifier: Apache-2.0
"""What an operator logs in with is replaced while it runs: its token is revoked or ends, the server gets another
certificate."""

import re
import shutil
import unittest
import urllib.error

import cluster
import short_token
from cluster import eventually, job, pods
from servers import credential_program

NAMESPACE = "signalbox-system"


class Rotation(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.c = cluster.Cluster().started(cls.addClassCleanup)

    def setUp(self):
        self.name = self.id().rpartition(".")[2].replace("_", "-")
        self.c.create_namespace(self.name)
        plane = self.c.plane
        folder = plane.folder / self.name
        folder.mkdir()
        self.token, self.ca, self.kubeconfig = folder / "token", folder / "ca.crt", folder / "kubeconfig"
        shutil.copy(plane.ca_file, self.ca)
        self.write_user({"tokenFile": str(self.token)})

    def write_user(self, user):
        """What the operator logs in with; it reads its CA from a file too."""
        self.c.plane.write_kubeconfig(self.kubeconfig, "operator", user, self.ca)

    def start_operator(self):
        self.c.operator = self.c.operator_process(self.name, self.kubeconfig)
        self.addCleanup(self.c.operator.kill)

    def log(self):
        return self.c.operator.log.read_text()

    def replace(self, file, text):
        """As the kubelet replaces a mounted file: at once."""
        fresh = file.with_suffix(".new")
        fresh.write_text(text)
        fresh.rename(file)

    def bound_token(self, secret):
        """A token that the server takes until that Secret is deleted."""
        secret = f"{self.name}-{secret}"
        self.c.plane.kubectl("create", "secret", "generic", secret, "-n", NAMESPACE)
        bound = ("--bound-object-kind=Secret", f"--bound-object-name={secret}")
        return self.c.plane.kubectl("create", "token", "signalbox", "-n", NAMESPACE, *bound).stdout.strip()

    def is_refused(self, token):
        try:
            self.c.plane.get("/api", token=token)
        except urllib.error.HTTPError as refusal:
            return refusal.code == 401
        return False

    def apply(self, name):
        self.c.apply(job(name, {"master": pods(1, duration="1s")}, self.name))

    def run_job(self, name):
        self.apply(name)
        self.c.wait_phase(name, "Succeeded", self.name)

    def test_a_token_that_is_revoked(self):
        """[requirement C2] After 401 the token file is read again."""
        old = self.bound_token("old")
        self.token.write_text(old + "\n")
        self.start_operator()
        self.run_job("before")
        self.replace(self.token, self.bound_token("new") + "\n")
        self.c.plane.kubectl("delete", "secret", f"{self.name}-old", "-n", NAMESPACE)
        eventually("the server refuses the old token", lambda: self.is_refused(old))
        self.run_job("after")
        self.assertTrue(self.c.operator.running())
        for token in (old, self.token.read_text().strip()):
            self.assertNotIn(token, self.log())

    def test_a_token_that_ends_before_there_is_another(self):
        """[requirement C2] A token file with a token that has ended: what is refused is sent again when there is a new one."""
        key = self.c.plane.folder / "service-account.key"
        real = self.bound_token("real")
        ends_soon = short_token.short_token(key, real, 8)
        self.token.write_text(ends_soon)
        self.start_operator()
        self.run_job("before")
        eventually("the server refuses the token", lambda: self.is_refused(ends_soon))
        self.apply("late")
        eventually("the operator is refused", lambda: "401" in self.log())
        self.assertEqual(self.c.pods_of("late", self.name), [])
        self.replace(self.token, short_token.short_token(key, real, 300))
        self.c.wait_phase("late", "Succeeded", self.name)
        self.assertTrue(self.c.operator.running())

    def refused_requests(self):
        """How many tokens the server has refused since it started."""
        text = self.c.plane.get("/metrics", accept="text/plain").decode()
        found = re.findall(r'^authentication_attempts\{result="(?:error|failure)"\} (\S+)', text, re.M)
        return sum(float(count) for count in found)

    def test_credentials_of_a_program_that_end(self):
        """[requirement C7] Each credential is replaced before its end: the server refuses none."""
        real, count = self.kubeconfig.with_name("real"), self.kubeconfig.with_name("count")
        real.write_text(self.bound_token("real"))
        key = self.c.plane.folder / "service-account.key"
        self.write_user(credential_program(short_token.__file__, key, real, 14, count))
        before = self.refused_requests()
        self.start_operator()
        jobs = 0
        while not count.exists() or count.read_text().count("run") < 4:  # longer than two of them last
            jobs += 1
            self.run_job(f"job-{jobs}")
        self.assertEqual(self.refused_requests(), before)
        self.assertTrue(self.c.operator.running())

    def test_a_server_with_another_certificate(self):
        """[requirement C3] The file of the CA is replaced, some time after the server's certificate."""
        plane = self.c.plane
        self.token.write_text(plane.operator_token)
        self.start_operator()
        self.run_job("before")
        plane.kill_apiserver()
        for part in ("apiserver.crt", "apiserver.key"):
            (plane.folder / "certificates" / part).unlink()
        plane.start_apiserver()  # makes new ones
        plane.write_kubeconfig(plane.admin_kubeconfig, "admin", plane.admin_token)
        self.c.kubelet.kill()
        self.c.start_kubelet()
        refused = lambda: "certificate" in self.log()
        eventually("the operator says that it does not trust the server", refused)
        self.replace(self.ca, plane.ca_file.read_text())
        self.run_job("after")
        self.assertTrue(self.c.operator.running())


if __name__ == "__main__":
    cluster.main("envtest_rotation")
