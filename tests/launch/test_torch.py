# SPDX-License-Identifier: Apache-2.0
"""Plain data-parallel jobs and torchrun, with pods that are processes."""
import pathlib
import re
import subprocess
import tempfile
import unittest

import local_pods
import suite
from jobs import ARGUMENTS, PROBE, VALUES, environment_of, job, plain, template, torchrun
from local_pods import ROOT, run
from suite import PACKAGES


class Torch(suite.Case):
    def test_plain(self):
        """[behaviour 3.5] Ranks, addresses, arguments and variables of a plain job reach its processes."""
        done = self.run_job(plain(
            "plain", [("master", 1), ("worker", 2)], [word.replace("$", "$$") for word in ARGUMENTS], environment_of(VALUES)))
        self.check_ranks(done, 3)
        self.assertTrue(done.ranks[0]["pod"].endswith("-master-0"))
        for each in done.ranks.values():
            self.assertEqual(each["arguments"], ARGUMENTS)
            self.assertEqual({name: each["environment"].get(name) for name in VALUES}, VALUES)

    def test_c10d_rank_0(self):
        """[behaviour 3.12] Under c10d rank 0 is on the deciding pod, whatever the types are called."""
        words = [word.replace("$", "$$") for word in ARGUMENTS]
        done = self.run_job(torchrun("odd", [("worker", 1), ("helper", 2)], words, environment_of(VALUES), processes="2"))
        self.check_ranks(done, 6)
        for each in done.ranks.values():
            self.assertEqual(each["arguments"], ARGUMENTS)
            self.assertEqual({name: each["environment"].get(name) for name in VALUES}, VALUES)
        if PACKAGES == "current":
            self.assertTrue(done.ranks[0]["pod"].endswith("-worker-0"), done.ranks[0]["pod"])
        else:  # torch before 2.0 goes by host names: a warning says so
            self.assertTrue(done.ranks[0]["pod"].endswith("-helper-0"), done.ranks[0]["pod"])
            self.assertIn("With torch before 2.0 rank 0", done.output)

    def test_static(self):
        """[launchers 9.2] torchrun with fixed ranks; its arguments are words, not a shell line."""
        done = self.run_job(torchrun(
            "fixed", [("node", 2)], arguments=[word.replace("$", "$$") for word in ARGUMENTS], rdzvBackend="static"))
        self.check_ranks(done, 2)
        self.assertEqual(done.ranks[1]["arguments"], ARGUMENTS)
        self.assertTrue(done.ranks[1]["pod"].endswith("-node-1"))

    @suite.long
    def test_elastic(self):
        """[launchers 9.2] An elastic job begins with what is expected."""
        done = self.run_job(torchrun(
            "elastic", [("node", 2)], elastic={"enabled": True, "minReplicas": 1, "maxReplicas": 2, "expectedReplicas": 2}))
        self.check_ranks(done, 2)

    def test_error_is_told(self):
        """[behaviour 3.9] The error of a rank, not what followed from it, is the reason of the job."""
        env = environment_of({"PROBE_FAIL_RANK": "1"})
        jobs = [plain("error", [("node", 2)], env=env)]
        if PACKAGES == "current":  # agents of 1.13 look at their ranks every 5 s, so that the order of pods is chance
            jobs.append(torchrun("agents", [("node", 2)], env=env))
        for one in jobs:
            done = self.run_job(one)
            self.assertEqual(done.code, 1, done.output)
            self.assertRegex(done.output, r"-node-1, container pytorch: (rank 1: )?ValueError: loss is nan at step 7")
            if one is jobs[0]:  # of an agent the kubelet's 2 KB may begin behind it
                self.assertRegex(done.output, r"at step 7 \(\S*probe\.py:60, in <module>\)")
            self.assertNotIn("Connection closed by peer", done.output)

    @suite.long
    def test_restart_of_a_rank(self):
        """[behaviour 5.6] A rank that fails once is started again by torchrun; no pod is replaced."""
        done = self.run_job(torchrun(
            "again", [("node", 2)], maxRestarts=3,
            env=environment_of({"PROBE_FAIL_RANK": "1", "PROBE_FAIL_CODE": "7", "PROBE_ONCE": "/probe/failed"})))
        self.check_ranks(done, 2)
        self.assertEqual(max(each["run"] for each in done.ranks.values()), 1)
        self.assertRegex(done.output, r"again +PyTorchTrainingJob +Succeeded +[12]/2 +0 ")

    @suite.long
    def test_exit_code(self):
        """[api restartPolicy] A plain rank's own code is that of its pod."""
        done = self.run_job(plain(
            "code", [("node", 2)], env=environment_of({"PROBE_FAIL_RANK": "1", "PROBE_FAIL_CODE": "7"})))
        self.assertEqual(done.code, 1, done.output)
        self.assertIn("-node-1, container pytorch exited with 7", done.output)

    @unittest.skipUnless(PACKAGES == "debian", "it is Debian's")
    def test_torchrun_of_debian(self):
        """The machine's own, without the repair in our environment: as a program and as a module."""
        for name, command in (("program", ["/usr/bin/torchrun"]), ("module", ["/usr/bin/python3", "-m", "torch.distributed.run"])):
            one = plain(name, [("worker", 1)])
            one["spec"]["replicaSpecs"][0]["template"]["spec"]["containers"][0].update(
                command=command, args=["--nproc_per_node=2", PROBE])
            self.check_ranks(self.run_job(one), 2)

    @suite.long
    def test_sidecar_first(self):
        """[api 1.13] A sidecar that is the first container does not decide, and its failure is told."""
        pod = template("pytorch", command=["python3", PROBE])
        pod["spec"]["containers"].insert(0, {"name": "side", "image": "machine", "command": ["sh", "-c", "exit 3"]})
        done = self.run_job(job("PyTorchTrainingJob", "sidecar", replicaSpecs=[
            {"type": "node", "replicas": 2, "template": pod}]))
        self.check_ranks(done, 2)
        self.assertIn("ContainerFailed", done.output)

    def test_training_resumes(self):
        """[behaviour 5.6] examples/train: a worker crashes, and the loss goes on from the checkpoint."""
        done = run_examples("restart.yaml")
        self.assertEqual(done.code, 0, done.output)
        self.assertRegex(done.output, r"train-restart +PyTorchTrainingJob +Succeeded +[123]/3 +1 ")
        self.assertIn("crash of rank 2 at step 45", done.output)

    def test_a_program_without_a_manifest(self):
        """`signalbox dev ddp.py --nodes 2 --nproc 2` trains, and ends with the job."""
        self.check_program([], 0, "training is done")

    @suite.long
    def test_a_program_without_a_manifest_that_fails(self):
        """Its error is told, and the command ends with 1."""
        self.check_program(["--crash-rank", "3", "--crash-step", "5"], 1, "RuntimeError: crash of rank 3 at step 5")

    def check_program(self, more, code, line):
        with tempfile.TemporaryDirectory(prefix="signalbox-launch-") as folder:
            for name in ("ddp.py", "signalbox_progress.py"):
                pathlib.Path(folder, name).write_text((ROOT / "examples" / "train" / name).read_text())
            done = subprocess.run(
                [local_pods.BINARY, "dev", "ddp.py", "--nodes", "2", "--nproc", "2", "--offline", "--venv",
                 local_pods.launchers(PACKAGES), "--kubeconfig", f"{folder}/kubeconfig", "--", "--steps", "20", "--checkpoint", "a.pt",
                 *more], cwd=folder, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, check=False, errors="replace")
            self.assertEqual(done.returncode, code, done.stdout)
            self.assertIn(line, done.stdout)
            self.assertTrue(pathlib.Path(folder, "a.pt").exists() or code)

    def test_script_is_in_its_config_map(self):
        """The scripts of examples/train are the texts in script.yaml."""
        folder = ROOT / "examples" / "train"
        _, script, helper = re.split(r"(?m)^  (?:ddp|signalbox_progress)\.py: \|\n", (folder / "script.yaml").read_text())
        for name, text in (("ddp.py", script), ("signalbox_progress.py", helper)):
            lines = text.splitlines(True)
            self.assertEqual("".join(line[4:] if line.strip() else line for line in lines), (folder / name).read_text())


def run_examples(*names):
    """Manifests of examples/train, with the claim that they name."""
    with tempfile.TemporaryDirectory(prefix="signalbox-train-") as folder:
        pathlib.Path(folder, "train-checkpoints").mkdir()
        files = [ROOT / "examples" / "train" / name for name in ("script.yaml", *names)]
        return run(files=files, packages=PACKAGES, claims=folder)


if __name__ == "__main__":
    suite.main()
