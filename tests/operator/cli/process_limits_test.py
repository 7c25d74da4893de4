# SPDX-License-Identifier: Apache-2.0
"""What pods that are processes run into: each has a clear state, and the server and the other pods go on.

With `--full` also what takes long: a gigabyte of logs, 4,096 processes, 200 pods at once.
"""
import os
import pathlib
import re
import shlex
import shutil
import sys
import tempfile
import unittest

import pods_of_dev
import program
from pods_of_dev import state_of, training, waits_for

sys.path.insert(0, os.path.join(program.source_dir(), "tests/support"))
import skips  # noqa: E402 (found by the line above)

# For `unshare`: mounts are of one process and its children.
OWN_MOUNTS = ["unshare", "--mount"] if os.geteuid() == 0 else ["unshare", "--map-root-user", "--mount"]


class Shared(unittest.TestCase):
    """One `dev` for all tests."""

    @classmethod
    def setUpClass(cls):
        images = tempfile.TemporaryDirectory()
        cls.addClassCleanup(images.cleanup)
        cls.image = os.path.join(images.name, "debian")
        os.mkdir(cls.image)
        cls.dev = pods_of_dev.PodsOfDev("--image", f"gone:*={cls.image}", "--pods-dir", os.path.join(images.name, "pods"))
        cls.addClassCleanup(cls.dev.stop)

    def others_go_on(self, name):
        self.dev.create(name, "echo well")
        self.assertEqual(self.dev.until_ended(name)["exitCode"], 0)
        self.assertEqual(self.dev.log_of(name), "well\n")

    def test_an_image_folder_that_went(self):
        os.rmdir(self.image)
        self.dev.create("imageless", "true", {"image": "gone:1"})
        pod = self.dev.until_pod("imageless", waits_for("CreateContainerError"))
        said = f"cannot open the image {self.image}: no such file or directory"
        self.assertEqual(state_of(pod)[1]["message"], said)
        self.assertIn(f"Failed: Error: {said}", self.dev.events("imageless"))
        self.others_go_on("beside-imageless")

    def test_a_job_waits_for_its_claim(self):
        mounts = {"volumeMounts": [{"name": "data", "mountPath": "/data"}]}
        claim = [{"name": "data", "persistentVolumeClaim": {"claimName": "data"}}]
        job = training("claiming", "echo 7 > /data/loss; cat /data/loss", container=mounts, volumes=claim)
        self.dev.apply(job)
        words = 'persistentvolumeclaim "data" not found (no --claims DIR names its folder)'
        waiting = lambda status: status.get("reason") == "Unschedulable"
        self.assertIn(words, str(self.dev.until_job(job, waiting)["conditions"]))
        told = program.run("explain", "claiming", "--kubeconfig", self.dev.kubeconfig)
        self.assertIn(words, " ".join(told.out.split()))
        waited = program.run("wait", "claiming", "--timeout", "0", "--kubeconfig", self.dev.kubeconfig)
        self.assertEqual(waited.code, 3, waited.out + waited.err)
        [said, left] = waited.err.splitlines()
        self.assertTrue(said.startswith("pytorchtrainingjob/claiming waits: pod claiming-"), said)
        self.assertIn("/claiming: Pending (Unschedulable): pod claiming-", left)
        for line in (said, left):
            self.assertIn(words, line)
        self.others_go_on("beside-claiming")
        self.dev.post("/api/v1/namespaces/default/persistentvolumeclaims", {
            "apiVersion": "v1", "kind": "PersistentVolumeClaim", "metadata": {"name": "data"},
            "spec": {"accessModes": ["ReadWriteOnce"], "resources": {"requests": {"storage": "1Gi"}}}})
        self.dev.until_job(job, lambda status: status.get("phase") == "Succeeded")
        kept = pathlib.Path(os.path.dirname(self.image), "pods/claims/default/data/loss")
        self.assertEqual(kept.read_text(), "7\n")

    def test_a_port_that_another_program_has(self):
        """On the node's network programs share ports, and the second one is told so."""
        listen = "import socket,time; s=socket.create_server(('', 7001)); print('bound', flush=True); time.sleep(1000)"
        run = {"command": ["python3", "-c", listen]}
        self.dev.create("port-first", "", run, hostNetwork=True)
        self.dev.until_pod("port-first", lambda pod: pod["status"].get("phase") == "Running")
        self.dev.open("GET", f"{pods_of_dev.PODS}/port-first/log?follow=true").readline()
        self.dev.create("port-second", "", run, hostNetwork=True)
        self.assertEqual(self.dev.until_ended("port-second")["exitCode"], 1)
        self.assertIn("Address already in use", self.dev.log_of("port-second"))
        # Each pod has all ports of its own network.
        self.dev.create("port-own", "", {"command": ["python3", "-c", listen.replace("time.sleep(1000)", "")]})
        self.assertEqual(self.dev.until_ended("port-own")["exitCode"], 0)

    def test_more_memory_than_allowed(self):
        self.dev.create("greedy", "exec perl -e '$x = q(x) x (200 << 20)'", {"resources": {"limits": {"memory": "64Mi"}}})
        ended = self.dev.until_ended("greedy")
        with open(self.dev.output, encoding="utf-8") as output:
            if "memory limits do not hold" in output.read():
                self.assertEqual(ended["exitCode"], 0)
                skips.note("operator_cli_process_limits_test", "no memory limits: this user may write to no control group")
                return
        self.assertEqual((ended["exitCode"], ended["reason"]), (137, "OOMKilled"))
        self.others_go_on("beside-greedy")

    def test_who_does_not_stop_is_killed(self):
        self.dev.create("deaf", "trap '' TERM; echo ready; while :; do sleep 1; done", terminationGracePeriodSeconds=1)
        self.dev.until_pod("deaf", lambda pod: pod["status"].get("phase") == "Running")
        self.dev.open("GET", f"{pods_of_dev.PODS}/deaf/log?follow=true").readline()
        self.dev.delete(f"{pods_of_dev.PODS}/deaf")
        self.dev.until_pod("deaf", lambda pod: pod is None)
        self.others_go_on("beside-deaf")


