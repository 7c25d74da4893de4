# SPDX-License-Identifier: Apache-2.0
"""What people do to a job by hand, with kubectl, while its real launcher runs: debug, delete, scale, and what is left of it."""
import json
import re
import tempfile
import threading
import uuid
from pathlib import Path

import suite
from jobs import IMAGE, PROBE, colossalai, deepspeed, environment_of, job, plain, template, torchrun
from live_pods import Live, eventually, processes_with
from suite import PACKAGES

CLAIM = {
    "apiVersion": "v1", "kind": "PersistentVolumeClaim", "metadata": {"name": "checkpoints"},
    "spec": {"accessModes": ["ReadWriteMany"], "resources": {"requests": {"storage": "1Gi"}}},
}
# Slow enough that a test is in the middle of it, whatever the machine is busy with; it ends by the test.
STEP_TIME = 0.02
TRAINING = ["/probe/ddp.py", "--steps", "100000", "--step-time", str(STEP_TIME), "--print-every", "5",
            "--checkpoint", "/checkpoints/model.pt", "--checkpoint-every", "5"]


def in_debug(one, *types):
    one["spec"]["runMode"] = {"debug": {"enabled": True, "replicaSpecs": [{"type": each} for each in types]}}
    return one


def training(name, torchrun_config=None, backoff=1):
    """examples/train/ddp.py with checkpoints on a claim: a master and two workers, or as torchrun wants it."""
    container = {"volumeMounts": [{"name": "checkpoints", "mountPath": "/checkpoints"}]}
    pod = {"volumes": [{"name": "checkpoints", "persistentVolumeClaim": {"claimName": "checkpoints"}}]}
    types = [("node", 2)] if torchrun_config else [("master", 1), ("worker", 2)]
    command = {"arguments": TRAINING} if torchrun_config else {"command": ["python3"], "arguments": TRAINING}
    return job(
        "PyTorchTrainingJob", name, runPolicy={"backoffLimit": backoff},
        **({"torchrunConfig": {"enabled": True, **torchrun_config}} if torchrun_config else {}),
        replicaSpecs=[
            {"type": kind, "replicas": count, "template": template("pytorch", container=container, pod=pod, **command)}
            for kind, count in types
        ])


class Anywhere:
    """What needs no kubelet behind the API server: for tests whose live() gives Jobs of some kind."""

    @suite.long
    def test_elastic_join_and_leave(self):
        """[behaviour 7.3] [launchers 3.5] Elastic: a third node joins, one leaves; pods that stay are the same, and the job succeeds."""
        live = self.live()
        one = torchrun(
            "elastic", [("node", 2)], env=environment_of({"PROBE_HOLD": "/probe/go"}),
            elastic={"enabled": True, "minReplicas": 1, "maxReplicas": 3, "expectedReplicas": 2})
        live.apply(one)
        self.check_world(live.wait_ranks(2), 2)
        first = live.pods(one)["node-0"]["metadata"]["uid"]

        def scale(count):
            live.kubectl("patch", one["kind"], "elastic", "--type=merge", "-p",
                         json.dumps({"spec": {"elastic": {"expectedReplicas": count}}}))

        for size in (3, 2):
            scale(size)
            self.check_world(live.wait_ranks(size), size)
            self.assertEqual(live.pods(one)["node-0"]["metadata"]["uid"], first)
        eventually("node-2 is gone", lambda: sorted(live.pods(one)) == ["node-0", "node-1"])
        (live.folder.probes / "go").touch()
        status = live.wait_phase(one, "Succeeded", "Failed")
        self.assertEqual(status["phase"], "Succeeded", live.explain(one))
        self.assertFalse(status.get("backoffCount"), status)

    def check_nothing_left(self, live, one, mark):
        """The job has failed, and none of its ranks runs any more, in whatever pod."""
        status = live.wait_phase(one, "Succeeded", "Failed")
        self.assertEqual(status["phase"], "Failed")
        eventually(lambda: f"ranks are left: {processes_with(mark)}", lambda: not processes_with(mark))

    @suite.long
    def test_peers_are_ended(self):
        """[behaviour 5.13] A rank dies while another one waits for no rank: its pod is ended, and no process of the job is left."""
        # An agent of torch 1.13 whose rank has failed waits 300 s for the others before it ends. Launchers over ssh wait for
        # every rank forever.
        for name, make in (("plain", plain), *([("torchrun", torchrun)] if PACKAGES == "current" else [])):
            with self.subTest(name):
                live = self.live()
                mark = f"--mark={uuid.uuid4()}"
                env = environment_of({"PROBE_FAIL_RANK": "1", "PROBE_FAIL_CODE": "7", "PROBE_WAIT_RANK": "0"})
                one = make(name, [("node", 2)], [mark], env)
                live.apply(one)
                self.check_nothing_left(live, one, mark)


