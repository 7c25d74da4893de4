# SPDX-License-Identifier: Apache-2.0
"""Between a client and a server: a way that answers some requests itself: with 429 what is too much, or with 500 what a test names."""

import asyncio
import re

from tls_proxy import TlsProxy

LENGTH = re.compile(rb"\r\ncontent-length: *(\d+)", re.IGNORECASE)
STATUS = '{"kind":"Status","apiVersion":"v1","status":"Failure","reason":"%s","code":%d,"message":"by the proxy"}'


class RefusingProxy(TlsProxy):
    """`self.passed` and `self.refused` count requests. One connection carries one request at a time, as HTTP/1.1 is used here."""

    def __init__(self, plane):
        self.passed = self.refused = 0
        super().__init__(plane)

    def refusal(self, head):
        """The code and the reason with which a request is answered, or None. `head`: its first line and its headers, as bytes."""
        return None

    async def requests(self, reader, far_writer, writer):
        try:
            while True:
                head = await reader.readuntil(b"\r\n\r\n")
                length = LENGTH.search(head)
                body = await reader.readexactly(int(length[1])) if length else b""
                refusal = self.refusal(head)
                if refusal:
                    self.refused += 1
                    code, reason = refusal
                    status = STATUS % (reason, code)
                    wait = "Retry-After: 1\r\n" if code == 429 else ""
                    answer = f"HTTP/1.1 {code} {reason}\r\n{wait}Content-Type: application/json\r\nContent-Length: {len(status)}\r\n\r\n{status}"
                    writer.write(answer.encode())
                    await writer.drain()
                else:
                    self.passed += 1
                    far_writer.write(head + body)
                    await far_writer.drain()
        except (OSError, asyncio.IncompleteReadError):
            pass  # one of both has gone
        far_writer.close()


class LimitProxy(RefusingProxy):
    """Lets so many requests a second pass."""

    def __init__(self, plane, rate):
        self.rate, self.tokens, self.refilled = rate, float(rate), None
        super().__init__(plane)

    def refusal(self, head):
        now = self.loop.time()
        self.tokens = min(self.rate, self.tokens + (now - (self.refilled or now)) * self.rate)
        self.refilled = now
        if self.tokens < 1:
            return 429, "TooManyRequests"
        self.tokens -= 1
        return None
