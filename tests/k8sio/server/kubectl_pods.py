# SPDX-License-Identifier: Apache-2.0
"""Scenarios of kubectl_test.py about what is behind a pod: logs, commands, files and ports, by machine_pods.hpp."""
import fcntl
import hashlib
import json
import os
import pty
import re
import shlex
import socket
import struct
import subprocess
import termios
import threading

from expectations import Failure, equal, expect, has

PATIENCE = 200  # seconds: a bound for what never comes
SCENARIOS = []


def scenario(function):
    SCENARIOS.append(function)
    return function


def make_pod(k, name, *containers, labels=None, node="here"):
    spec = {"containers": [{"name": each, "image": "x"} for each in containers or ["main"]]}
    if node:
        spec["nodeName"] = node
    pod = {"apiVersion": "v1", "kind": "Pod", "metadata": {"name": name, "labels": labels or {}}, "spec": spec}
    k.run("create", "-f", "-", stdin=json.dumps(pod))


# What kubectl says of the empty message by which a server, a real one too, begins, where that comes before kubectl is ready.
NOT_READY = re.compile(rb"^E\d{4} [^\n]*websocket\.go:\d+\] Unknown stream id 1, discarding message\n", re.M)


def run_bytes(k, *arguments, stdin=b""):
    """Exit code and both outputs, as bytes."""
    done = subprocess.run(
        k.command(*arguments), input=stdin, capture_output=True, timeout=PATIENCE, check=False, env=k.environment)
    return done.returncode, done.stdout, NOT_READY.sub(b"", done.stderr, count=1)


# Until its version 1.34 kubectl loses output that comes before it is ready (kubernetes/kubernetes#131203). Input it sends after that.
WHEN_READY = 'read -r go; exec "$@"'


def told(k, *arguments):
    """What kubectl says of a command that fails at once, when it was ready for it: stream 3 is that of the error."""
    for _ in range(20):
        said = k.run(*arguments, fails=True)
        if "Unknown stream id 3" not in said:
            break
    return said


def execute(k, pod, *command, stdin=b""):
    """As run_bytes(), of a command in a pod that begins when kubectl is ready."""
    return run_bytes(k, "exec", "-i", pod, "--", "sh", "-c", WHEN_READY, "sh", *command, stdin=b"go\n" + stdin)


@scenario
def logs(k, root):
    make_pod(k, "one")
    make_pod(k, "two", "a", "b", labels={"app": "t"})
    make_pod(k, "three", "a", labels={"app": "t"})
    make_pod(k, "unbound", node=None)
    equal(k.run("logs", "one"), "one/main follow=false timestamps=false tail=-1 since=0\n", "log")
    has(k.run("logs", "one", "--tail", "7", "--timestamps"), "^one/main .*timestamps=true tail=7 ")
    has(k.run("logs", "one", "--since", "1m"), r"since=[1-9]\d{9}$")
    has(k.run("logs", "one", "--since-time", "2026-01-02T03:04:05Z"), "since=1767323045$")
    equal(k.run("logs", "one", "--limit-bytes", "5"), "one/m", "five bytes")
    has(k.run("logs", "one", "--previous", fails=True), 'previous terminated container "main" in pod "one" not found')
    has(k.run("logs", "one", "--since", "1m", "--since-time", "2026-01-02T03:04:05Z", fails=True), "at most one of")
    equal(k.run("logs", "unbound"), "", "log of a pod without a node")
    has(k.run("logs", "none", fails=True), r'\(NotFound\): pods "none" not found')
    has(k.run("logs", "two", "-c", "b"), "^two/b ")
    has(k.run("logs", "two", "-c", "c", fails=True), "container c is not valid for pod two")
    has(k.run("get", "--raw", f"/api/v1/namespaces/{k.namespace}/pods/two/log", fails=True),
        r"a container name must be specified for pod two, choose one of: \[a b\]")
    has(k.run("logs", "two", "--all-containers", "--prefix"), r"^\[pod/two/a\] two/a", r"^\[pod/two/b\] two/b")
    has(k.run("logs", "-l", "app=t", "--prefix", "--all-containers"),
        r"^\[pod/two/a\] two/a .*tail=10 ", r"^\[pod/two/b\]", r"^\[pod/three/a\] three/a")
    has(k.run("logs", "-l", "app=t", "-f", "--max-log-requests", "1", fails=True), "maximum allowed concurrency is 1")


