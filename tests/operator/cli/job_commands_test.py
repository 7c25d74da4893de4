# SPDX-License-Identifier: Apache-2.0
"""`signalbox pause`, `resume`, `scale` and `top` on a running `signalbox dev`."""
import json
import os
import re
import signal
import sys
import unittest

import jobs
import program

sys.path.insert(0, os.path.join(program.source_dir(), "tests/support"))
from waiting import eventually  # noqa: E402


class Commands(unittest.TestCase):
    def setUp(self):
        self.dev = program.Dev("--speed", "10")
        self.addCleanup(self.dev.stop)

    def create(self, body, ns="default"):
        self.dev.open("POST", jobs.collection(body, ns), body).close()
        return body

    def read(self, body):
        with self.dev.open("GET", f"{jobs.collection(body)}/{body['metadata']['name']}") as answer:
            return json.load(answer)

    def run_command(self, *arguments):
        return program.run(*arguments, "--kubeconfig", self.dev.kubeconfig)

    def check(self, arguments, code, text):
        result = self.run_command(*arguments)
        self.assertEqual(result.code, code, result.out + result.err)
        self.assertRegex(result.out if code == 0 else result.err, text)

    def test_pause_and_resume(self):
        job = self.create(jobs.pytorch("mnist"))
        self.check(["wait", "mnist", "--for", "Running"], 0, "Running")
        self.check(["resume", "mnist"], 0, r"^pytorchtrainingjob/mnist is not paused\n$")
        self.check(["pause", "mnist"], 0, r"^pytorchtrainingjob/mnist paused\n$")
        self.check(["wait", "mnist", "--for", "Paused"], 0, "Paused")
        version = self.read(job)["metadata"]["generation"]
        self.check(["pause", "pj/mnist"], 0, r"^pytorchtrainingjob/mnist is paused already\n$")
        self.assertEqual(self.read(job)["metadata"]["generation"], version)
        self.check(["resume", "mnist"], 0, r"^pytorchtrainingjob/mnist resumed\n$")
        self.check(["wait", "mnist", "--for", "Running"], 0, "Running")
        self.assertEqual(self.read(job)["status"]["attempt"], 2)

    def test_an_ended_job_is_not_changed(self):
        self.create(jobs.pytorch("done", "1s"))
        self.check(["wait", "done"], 0, "Succeeded")
        for command in (["pause", "done"], ["resume", "done"], ["scale", "done", "--replicas", "2"]):
            self.check(command, 1, rf"^signalbox {command[0]}: pytorchtrainingjob/done: it has ended already: Succeeded\n$")

    def test_scale(self):
        job = self.create(jobs.elastic("grow", 2, 1, 4))
        self.check(["wait", "grow", "--for", "Running"], 0, "Running")
        self.check(["scale", "grow", "--replicas", "3"], 0, r"^pytorchtrainingjob/grow scaled to 3 replicas\n$")
        self.assertEqual(self.read(job)["spec"]["elastic"]["expectedReplicas"], 3)
        self.check(["scale", "grow", "--replicas=3"], 0, "is to have 3 replicas already")
        self.check(["scale", "grow", "--replicas=5"], 1, "5 is outside of its bounds, 1 to 4 replicas")
        self.check(["scale", "grow"], 2, "--replicas is required")
        self.check(["scale", "grow", "--replicas=-1"], 2, "--replicas")
        self.create(jobs.pytorch("rigid"))
        self.check(["scale", "rigid", "--replicas=2"], 1,
                   r"^signalbox scale: pytorchtrainingjob/rigid: it is not elastic, and its size is 1; to change that, pause it and change `replicas`\n$")
        self.check(["scale", "rigid", "--replicas=1"], 0, r"^pytorchtrainingjob/rigid is to have 1 replicas already\n$")
        self.assertEqual(self.read(job)["spec"]["elastic"]["expectedReplicas"], 3)

    def test_a_kind_without_sizes(self):
        example = os.path.join(program.source_dir(), "examples/manifests/colossalai.yaml")
        with open(example, encoding="utf-8") as file:
            name = re.search(r"(?m)^  name: (\S+)", file.read())[1]
        with program.Dev("--apply", example) as dev:
            result = program.run("wait", name, "--for", "Running", "--kubeconfig", dev.kubeconfig)
            self.assertEqual(result.code, 0, result.err)
            result = program.run("scale", name, "--replicas", "2", "--kubeconfig", dev.kubeconfig)
            self.assertEqual(result.code, 1, result.out)
            self.assertIn("it is not elastic, and its size is 5, the launcher included; to change that, pause it and change "
                          "`replicas` of the workers", result.err)

    def test_what_is_refused(self):
        for command in (["pause"], ["resume"], ["scale", "--replicas=2"]):
            name = command[0]
            self.check([*command, "nobody"], 2, f"^signalbox {name}: namespace default has no training job nobody\n$")
            self.check([*command, "pods/x"], 2, f"^signalbox {name}: `pods/x`: NAME or KIND/NAME is expected")
        for command in (["pause", "x"], ["top"]):
            result = program.run(*command, "--kubeconfig", "/no/such/file")
            self.assertEqual(result.code, 2)
            self.assertIn("/no/such/file", result.err)

    def test_top_prints_a_table_where_there_is_no_terminal(self):
        self.check(["top", "-A"], 0, "^$")
        self.assertIn("no training jobs in the cluster", self.run_command("top", "-A").err)
        self.create(jobs.pytorch("bad", "1s", {"exit_code": "3"}, runPolicy={"backoffLimit": 1}))
        self.create(jobs.pytorch("mnist"))
        self.dev.open("POST", "/api/v1/namespaces", {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": "team"}}).close()
        self.create(jobs.elastic("other", 3, 1, 3), "team")
        self.check(["wait", "bad", "--for", "Failed"], 0, "Failed")
        self.check(["wait", "mnist", "--for", "Running"], 0, "Running")
        self.check(["wait", "other", "-n", "team", "--for", "Running"], 0, "Running")
        # An elastic job runs before all of its pods do.
        eventually("all pods are ready", lambda: "3/3" in self.run_command("top", "-A").out)
        table = [line.split() for line in self.run_command("top", "-A").out.splitlines()]
        self.assertEqual(table[0], ["NAMESPACE", "JOB", "PHASE", "READY", "RESTARTS", "DISRUPTIONS", "AGE", "REASON"])
        self.assertEqual([row[:6] for row in table[1:]],
                         [["default", "pj/mnist", "Running", "1/1", "0", "0"],
                          ["team", "pj/other", "Running", "3/3", "0", "0"],
                          ["default", "pj/bad", "Failed", "0/1", "1", "0"]])
        self.assertRegex(table[1][6], r"^\d+s$")
        self.assertEqual(table[3][7], "BackoffLimitExceeded")
        mine = self.run_command("top")
        self.assertEqual([line.split()[0] for line in mine.out.splitlines()], ["JOB", "pj/mnist", "pj/bad"])
        self.assertNotIn("\x1b", mine.out)
        self.assertIn("no training jobs in default", self.run_command("top", "-l", "no=such").err)

    def test_top_shows_how_far_training_is_and_who_stands_still(self):
        for name in ("quiet", "trains", "stuck"):
            self.create(jobs.run_by_another(name))
        progress = {"attempt": 1, "rank": 0, "currentStep": 1200, "totalSteps": 5000, "progressPercentage": 24,
                    "lastUpdatedTime": "2025-01-01T00:00:00Z", "metrics": [{"name": "loss", "value": "2.31"}]}
        jobs.write_status(self.dev.open_text, jobs.pytorch("trains"), phase="Running", attempt=1, progress=progress)
        stalled = {"type": "Stalled", "status": "True", "reason": "NoProgress", "lastTransitionTime": "2025-01-01T00:00:00Z",
                   "message": "no progress for 1800 s: step 1200 of 5000; rank 3 stood still first, at step 1190"}
        jobs.write_status(self.dev.open_text, jobs.pytorch("stuck"), phase="Running", reason="Stalled", attempt=1, progress=progress,
                          conditions=[stalled])
        rows = {row.split()[0]: row for row in self.run_command("top").out.splitlines()}
        self.assertEqual(rows["JOB"].split()[-2:], ["REASON", "PROGRESS"])
        self.assertRegex(rows["pj/trains"], r"  step 1200 of 5000 \(24 %\), loss 2\.31; last report \d+ d.* ago$")
        self.assertRegex(rows["pj/stuck"], rf"  Stalled   {re.escape(stalled['message'])}$")
        self.assertRegex(rows["pj/quiet"], r"  -$")

    def test_top_follows_jobs_on_a_terminal(self):
        body = self.create(jobs.pytorch("mnist"))
        top = program.Terminal("top", "--kubeconfig", self.dev.kubeconfig, columns=60)
        top.read_until(r"1 job: 1 Running; 1 of 1 replicas ready")
        self.assertTrue(top.seen.startswith("\x1b[?1049h"), top.seen[:40])
        self.dev.open("DELETE", f"{jobs.collection(body)}/mnist").close()
        top.read_until(r"0 jobs; 0 of 0 replicas ready")
        top.child.send_signal(signal.SIGINT)
        self.assertEqual(top.end(), 0)
        self.assertTrue(top.seen.endswith("\x1b[?1049l"), top.seen[-40:])
        for line in top.text().splitlines():
            self.assertLess(len(line), 60)


if __name__ == "__main__":
    unittest.main(argv=sys.argv[:1], verbosity=1)
