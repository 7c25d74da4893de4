# SPDX-License-Identifier: Apache-2.0
"""`signalbox logs` against an API server in this process, which serves a job, its pods and their logs."""
import contextlib
import http.server
import json
import re
import signal
import subprocess
import sys
import tempfile
import threading
import unittest
import urllib.parse

import program

JOBS = "/apis/batch.tensorstack.dev/v1beta1/namespaces/default/pytorchtrainingjobs"
PODS = "/api/v1/namespaces/default/pods"
LABEL = "batch.tensorstack.dev/"


def pod(kind, index, phase="Running", uid=None, rank=None, attempt=1):
    env = [] if rank is None else [{"name": "RANK", "value": str(rank)}]
    return {
        "apiVersion": "v1", "kind": "Pod",
        "metadata": {"name": f"mnist-{kind}-{index}", "uid": uid or f"{kind}-{index}", "namespace": "default", "resourceVersion": "5",
                     "labels": {f"{LABEL}job-uid": "job-1", "replica-type": kind, "replica-index": str(index),
                                f"{LABEL}attempt": str(attempt)},
                     "annotations": {f"{LABEL}training-container": "pytorch"}},
        "spec": {"containers": [{"name": "side", "image": "y"}, {"name": "pytorch", "image": "x", "env": env}]},
        "status": {"phase": phase, "containerStatuses": [{"name": "pytorch", "state": {"running": {}}}]},
    }