class Faults(unittest.TestCase):
    """What a user does to see a training survive: a scenario, an annotation of the template, or one of a pod that runs."""

    COUNTED = ("fail", "oom")
    FREE = ("evict", "preempt", "delete", "vanish")
    # The first run never ends by itself; the one after a fault does.
    SCRIPT = "if mkdir /control/$HOSTNAME; then exec sleep 1000; fi; echo again"

    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        control = pathlib.Path(folder.name, "control")
        control.mkdir()
        scenario = pathlib.Path(folder.name, "faults.yaml")
        scenario.write_text("rules:\n- match: {job: 'by-scenario', nth: '1'}\n  do: {evict-at: 200ms}\n")
        self.dev = pods_of_dev.PodsOfDev(
            "--bind", f"{control}:/control", "--scenario", scenario, "--pods-dir", os.path.join(folder.name, "pods"))
        self.addCleanup(self.dev.stop)

    def job(self, name, **more):
        return training(name, self.SCRIPT, terminationGracePeriodSeconds=1, **more)

    def survives(self, job, counted=0, disruptions=0):
        """The restarts cost what they should, and the second run has succeeded."""
        status = self.dev.until_job(job, lambda status: status.get("phase") in ("Succeeded", "Failed"))
        self.assertEqual((status["phase"], status["backoffCount"], status["restarts"].get("disruptions", 0)),
                         ("Succeeded", counted, disruptions), job["metadata"]["name"])

    def test_a_training_survives(self):
        annotated = {}
        for fault in (*self.COUNTED, *self.FREE):
            meta = {"annotations": {f"sim.signalbox.dev/{fault}-at": "200ms", "sim.signalbox.dev/fail-times": "1"}}
            annotated[fault] = self.job(fault, meta=meta)
        by_scenario, by_hand, lost = (self.job(name) for name in ("by-scenario", "by-hand", "lost"))
        for job in (*annotated.values(), by_scenario, by_hand, lost):
            self.dev.apply(job)
        for job, fault in ((by_hand, "evict"), (lost, "unknown")):
            pod = self.first_pod(job)
            self.dev.patch(pod, {"metadata": {"annotations": {f"sim.signalbox.dev/{fault}-at": "0"}}})
        # A node that is lost says nothing any more; as in a cluster, somebody gives its pod up.
        self.dev.until_job(lost, lambda status: status.get("phase") == "Unknown")
        self.dev.delete(pod, gracePeriodSeconds=0)
        for fault, job in annotated.items():
            self.survives(job, counted=int(fault in self.COUNTED), disruptions=int(fault in self.FREE))
        for job in (by_scenario, by_hand, lost):
            self.survives(job, disruptions=1)

    def first_pod(self, job):
        status = self.dev.until_job(job, lambda status: status.get("phase") == "Running")
        return f"{pods_of_dev.PODS}/{status['tasks'][0]['replicas'][0]['name']}"


