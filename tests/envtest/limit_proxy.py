# SPDX-License-Identifier: Apache-2.0
"""Between a client and a server: a way that lets so many requests a second pass, and answers the others with 429."""

import asyncio
import re

from tls_proxy import TlsProxy

LENGTH = re.compile(rb"\r\ncontent-length: *(\d+)", re.IGNORECASE)
REFUSAL = b'{"kind":"Status","apiVersion":"v1","status":"Failure","reason":"TooManyRequests","code":429,"message":"too many"}'


class LimitProxy(TlsProxy):
    """`self.passed` and `self.refused` count requests. One connection carries one request at a time, as HTTP/1.1 is used here."""

    def __init__(self, plane, rate):
        self.rate, self.tokens, self.refilled = rate, float(rate), None
        self.passed = self.refused = 0
        super().__init__(plane)

    def _may_pass(self):
        now = self.loop.time()
        self.tokens = min(self.rate, self.tokens + (now - (self.refilled or now)) * self.rate)
        self.refilled = now
        if self.tokens < 1:
            self.refused += 1
            return False
        self.tokens -= 1
        self.passed += 1
        return True

    async def requests(self, reader, far_writer, writer):
        try:
            while True:
                head = await reader.readuntil(b"\r\n\r\n")
                length = LENGTH.search(head)
                body = await reader.readexactly(int(length[1])) if length else b""
                if self._may_pass():
                    far_writer.write(head + body)
                    await far_writer.drain()
                else:
                    size = str(len(REFUSAL)).encode()
                    writer.write(
                        b"HTTP/1.1 429 Too Many Requests\r\nRetry-After: 1\r\nContent-Type: application/json\r\n"
                        b"Content-Length: " + size + b"\r\n\r\n" + REFUSAL
                    )
                    await writer.drain()
        except (OSError, asyncio.IncompleteReadError):
            pass  # one of both has gone
        far_writer.close()
