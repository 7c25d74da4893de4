# SPDX-License-Identifier: Apache-2.0
"""`signalbox simulate`: held to the closed forms that there are for one pod, whose failures have no memory."""
import json
import math
import os
import sys
import tempfile
import unittest

import program

DAY = 86_400
POD = "{template: {spec: {containers: [{name: pytorch, image: i, command: [train]}]}}, type: worker, replicas: %d}"


def manifest(pods=1, policy=""):
    return (
        "apiVersion: batch.tensorstack.dev/v1beta1\nkind: PyTorchTrainingJob\nmetadata: {name: mnist}\n"
        "spec:\n  runPolicy: {%s}\n  replicaSpecs:\n    - %s\n" % (policy, POD % pods))


class Simulate(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.file = os.path.join(folder.name, "train.yaml")

    def run_program(self, *args, text=None):
        with open(self.file, "w", encoding="utf-8") as f:
            f.write(text or manifest())
        return program.run("simulate", "-f", self.file, *args)

    def report(self, *args, text=None):
        done = self.run_program(*args, "-o", "json", text=text)
        self.assertEqual(done.code, 0, done.err)
        return json.loads(done.out)["jobs"][0]

    def test_one_pod_takes_what_the_closed_form_says(self):
        # Segments of length s that start again when a failure comes, at the rate 1/m:
        # a segment takes m (e^(s/m) - 1) in the mean, with e^(s/m) - 1 failures.
        work, every, mean, runs = 20, 2, 5, 2000
        found = self.report(
            "--training-time", f"{work}d", "--checkpoint-every", f"{every}d", "--node-mtbf", f"{mean}d",
            "--runs", str(runs))
        segments, grown = work // every, math.exp(every / mean)
        trained = segments * mean * (grown - 1)
        variance = segments * mean**2 * (grown**2 - 1 - 2 * every / mean * grown)
        error = math.sqrt(variance / runs)
        total = found["finishSeconds"]["mean"] / DAY
        self.assertAlmostEqual(total * (1 - found["timeShares"]["waiting"]), trained, delta=4 * error)
        failures = segments * (grown - 1)
        self.assertAlmostEqual(found["nodesLost"], failures, delta=4 * math.sqrt(failures * grown / runs))
        # Each failure costs the start of a pod: a lost node has no delay (BEHAVIOUR.md 5.4).
        starts = found["timeShares"]["waiting"] * total * DAY / found["attempts"]
        self.assertAlmostEqual(starts, 60, delta=0.1)
        self.assertEqual(found["ends"], {"Succeeded": runs})

    def test_checkpoints_cost_what_they_take(self):
        found = self.report(
            "--training-time", "10h", "--checkpoint-every", "1h", "--checkpoint-takes", "6m", "--start-takes", "0s",
            "--runs", "1")
        self.assertEqual(found["finishSeconds"]["p50"], 10 * 3600 + 9 * 360)  # none at the end
        self.assertAlmostEqual(found["timeShares"]["checkpoints"], 54 / 654)

    def test_a_budget_ends_a_job_as_often_as_a_program_fails(self):
        # No failure within the training time: e^-1, at one mean time.
        runs = 2000
        found = self.report(
            "--training-time", "10d", "--program-mtbf", "10d", "--runs", str(runs), text=manifest(policy="backoffLimit: 0"))
        good = math.exp(-1)
        error = math.sqrt(good * (1 - good) / runs)
        self.assertAlmostEqual(found["ends"]["Succeeded"] / runs, good, delta=4 * error)
        self.assertEqual(set(found["ends"]), {"Succeeded", "BackoffLimitExceeded"})

    def test_a_lost_node_costs_no_budget(self):
        found = self.report(
            "--training-time", "2d", "--node-mtbf", "1d", "--checkpoint-every", "1h", "--runs", "50",
            text=manifest(policy="backoffLimit: 0"))
        self.assertEqual(found["ends"], {"Succeeded": 50})
        self.assertGreater(found["nodesLost"], 1)

    def test_more_pods_fail_more_often(self):
        options = ("--training-time", "10d", "--node-mtbf", "100d", "--checkpoint-every", "1h", "--runs", "100")
        found = self.report(*options, text=manifest(pods=32))
        # 32 pods of 100 days each, over ten days, and what is done twice.
        self.assertAlmostEqual(found["nodesLost"], 3.2, delta=4 * math.sqrt(3.2 / 100))

    def test_equal_seeds_give_equal_runs(self):
        options = ("--training-time", "10d", "--node-mtbf", "3d", "--checkpoint-every", "1h", "--runs", "20")
        first = self.report(*options)
        self.assertEqual(self.report(*options), first)
        self.assertNotEqual(self.report(*options, "--seed", "1000")["timeShares"], first["timeShares"])

    def test_a_job_with_a_queue_has_its_place_at_once_and_that_is_said(self):
        queued = manifest().replace("{name: mnist}", "{name: mnist, labels: {kueue.x-k8s.io/queue-name: team-a}}")
        done = self.run_program("--training-time", "1h", "--runs", "3", text=queued)
        self.assertEqual(done.code, 0, done.err)
        self.assertIn("Succeeded 100.0 %", done.out)
        self.assertIn("without its scheduler and queue", done.out)
        self.assertTrue(self.report("--training-time", "1h", "--runs", "1", text=queued)["withoutScheduler"])
        self.assertFalse(self.report("--training-time", "1h", "--runs", "1")["withoutScheduler"])

    def test_a_deadline_ends_it(self):
        found = self.report(
            "--training-time", "2h", "--runs", "1", text=manifest(policy="activeDeadlineSeconds: 3600"))
        self.assertEqual(found["ends"], {"DeadlineExceeded": 1})

    def test_a_run_that_does_not_end_is_given_up(self):
        found = self.report("--training-time", "10d", "--node-mtbf", "1h", "--runs", "2", "--limit", "20d")
        self.assertEqual(found["ends"], {"still Running": 2})

    def test_people_read_it_in_four_lines(self):
        done = self.run_program("--training-time", "36h", "--checkpoint-every", "1h", "--runs", "3")
        self.assertEqual(done.out.splitlines()[:3], [
            "PyTorchTrainingJob mnist: 1 pod, 3 runs, seeds from 1",
            "  ends      Succeeded 100.0 %",
            "  finishes  p10 1d 12h, p50 1d 12h, p90 1d 12h, p99 1d 12h, mean 1d 12h",
        ])
        self.assertEqual(len(done.out.splitlines()), 5)

    def test_all_errors_are_told_at_once(self):
        done = self.run_program(
            "--training-time", "0s", "--node-mtbf", "often", "--limit", "never", "--policy", "settel=1",
            text=manifest().replace("replicas: 1", "replicas: -1"))
        self.assertEqual(done.code, 2)
        for part in ("--training-time: `0s`", "--node-mtbf: `often`", "--limit: `never`", "`settel`", "train.yaml:7:"):
            self.assertIn(part, done.err)
        self.assertEqual(done.out, "")


if __name__ == "__main__":
    unittest.main(argv=sys.argv[:1])