class Long(unittest.TestCase):
    """With `--full` only."""

    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.pods = pathlib.Path(folder.name, "pods")
        self.dev = pods_of_dev.PodsOfDev("--pods-dir", self.pods)
        self.addCleanup(self.dev.stop)

    def resident(self):
        """Megabytes of the program."""
        status = pathlib.Path(f"/proc/{self.dev.child.pid}/status").read_text()
        return int(re.search(r"VmRSS:\s+(\d+) kB", status)[1]) / 1024

    def test_a_gigabyte_of_logs(self):
        before = self.resident()
        self.dev.create("chatty", "yes $(printf %0999d 7) | head -n 1073742; echo last")
        self.dev.create("beside", "echo well")
        self.assertEqual(self.dev.until_ended("beside")["exitCode"], 0)
        self.assertEqual(self.dev.until_ended("chatty")["exitCode"], 0)
        self.assertEqual(self.dev.log_of("chatty", "?tailLines=1"), "last\n")
        files = [path for path in self.pods.glob("node-*/logs/*chatty*/c/*") if path.is_file()]
        self.assertEqual(len(files), 5)
        self.assertLess(sum(path.stat().st_size for path in files), 51 << 20)
        if not program.sanitized():
            self.assertLess(self.resident() - before, 100)

    def test_a_pod_that_forks_without_end(self):
        self.dev.create("forks", "i=0; while sleep 1000 & do i=$((i+1)); echo $i; done")
        ended = self.dev.until_ended("forks")
        self.assertNotEqual(ended["exitCode"], 0)
        last = self.dev.log_of("forks").splitlines()
        self.assertIn("Cannot fork", last[-1])
        self.assertLessEqual(int(last[-2]), 4096)
        self.dev.create("beside", "echo well")
        self.assertEqual(self.dev.until_ended("beside")["exitCode"], 0)

    def test_two_hundred_pods_at_once(self):
        names = [f"pod-{number}" for number in range(200)]
        for name in names:
            self.dev.create(name, "trap 'exit 0' TERM; echo $HOSTNAME; sleep 1000 & wait")
        for name in names:
            self.dev.until_pod(name, lambda pod: pod["status"].get("phase") == "Running")
        for name in names:
            with self.dev.open("GET", f"{pods_of_dev.PODS}/{name}/log?follow=true") as log:
                self.assertEqual(log.readline().decode(), f"{name}\n")
        self.dev.delete(pods_of_dev.PODS)
        for name in names:
            self.dev.until_pod(name, lambda pod: pod is None)


