# SPDX-License-Identifier: Apache-2.0
"""Between a client and a server: a way that understands requests, and lies, or cuts watches. The faults of Storm are those of
tests/operator/scenario/lying_transport.hpp."""

import asyncio
import collections
import json
import random
import re

from tls_proxy import TlsProxy

LENGTH = re.compile(rb"\r\ncontent-length: *(\d+)", re.IGNORECASE)
CHUNKED = re.compile(rb"\r\ntransfer-encoding: *chunked", re.IGNORECASE)
WATCH = re.compile(rb"^GET [^ ]*[?&]watch=(?:true|1)")
REFUSALS = ((401, "Unauthorized"), (429, "TooManyRequests"), (500, "InternalError"))
GONE = b'{"type":"ERROR","object":{"kind":"Status","apiVersion":"v1","code":410,"reason":"Expired"}}\n'
END = b"0\r\n\r\n"
PAGE = b"<html><body>please wait</body></html>"


class Cut(Exception):
    """The connection ends here."""


def answer(status, kind, body, extra=b""):
    head = f"HTTP/1.1 {status} Answer\r\nContent-Type: {kind}\r\nContent-Length: {len(body)}\r\n".encode()
    return head + extra + b"\r\n" + body


def refusal(code, reason):
    status = {"kind": "Status", "apiVersion": "v1", "status": "Failure", "reason": reason, "code": code}
    return answer(code, "application/json", json.dumps(status).encode(), b"Retry-After: 1\r\n" if code == 429 else b"")


def chunk(data):
    return f"{len(data):x}\r\n".encode() + data + b"\r\n"


class Body:
    """The body of an answer, without the framing of chunks."""

    def __init__(self, head, reader):
        length = LENGTH.search(head)
        self.reader, self.chunked = reader, bool(CHUNKED.search(head))
        self.left = int(length[1]) if length else 0
        self.rest = b""

    async def piece(self):
        """Empty at the end."""
        if not self.chunked:
            size, self.left = self.left, 0
            return await self.reader.readexactly(size)
        size = int((await self.reader.readuntil(b"\r\n")).split(b";")[0], 16)
        data = await self.reader.readexactly(size)
        await self.reader.readexactly(2)
        return data

    async def line(self):
        """Empty at the end."""
        while b"\n" not in self.rest:
            piece = await self.piece()
            if not piece:
                return b""
            self.rest += piece
        line, _, self.rest = self.rest.partition(b"\n")
        return line + b"\n"

    async def whole(self):
        pieces = []
        while piece := await self.piece():
            pieces.append(piece)
        return b"".join(pieces)

    def framed(self, data):
        return (chunk(data) if data else b"") + END if self.chunked else data


class RequestProxy(TlsProxy):
    """One request at a time on each connection, as HTTP/1.1 has it. Passes all on; subclasses do otherwise."""

    def __init__(self, plane):
        self.serving = set()  # the event loop keeps tasks by weak references alone
        super().__init__(plane)

    async def _serve(self, reader, writer):
        self.serving.add(asyncio.current_task())
        far_writer = None
        try:
            far_reader, far_writer = await asyncio.open_connection("127.0.0.1", self.target, ssl=self.way, limit=1 << 26)
            while True:
                head = await reader.readuntil(b"\r\n\r\n")
                length = LENGTH.search(head)
                body = await reader.readexactly(int(length[1])) if length else b""
                await self.exchange(head + body, reader, far_reader, far_writer, writer)
        except (OSError, EOFError, Cut, asyncio.LimitOverrunError):
            pass  # one of both has gone, or the way is cut
        for each in filter(None, (writer, far_writer)):
            each.close()
        self.serving.discard(asyncio.current_task())

    async def exchange(self, request, reader, far_reader, far_writer, writer):
        await self.send(request, far_writer)
        head = await far_reader.readuntil(b"\r\n\r\n")
        body = Body(head, far_reader)
        if WATCH.search(request) and b" 200 " in head[:16]:
            await self.send(head, writer)
            # A client says nothing during a watch but that it goes.
            both = [asyncio.ensure_future(each) for each in (self.watch(body, writer), reader.read(1))]
            await asyncio.wait(both, return_when=asyncio.FIRST_COMPLETED)
            for each in both:
                each.cancel()
            await asyncio.gather(*both, return_exceptions=True)
            raise Cut
        await self.unary(head, body, await body.whole(), writer)

    async def send(self, data, writer):
        if writer.is_closing():
            raise Cut
        writer.write(data)
        await writer.drain()

    async def unary(self, head, body, data, writer):
        await self.send(head + body.framed(data), writer)

    async def watch(self, body, writer):
        while line := await body.line():
            await self.send(chunk(line), writer)
        await self.send(END, writer)