class Server:
    """What it serves can be changed while it runs; `asked` is what it was asked for."""

    def __init__(self):
        self.phase, self.pods, self.logs, self.asked = "Running", [], {}, []
        self.changed = threading.Condition()
        self.events = {"pods": [], "jobs": []}
        self.ended = False
        home = self

        class Handler(http.server.BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"

            def log_message(self, *_):
                pass

            def do_GET(self):
                home.answer(self)

        self.http = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.http.daemon_threads = True
        threading.Thread(target=self.http.serve_forever, daemon=True).start()
        self.kubeconfig = tempfile.NamedTemporaryFile("w", suffix=".kubeconfig")
        self.kubeconfig.write(json.dumps({
            "apiVersion": "v1", "kind": "Config", "current-context": "a", "contexts": [{"name": "a", "context": {"cluster": "a"}}],
            "clusters": [{"name": "a", "cluster": {"server": f"http://127.0.0.1:{self.http.server_port}"}}]}))
        self.kubeconfig.flush()

    def job(self):
        template = {"spec": {"containers": [{"name": "pytorch", "image": "x"}]}}
        types = [{"type": "master", "template": template}, {"type": "worker", "replicas": 3, "template": template}]
        return {"apiVersion": "batch.tensorstack.dev/v1beta1", "kind": "PyTorchTrainingJob", "spec": {"replicaSpecs": types},
                "metadata": {"name": "mnist", "namespace": "default", "uid": "job-1", "resourceVersion": "5"},
                "status": {"phase": self.phase}}

    def stop(self):
        with self.changed:
            self.ended = True
            self.changed.notify_all()
        self.http.shutdown()
        self.http.server_close()
        self.kubeconfig.close()

    def tell(self, what, obj):
        with self.changed:
            self.events[what].append({"type": "MODIFIED", "object": obj})
            self.changed.notify_all()

    def log(self, name, *lines, end=False):
        with self.changed:
            self.logs.setdefault(name, [[], False])
            self.logs[name][0].extend(lines)
            self.logs[name][1] = end
            self.changed.notify_all()

    def answer(self, request):
        url = urllib.parse.urlsplit(request.path)
        query = dict(urllib.parse.parse_qsl(url.query))
        self.asked.append((url.path, query))
        if url.path.endswith("/log"):
            return self.send_log(request, url.path.split("/")[-2], query)
        if query.get("watch"):
            return self.send_events(request, "pods" if url.path == PODS else "jobs")
        if url.path == PODS:
            return self.send(request, 200, {"kind": "PodList", "apiVersion": "v1", "metadata": {"resourceVersion": "5"}, "items": self.pods})
        if url.path == f"{JOBS}/mnist":
            return self.send(request, 200, self.job())
        if url.path == JOBS:
            return self.send(request, 200, {"kind": "PyTorchTrainingJobList", "apiVersion": "batch.tensorstack.dev/v1beta1",
                                            "metadata": {"resourceVersion": "5"}, "items": [self.job()]})
        return self.send(request, 404, {"kind": "Status", "apiVersion": "v1", "status": "Failure", "reason": "NotFound", "code": 404,
                                        "message": "it was not found"})

    @staticmethod
    def send(request, code, body):
        text = json.dumps(body).encode()
        request.send_response(code)
        request.send_header("Content-Type", "application/json")
        request.send_header("Content-Length", str(len(text)))
        request.end_headers()
        request.wfile.write(text)

    @contextlib.contextmanager
    def chunks(self, request, kind):
        request.send_response(200)
        request.send_header("Content-Type", kind)
        request.send_header("Transfer-Encoding", "chunked")
        request.end_headers()

        def write(text):
            data = text.encode()
            request.wfile.write(f"{len(data):x}\r\n".encode() + data + b"\r\n")
            request.wfile.flush()

        with contextlib.suppress(BrokenPipeError, ConnectionResetError):
            yield write
            request.wfile.write(b"0\r\n\r\n")

    def send_log(self, request, name, query):
        if name not in self.logs:
            return self.send(request, 400, {"kind": "Status", "apiVersion": "v1", "status": "Failure", "reason": "BadRequest",
                                            "code": 400, "message": f"previous terminated container in {name} not found"})
        with self.chunks(request, "text/plain") as write:
            sent = 0
            while True:
                with self.changed:
                    while query.get("follow") and sent == len(self.logs[name][0]) and not (self.logs[name][1] or self.ended):
                        self.changed.wait()
                    lines, end = self.logs[name][0][sent:], not query.get("follow") or self.logs[name][1] or self.ended
                sent += len(lines)
                for line in lines:
                    write(line[:7])  # pieces end anywhere
                    write(line[7:] + "\n")
                if end:
                    return None

    def send_events(self, request, what):
        with self.chunks(request, "application/json") as write:
            sent = 0
            while not self.ended:
                with self.changed:
                    while sent == len(self.events[what]) and not self.ended:
                        self.changed.wait()
                    events = self.events[what][sent:]
                sent += len(events)
                for event in events:
                    write(json.dumps(event) + "\n")


def at(second, text):
    return f"2026-01-31T03:00:{second:012.9f}Z {text}"


class Logs(unittest.TestCase):
    def setUp(self):
        self.server = Server()
        self.addCleanup(self.server.stop)

    def two_pods(self):
        self.server.pods = [pod("worker", 1, rank=2), pod("worker", 0, rank=1), pod("master", 0, rank=0), pod("worker", 2, "Pending")]
        self.server.log("mnist-master-0", at(1, "start"), at(4, "epoch 1"), "  without a time", end=True)
        self.server.log("mnist-worker-0", at(2, "hello"), at(5, "done"), end=True)
        self.server.log("mnist-worker-1", at(1.5, "hello"), end=True)

    def logs(self, *arguments):
        return program.run("logs", "mnist", "--kubeconfig", self.server.kubeconfig.name, *arguments)

    def test_lines_of_all_pods_are_in_order_of_time(self):
        self.two_pods()
        result = self.logs()
        self.assertEqual(result.code, 0, result.err)
        self.assertEqual(result.out.splitlines(), [
            "master-0 rank 0 | start",
            "worker-1 rank 2 | hello",
            "worker-0 rank 1 | hello",
            "master-0 rank 0 | epoch 1",
            "master-0 rank 0 |   without a time",
            "worker-0 rank 1 | done"])
        self.assertEqual({path: query for path, query in self.server.asked if path.endswith("/log")}, {
            f"{PODS}/mnist-{name}/log": {"timestamps": "true", "container": "pytorch"} for name in ("master-0", "worker-0", "worker-1")})

    def test_what_is_asked_for(self):
        self.two_pods()
        result = self.logs("--timestamps", "--type", "worker", "--index", "0,2", "--tail", "7", "--since", "1500ms", "-p", "-c", "side")
        self.assertEqual(result.code, 0, result.err)
        self.assertEqual(result.out.splitlines(), [f"worker-0 rank 1 | {at(2, 'hello')}", f"worker-0 rank 1 | {at(5, 'done')}"])
        self.assertEqual(self.server.asked[-1], (f"{PODS}/mnist-worker-0/log", {
            "timestamps": "true", "container": "side", "previous": "true", "tailLines": "7", "sinceSeconds": "2"}))

    def test_a_log_that_is_not_there(self):
        self.two_pods()
        del self.server.logs["mnist-worker-0"]
        result = self.logs()
        self.assertEqual(result.code, 1)
        self.assertIn("signalbox logs: mnist-worker-0: ", result.err)
        self.assertIn("previous terminated container in mnist-worker-0 not found", result.err)
        self.assertEqual(len(result.out.splitlines()), 4)

    def test_what_is_refused(self):
        self.two_pods()
        for arguments, why in ((["--since", "soon"], "--since: `soon` is no duration"), (["--max-log-requests", "2"], "3 pods, and"),
                               (["--tail", "-1"], "--tail"),
                               (["--type", "nosuch"], "--type: the job has no type nosuch, but master, worker\n")):
            result = self.logs(*arguments)
            self.assertEqual(result.code, 2, result.out)
            self.assertIn(why, result.err)
        result = program.run("logs", "nobody", "--kubeconfig", self.server.kubeconfig.name)
        self.assertEqual((result.code, result.err), (2, "signalbox logs: namespace default has no training job nobody\n"))
        self.server.pods = []
        result = self.logs()
        self.assertEqual((result.code, result.out, result.err), (0, "", "No pod of mnist has a log.\n"))

    def test_colours_tell_replicas_apart_on_a_terminal(self):
        self.two_pods()
        terminal = program.Terminal("logs", "mnist", "--kubeconfig", self.server.kubeconfig.name)
        self.assertEqual(terminal.end(), 0)
        colours = dict(re.findall(r"(\x1b\[3\dm)(\w+-\d)", terminal.seen))
        self.assertEqual(sorted(colours.values()), ["master-0", "worker-0", "worker-1"])

    def test_following_goes_on_with_new_pods_until_the_job_has_ended(self):
        self.server.pods = [pod("worker", 0, uid="first")]
        self.server.log("mnist-worker-0", at(1, "first"))
        child = subprocess.Popen([program.binary(), "logs", "-f", "mnist", "--kubeconfig", self.server.kubeconfig.name],
                                 stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
        self.assertEqual(child.stdout.readline(), "worker-0 | first\n")
        self.server.log("mnist-worker-0", at(2, "second"))
        self.assertEqual(child.stdout.readline(), "worker-0 | second\n")
        # A pod of another replica starts, then all ends.
        self.server.log("mnist-worker-1", at(3, "new"))
        self.server.tell("pods", pod("worker", 1))
        self.assertEqual(child.stdout.readline(), "worker-1 | new\n")
        self.server.log("mnist-worker-0", at(4, "bye"), end=True)
        self.assertEqual(child.stdout.readline(), "worker-0 | bye\n")
        self.server.log("mnist-worker-1", end=True)
        self.server.phase = "Succeeded"
        self.server.tell("jobs", self.server.job())
        out, err = child.communicate(timeout=program.PATIENCE)
        self.assertEqual((child.returncode, out, err), (0, "", ""))

    def test_following_ends_with_a_signal(self):
        self.server.pods = [pod("worker", 0)]
        self.server.log("mnist-worker-0", at(1, "first"))
        child = subprocess.Popen([program.binary(), "logs", "-f", "mnist", "--kubeconfig", self.server.kubeconfig.name],
                                 stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
        self.assertEqual(child.stdout.readline(), "worker-0 | first\n")
        child.send_signal(signal.SIGINT)
        out, err = child.communicate(timeout=program.PATIENCE)
        self.assertEqual((child.returncode, out, err), (0, "", ""))


if __name__ == "__main__":
    unittest.main(argv=sys.argv[:1], verbosity=1)
