# SPDX-License-Identifier: Apache-2.0
"""libjobcore is pure: no header of I/O, threads or randomness in the include graph of any of its units, and no clock,
randomness, environment or thread among the symbols that its archive asks for. The machines of libk8sio's protocol and of a pod on the
local node know nothing of an event loop: no header of Asio or Beast is behind any of their headers.

Usage: check_pure.py <compile_commands.json> <archive of libjobcore> <nm>
"""

import json
import pathlib
import re
import shlex
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor

import sources

# Matched against the path of every header that is included, directly or not.
LOOP = re.compile(r"/boost/(asio|beast)/")
FORBIDDEN_HEADERS = re.compile(
    r"/boost/(asio|beast)|/openssl/|/c\+\+/[^/]+/(thread|mutex|shared_mutex|condition_variable|future|random|iostream"
    r"|fstream|filesystem)$|/k8sio/|/sys/(socket|epoll)\.h$"
)

# Matched against each undefined symbol, demangled.
FORBIDDEN_SYMBOLS = re.compile(
    r"std::chrono::_V2::\w+_clock::now|^(time|clock|clock_gettime|gettimeofday|ftime)(@|$)"
    r"|std::random_device|^(rand|srand|random|rand_r|getrandom|getentropy)(@|$)"
    r"|^(getenv|secure_getenv|setenv)(@|$)|^(pthread_create|fork|system|socket|fopen|fopen64|open|open64)(@|$)"
)


def included(entry):
    """Headers of one unit, by the compiler's own account."""
    arguments = shlex.split(entry["command"])
    if pathlib.Path(arguments[0]).name == "ccache":
        del arguments[0]
    position = arguments.index("-o")
    del arguments[position : position + 2]
    arguments.remove("-c")
    result = subprocess.run(
        [*arguments, "-M", "-MT", "unit"], cwd=entry["directory"], capture_output=True, text=True
    )
    if result.returncode != 0:
        return None, result.stderr
    return re.split(r"(?<!\\)\s+", result.stdout.replace("\\\n", " "))[1:], None


def units_of(entries, folder):
    return [entry for entry in entries if pathlib.Path(entry["file"]).is_relative_to(sources.ROOT / folder)]


def headers_of(entries, folder, target):
    """The folder's headers, each as a unit that is compiled as those of the target."""
    like = next(entry for entry in entries if f"/{target}.dir/" in entry["command"])
    return [
        {**like, "file": str(header), "command": like["command"].replace(f" -c {like['file']}", f" -c -x c++ {header}")}
        for header in sources.files([folder], [".hpp"])
    ]


def check_headers(units, forbidden):
    violations = [] if units else ["no unit to look at"]
    with ThreadPoolExecutor(2) as pool:
        for entry, (headers, error) in zip(units, pool.map(included, units)):
            name = pathlib.Path(entry["file"]).relative_to(sources.ROOT)
            if error:
                violations.append(f"{name}:1: cannot list its headers: {error}")
                continue
            violations += [f"{name}:1: includes {path}" for path in headers if forbidden.search(path)]
    print(f"{len(units)} units looked at")
    return violations


def check_symbols(archive, nm):
    violations = []
    symbols = subprocess.run([nm, "-C", "-u", archive], capture_output=True, text=True, check=True).stdout
    unit = archive
    for line in symbols.splitlines():
        if line.endswith(":"):
            unit = line[:-1]
        match = re.match(r"\s+[Uwv] (.*)", line)
        if match and FORBIDDEN_SYMBOLS.search(match.group(1)):
            violations.append(f"{unit}: asks for {match.group(1)}")
    return violations


def main(commands, archive, nm):
    entries = json.loads(pathlib.Path(commands).read_text())
    sources.report(
        check_headers(units_of(entries, "libjobcore"), FORBIDDEN_HEADERS)
        + check_symbols(archive, nm)
        + check_headers(headers_of(entries, "libk8sio/src/protocol", "signalbox_k8sio"), LOOP)
        + check_headers(headers_of(entries, "operator/dev/kubelet/machine", "signalbox_node"), LOOP)
    )


main(*sys.argv[1:])