@scenario
def logs_that_are_followed(k, root):
    names = ["follow-1", "follow-2"]
    pipes = []
    for name in names:
        make_pod(k, name, labels={"app": "f"})
        path = os.path.join(root.server.folder, name + ".log")
        os.mkfifo(path)
        pipes.append(os.open(path, os.O_RDWR | os.O_NONBLOCK))
    single = k.start("logs", "-f", "follow-1")
    equal(single.stdout.readline(), "follow-1/main follow=true timestamps=false tail=-1 since=0\n", "first line")
    os.write(pipes[0], b"a line\n")
    equal(single.stdout.readline(), "a line\n", "followed line")
    single.terminate()
    single.wait(timeout=PATIENCE)
    single.stdout.close()
    both = k.start("logs", "-f", "-l", "app=f", "--prefix")
    first = sorted(both.stdout.readline().split()[1] for _ in names)
    equal(first, ["follow-1/main", "follow-2/main"], "first lines")
    for name, pipe in zip(names, pipes):
        os.write(pipe, f"from {name}\n".encode())
        equal(both.stdout.readline(), f"[pod/{name}/main] from {name}\n", "followed line")
    for pipe in pipes:
        os.close(pipe)
    rest = both.communicate(timeout=PATIENCE)[0]
    equal((both.returncode, rest), (0, ""), "the end of both logs")


@scenario
def commands(k, root):
    make_pod(k, "one")
    make_pod(k, "two", "a", "b")
    make_pod(k, "ended")
    make_pod(k, "unbound", node=None)
    equal(execute(k, "one", "sh", "-c", "echo out; echo err >&2; exit 3"),
          (3, b"out\n", b"err\ncommand terminated with exit code 3\n"), "outputs and exit code")
    equal(run_bytes(k, "exec", "one", "--", "true"), (0, b"", b""), "a silent command")
    equal(execute(k, "one", "sh", "-c", "kill -9 $$")[0], 137, "exit code after a signal")
    equal(run_bytes(k, "exec", "-i", "one", "--", "cat", stdin=b"abc"), (0, b"abc", b""), "input to its end")
    equal(run_bytes(k, "exec", "-i", "one", "--", "head", "-c", "1", stdin=b"x" * 1_000_000)[1], b"x", "input no one reads")
    big = os.urandom(20_000_000)
    summed = hashlib.md5(big).hexdigest().encode() + b"  -\n"
    equal(run_bytes(k, "exec", "-i", "one", "--", "md5sum", stdin=big)[:2], (0, summed), "20 MB in")
    equal(run_bytes(k, "exec", "-i", "one", "--", "cat", stdin=big)[1] == big, True, "20 MB both ways")
    has(k.run("exec", "-i", "two", "-c", "b", "--", "sh", "-c", "read -r go; echo in b", stdin="go\n"), "in b")
    has(k.run("exec", "two", "-c", "c", "--", "true", fails=True), "container c is not valid for pod two")
    has(k.run("exec", "none", "--", "true", fails=True), r'\(NotFound\): pods "none" not found')
    has(told(k, "exec", "ended", "--", "true"), r"error: container not running \(ended\)")
    has(k.run("exec", "unbound", "--", "true", fails=True), "pod unbound does not have a host assigned")
    older = {"KUBECTL_REMOTE_COMMAND_WEBSOCKETS": "false"}
    has(k.run("exec", "one", "--", "true", fails=True, environment=older), "kubectl 1.31 and later")


@scenario
def a_command_ends_with_its_client(k, root):
    make_pod(k, "one")
    # The pipe has a reader as long as the command lives.
    path = os.path.join(root.server.folder, "alive")
    os.mkfifo(path)
    script = f"exec 3<{shlex.quote(path)}; read -r go; echo up; sleep 1000"
    child = k.start("exec", "-i", "one", "--", "sh", "-c", script, stdin=subprocess.PIPE)
    child.stdin.write("go\n")
    child.stdin.flush()
    alive = os.open(path, os.O_WRONLY)
    lines = (line for line in child.stdout if not NOT_READY.match(line.encode()))
    equal(next(lines, ""), "up\n", "first line")
    child.kill()
    child.wait(timeout=PATIENCE)
    child.stdin.close()
    child.stdout.close()
    try:
        while True:
            os.write(alive, b"x" * 4096)  # waits while the pipe is full
    except BrokenPipeError:
        os.close(alive)


@scenario
def a_terminal(k, root):
    make_pod(k, "one")
    ours, theirs = pty.openpty()
    fcntl.ioctl(ours, termios.TIOCSWINSZ, struct.pack("HHHH", 33, 101, 0, 0))
    script = 'until [ "$(stty size)" = "33 101" ]; do :; done; echo sized; read x; echo "got $x"; exit 4'
    child = subprocess.Popen(
        k.command("exec", "-it", "one", "--", "sh", "-c", script), stdin=theirs, stdout=theirs, stderr=theirs,
        env=k.environment, start_new_session=True)
    os.close(theirs)
    seen = b""

    def read_until(text):
        nonlocal seen
        while text not in seen:
            try:
                piece = os.read(ours, 4096)
            except OSError as end:
                raise Failure(f"no {text!r} in {seen!r}") from end
            seen += piece

    read_until(b"sized")
    os.write(ours, b"typed\r")
    read_until(b"got typed")
    equal(child.wait(timeout=PATIENCE), 4, "exit code")
    os.close(ours)


