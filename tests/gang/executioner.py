# SPDX-License-Identifier: Apache-2.0
"""Kills a client of an API server at a write of its own."""

import collections
import re
import threading

import world  # noqa: F401 (first: it knows the folder of the others)
from storm_proxy import Body, Cut, RequestProxy

# Events are told, and nothing depends on them; reviews are questions.
WRITE = re.compile(rb"^(POST|PUT|PATCH|DELETE) /(?!\S*(?:/events|reviews)\b)(\S*)")


class Executioner(RequestProxy):
    """Kills whoever sends the write of a number, counted from when that was said: before the server has it, or when it has taken
    effect and no one has heard of it. `hits`: what was cut off."""

    def __init__(self, plane):
        self.hit, self.hits, self.left = threading.Event(), collections.Counter(), 0
        self.lock = threading.Lock()
        super().__init__(plane)

    def arm(self, kill, number, behind):
        self.hit.clear()
        self.kill, self.behind, self.left = kill, behind, number

    def disarm(self):
        """False if it is too late: somebody is being killed."""
        with self.lock:
            early, self.left = self.left > 0, 0
            return early

    async def exchange(self, request, reader, far_reader, far_writer, writer):
        found = WRITE.match(request)
        with self.lock:
            self.left -= bool(found)
            spared = not found or self.left != 0
        if spared:
            return await super().exchange(request, reader, far_reader, far_writer, writer)
        if self.behind:
            await self.send(request, far_writer)
            await Body(await far_reader.readuntil(b"\r\n\r\n"), far_reader).whole()
        self.kill()
        self.hits[self.describe(found)] += 1
        self.hit.set()
        raise Cut

    def describe(self, found):
        """`behind PATCH workloads/status`."""
        path = found[2].decode().partition("?")[0].partition("/namespaces/")[2].split("/")
        what = "/".join(path[1::2]) if len(path) > 3 else path[1]
        return f"{'behind' if self.behind else 'before'} {found[1].decode()} {what}"
