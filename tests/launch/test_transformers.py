# SPDX-License-Identifier: Apache-2.0
"""Real `transformers` in a script that nobody changed: it reports by itself, a rank of it stands still, and it goes on from its
checkpoint."""
import pathlib
import re
import tempfile

import local_pods
import suite
import test_live
from jobs import job, template
from live_pods import Live, eventually
from suite import PACKAGES

STEPS = 900


class Transformers(suite.Case):
    def test_it_stands_still_and_goes_on(self):
        """[behaviour 13.7] [behaviour 13.8] [behaviour 13.10] Progress and remaining time; SIGSTOP of a rank; a restart; the rest."""
        folder = tempfile.TemporaryDirectory(prefix="signalbox-transformers-")
        self.addCleanup(folder.cleanup)
        pathlib.Path(folder.name, "claims", "checkpoints").mkdir(parents=True)
        logs = pathlib.Path(folder.name, "logs")
        logs.mkdir()
        live = Live(packages=PACKAGES, claims=f"{folder.name}/claims", options=["--log-dir", logs])
        live.__enter__()
        self.addCleanup(live.__exit__)
        script = live.folder.probes / "hf_train.py"
        script.write_text((local_pods.HERE / "hf_train.py").read_text())
        script.chmod(0o644)
        pod = {"volumes": [{"name": "checkpoints", "persistentVolumeClaim": {"claimName": "checkpoints"}}],
               "terminationGracePeriodSeconds": 5}
        container = {"volumeMounts": [{"name": "checkpoints", "mountPath": "/checkpoints"}]}
        one = job(
            "PyTorchTrainingJob", "hugging", torchrunConfig={"enabled": True, "procPerNode": "1"},
            runPolicy={"backoffLimit": 1, "progress": {
                "stallAfterSeconds": 20, "firstReportAfterSeconds": 600, "stallAction": "Restart"}},
            replicaSpecs=[{"type": "node", "replicas": 2, "template": template(
                "pytorch", arguments=["/probe/hf_train.py", "/checkpoints/out", str(STEPS)], container=container, pod=pod)}])
        live.apply(test_live.CLAIM, one)

        def progress():
            return live.status(one).get("progress", {})

        def trains():
            now = progress()
            return now.get("currentStep", 0) > 40 and now.get("estimatedRemainingSeconds") and now

        seen = eventually(lambda: f"it reports: {live.explain(one)}", trains)
        self.assertEqual((seen["totalSteps"], seen["attempt"]), (STEPS, 1))
        self.assertIn("loss", {metric["name"] for metric in seen["metrics"]})
        self.assertRegex(live.explain(one), r"Training is at step \d+ of 900 \(\d+ %\), about .* left, loss [\d.]+")

        # The rank, and not the agent that waits for it.
        live.execute(live.name_of(one, "node-1"), "pkill", "-STOP", "-f", "--", "-u /probe/hf_train.py")
        status = eventually(lambda: f"it stands still: {live.explain(one)}",
                            lambda: live.status(one).get("attempt") == 2 and live.status(one))
        last = status["restarts"]["last"]
        self.assertEqual((last["cause"], last["counted"]), ("Stalled", True), last)
        self.assertRegex(last["message"], rf"no progress for 20 s: step \d+ of {STEPS}")
        [before] = status["attemptHistory"]
        self.assertEqual(before["reason"], "Stalled")

        status = live.wait_phase(one, "Succeeded", "Failed")
        self.assertEqual((status["phase"], status["attempt"]), ("Succeeded", 2), live.explain(one))
        # Its last report says 100 %, and no step.
        self.assertEqual((status["progress"]["progressPercentage"], status["progress"]["attempt"]), (100, 2))
        self.assertGreater(status["progress"]["currentStep"], before["step"])
        said = (logs / "hugging" / "attempt-2" / "node-0.log").read_text(errors="replace")
        resumed = int(re.search(r"begins from /checkpoints/out/checkpoint-(\d+)", said)[1])
        self.assertGreaterEqual(resumed, 20)
        self.assertLessEqual(resumed, before["step"] + 20)


if __name__ == "__main__":
    suite.main(kubectl=True)
