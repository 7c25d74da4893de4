# SPDX-License-Identifier: Apache-2.0
"""The embedded API server and a program that connects to it, for the tests of programs that others write.

Nothing sleeps: `wait_for` asks again until what must come has come, `lines` reads what the program writes.
"""

import http.client
import json
import os
import pathlib
import signal
import subprocess
import tempfile
import time

PATIENCE = 300  # seconds: no more than a bound for what never comes

KUBECONFIG = """
apiVersion: v1
kind: Config
current-context: served
contexts: [{{name: served, context: {{cluster: served, user: nobody}}}}]
clusters: [{{name: served, cluster: {{server: "http://127.0.0.1:{port}"}}}}]
users: [{{name: nobody, user: {{}}}}]
"""


class Server:
    """`k8sio_serve` as a child process; its API with JSON in and out."""

    def __init__(self, program):
        self.child = subprocess.Popen([program], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
        line = self.child.stdout.readline()
        assert line.startswith("ready "), f"the server did not become ready: {line!r}"
        self.port = int(line.split()[1])
        self.folder = tempfile.TemporaryDirectory()
        self.kubeconfig = pathlib.Path(self.folder.name, "kubeconfig")
        self.kubeconfig.write_text(KUBECONFIG.format(port=self.port))

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.child.stdin.close()
        self.child.wait(timeout=PATIENCE)
        self.child.stdout.close()
        self.folder.cleanup()

    def ask(self, method, path, body=None):
        """(status, answer)"""
        connection = http.client.HTTPConnection("127.0.0.1", self.port, timeout=PATIENCE)
        kind = "application/merge-patch+json" if method == "PATCH" else "application/json"
        connection.request(method, path, json.dumps(body) if body else None, {"Content-Type": kind})
        answer = connection.getresponse()
        found = answer.status, json.loads(answer.read())
        connection.close()
        return found

    def change(self, method, path, body=None):
        """A request that must succeed."""
        status, answer = self.ask(method, path, body)
        assert status < 300, f"{method} {path}: {status} {answer}"
        return answer


class Program:
    """What is tested, with the server in its kubeconfig."""

    def __init__(self, server, *command):
        environment = {**os.environ, "KUBECONFIG": str(server.kubeconfig)}
        environment.pop("KUBERNETES_SERVICE_HOST", None)
        self.child = subprocess.Popen(command, stdout=subprocess.PIPE, env=environment, text=True)

    def __enter__(self):
        return self

    def __exit__(self, *_):
        """It does not outlive the test, whatever became of that."""
        self.child.kill()
        self.child.communicate()

    def line(self):
        """The next line that it writes to its standard output."""
        return self.child.stdout.readline().rstrip("\n")

    def end(self, how=signal.SIGTERM):
        """Its exit code."""
        self.child.send_signal(how)
        self.child.communicate(timeout=PATIENCE)
        return self.child.returncode


def wait_for(what, holds):
    """Asks `holds` until it is true."""
    bound = time.monotonic() + PATIENCE
    while not holds():
        assert time.monotonic() < bound, f"never came: {what}"
        time.sleep(0.01)
