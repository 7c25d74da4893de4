#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Ten thousand connections to the embedded server, most of them ended badly: none is kept, nothing of them stays in memory."""
import argparse
import os
import pathlib
import resource
import socket
import subprocess
import sys
import unittest

ROUNDS = 4
CONNECTIONS = 2_500
AT_ONCE = 250
# Bytes per connection that may stay in every round: what is lost grows in each, what the allocator keeps for later in some.
KEPT = 20
PATIENCE = 300

GET = b"GET /api/v1/namespaces/default/pods HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\n"
WATCH = b"GET /api/v1/pods?watch=1 HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\n"
CUT_HEADER = GET[:40]
CUT_BODY = b"POST /api/v1/namespaces/default/pods HTTP/1.1\r\nHost: 127.0.0.1\r\nContent-Length: 1000\r\n\r\n{"
NO_HTTP = b"\x16\x03\x01 hello\r\n\r\n"
# What is sent, whether an answer is waited for, whether the end is a reset.
WAYS = [
    (GET, True, False), (GET, True, True), (GET, False, True), (WATCH, True, False), (WATCH, True, True),
    (CUT_HEADER, False, False), (CUT_HEADER, False, True), (CUT_BODY, False, False), (CUT_BODY, False, True),
    (NO_HTTP, False, False), (b"", False, False), (b"", False, True),
]


class Connections(unittest.TestCase):
    def setUp(self):
        self.server = subprocess.Popen([SERVER], stdin=subprocess.PIPE, stdout=subprocess.PIPE)
        self.addCleanup(self.server.wait)
        self.addCleanup(self.server.stdout.close)
        self.addCleanup(self.server.stdin.close)
        self.port = int(self.server.stdout.readline().split()[1])
        self.proc = pathlib.Path("/proc") / str(self.server.pid)

    def open_files(self):
        return len(os.listdir(self.proc / "fd"))

    def resident(self):
        """Bytes."""
        return int((self.proc / "statm").read_text().split()[1]) * resource.getpagesize()

    def ask(self):
        """A whole request; its answer shows that the server has handled what came before."""
        with socket.create_connection(("127.0.0.1", self.port), timeout=PATIENCE) as s:
            s.sendall(GET.replace(b"\r\n\r\n", b"\r\nConnection: close\r\n\r\n"))
            answer = b"".join(iter(lambda: s.recv(65536), b""))
        self.assertIn(b"200 OK", answer)

    def connect(self, count):
        for first in range(0, count, AT_ONCE):
            batch = []
            for number in range(first, first + AT_ONCE):
                sent, answered, reset = WAYS[number % len(WAYS)]
                s = socket.create_connection(("127.0.0.1", self.port), timeout=PATIENCE)
                if reset:
                    s.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, b"\1\0\0\0\0\0\0\0")
                s.sendall(sent)
                batch.append((s, answered))
            for s, answered in batch:
                if answered:
                    self.assertTrue(s.recv(65536))
                s.close()
        self.ask()

    def test_ten_thousand(self):
        self.ask()
        files = self.open_files()
        self.connect(CONNECTIONS // 4)  # whatever is made once is there then
        grown = []
        for _ in range(ROUNDS):
            before = self.resident()
            self.connect(CONNECTIONS)
            for _ in range(100):  # the ends that it has not seen yet
                self.ask()
                if self.open_files() <= files:
                    break
            grown.append(self.resident() - before)
        print(f"{ROUNDS} x {CONNECTIONS} connections: {files} open files before, {self.open_files()} after, {grown} bytes more")
        self.assertLessEqual(self.open_files(), files)
        self.assertLess(min(grown), KEPT * CONNECTIONS)


if __name__ == "__main__":
    parser = argparse.ArgumentParser()
    parser.add_argument("--server", required=True)
    SERVER = parser.parse_args().server
    unittest.main(argv=sys.argv[:1], verbosity=2)
