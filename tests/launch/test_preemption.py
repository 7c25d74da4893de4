# SPDX-License-Identifier: Apache-2.0
"""A checkpoint before the end: examples/train/ddp.py while somebody takes its pods, one by one, and no step is lost."""
import copy
import json
import pathlib
import re
import tempfile

import suite
import test_live
from live_pods import Live, eventually
from suite import PACKAGES

DISRUPTED = {"status": {"conditions": [{
    "type": "DisruptionTarget", "status": "True", "reason": "PreemptionByScheduler", "message": "for one of a higher priority",
    "lastTransitionTime": "2026-01-01T00:00:00Z"}]}}


# Pods that lived short wait longer each time (5.4), which is not what this is about.
WITHOUT_DELAYS = ["--policy", "free_delay=100", "--policy", "free_delay_max=100"]


class Preemption(suite.Case):
    def test_no_step_is_lost(self):
        """[behaviour 5.15] [behaviour 13.1] A pod is deleted from outside: all ranks stop behind one step, and go on from it."""
        self.check_trials(1)

    @suite.long
    def test_no_step_is_lost_in_ten_trials(self):
        """[behaviour 5.15] Ten times, by deletion and by preemption, whichever rank it takes."""
        self.check_trials(10)

    def check_trials(self, trials):
        folder = tempfile.TemporaryDirectory(prefix="signalbox-preemption-")
        self.addCleanup(folder.cleanup)
        pathlib.Path(folder.name, "checkpoints").mkdir()
        live = Live(packages=PACKAGES, claims=folder.name, logs=True, options=WITHOUT_DELAYS)
        live.__enter__()
        self.addCleanup(live.__exit__)
        # A failure would end it; and no checkpoint is written but those before the end.
        one = copy.deepcopy(test_live.training("preempted", backoff=0))
        one["spec"]["runPolicy"]["progress"] = {}
        for role in one["spec"]["replicaSpecs"]:
            role["replicas"] = 1
            [container] = role["template"]["spec"]["containers"]
            container["args"] = [*test_live.TRAINING, "--checkpoint-every", "100000"]
        live.apply(test_live.CLAIM, one)
        self.train(live, one, 1, 0)
        for trial in range(1, trials + 1):
            taken = ("worker-0", "master-0")[trial % 2]
            name = live.name_of(one, taken)
            if trial % 3 == 0:
                live.kubectl("patch", "pod", name, "--subresource=status", "--type=merge", "-p", json.dumps(DISRUPTED))
            live.kubectl("delete", "pod", name, "--wait=false")
            resumed = live.wait_said(one, trial + 1, "master-0", r"goes on from step (\d+)")
            stops = [live.wait_said(one, trial, replica, r"stops behind step (\d+)") for replica in ("master-0", "worker-0")]
            self.assertEqual({resumed[1]}, {stop[1] for stop in stops}, f"{taken} was taken in trial {trial}")
            self.train(live, one, trial + 1, int(resumed[1]))
        status = live.wait_phase(one, "Running")
        self.assertEqual((status["attempt"], status["restarts"]["disruptions"]), (trials + 1, trials), live.explain(one))
        self.assertFalse(status.get("backoffCount"), status)
        # The checkpoint of each attempt is reported while its pods end.
        self.assertEqual((status["timeSeconds"]["lost"], status["progress"].get("checkpointStep")), (0, int(resumed[1])), live.explain(one))

    def train(self, live, one, attempt, begun):
        """Until so much has run that it would be seconds if it were lost."""
        def far_enough():
            steps = re.findall(r"step (\d+)/", live.said(one, attempt, "master-0"))
            return steps and int(steps[-1]) >= begun + 2 / test_live.STEP_TIME
        eventually(lambda: f"attempt {attempt} trains: {live.explain(one)}", far_enough)


if __name__ == "__main__":
    suite.main(kubectl=True)
