# SPDX-License-Identifier: Apache-2.0
"""`signalbox wait` on a running `signalbox dev`: what it waits for, what it says, and its exit codes."""
import json
import os
import subprocess
import sys
import tempfile
import unittest

import jobs
import program

sys.path.insert(0, os.path.join(program.source_dir(), "tests/envtest"))
import rule_cases  # noqa: E402 (from the folder above)

class Wait(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.dev = program.Dev("--speed", "10")
        cls.addClassCleanup(cls.dev.stop)

    def create(self, body):
        self.dev.open("POST", jobs.collection(body), body).close()

    def wait(self, *arguments):
        return program.run("wait", "--kubeconfig", self.dev.kubeconfig, *arguments)

    def check(self, result, code, text):
        self.assertEqual(result.code, code, result.out + result.err)
        self.assertRegex(result.out if code == 0 else result.err, text)

    def test_a_job_that_succeeds(self):
        self.create(jobs.pytorch("good", "1s"))
        self.check(self.wait("good"), 0, r"^pytorchtrainingjob/good: Succeeded\n$")
        self.check(self.wait("pj/good", "--for=completed"), 0, r": Succeeded\n$")
        self.check(self.wait("good", "--for", "Failed"), 1, r"/good: Succeeded; waited for Failed\n")
        self.check(self.wait("good", "--for", "running"), 1, r"/good: Succeeded; waited for Running\n")

    def test_a_job_that_fails(self):
        self.create(jobs.pytorch("bad", "1s", sim={"exit_code": "3"}, runPolicy={"backoffLimit": 0}))
        self.check(self.wait("bad"), 1, r"^pytorchtrainingjob/bad: Failed \(\w+\): .+; waited for Succeeded\n")
        self.check(self.wait("bad", "--for=Failed"), 0, r"/bad: Failed \(")
        self.check(self.wait("bad", "--for=Completed"), 0, r"/bad: Failed \(")

    def test_a_job_that_goes_on(self):
        self.create(jobs.pytorch("long", "never"))
        self.check(self.wait("long", "--for=Running"), 0, r"/long: Running")
        self.check(self.wait("long", "--timeout", "100ms"), 3, r"/long: Running.*; waited 100ms for Succeeded\n")
        self.check(self.wait("long", "--timeout", "0"), 3, r"; waited 0 for Succeeded\n")
        child = subprocess.Popen([program.binary(), "wait", "long", "--kubeconfig", self.dev.kubeconfig],
                                 stdout=subprocess.PIPE, stderr=subprocess.PIPE)
        self.dev.open("DELETE", jobs.collection(jobs.pytorch("long")) + "/long").close()
        err = child.communicate(timeout=program.PATIENCE)[1].decode()
        # It had seen the job before, or never did.
        self.assertIn((child.returncode, "deleted; waited for Succeeded" in err), ((1, True), (2, False)), err)

    def test_a_job_that_is_paused(self):
        self.create(jobs.pytorch("later", "1s", runMode={"pause": {"enabled": True}}))
        self.check(self.wait("later", "--for=Paused"), 0, r"/later: Paused")

    def test_a_job_whose_pods_still_end(self):
        """Paused is who trains no more."""
        self.create(jobs.pytorch("ending", "never", sim={"stop-after": "20s"}))
        self.check(self.wait("ending", "--for=Running"), 0, r"/ending: Running")
        job = jobs.collection(jobs.pytorch("ending")) + "/ending"
        change = {"spec": {"runMode": {"pause": {"enabled": True}}}}
        self.dev.open("PATCH", job, change, "application/merge-patch+json").close()
        self.check(self.wait("ending", "--for=Paused"), 0, r"/ending: Paused")
        with self.dev.open("GET", "/api/v1/namespaces/default/pods?labelSelector=tensorstack.dev/owner-name%3Dending") as answer:
            self.assertEqual(json.load(answer)["items"], [])

    def test_a_server_without_our_kinds(self):
        """`wait` and `explain` say what to install there."""
        server = rule_cases.EmbeddedServer(program.binary(), [])
        self.addCleanup(server.stop)
        with tempfile.NamedTemporaryFile("w", suffix=".kubeconfig") as file:
            file.write("apiVersion: v1\nkind: Config\ncurrent-context: a\ncontexts: [{name: a, context: {cluster: a}}]\n"
                       f"clusters: [{{name: a, cluster: {{server: 'http://127.0.0.1:{server.connection.port}'}}}}]\n")
            file.flush()
            for command in ("wait", "explain"):
                result = program.run(command, "mnist", "--kubeconfig", file.name)
                self.check(result, 2, r"does not serve batch\.tensorstack\.dev/v1beta1; install .*: signalbox crds \| kubectl apply")

    def test_what_is_refused(self):
        self.check(self.wait("nobody"), 2, "namespace default has no training job nobody")
        self.check(self.wait("nobody", "-n", "team"), 2, "namespace team has no training job nobody")
        self.check(self.wait("pods/x"), 2, "NAME or KIND/NAME is expected")
        self.check(self.wait("good", "--for=Done"), 2, "Done not in {Succeeded,Failed,Completed,Running,Paused}")
        self.check(self.wait("good", "--timeout=soon"), 2, "`soon` is no duration")
        self.check(self.wait(), 2, "NAME is required")


if __name__ == "__main__":
    unittest.main(argv=sys.argv[:1], verbosity=1)