@scenario
def attaching(k, root):
    make_pod(k, "one")
    code, out, _ = run_bytes(k, "attach", "-i", "one", stdin=b"first\nsecond\n")
    # What it says at once may come before kubectl is ready (WHEN_READY).
    equal((code, out.removeprefix(b"one listens\n")), (0, b"heard first\nheard second\n"), "attach")


class Echo:
    """A server on a port of 127.0.0.1 that sends back in capitals what each client sends, once that is all."""

    def __init__(self):
        self.socket = socket.create_server(("127.0.0.1", 0))
        self.port = self.socket.getsockname()[1]
        threading.Thread(target=self.serve, daemon=True).start()

    def serve(self):
        while True:
            try:
                client, _ = self.socket.accept()
            except OSError:
                return
            with client:
                client.sendall(b"".join(iter(lambda c=client: c.recv(65536), b"")).upper())

    def stop(self):
        self.socket.shutdown(socket.SHUT_RDWR)  # wakes who waits for a client; the port is closed only then
        self.socket.close()


def start_forward(k, *arguments):
    """kubectl port-forward under way, and its first local port."""
    child = k.start("port-forward", "--address", "127.0.0.1", *arguments)
    line = child.stdout.readline()
    found = re.match(r"Forwarding from 127\.0\.0\.1:(\d+) -> ", line)
    expect(found, f"port-forward says {line!r}", *([] if found else child.stdout))
    return child, int(found[1])


def ask(port, data):
    with socket.create_connection(("127.0.0.1", port), timeout=PATIENCE) as s:
        sender = threading.Thread(target=lambda: (s.sendall(data), s.shutdown(socket.SHUT_WR)))
        sender.start()
        answer = b"".join(iter(lambda: s.recv(65536), b""))
        sender.join()
        return answer


def make_running(k, name):
    make_pod(k, name)
    k.run("patch", "pod", name, "--subresource", "status", "-p", '{"status": {"phase": "Running"}}')


@scenario
def forwarding_ports(k, root):
    make_pod(k, "unbound", node=None)
    make_running(k, "one")
    echo = Echo()
    child, port = start_forward(k, "one", f"0:{echo.port}")
    equal(ask(port, b"hello"), b"HELLO", "answer")
    equal(ask(port, b""), b"", "answer to nothing")
    big = os.urandom(5_000_000)
    expect(ask(port, big) == big.upper(), "5 MB came back changed")
    answers = {}
    threads = [threading.Thread(target=lambda n=n: answers.update({n: ask(port, b"from %d" % n * 1000)})) for n in range(20)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    equal(answers, {n: b"FROM %d" % n * 1000 for n in range(20)}, "20 connections at a time")
    child.terminate()
    child.communicate(timeout=PATIENCE)
    echo.stop()
    child, port = start_forward(k, "one", f"0:{echo.port}")
    equal(ask(port, b""), b"", "answer of a port that no one listens on")
    has(child.communicate(timeout=PATIENCE)[0], f"error forwarding port {echo.port} to pod one, uid .* inside the pod: Connection refused")


def over_tls(k):
    """By the way of a_token_needs_tls: the same sessions, on a connection of the other kind."""
    k.namespace = "default"
    make_running(k, "one")
    equal(run_bytes(k, "exec", "-i", "one", "--", "tr", "a-z", "A-Z", stdin=b"abc"), (0, b"ABC", b""), "exec over TLS")
    has(k.run("logs", "one"), "^one/main ")
    echo = Echo()
    child, port = start_forward(k, "one", f"0:{echo.port}")
    equal(ask(port, b"hello"), b"HELLO", "answer over TLS")
    child.terminate()
    child.communicate(timeout=PATIENCE)
    echo.stop()


@scenario
def copying(k, root):
    make_pod(k, "one")
    here = os.path.join(root.server.folder, "copies")
    os.makedirs(os.path.join(here, "from", "deep"))
    data = os.urandom(3_000_000)
    with open(os.path.join(here, "from", "deep", "file"), "wb") as f:
        f.write(data)
    k.run("cp", os.path.join(here, "from"), f"one:{here}/in-pod")
    k.run("cp", f"one:{here}/in-pod/deep/file", os.path.join(here, "back"))
    with open(os.path.join(here, "back"), "rb") as f:
        expect(f.read() == data, "the file came back changed")
