# SPDX-License-Identifier: Apache-2.0
"""[behaviour 13.7] [behaviour 13.8] [behaviour 13.10] [behaviour 13.11] Scripts that report, in pods that are processes, with the
helper of examples/train; and the receiver of `signalbox run`."""
import json
import os
import re
import signal
import ssl
import subprocess
import sys
import tempfile
import textwrap
import unittest
import urllib.error
import urllib.request

import jobs
import pods_of_dev
import program

HELPER = os.path.join(program.source_dir(), "examples/train")
HEAD = f"import os, signal, sys, time\nsys.path.insert(0, {HELPER!r})\nfrom signalbox_progress import Progress\n"

# Each rank waits for all others in each step, as in a collective; what lies in the folder tells how far they are.
LOCKSTEP = """
rank, world = int(os.environ["RANK"]), int(os.environ["WORLD_SIZE"])
progress = Progress(total_steps=20, every=0.05)
def at(other):
    try:
        return int(open(f"{FOLDER}/{other}").read() or 0)
    except FileNotFoundError:
        return 0
first = not os.path.exists(f"{FOLDER}/stopped")
start = 0 if first else 5  # as from a checkpoint
for step in range(start + 1, 21):
    with open(f"{FOLDER}/{rank}.new", "w") as file:
        file.write(str(step))
    os.replace(f"{FOLDER}/{rank}.new", f"{FOLDER}/{rank}")
    progress.step(step, loss=1 / step)
    if rank == 0 and step == 5:
        progress.checkpoint(step)
    if first and rank == 1 and step == 7:
        time.sleep(0.5)  # so that it has been sent
        open(f"{FOLDER}/stopped", "w").close()
        os.kill(os.getpid(), signal.SIGSTOP)
    while any(at(other) < step for other in range(world)):
        time.sleep(0.01)
    time.sleep(0.05)
time.sleep(1)  # what was sent last is looked at before the job has ended
"""


def job(name, script, replicas, **policy):
    """Plain processes; sh in front, since process 1 cannot stop itself."""
    command = ["sh", "-c", 'python3 -c "$0"; exit $?', HEAD + textwrap.dedent(script)]
    template = {"spec": {"terminationGracePeriodSeconds": 1, "containers": [
        {"name": "pytorch", "image": "machine", "command": command}]}}
    return {"apiVersion": "batch.tensorstack.dev/v1beta1", "kind": "PyTorchTrainingJob", "metadata": {"name": name}, "spec": {
        "runPolicy": policy, "replicaSpecs": [{"type": "worker", "replicas": replicas, "template": template}]}}