class OwnMachine(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = pathlib.Path(folder.name)

    def dev(self, setup, *arguments, inside=""):
        """After the shell's `setup`, with mounts of its own; `inside` that root folder."""
        become = f'exec chroot {shlex.quote(inside)} "$0" "$@"' if inside else 'exec "$0" "$@"'
        started = pods_of_dev.PodsOfDev(*arguments, prefix=[*OWN_MOUNTS, "sh", "-ec", f"{setup}\n{become}"])
        self.addCleanup(started.stop)
        return started

    def test_a_full_disk(self):
        pods = self.folder / "pods"
        pods.mkdir()
        dev = self.dev(f"mount -t tmpfs -o size=8m,mode=700 none {shlex.quote(str(pods))}", "--pods-dir", pods)
        dev.create("filler", "head -c 100000000 /dev/zero > /var/fill; echo filled; exec sleep 1000")
        # Its log is on the same disk.
        dev.until_event("filler", "lines of the log of container c are lost: No space left on device")
        dev.create("homeless", "echo in")
        dev.until_event("homeless", "no space left on device")
        self.assertEqual(dev.get(f"{pods_of_dev.PODS}/homeless")["status"]["phase"], "Pending")
        # Room is made, and the pod starts.
        dev.delete(f"{pods_of_dev.PODS}/filler")
        self.assertEqual(dev.until_ended("homeless")["exitCode"], 0)
        self.assertEqual(dev.log_of("homeless"), "in\n")

    @unittest.skipUnless(os.geteuid() == 0, "an overlay over / is for root alone")
    def test_nothing_of_the_machine_is_written(self):
        """The machine's files are those of an overlay here, and what is written to them would lie in its upper folder."""
        for name in ("disk", "bound"):
            (self.folder / name).mkdir()
        disk = self.folder / "disk"
        setup = f"""
            folder={shlex.quote(str(self.folder))}
            disk="$folder"/disk root="$folder"/disk/root
            mount -t tmpfs none "$disk"
            mkdir "$disk"/upper "$disk"/work "$root"
            mkdir -m 700 "$disk"/pods
            mount -t overlay -o lowerdir=/,upperdir="$disk"/upper,workdir="$disk"/work none "$root"
            for each in proc sys dev; do mount --rbind /$each "$root"/$each; done
            mount --bind "$disk"/pods "$root"/mnt
            mkdir -p "$root$folder"
            mount --rbind "$folder" "$root$folder"
            mount --bind "$XDG_RUNTIME_DIR" "$root$XDG_RUNTIME_DIR"
        """
        dev = self.dev(setup, "--pods-dir", "/mnt", "--bind", f"{self.folder}/bound:/bound", inside=f"{disk}/root")
        write = "for folder in / /etc /usr/bin /var/lib /root /tmp /home /run /bound; do echo x > $folder/written; done; "
        mounts = {"volumeMounts": [{"name": "v", "mountPath": "/v/w"}], "securityContext": {"runAsUser": 0}}
        dev.create("writer", write + "cat /etc/written /v/w/..data/a; rm -rf /usr/share/doc/bash", mounts,
                   volumes=[{"name": "v", "downwardAPI": {"items": [{"path": "a", "fieldRef": {"fieldPath": "metadata.name"}}]}}])
        ended = dev.until_ended("writer")
        self.assertEqual((ended["exitCode"], dev.log_of("writer")), (0, "x\nwriter\n"))
        upper = pathlib.Path(f"/proc/{dev.child.pid}/root", str(disk).lstrip("/"), "upper")
        written = [str(path.relative_to(upper)) for path in upper.rglob("*") if not path.is_dir()]
        self.assertEqual((self.folder / "bound/written").read_text(), "x\n")
        self.assertEqual(written, [])
        self.assertTrue(os.path.isdir("/usr/share/doc/bash"))


if __name__ == "__main__":
    if shutil.which("unshare") is None:
        skips.skip_suite("operator_cli_process_limits_test", "there is no unshare")
    full = "--full" in sys.argv
    chosen = [name for name in sys.argv[2:] if name != "--full"]
    unittest.main(argv=[sys.argv[0], *(chosen or (["Long"] if full else ["Shared", "Faults", "OwnMachine"]))])
