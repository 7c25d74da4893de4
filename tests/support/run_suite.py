# SPDX-License-Identifier: Apache-2.0
"""Runs a suite, and ends it when it makes no progress any more. CTest starts every suite by this.

    run_suite.py [--cpu SECONDS] [--stall SECONDS] [--locales FOLDER] NAME COMMAND...

Bounds are on what the suite does and not on the clock, so that a busy machine ends none of them: it is ended when it and the
processes that it started have used next to nothing of the processor for `--stall` seconds, or when all of them together have
used it for more than `--cpu`. The exit code is the suite's.

A suite must not depend on the machine, so it sees none: surroundings() says what it sees instead. What fetches packages does
so as the user, whose home is $SIGNALBOX_HOME, with the user's caches.

If $SIGNALBOX_COST_DIR is set, NAME.txt there says what it cost: seconds by the clock, seconds of the processors, megabytes of
its largest process.
"""

import argparse
import ctypes
import os
import pathlib
import resource
import signal
import subprocess
import sys
import tempfile
import time

LOOK = 5  # seconds between two looks, at most
IDLE = 0.002  # of a processor: threads that only beat for others to see use less
PR_SET_PDEATHSIG, PR_SET_CHILD_SUBREAPER = 1, 36
TICKS = os.sysconf("SC_CLK_TCK")


def processes():
    """Parent, and seconds of the processors with those of ended children, by process."""
    found = {}
    for entry in os.scandir("/proc"):
        if entry.name.isdigit():
            try:
                # The name stands in brackets and may contain anything.
                fields = pathlib.Path(entry.path, "stat").read_text().rpartition(")")[2].split()
            except OSError:  # it has ended
                continue
            found[int(entry.name)] = int(fields[1]), sum(map(int, fields[11:15])) / TICKS
    return found


def descendants(found):
    """Of this process, as processes() found them."""
    children = {}
    for process, (parent, _) in found.items():
        children.setdefault(parent, []).append(process)
    todo, out = [os.getpid()], []
    while todo:
        new = children.get(todo.pop(), [])
        out += new
        todo += new
    return out


def used():
    """Seconds of the processors that the suite and all that it started have used."""
    found = processes()
    ended = resource.getrusage(resource.RUSAGE_CHILDREN)
    return ended.ru_utime + ended.ru_stime + sum(found[each][1] for each in descendants(found))


def end_all(grace):
    for number in (signal.SIGTERM, signal.SIGKILL):
        for process in descendants(processes()):
            try:
                os.kill(process, number)
            except ProcessLookupError:
                pass
        if number == signal.SIGTERM:
            time.sleep(grace)


def reap(child):
    """Waits for all that has ended, so that nothing stays a zombie. The exit code of `child` if it is among them."""
    code = None
    try:
        while (ended := os.waitpid(-1, os.WNOHANG))[0]:
            if ended[0] == child:
                code = os.waitstatus_to_exitcode(ended[1])
    except ChildProcessError:
        pass
    return code


def watch(child, cpu, stall):
    """Until it ends. Its exit code, and why it was ended, if it was."""
    look = min(LOOK, cpu / 2, stall / 2)
    last, since = 0.0, time.monotonic()
    while True:
        signal.sigtimedwait([signal.SIGCHLD], look)
        code = reap(child)
        if code is not None:
            return code, None
        now = used()
        if now - last > IDLE * (time.monotonic() - since):
            last, since = now, time.monotonic()
        if now > cpu:
            why = f"it used {now:.0f} s of the processors: more than {cpu}"
        elif time.monotonic() - since > stall:
            why = f"nothing of it used the processors for {stall} s"
        else:
            continue
        end_all(look)
        return 1, why


def surroundings(folder, locales):
    """Variables of a suite. Its home is empty and its temporary files are its own, both below `folder` and with names that
    fall apart where somebody forgot to quote them; the time is a quarter off the hour. Of `locales`, where LOCPATH may find it,
    it has Turkish: a decimal comma, an i without a dot, and other words from every tool that has any."""
    # No quotes in the second: CMake does not understand what a compiler tells of such a folder.
    home, temporary, runtime = (folder / name for name in ("what's home", "tmp \u00e9", "run `x`"))
    for made, mode in ((folder, 0o711), (home, 0o700), (temporary, 0o1777), (runtime, 0o700)):
        made.mkdir(exist_ok=True)
        made.chmod(mode)  # some programs of it are of other users
    user = pathlib.Path(os.environ.get("SIGNALBOX_HOME") or pathlib.Path.home())
    variables = {
        **os.environ, "HOME": str(home), "TMPDIR": str(temporary), "XDG_RUNTIME_DIR": str(runtime), "TZ": "ODD-12:45",
        "SIGNALBOX_HOME": str(user), "XDG_CACHE_HOME": os.environ.get("XDG_CACHE_HOME") or str(user / ".cache")}
    if locales:
        variables |= {"LC_ALL": "tr_TR.UTF-8", "LANGUAGE": "tr:de", "LOCPATH": locales}
    return variables


def begin(command, libc, variables):
    def prepare():
        os.umask(0o077)
        signal.pthread_sigmask(signal.SIG_UNBLOCK, [signal.SIGCHLD])
        libc.prctl(PR_SET_PDEATHSIG, signal.SIGTERM)

    libc.prctl(PR_SET_CHILD_SUBREAPER, 1)
    signal.pthread_sigmask(signal.SIG_BLOCK, [signal.SIGCHLD])
    child = subprocess.Popen(command, preexec_fn=prepare, env=variables)
    for number in (signal.SIGTERM, signal.SIGINT, signal.SIGHUP):
        signal.signal(number, lambda number, _: os.kill(child.pid, number))
    return child


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--cpu", type=int, default=900)
    parser.add_argument("--stall", type=int, default=300)
    parser.add_argument("--locales")
    parser.add_argument("name")
    parser.add_argument("command", nargs=argparse.REMAINDER)
    arguments = parser.parse_args()
    start = time.monotonic()
    with tempfile.TemporaryDirectory(prefix="signalbox-", ignore_cleanup_errors=True) as folder:
        variables = surroundings(pathlib.Path(folder), arguments.locales)
        # Kept until it was waited for here: a Popen that goes away waits for its process itself, and its exit code is lost.
        child = begin(arguments.command, ctypes.CDLL(None), variables)
        code, why = watch(child.pid, arguments.cpu, arguments.stall)
    child.returncode = code
    folder = os.environ.get("SIGNALBOX_COST_DIR")
    if folder:
        peak = resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss / 1024
        cost = f"{time.monotonic() - start:.1f} {used():.1f} {peak:.0f}\n"
        pathlib.Path(folder, f"{arguments.name}.txt").write_text(cost)
    if why:
        print(f"{arguments.name}: ended, as {why}", flush=True)
    return code if code >= 0 else 128 - code


if __name__ == "__main__":
    sys.exit(main())
