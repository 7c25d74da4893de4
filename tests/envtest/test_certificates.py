# SPDX-License-Identifier: Apache-2.0
"""Client certificates that end, while an operator serves jobs with them. kube-apiserver looks at the certificate of a
connection at every request: what has ended is refused on the oldest connection."""

import functools
import pathlib
import re
import shutil
import sys
import tempfile
import time
import unittest

import cluster
import deployed
import short_certificate
from audit_log import AuditLog
from auditor import PodAuditor
from cluster import eventually, job, pods
from servers import credential_program

FULL = "--full" in sys.argv  # what takes minutes
DAY = 86400  # seconds


def lives_of(seconds):
    """Runs the test with certificates that last so long. On a machine too busy for that, which the authority notes (`late`), it
    may fail though nothing is wrong: then it begins again, with lives twice as long."""
    def decorate(test):
        @functools.wraps(test)
        def run(self):
            for life in (seconds, 2 * seconds, 4 * seconds, 8 * seconds):
                try:
                    return test(self, life)
                except AssertionError:
                    if not self.authority.late.exists() or life == 8 * seconds:
                        raise
                print(f"lives of {life} s are too short here", file=sys.stderr)
                self.doCleanups()
                self.setUp()
        return run
    return decorate


class Certificates(unittest.TestCase):
    def setUp(self):
        folder = pathlib.Path(tempfile.mkdtemp(prefix="signalbox-authority-"))
        self.addCleanup(shutil.rmtree, folder, True)
        self.authority, self.other = (short_certificate.Authority(folder / name).make() for name in ("one", "other"))
        self.trusted = folder / "trusted.crt"
        self.trust(self.authority, self.other)
        self.audit = AuditLog(self.addCleanup, ["watch"])
        arguments = [f"--client-ca-file={self.trusted}", *self.audit.arguments]
        self.c = cluster.Cluster(apiserver_arguments=arguments).started(self.addCleanup)
        self.user = self.c.plane.operator_user
        self.jobs = 0

    def trust(self, *authorities):
        """The server takes certificates of these, and of no others."""
        self.replace(self.trusted, "".join(each.certificate.read_text() for each in authorities))

    def start_operator(self, entry):
        """With this user entry in its kubeconfig."""
        plane = self.c.plane
        plane.write_kubeconfig(plane.operator_kubeconfig, "operator", entry)
        self.auditor = PodAuditor(plane)
        self.auditor.start()
        self.assertTrue(self.auditor.ready.wait(cluster.PATIENCE))
        self.refused_before = self.refused_in_all()
        self.began = time.monotonic()
        self.c.operator = self.c.operator_process(
            "operator", plane.operator_kubeconfig, "--metrics-bind-address", "127.0.0.1:0")

    def program(self, seconds, *flags):
        return credential_program(short_certificate.__file__, self.authority.folder, self.user, seconds, *flags)

    def runs(self):
        count = self.authority.count
        return count.read_text().count("run") if count.exists() else 0

    def work_until(self, done):
        """Jobs, one after the other, until then."""
        while not done():
            self.c.wait_phase(self.begin_job(), "Succeeded")

    def begin_job(self):
        self.jobs += 1
        name = f"job-{self.jobs}"
        self.c.apply(job(name, {"master": pods(1, duration="1s")}))
        return name

    def refused_in_all(self):
        text = self.c.plane.get("/metrics", accept="text/plain").decode()
        found = re.findall(r'^authentication_attempts\{result="(?:error|failure)"\} (\S+)', text, re.M)
        return sum(float(count) for count in found)

    def refused(self):
        """How many requests of the operator the server has refused."""
        return self.refused_in_all() - self.refused_before

    def moved_watches(self):
        """How many of its watches of pods have ended; of itself one ends after minutes."""
        return sum(
            entry["user"].get("username") == self.user and entry["objectRef"]["resource"] == "pods"
            for entry in self.audit.entries()
        )

    def check_all_is_well(self):
        self.assertTrue(self.c.operator.running())
        log = self.c.operator.log.read_text()
        stale = [line for line in log.splitlines() if "view is not up to date" in line]
        starting = "storage is (re)initializing"  # of a kind that the server serves for seconds only
        idle = "stream idle"  # a server that is too busy for its bookmarks; then it must be up to date again
        self.assertEqual([line for line in stale if starting not in line and idle not in line], [])
        if any(idle in line for line in stale):
            again = "all views are up to date again"
            said = self.c.operator.log.read_text
            eventually("an idle view is up to date again", lambda: said().rfind(again) > said().rfind(idle))
        metrics = deployed.get(self.c.operator, "/metrics")
        failing = re.findall(r'^signalbox_view_failing\{resource="(\w+)"\} (\d)', metrics, re.M)
        self.assertIn("pods", dict(failing))
        self.assertNotIn("1", dict(failing).values(), failing)
        self.assertEqual(self.auditor.doubles, [])
        self.assertEqual(self.auditor.created, self.jobs)  # no pod was made again
        self.assertFalse("PRIVATE KEY" in log)

    def tell(self, what):
        seconds = time.monotonic() - self.began
        counts = f"{self.jobs} jobs, {self.runs()} runs of the program, {self.refused():.0f} refused"
        print(f"{what}: {seconds:.0f} s, {counts}, {self.moved_watches()} watches of pods moved", file=sys.stderr)

    @unittest.skipUnless(FULL, "it takes more than a minute")
    @lives_of(30)
    def test_certificates_of_a_program(self, life):
        """[requirement C7] Each is replaced before its end, through three lives: the server refuses none. A run that fails is
        told, and there is another one in time."""
        self.start_operator(self.program(life))
        self.work_until(lambda: self.runs() >= 5)  # one for each three quarters of a life
        self.assertGreaterEqual(time.monotonic() - self.began, 3 * life)
        self.assertLessEqual(self.runs(), (time.monotonic() - self.began) / (0.75 * life) + 2)
        self.assertGreaterEqual(self.moved_watches(), 3)
        self.tell("a program")
        runs = self.runs()
        self.authority.fail.touch()
        self.work_until(lambda: self.runs() >= runs + 3)  # the one that fails, the next, and that of a life later
        self.tell("with one that failed")
        self.assertFalse(self.authority.fail.exists())
        told = "no certificate today; what it gave before is used for"
        self.assertEqual(self.c.operator.log.read_text().count(told), 1)
        self.assertEqual(self.refused(), 0)
        self.check_all_is_well()

    @unittest.skipUnless(FULL, "it takes a minute")
    @lives_of(15)
    def test_a_program_that_does_not_tell_the_end(self, life):
        """[requirement C7] A certificate is used until the server refuses it; that is sent again with the next."""
        self.start_operator(self.program(life, "--untold"))
        self.work_until(lambda: self.runs() >= 5)
        self.tell("a program that does not tell the end")
        ended = self.runs() - 1
        self.assertGreaterEqual(time.monotonic() - self.began, ended * (life - 1))
        self.assertGreaterEqual(self.refused(), ended)
        self.assertLessEqual(self.refused(), ended * 32)  # what was under way, once
        self.check_all_is_well()

    def replace(self, file, text):
        fresh = file.with_suffix(".new")
        fresh.write_text(text)
        fresh.rename(file)

    def work_to(self, moment):
        """Jobs, one after the other, until then. The last one may need what comes then: it is not waited for."""
        while time.time() < moment:
            name = self.begin_job()
            eventually(name, lambda: time.time() >= moment or self.c.status(name).get("phase") == "Succeeded")

    @unittest.skipUnless(FULL, "it takes more than a minute")
    @lives_of(20)
    def test_files_that_are_replaced(self, life):
        """[requirement C3] Shorter lives, though files are read each minute: what is refused is sent again with what is there.
        The key may come after the certificate."""
        folder = self.c.plane.folder
        cert, key = folder / "user.crt", folder / "user.key"
        texts = self.authority.issue(self.user, life)
        cert.write_text(texts[0])
        key.write_text(texts[1])
        self.authority.hand_over(texts[2], life)
        self.start_operator({"client-certificate": str(cert), "client-key": str(key)})
        for pause in (0, 2, 0, 2):
            self.work_to(texts[2].timestamp() - life / 3)
            texts = self.authority.issue(self.user, life)
            self.replace(cert, texts[0])
            self.work_to(time.time() + pause)
            self.replace(key, texts[1])
            self.authority.hand_over(texts[2], life)
        self.work_to(texts[2].timestamp() - life / 3)
        self.authority.hand_over(texts[2], life)
        texts = self.authority.issue(self.user, DAY)
        self.replace(cert, texts[0])
        self.replace(key, texts[1])
        for n in range(1, self.jobs + 1):
            self.c.wait_phase(f"job-{n}", "Succeeded")
        self.tell("files")
        self.assertLessEqual(self.refused(), 4 * 32)
        self.assertGreaterEqual(self.moved_watches(), 3)
        self.check_all_is_well()

    def test_a_key_that_comes_too_late(self):
        """[requirement C3] The certificate is replaced, the server takes the old one no more, and the new one has no key yet:
        that is told, and all waits."""
        folder = self.c.plane.folder
        cert, key = folder / "user.crt", folder / "user.key"
        texts = self.authority.issue(self.user, DAY)
        cert.write_text(texts[0])
        key.write_text(texts[1])
        self.start_operator({"client-certificate": str(cert), "client-key": str(key)})
        self.work_until(lambda: self.jobs >= 1)
        texts = self.other.issue(self.user, DAY)
        self.replace(cert, texts[0])
        self.trust(self.other)
        self.c.apply(*(job(f"waits-{n}", {"master": pods(1, duration="1s")}) for n in range(3)))
        said = "the files of keys and certificates cannot be used, those read before are"
        eventually("the operator says so", lambda: said in self.c.operator.log.read_text())
        eventually("it is refused", lambda: "401" in self.c.operator.log.read_text())
        self.replace(key, texts[1])
        for n in range(3):
            self.c.wait_phase(f"waits-{n}", "Succeeded")
        self.tell("a key too late")
        self.assertTrue(self.c.operator.running())
        self.assertEqual(self.auditor.created, self.jobs + 3)
        self.assertEqual(self.c.operator.log.read_text().count(said), 1)


if __name__ == "__main__":
    sys.argv = sys.argv[:1]
    cluster.main("envtest_certificates_full" if FULL else "envtest_certificates")