class Reports(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.folder = tempfile.TemporaryDirectory()
        cls.addClassCleanup(cls.folder.cleanup)
        os.chmod(cls.folder.name, 0o777)
        cls.dev = pods_of_dev.PodsOfDev("--bind", f"{cls.folder.name}:/shared")
        cls.addClassCleanup(cls.dev.stop)

    def run_job(self, made, over=lambda status: status.get("phase") in ("Succeeded", "Failed")):
        self.dev.apply(made)
        return self.dev.until_job(made, over)

    def test_a_script_that_reports_shows_its_progress(self):
        made = job("shown", """
            progress = Progress(total_steps=40, every=0.1)
            for step in range(1, 41):
                progress.step(step, loss=2 / step)
                time.sleep(0.05)
            progress.checkpoint(40)
            progress.send()
            time.sleep(2)
            """, 1, progress={})
        status = self.run_job(made)
        progress = status["progress"]
        self.assertEqual(status["phase"], "Succeeded", status)
        self.assertEqual((progress["currentStep"], progress["totalSteps"], progress["progressPercentage"]), (40, 40, 100))
        self.assertEqual(progress["checkpointStep"], 40)
        self.assertEqual(progress["metrics"], [{"name": "loss", "value": "0.05"}])
        self.assertEqual(progress["attempt"], 1)
        with open(self.dev.output, encoding="utf-8") as output:
            shown = output.read()
        self.assertRegex(shown, r"shown .*training: step \d+ of 40 \(\d+ %\).*loss 0?\.?\d")
        self.assertIn("training: step 40 of 40 (100 %), loss 0.05", shown)

    def test_a_job_that_does_not_ask_has_nothing_of_it(self):
        made = job("unasked", """
            assert not [name for name in os.environ if name.startswith("KUBEFLOW")], os.environ
            assert not os.path.exists("/var/run/signalbox")
            Progress(total_steps=1).step(1)
            """, 1)
        status = self.run_job(made)
        self.assertEqual(status["phase"], "Succeeded", status)
        self.assertNotIn("progress", status)

    def test_a_rank_that_is_stopped_is_named_and_the_job_starts_again(self):
        script = "FOLDER = '/shared'\n" + LOCKSTEP
        made = job("stopped", script, 2, backoffLimit=2, progress={"stallAfterSeconds": 4, "stallAction": "Restart"})
        status = self.run_job(made)
        self.assertEqual(status["phase"], "Succeeded", status)
        self.assertEqual((status["backoffCount"], status["attempt"]), (1, 2))
        last = status["restarts"]["last"]
        self.assertEqual((last["cause"], last["scope"]), ("Stalled", "Job"))
        self.assertRegex(last["message"], r"no progress for 4 s: step \d+ of 20; rank 1 stood still first, at step 7")
        self.assertEqual(status["progress"]["currentStep"], 20)
        [ended] = [entry for entry in status["attemptHistory"] if entry["attempt"] == 1]
        self.assertEqual(ended["reason"], "Stalled")
        self.assertGreaterEqual(ended["step"], 7)

    def test_what_is_no_report_of_the_pod_gets_nowhere(self):
        """From inside of a pod: other jobs, other tokens, large bodies."""
        made = job("hostile", """
            import json, urllib.error, urllib.request
            url = os.environ["KUBEFLOW_TRAINER_SERVER_URL"]
            token = open(os.environ["KUBEFLOW_TRAINER_SERVER_TOKEN"]).read()
            body = json.dumps({"trainerStatus": {"metrics": [{"name": "current_step", "value": "99"}]}})
            def post(url, token=token, body=body):
                headers = {"Authorization": "Bearer " + token} if token else {}
                try:
                    return urllib.request.urlopen(urllib.request.Request(url, body.encode(), headers), timeout=20).status
                except urllib.error.HTTPError as error:
                    return error.code
            said = [post(url, token=None), post(url + "x"), post(url, token=token[:-4] + "AAAA"), post(url, body="x" * 70000),
                    post(url.replace("/default/", "/other/")), post(url.rsplit("/", 3)[0])]
            print("SAID", said, flush=True)
            time.sleep(1)
            """, 1, progress={})
        status = self.run_job(made)
        self.assertEqual(status["phase"], "Succeeded", status)
        self.assertNotIn("progress", status)
        [pod] = [pod for pod in self.dev.get(pods_of_dev.PODS)["items"] if "hostile" in pod["metadata"]["name"]]
        self.assertIn("SAID [401, 200, 200, 413, 200, 404]", self.dev.log_of(pod["metadata"]["name"]))


class Example(unittest.TestCase):
    FILE = os.path.join(HELPER, "progress.yaml")

    def test_it_has_the_helper_as_it_is(self):
        with open(self.FILE, encoding="utf-8") as file:
            text = file.read().partition("  signalbox_progress.py: |\n")[2].partition("  train.py: |\n")[0]
        with open(os.path.join(HELPER, "signalbox_progress.py"), encoding="utf-8") as file:
            self.assertEqual(textwrap.dedent(text), file.read())

    def test_it_reports_to_its_end(self):
        with tempfile.TemporaryDirectory() as folder:
            done = program.run("dev", "--pods", "process", "--offline", "--until-finished", "--kubeconfig",
                               os.path.join(folder, "kubeconfig"), "--pods-dir", os.path.join(folder, "pods"), "--apply", self.FILE)
        self.assertEqual(done.code, 0, done.out + done.err)
        self.assertRegex(done.out, r"training: step 100 of 100 \(100 %\).*loss 0\.02")


class Receiver(unittest.TestCase):
    """`signalbox run --progress-bind-address`, by TLS."""

    def test_it_is_reached_by_tls_alone(self):
        with tempfile.TemporaryDirectory() as folder, program.Dev() as dev:
            key, certificate = os.path.join(folder, "key"), os.path.join(folder, "certificate")
            subprocess.run(["openssl", "req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256", "-nodes", "-days", "2",
                            "-subj", "/CN=x", "-addext", "subjectAltName=IP:127.0.0.1", "-keyout", key, "-out", certificate],
                           check=True, capture_output=True)
            child = subprocess.Popen(
                [program.binary(), "run", "--kubeconfig", dev.kubeconfig, "--metrics-bind-address", "127.0.0.1:0",
                 "--progress-bind-address", "127.0.0.1:0", "--progress-tls-cert-file", certificate,
                 "--progress-tls-key-file", key, "--progress-url", "https://127.0.0.1:8444/"],
                stderr=subprocess.PIPE, text=True)
            address, lines = {}, []
            while len(address) < 2:
                lines.append(child.stderr.readline())
                self.assertTrue(lines[-1], lines)
                found = re.search(r"(receiving reports of progress|serving metrics and health): address=(\S+)", lines[-1])
                if found:
                    address[found[1].split()[0]] = found[2]
            trust = ssl.create_default_context(cafile=certificate)
            url = f"https://{address['receiving']}/namespaces/default/pytorchtrainingjobs/mnist"
            request = urllib.request.Request(url, b"{}", {"Authorization": "Bearer x"})
            with urllib.request.urlopen(request, timeout=program.PATIENCE, context=trust) as answer:
                self.assertEqual((answer.status, json.load(answer)), (200, {}))
            with self.assertRaises((OSError, urllib.error.URLError)):
                urllib.request.urlopen(url.replace("https", "http"), b"{}", timeout=program.PATIENCE)
            refused = 'signalbox_progress_reports_total{outcome="foreign_token"} 1\n'
            metrics = ""
            for _ in range(600):
                with urllib.request.urlopen(f"http://{address['serving']}/metrics", timeout=program.PATIENCE) as answer:
                    metrics = answer.read().decode()
                if refused in metrics:
                    break
            self.assertIn(refused, metrics)
            child.send_signal(signal.SIGTERM)
            child.communicate(timeout=program.PATIENCE)
            self.assertEqual(child.returncode, 0)

    def test_what_it_lacks_is_said(self):
        files = ["--progress-tls-cert-file", "/no/such", "--progress-tls-key-file", "/no/such"]
        address = ["--progress-bind-address", "127.0.0.1:0"]
        with program.Dev() as dev:
            for flags, message in (
                    (address, "--progress-tls-cert-file and --progress-tls-key-file are expected"),
                    ([*address, *files], "--progress-url: `` is no https://HOST[:PORT]"),
                    ([*address, *files, "--progress-url", "http://x"], "--progress-url: `http://x` is no https"),
                    ([*address, *files, "--progress-url", "https://x"], "--progress-ca-file: /no/such"),
                    (["--with", "progress"], "--with progress: --progress-bind-address is expected, too")):
                with self.subTest(flags):
                    result = program.run("run", "--kubeconfig", dev.kubeconfig, *flags)
                    self.assertEqual(result.code, 2, result.err)
                    self.assertIn(message, result.err)


if __name__ == "__main__":
    unittest.main(argv=[sys.argv[0], *sys.argv[2:]])
