# SPDX-License-Identifier: Apache-2.0
"""Between a client and a server: a way that changes the time of answers, as an API server with a wrong clock would tell it."""

import email.utils
import re

from tls_proxy import TlsProxy

DATE = re.compile(rb"\r\nDate: ([^\r]+)\r\n")


class SkewProxy(TlsProxy):
    """Of every `every` answers one has a `Date` that is `seconds` ahead; `self.skewed` counts these, `self.told` all."""

    def __init__(self, plane, seconds, every):
        self.seconds, self.every = seconds, every
        self.skewed = self.told = 0
        super().__init__(plane)

    async def answers(self, far_reader, writer):
        await self.copy(far_reader, writer, self._skew)

    def _skew(self, piece):
        def other(found):
            self.told += 1
            if self.told % self.every:
                return found[0]
            self.skewed += 1
            ahead = email.utils.parsedate_to_datetime(found[1].decode()).timestamp() + self.seconds
            return b"\r\nDate: " + email.utils.formatdate(ahead, usegmt=True).encode() + b"\r\n"

        return DATE.sub(other, piece)
