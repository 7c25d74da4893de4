# SPDX-License-Identifier: Apache-2.0
"""Runs the program under test, and says what it cost."""
import base64
import fcntl
import json
import os
import pty
import re
import shlex
import signal
import ssl
import struct
import subprocess
import sys
import tempfile
import termios
import threading
import urllib.request


PATIENCE = 300  # seconds until something that never comes is a failure; usual are less than ten


class Result:
    def __init__(self, code, out, err, seconds, megabytes):
        self.code, self.out, self.err = code, out, err
        self.seconds, self.megabytes = seconds, megabytes


def binary():
    """The path given as the test's first argument."""
    return os.path.abspath(sys.argv[1])


def run(*arguments, text=None, env=None, cwd=None):
    """Runs `signalbox <arguments>`; `text` is its standard input. CPU time and memory are the child's own."""
    with tempfile.TemporaryFile() as out, tempfile.TemporaryFile() as err:
        # A process between us and the program: its children's usage is that of the program alone.
        child = subprocess.Popen(
            [sys.executable, "-c", _MEASURE, binary(), *map(str, arguments)],
            stdin=subprocess.PIPE, stdout=out, stderr=err, env=env, cwd=cwd, start_new_session=True)
        try:
            child.communicate(text, timeout=PATIENCE)
        except subprocess.TimeoutExpired:
            os.killpg(child.pid, signal.SIGKILL)
            child.wait()
            raise
        out.seek(0)
        err.seek(0)
        errors = err.read().decode(errors="replace")
        errors, _, usage = errors.rpartition("\nusage ")
        seconds, kilobytes = usage.split()
        return Result(child.returncode, out.read().decode(errors="replace"), errors, float(seconds),
                      int(kilobytes) / 1024)


_MEASURE = """
import resource, subprocess, sys
code = subprocess.call(sys.argv[1:])
used = resource.getrusage(resource.RUSAGE_CHILDREN)
sys.stderr.write("\\nusage %f %d" % (used.ru_utime + used.ru_stime, used.ru_maxrss))
sys.stderr.flush()
sys.exit(code if code >= 0 else 128 - code)
"""


class Terminal:
    """`signalbox <arguments>` on a terminal of that size; `seen` is what it has shown."""

    def __init__(self, *arguments, columns=80, rows=24):
        self.master, terminal = pty.openpty()
        self.resize(columns, rows)
        env = {**os.environ, "TERM": "xterm"}
        env.pop("NO_COLOR", None)
        # It is the terminal that it is controlled by, for signals of keys and of the size.
        self.child = subprocess.Popen([binary(), *map(str, arguments)], stdin=terminal, stdout=terminal,
                                      stderr=subprocess.PIPE, env=env, start_new_session=True,
                                      preexec_fn=lambda: fcntl.ioctl(0, termios.TIOCSCTTY, 0))
        os.close(terminal)
        self.seen = ""

    def resize(self, columns, rows):
        fcntl.ioctl(self.master, termios.TIOCSWINSZ, struct.pack("HHHH", rows, columns, 0, 0))

    def read_until(self, pattern):
        """Raises EOFError if the program ends before."""
        self.until(lambda _: re.search(pattern, self.seen))

    def until(self, holds):
        """Until `holds(what is new)`. Raises EOFError if the program ends before."""
        new = ""
        while not holds(new):
            before = len(self.seen)
            if not self._read():
                raise EOFError(self.seen)
            new = self.seen[before:]

    def end(self):
        """Reads the rest, and gives the exit code."""
        while self._read():
            pass
        self.child.communicate(timeout=PATIENCE)
        os.close(self.master)
        return self.child.returncode

    def text(self):
        """What it has shown, without the sequences that move the cursor and give colours."""
        return re.sub(r"\x1b\[[?0-9;]*[A-Za-z]", "", self.seen).replace("\r\n", "\n")

    def _read(self):
        try:
            piece = os.read(self.master, 65536).decode(errors="replace")
        except OSError:  # the other end is closed
            return False
        self.seen += piece
        return bool(piece)


class Dev:
    """A running `signalbox dev` with a folder of its own for its kubeconfig; `with` ends it. What it prints is in the file
    `output`. `prefix`: a command that becomes it."""

    def __init__(self, *arguments, prefix=()):
        self.folder = tempfile.TemporaryDirectory()
        self.log = os.path.join(self.folder.name, "log")
        self.output = os.path.join(self.folder.name, "output")
        with open(self.log, "w") as log:
            self.child = subprocess.Popen(
                [*prefix, binary(), "dev", *map(str, arguments)], stdout=subprocess.PIPE, stderr=log,
                env=dict(os.environ, XDG_RUNTIME_DIR=self.folder.name), cwd=self.folder.name)
        self.first = self.child.stdout.readline().decode()
        self.kubeconfig = exported(self.child.stdout.readline().decode())
        if "are ready" not in self.first:
            errors = self.errors()
            self.stop()
            raise RuntimeError(f"signalbox dev did not start: {self.first!r} {errors}")
        # What it prints must not fill a pipe.
        self.drain = threading.Thread(target=self._keep_output, daemon=True)
        self.drain.start()

    def _keep_output(self):
        with open(self.output, "wb", buffering=0) as output:
            for line in self.child.stdout:
                output.write(line)

    def open(self, method, path, body=None, kind="application/json"):
        """The answer of its API server to one request, with a JSON body."""
        return self.open_text(method, path, None if body is None else json.dumps(body), kind)

    def open_text(self, method, path, body=None, kind="application/json"):
        """The same, with the text of a body."""
        return open_text(self.kubeconfig, method, path, body, kind)

    def errors(self):
        with open(self.log) as log:
            return log.read()

    def stop(self):
        self.child.send_signal(signal.SIGINT)
        self.child.wait(timeout=PATIENCE)
        if hasattr(self, "drain"):
            self.drain.join(PATIENCE)
        self.child.stdout.close()
        self.folder.cleanup()

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.stop()


def open_text(kubeconfig, method, path, body=None, kind="application/json"):
    """The answer of the API server that a `signalbox dev` has written this kubeconfig for."""
    with open(kubeconfig, encoding="utf-8") as file:
        text = file.read()
    url, authority, token = (
        re.search(pattern, text)[1] for pattern in (r"server: (\S+)", r"authority-data: (\S+)", r'token: "(\w+)"'))
    request = urllib.request.Request(
        url + path, None if body is None else body.encode(), method=method,
        headers={"Content-Type": kind, "Authorization": f"Bearer {token}"})
    trust = ssl.create_default_context(cadata=base64.b64decode(authority).decode())
    return urllib.request.urlopen(request, timeout=PATIENCE, context=trust)


def exported(line):
    """The path in the line `export KUBECONFIG=...` of `signalbox dev`, as a shell takes it."""
    [word] = shlex.split(line.strip().removeprefix("export KUBECONFIG="))
    return word


def source_dir():
    return os.path.dirname(os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__)))))


def sanitized():
    """Sanitizers multiply time and memory; then bounds mean nothing."""
    with open(binary(), "rb") as program:
        return b"__asan_init" in program.read()