class LiveJobs(Anywhere, suite.Case):
    def live(self, **options):
        """A new `dev`, until the test ends."""
        live = Live(packages=PACKAGES, image_env=IMAGE, **options)
        live.__enter__()
        self.addCleanup(live.__exit__)
        return live

    def live_with_claim(self):
        folder = tempfile.TemporaryDirectory(prefix="signalbox-claims-")
        self.addCleanup(folder.cleanup)
        Path(folder.name, "checkpoints").mkdir()
        live = self.live(claims=folder.name)
        live.apply(CLAIM)
        return live

    def execute(self, live, one, replica, *command):
        """Runs a command in a pod, as a person would in `kubectl exec`; it has to succeed."""
        done = live.execute(live.name_of(one, replica), *command, check=False)
        self.assertEqual(done.returncode, 0, done.stdout + done.stderr)
        return done.stdout

    def test_debug_torchrun(self):
        """[behaviour 3.10] Debug: pods idle, and torchrun started by hand in each of them trains."""
        live = self.live()
        one = in_debug(torchrun("debugged", [("node", 2)]), "node")
        live.apply(one)
        live.wait_running(one, 2)
        line = ("exec torchrun --nnodes=2 --nproc_per_node=2 --rdzv_backend=c10d --rdzv_id=hand"
                " --rdzv_endpoint=$MASTER_ADDR:29400 " + PROBE + " 'x y'")
        hands = [
            threading.Thread(target=self.execute, args=(live, one, f"node-{index}", "sh", "-c", line)) for index in range(2)]
        for hand in hands:
            hand.start()
        for hand in hands:
            hand.join()
        ranks = live.wait_ranks(4)
        self.check_world(ranks, 4)
        self.assertEqual({each["pod"].rsplit("-", 2)[1] for each in ranks.values()}, {"node"})
        self.assertEqual(len({each["pod"] for each in ranks.values()}), 2)
        self.assertEqual(ranks[3]["arguments"], ["x y"])

    @suite.long
    def test_debug_deepspeed(self):
        """[behaviour 3.10] Debug: `deepspeed script` by hand on worker-0 finds the hostfile and reaches the other worker."""
        live = self.live()
        one = in_debug(deepspeed("debugged"), "worker")
        live.apply(one)
        live.wait_running(one, 2)
        self.execute(live, one, "worker-0", "deepspeed", PROBE, "x y")
        ranks = live.wait_ranks(4)
        self.check_world(ranks, 4)
        self.assertEqual(len({each["pod"] for each in ranks.values()}), 2)
        self.assertEqual(ranks[3]["arguments"][-1], "x y")

    @suite.long
    def test_debug_colossalai(self):
        """[behaviour 3.10] Debug: `colossalai run` by hand on the launcher."""
        live = self.live()
        one = in_debug(colossalai("debugged"), "launcher", "worker")
        live.apply(one)
        live.wait_running(one, 3)
        self.execute(live, one, "launcher-0", "colossalai", "run", "--hostfile", "/signalbox/config/hostfile",
                     "--nproc_per_node", "2", PROBE)
        ranks = live.wait_ranks(4)
        self.check_world(ranks, 4)
        self.assertEqual(len({each["pod"] for each in ranks.values()}), 2)

    def test_worker_deleted_in_training(self):
        """[behaviour 5.6] A worker deleted in the middle: the job restarts, and the loss goes on from the checkpoint."""
        live = self.live_with_claim()
        one = training("deleted", backoff=0)  # a deletion by hand costs none of it
        live.apply(one)
        live.wait_log(one, "master-0", r"step 20/")
        before = live.pods(one)
        first = live.kubectl("logs", before["master-0"]["metadata"]["name"]).stdout
        live.kubectl("delete", "pod", before["worker-1"]["metadata"]["name"])
        said = live.wait_log(one, "master-0", r"goes on from step (\d+) (?s:.*)step \d+/\S+ loss (\S+)")
        self.assertGreaterEqual(int(said[1]), 20)
        begin = float(re.search(r"step 1/\S+ loss (\S+)", first)[1])
        self.assertLess(float(said[2]), begin)
        self.assertEqual(live.status(one)["phase"], "Running")
        self.assertNotEqual(live.pods(one)["master-0"]["metadata"]["uid"], before["master-0"]["metadata"]["uid"])

    @suite.long
    def test_pause_and_resume(self):
        """[behaviour 6.1] [behaviour 3.11] A pause in the middle ends all ranks; a resume goes on from the checkpoint, as it is told."""
        live = self.live_with_claim()
        one = deepspeed("paused", slots=1, container={"volumeMounts": [{"name": "checkpoints", "mountPath": "/checkpoints"}]},
                        config={"run": {"python": TRAINING}, "localRank": False})
        one["spec"]["worker"]["template"]["spec"]["volumes"] = [
            {"name": "checkpoints", "persistentVolumeClaim": {"claimName": "checkpoints"}}]
        one["spec"]["runMode"] = {"pause": {"resumeSpecs": [{"type": "worker", "args": [*TRAINING[1:], "--print-every", "7"]}]}}
        live.apply(one)
        live.wait_log(one, "worker-0", r"step 20/")

        def pause(enabled):
            live.kubectl("patch", one["kind"], "paused", "--type=merge", "-p",
                         json.dumps({"spec": {"runMode": {"pause": {"enabled": enabled}}}}))

        pause(True)
        live.wait_phase(one, "Paused")
        eventually("pods are gone", lambda: not live.pods(one))
        pause(False)
        said = live.wait_log(one, "worker-0", r"goes on from step (\d+) (?s:.*)step (\d+)/")
        self.assertGreaterEqual(int(said[1]), 20)
        self.assertEqual(int(said[2]) % 7, 0, said[0])

    @suite.long
    def test_node_replaced_under_torchrun(self):
        """[behaviour 5.6] [launchers 3.5] c10d: a node that is killed is replaced alone, and joins the ones that go on."""
        live = self.live_with_claim()
        one = training("replaced", {"maxRestarts": 3})
        live.apply(one)
        live.wait_log(one, "node-0", r"step 20/")
        before = live.pods(one)
        live.kubectl("delete", "pod", before["node-1"]["metadata"]["name"], "--grace-period=0", "--force")
        live.wait_log(one, "node-0", r"goes on from step \d+ (?s:.*)step \d+/\S+ loss")
        after = live.pods(one)
        self.assertEqual(after["node-0"]["metadata"]["uid"], before["node-0"]["metadata"]["uid"])
        self.assertNotEqual(after["node-1"]["metadata"]["uid"], before["node-1"]["metadata"]["uid"])

    @suite.long
    def test_launcher_killed_hard(self):
        """[launchers 2.9] [launchers 4.6] The launcher is killed: ranks on other pods do not outlive the job."""
        for name in ("deepspeed", "colossalai"):
            with self.subTest(name):
                live = self.live()
                mark = f"--mark={uuid.uuid4()}"
                env = environment_of({"PROBE_HOLD": "/probe/never"})
                one = (deepspeed(name, env=env, config={"run": {"python": [PROBE, mark]}}) if name == "deepspeed"
                       else colossalai(name, env=env, arguments=[mark]))
                live.apply(one)
                self.check_world(live.wait_ranks(4), 4)
                # All processes of the launcher's pod but the first, which is the one of ours.
                pod = "worker-0" if name == "deepspeed" else "launcher-0"
                live.kubectl("exec", live.name_of(one, pod), "--", "sh", "-c", "kill -KILL -1", check=False)
                self.check_nothing_left(live, one, mark)


if __name__ == "__main__":
    suite.main(kubectl=True)
