# SPDX-License-Identifier: Apache-2.0
"""Between a client and a server: a way that changes the time of answers, as an API server with a wrong clock would tell it."""

import asyncio
import email.utils
import re
import ssl
import threading

DATE = re.compile(rb"\r\nDate: ([^\r]+)\r\n")


class SkewProxy:
    """Answers on `self.port` for the server on `port`, whose certificate and key it uses. Of every `every` answers one has a
    `Date` that is `seconds` ahead; `self.skewed` counts these, `self.told` all."""

    def __init__(self, port, certificate, key, seconds, every):
        self.target, self.seconds, self.every = port, seconds, every
        self.skewed = self.told = 0
        self.face = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        self.face.load_cert_chain(certificate, key)
        self.way = ssl.create_default_context(cafile=str(certificate))
        self.ready, self.loop = threading.Event(), asyncio.new_event_loop()
        threading.Thread(target=self._run, daemon=True).start()
        self.ready.wait()

    def _run(self):
        async def listen():
            server = await asyncio.start_server(self._serve, "127.0.0.1", 0, ssl=self.face)
            self.port = server.sockets[0].getsockname()[1]
            self.ready.set()
            await server.serve_forever()

        self.loop.run_until_complete(listen())

    async def _serve(self, reader, writer):
        try:
            far_reader, far_writer = await asyncio.open_connection("127.0.0.1", self.target, ssl=self.way)
        except OSError:
            writer.close()
            return
        await asyncio.gather(
            self._pass(reader, far_writer, lambda piece: piece), self._pass(far_reader, writer, self._skew)
        )

    async def _pass(self, reader, writer, change):
        try:
            while piece := await reader.read(65536):
                writer.write(change(piece))
                await writer.drain()
        except OSError:
            pass  # one of both has gone
        writer.close()

    def _skew(self, piece):
        def other(found):
            self.told += 1
            if self.told % self.every:
                return found[0]
            self.skewed += 1
            ahead = email.utils.parsedate_to_datetime(found[1].decode()).timestamp() + self.seconds
            return b"\r\nDate: " + email.utils.formatdate(ahead, usegmt=True).encode() + b"\r\n"

        return DATE.sub(other, piece)
