# SPDX-License-Identifier: Apache-2.0
"""A way through which a client reaches an API server, and that may change what passes: it speaks TLS on both sides."""

import asyncio
import ssl
import threading


class TlsProxy:
    """Answers on `self.port` for the server of `plane`, whose certificate and key it uses. Subclasses change what passes."""

    def __init__(self, plane):
        certificates = plane.folder / "certificates"
        self.target = plane.port
        self.face = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        self.face.load_cert_chain(certificates / "apiserver.crt", certificates / "apiserver.key")
        self.way = ssl.create_default_context(cafile=str(certificates / "apiserver.crt"))
        self.ready, self.loop = threading.Event(), asyncio.new_event_loop()
        threading.Thread(target=self._run, daemon=True).start()
        self.ready.wait()

    def lead(self, plane, kubeconfig):
        """Has this kubeconfig name the proxy."""
        kubeconfig.write_text(kubeconfig.read_text().replace(plane.url, f"https://127.0.0.1:{self.port}"))

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
        await asyncio.gather(self.requests(reader, far_writer, writer), self.answers(far_reader, writer))

    async def requests(self, reader, far_writer, writer):
        """From the client to the server; `writer`: back to the client."""
        await self.copy(reader, far_writer)

    async def answers(self, far_reader, writer):
        await self.copy(far_reader, writer)

    async def copy(self, reader, writer, change=lambda piece: piece):
        try:
            while piece := await reader.read(65536):
                writer.write(change(piece))
                await writer.drain()
        except OSError:
            pass  # one of both has gone
        writer.close()
