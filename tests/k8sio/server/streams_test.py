#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""What hostile clients do to logs, commands and forwarded ports: none harms the server, nothing of them stays."""
import argparse
import json
import os
import pathlib
import resource
import socket
import struct
import subprocess
import sys
import tempfile
import unittest
import zlib

PATIENCE = 300
PODS = "/api/v1/namespaces/default/pods"
EXEC = f"{PODS}/w/exec?container=main&stdin=1&stdout=1&command="
FORWARD = f"{PODS}/w/portforward"
LOG = f"{PODS}/w/log?follow=1"
V5 = "v5.channel.k8s.io"
SPDY = "SPDY/3.1+portforward.k8s.io"
# A sum that may stay after thousands of connections, from noise of the allocator.
KEPT = 3_000_000


def frame(payload, opcode=2, first=0x80, masked=True, size=None):
    """A WebSocket frame of a client; `size` is what it claims to hold."""
    size = len(payload) if size is None else size
    mask = 0x80 if masked else 0
    head = bytes([first | opcode])
    if size < 126:
        head += bytes([mask | size])
    elif size < 65536:
        head += bytes([mask | 126]) + struct.pack(">H", size)
    else:
        head += bytes([mask | 127]) + struct.pack(">Q", size)
    return head + (bytes(4) if masked else b"") + payload  # a mask of zeros changes nothing


def spdy(kind, body, version=3):
    return frame(struct.pack(">HHI", 0x8000 | version, kind, len(body)) + body)


def bomb():
    packer = zlib.compressobj(9)
    block = packer.compress(struct.pack(">II", 1, 1 << 24) + b"a" * (1 << 24)) + packer.flush(zlib.Z_SYNC_FLUSH)
    return spdy(1, struct.pack(">IIH", 1, 0, 0) + block)


