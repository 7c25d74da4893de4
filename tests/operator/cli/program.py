# SPDX-License-Identifier: Apache-2.0
"""Runs the program under test, and says what it cost."""
import os
import signal
import subprocess
import sys
import tempfile


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


def source_dir():
    return os.path.dirname(os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__)))))


def sanitized():
    """Sanitizers multiply time and memory; then bounds mean nothing."""
    with open(binary(), "rb") as program:
        return b"__asan_init" in program.read()
