# SPDX-License-Identifier: Apache-2.0
"""A way over TCP that a test can cut: between a client and a server, both on 127.0.0.1."""

import socket
import threading


class CutProxy:
    """Passes bytes on to `port` until cut(). `self.port`: where clients connect."""

    def __init__(self, port):
        self.target, self.pairs, self.mode = port, set(), "pass"
        self.changed = threading.Condition()
        self.listener = socket.create_server(("127.0.0.1", 0))
        self.port = self.listener.getsockname()[1]
        threading.Thread(target=self._accept, daemon=True).start()

    def cut(self, how):
        """`stall`: connections stand, but no byte goes through, neither way; `drop`: they break, and so does each new one."""
        with self.changed:
            self.mode = how
            broken = list(self.pairs) if how == "drop" else []
            self.changed.notify_all()
        for pair in broken:
            self._close(pair)

    def mend(self):
        self.cut("pass")

    def close(self):
        self.cut("drop")
        self.listener.close()

    def _accept(self):
        while True:
            try:
                client, _ = self.listener.accept()
                if self.mode == "drop":
                    client.close()
                    continue
                server = socket.create_connection(("127.0.0.1", self.target))
            except OSError:
                return
            pair = (client, server)
            with self.changed:
                self.pairs.add(pair)
            for source, sink in (pair, pair[::-1]):
                threading.Thread(target=self._pump, args=(pair, source, sink), daemon=True).start()

    def _pump(self, pair, source, sink):
        try:
            while piece := source.recv(65536):
                with self.changed:
                    self.changed.wait_for(lambda: self.mode != "stall")
                sink.sendall(piece)
        except OSError:
            pass  # the other direction, or cut(), has closed it
        self._close(pair)

    def _close(self, pair):
        with self.changed:
            self.pairs.discard(pair)
        for each in pair:
            try:
                each.shutdown(socket.SHUT_RDWR)
            except OSError:
                pass
            each.close()
