# SPDX-License-Identifier: Apache-2.0
"""Training that reports: real `transformers` in a script that no one changed, and the helper of `examples/train` in every rank.
A rank of it stands still, and it goes on from its checkpoint."""
import datetime
import os
import pathlib
import signal
import tempfile
import uuid

import suite
import test_live
from jobs import job, template
from live_pods import Live, eventually, processes_with
from suite import PACKAGES

STEPS = 200
ENDED = ("Succeeded", "Failed")
OFTEN = ["--policy", "progress_interval=1000"]  # what is reported is seen before much more is done
POLICY = {"backoffLimit": 1, "progress": {"stallAfterSeconds": 20, "firstReportAfterSeconds": 600, "stallAction": "Restart"}}
# Not every server here gives pods one by itself, and makes it, as a cluster does.
ACCOUNT = {"apiVersion": "v1", "kind": "ServiceAccount", "metadata": {"name": "trainer"}}
TIMES = ("queued", "starting", "running", "restarting", "stalled", "paused", "lost")


class Anywhere:
    """For tests whose live() gives Jobs of some kind, with a receiver of reports and these claims, and keeps logs."""

    def live_with_claim(self):
        folder = tempfile.TemporaryDirectory(prefix="signalbox-claims-")
        self.addCleanup(folder.cleanup)
        pathlib.Path(folder.name, "checkpoints").mkdir()
        live = self.live(folder.name)
        live.apply(test_live.CLAIM, ACCOUNT)
        return live

    @suite.long
    def test_transformers_stand_still_and_go_on(self):
        """[behaviour 13.7] [behaviour 13.8] [behaviour 13.10] Hugging Face's Trainer, unchanged, reports; SIGSTOP of a rank; the rest."""
        live, place = self.live_with_claim(), f"/checkpoints/{uuid.uuid4()}"
        one = job(
            "PyTorchTrainingJob", "hugging", torchrunConfig={"enabled": True, "procPerNode": "1"}, runPolicy=POLICY,
            replicaSpecs=[{"type": "node", "replicas": 2, "template": self.template(
                arguments=["/probe/hf_train.py", place, str(STEPS)])}])
        live.apply(one)
        seen = self.wait_step(live, one, 20)
        self.assertGreater(seen["estimatedRemainingSeconds"], 0)
        self.assertRegex(live.explain(one), rf"Training is at step \d+ of {STEPS} \(\d+ %\), about .* left, loss [\d.]+")
        _, status = self.check_it_goes_on(live, one, place, "node-0", rf"begins from {place}/checkpoint-(\d+)", every=20)
        self.assertEqual(status["progress"]["progressPercentage"], 100)

    @suite.long
    def test_the_rank_that_stands_still_is_named(self):
        """[behaviour 13.7] [behaviour 13.8] Every rank reports by the helper: the one that stands still first is named."""
        live, place = self.live_with_claim(), f"/checkpoints/{uuid.uuid4()}.pt"
        arguments = ["/probe/ddp.py", "--steps", str(STEPS), "--step-time", "0.1", "--checkpoint", place]
        one = job(
            "PyTorchTrainingJob", "watched", runPolicy=POLICY,
            replicaSpecs=[{"type": each, "replicas": 1, "template": self.template(command=["python3"], arguments=arguments)}
                          for each in ("master", "worker")])
        live.apply(one)
        self.wait_step(live, one, 20)
        eventually(lambda: f"both ranks report: {live.status(one)}", lambda: "slowest" in live.status(one)["progress"])
        last, _ = self.check_it_goes_on(live, one, place, "master-0", r"goes on from step (\d+)", every=10)
        self.assertRegex(last["message"], r"; rank 1 stood still first, at step \d+$")

    def template(self, **words):
        """The pod has the claim, and little grace, which a process that stands still makes no use of."""
        return template(
            "pytorch", container={"volumeMounts": [{"name": "checkpoints", "mountPath": "/checkpoints"}]},
            pod={"volumes": [{"name": "checkpoints", "persistentVolumeClaim": {"claimName": "checkpoints"}}],
                 "terminationGracePeriodSeconds": 5, "serviceAccountName": ACCOUNT["metadata"]["name"]}, **words)

    def wait_step(self, live, one, least):
        """Waits until the first attempt has reported a later step; gives what it has reported."""
        def progress():
            status = live.status(one)
            self.assertNotIn(status.get("phase"), ENDED, live.explain(one))
            said = status.get("progress", {})
            return said.get("currentStep", 0) > least and said
        seen = eventually(lambda: f"it reports: {live.explain(one)}", progress)
        self.assertEqual((seen["totalSteps"], seen["attempt"]), (STEPS, 1))
        self.assertIn("loss", {metric["name"] for metric in seen["metrics"]})
        return seen

    def check_it_goes_on(self, live, one, place, first, words, every):
        """Rank 1, whose command line has `place`, is stopped. The job restarts for that, goes on from a checkpoint (there is one
        `every` so many steps, and `words` tell of it in the log of `first`), and ends well. Gives the incident and the last status."""
        [process] = processes_with(place, variable="RANK=1")
        os.kill(process, signal.SIGSTOP)
        status = eventually(lambda: f"it stands still: {live.explain(one)}",
                            lambda: live.status(one).get("attempt") == 2 and live.status(one))
        last = status["restarts"]["last"]
        self.assertEqual((last["cause"], last["counted"]), ("Stalled", True), last)
        self.assertRegex(last["message"], rf"no progress for 20 s: step \d+ of {STEPS}")
        [before] = status["attemptHistory"]
        self.assertEqual(before["reason"], "Stalled")
        resumed = int(live.wait_said(one, 2, first, words)[1])
        self.assertGreaterEqual(resumed, every)
        # What was reported last may be older than the checkpoint.
        least = step = min(resumed, before["step"])
        while status["phase"] not in ENDED:
            status = eventually(lambda: f"it gets on: {live.explain(one)}", lambda: self.later(live.status(one), step))
            step = status["progress"]["currentStep"]
            self.assertGreaterEqual(step, least, live.explain(one))
        self.assertEqual((status["phase"], status["attempt"]), ("Succeeded", 2), live.explain(one))
        self.assertEqual(status["progress"]["attempt"], 2)
        self.assertGreater(step, before["step"])
        created, completed = live.object(one)["metadata"]["creationTimestamp"], status["completionTime"]
        took = datetime.datetime.fromisoformat(completed) - datetime.datetime.fromisoformat(created)
        self.assertEqual(sum(status["timeSeconds"][name] for name in TIMES), took.total_seconds(), status["timeSeconds"])
        return last, status

    def later(self, status, step):
        """The status, if it tells of another step or of the end."""
        return status if status["phase"] in ENDED or status["progress"]["currentStep"] != step else None


class Here(Anywhere, suite.Case):
    def live(self, claims):
        live = Live(packages=PACKAGES, claims=claims, logs=True, options=OFTEN)
        live.__enter__()
        self.addCleanup(live.__exit__)
        return live


if __name__ == "__main__":
    suite.main(kubectl=True)