class Streams(unittest.TestCase):
    def setUp(self):
        self.folder = self.enterContext(tempfile.TemporaryDirectory())
        self.server = subprocess.Popen([SERVER, "--pods", self.folder], stdin=subprocess.PIPE, stdout=subprocess.PIPE)
        self.addCleanup(self.server.wait)
        self.addCleanup(self.server.stdout.close)
        self.addCleanup(self.server.stdin.close)
        self.port = int(self.server.stdout.readline().split()[1])
        self.proc = pathlib.Path("/proc") / str(self.server.pid)
        os.mkfifo(os.path.join(self.folder, "w.log"))
        # Held open, so that a follower waits for more.
        self.log = os.open(os.path.join(self.folder, "w.log"), os.O_RDWR | os.O_NONBLOCK)
        self.addCleanup(os.close, self.log)
        pod = {"metadata": {"name": "w"}, "spec": {"nodeName": "n", "containers": [{"name": "main", "image": "x"}]}}
        self.assertIn(b" 201 ", self.ask("POST", PODS, json.dumps(pod).encode()))

    def connect(self):
        return socket.create_connection(("127.0.0.1", self.port), timeout=PATIENCE)

    def ask(self, method, path, body=b"", headers=()):
        with self.connect() as s:
            lines = [f"{method} {path} HTTP/1.1", "Host: 127.0.0.1", f"Content-Length: {len(body)}",
                     "Content-Type: application/json", *(headers or ("Connection: close",)), "", ""]
            s.sendall("\r\n".join(lines).encode() + body)
            return s.recv(65536)

    def upgrade(self, path, protocol):
        s = self.connect()
        lines = [f"GET {path} HTTP/1.1", "Host: 127.0.0.1", "Connection: Upgrade", "Upgrade: websocket",
                 "Sec-WebSocket-Version: 13", "Sec-WebSocket-Key: AAAAAAAAAAAAAAAAAAAAAA==",
                 f"Sec-WebSocket-Protocol: {protocol}", "", ""]
        s.sendall("\r\n".join(lines).encode())
        answer = b""
        while b"\r\n\r\n" not in answer:
            piece = s.recv(1)
            self.assertTrue(piece, answer)
            answer += piece
        self.assertIn(b" 101 ", answer)
        return s

    def open_files(self):
        return len(os.listdir(self.proc / "fd"))

    def resident(self):
        return int((self.proc / "statm").read_text().split()[1]) * resource.getpagesize()

    def children(self):
        return (self.proc / "task" / str(self.server.pid) / "children").read_text().split()

    def settle(self, files):
        """What has been closed here is closed and reaped there, some steps of its loop later."""
        for _ in range(100_000):
            self.assertIn(b" 200 ", self.ask("GET", PODS))
            if self.open_files() <= files and not self.children():
                return
        self.fail(f"{self.open_files()} open files of {files}, children {self.children()}")

    def end_of(self, s, last_words=b""):
        """Sends this and reads until the server closes; a reset is an end too, and the server need not take all."""
        got = b""
        try:
            s.sendall(last_words)
            while piece := s.recv(65536):
                got += piece
        except ConnectionError:
            pass
        s.close()
        return got

    def test_what_is_no_upgrade_is_refused(self):
        socket_headers = ["Connection: Upgrade", "Upgrade: websocket", "Sec-WebSocket-Version: 13",
                          "Sec-WebSocket-Key: AAAAAAAAAAAAAAAAAAAAAA=="]
        for path in (EXEC + "true", FORWARD):
            self.assertIn(b"Upgrade request required", self.ask("GET", path))
            self.assertIn(b"unable to upgrade connection", self.ask("GET", path, headers=socket_headers))
            other = [*socket_headers, "Sec-WebSocket-Protocol: v1.channel.k8s.io, ,x/y,,"]
            self.assertIn(b"unable to upgrade connection", self.ask("GET", path, headers=other))
            older = ["Connection: Upgrade", "Upgrade: SPDY/3.1"]
            self.assertIn(b"kubectl 1.31 and later", self.ask("POST", path, headers=older))
            page = [*socket_headers, "Origin: https://example.org"]
            self.assertIn(b" 403 ", self.ask("GET", path, headers=page))
            wrong = [*socket_headers[:3], f"Sec-WebSocket-Protocol: {V5}, {SPDY}"]
            self.assertIn(b" 400 ", self.ask("GET", path, headers=wrong))
        self.assertIn(b" 405 ", self.ask("PUT", EXEC + "true"))

    def test_broken_frames_end_their_connection_alone(self):
        files = self.open_files()
        spdy_junk = [frame(b"\xff" * 8), bomb(), spdy(1, b"\0" * 10), spdy(6, b"\0" * 4, 2),
                     spdy(2, b"\0" * 20_000)]
        junk = [
            b"\xff" * 100,
            frame(b"\0x", masked=False),
            frame(b"\0x", first=0xC0),  # compressed, which was not agreed on
            frame(b"\0x", opcode=3),
            frame(b"x" * 200, opcode=9),  # a ping that is too long
            frame(b"x", opcode=0),  # goes on what did not begin
            frame(b"", size=1 << 62),
            frame(b"\0", size=1 << 40) + b"x" * 100_000,
            frame(b"x" * 1000, first=0) + frame(b"y" * 1_100_000, opcode=0),  # too long in pieces
        ]
        # The command ends only with its input.
        for path, protocol, all_junk in ((EXEC + "cat", V5, junk), (FORWARD, SPDY, junk + spdy_junk)):
            for number, each in enumerate(all_junk):
                with self.subTest(path=path, number=number):
                    s = self.upgrade(path, protocol)
                    s.sendall(frame(b"\0good" if protocol == V5 else struct.pack(">HHII", 0x8003, 6, 4, 1)))
                    self.end_of(s, each)
        self.settle(files)

    def test_a_client_that_reads_nothing_is_not_served_into_memory(self):
        files, before = self.open_files(), self.resident()
        s = self.upgrade(EXEC + "yes", V5)
        pings = frame(b"ping", opcode=9) * 10_000
        t = self.upgrade(FORWARD, SPDY)
        s.setblocking(False)
        t.setblocking(False)
        spdy_pings = frame(struct.pack(">HHII", 0x8003, 6, 4, 1) * 10_000)
        for _ in range(1000):
            for each, what in ((s, pings), (t, spdy_pings)):
                try:
                    each.send(what)
                except BlockingIOError:
                    pass
            self.assertIn(b" 200 ", self.ask("GET", PODS))
        self.assertLess(self.resident() - before, 20_000_000)
        s.close()
        t.close()
        self.settle(files)

    def test_thousands_that_leave_leave_nothing(self):
        ways = [
            lambda: self.upgrade(EXEC + "cat", V5), lambda: self.upgrade(EXEC + "yes", V5), lambda: self.upgrade(FORWARD, SPDY),
            self.follow, lambda: self.upgrade(EXEC + "true", V5),
        ]

        def leave(count):
            for first in range(0, count, 50):
                batch = [ways[n % len(ways)]() for n in range(first, first + 50)]
                for number, s in enumerate(batch):
                    if number % 3 == 0:
                        s.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, b"\1\0\0\0\0\0\0\0")  # ends with a reset
                    s.close()

        files = self.open_files()
        leave(200)
        self.settle(files)
        before = self.resident()
        leave(1500)
        self.settle(files)
        self.assertLess(self.resident() - before, KEPT)

    def follow(self):
        s = self.connect()
        s.sendall(f"GET {LOG} HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\n".encode())
        self.assertIn(b" 200 ", s.recv(65536))
        return s


if __name__ == "__main__":
    parser = argparse.ArgumentParser()
    parser.add_argument("--server", required=True, help="the program k8sio_serve")
    arguments, rest = parser.parse_known_args()
    SERVER = arguments.server
    unittest.main(argv=[sys.argv[0], *rest])