class WatchCutter(RequestProxy):
    """Cuts each watch after `seconds`, and, if `after_delivery`, behind each event."""

    def __init__(self, plane, seconds, after_delivery=False):
        self.seconds, self.after_delivery = seconds, after_delivery
        self.cuts = 0
        super().__init__(plane)

    async def watch(self, body, writer):
        try:
            async with asyncio.timeout(self.seconds):
                while line := await body.line():
                    await self.send(chunk(line), writer)
                    if self.after_delivery:
                        break
        except TimeoutError:
            pass
        self.cuts += 1
        raise Cut


class Storm(RequestProxy):
    """Hits one request and one line of a watch in `every`, `faults` in all; then it is honest. `self.counts`: of each fault."""

    def __init__(self, plane, seed, faults, every=3):
        self.random, self.left, self.every = random.Random(seed), faults, every
        self.counts = collections.Counter()
        super().__init__(plane)

    def over(self):
        return self.left <= 0

    def _hits(self):
        return self.left > 0 and self.random.randrange(self.every) == 0

    def _count(self, fault):
        self.left -= 1
        self.counts[fault] += 1

    async def exchange(self, request, reader, far_reader, far_writer, writer):
        if self._hits():
            what = self.random.randrange(4)
            if what == 0:
                self._count("request cut before its effect")
                raise Cut
            if what == 1:
                code, reason = self.random.choice(REFUSALS)
                self._count(reason)
                await self.send(refusal(code, reason), writer)
                return
            if what == 2:
                self._count("request late")
                await asyncio.sleep(self.random.uniform(0, 3))
        await super().exchange(request, reader, far_reader, far_writer, writer)

    async def unary(self, head, body, data, writer):
        if not self._hits():
            return await super().unary(head, body, data, writer)
        what = self.random.randrange(5)
        if what == 0:
            self._count("request cut behind its effect")
            raise Cut
        if what == 1:
            self._count("500 behind its effect")
            return await self.send(refusal(500, "InternalError"), writer)
        if what == 2:
            self._count("web page")
            return await self.send(answer(200, "text/html", PAGE), writer)
        if what == 3:
            self._count("answer truncated")
            await self.send(head + body.framed(data)[: len(data) // 2], writer)
            raise Cut
        self._count("answer late")
        await asyncio.sleep(self.random.uniform(0, 3))
        await super().unary(head, body, data, writer)

    async def watch(self, body, writer):
        earlier = b""
        while line := await body.line():
            if not self._hits():
                await self.send(chunk(line), writer)
                earlier = line
                continue
            half = self.random.randrange(1, len(line))
            told, ends = self.random.choice([
                ("line cut", False), ("line cut without an end", False), ("front of a line cut", False),
                ("line replaced by null", False), ("line repeated", False), ("earlier line repeated", False),
                ("410", False), ("early end", True), ("watch cut within a line", True),
            ])
            sent = {
                "line cut": line[:half] + b"\n", "line cut without an end": line[:half],
                "front of a line cut": line[half:], "line replaced by null": b"null\n", "line repeated": line + line,
                "earlier line repeated": line + earlier, "410": GONE, "early end": b"", "watch cut within a line": line[:half],
            }[told]
            self._count(told)
            if sent:
                await self.send(chunk(sent), writer)
            if told == "watch cut within a line":
                raise Cut
            if ends:
                break
        await self.send(END, writer)
