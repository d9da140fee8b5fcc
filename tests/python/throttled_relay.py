"""Stands in front of a daemon, sees what goes to it, and lets only so many bytes per second through."""

from __future__ import annotations

import socket
import threading
import time
from collections.abc import Callable

PIECE = 64 << 10


class ThrottledRelay:
    """Listens on a loopback port of its own; `address` is where clients connect. Stops with the ``with`` block."""

    def __init__(
        self, target: str, bytes_per_s: float = float("inf"), see: Callable[[bytes], object] = lambda _: None
    ) -> None:
        host, port = target.rsplit(":", 1)
        self._target = (host, int(port))
        self._bytes_per_s = bytes_per_s
        self._see = see
        self._sockets: list[socket.socket] = []
        self._listener = socket.create_server(("127.0.0.1", 0))
        self.address = f"127.0.0.1:{self._listener.getsockname()[1]}"
        threading.Thread(target=self._accept, daemon=True).start()

    def __enter__(self) -> ThrottledRelay:
        return self

    def __exit__(self, *error: object) -> None:
        for one in [self._listener, *self._sockets]:
            one.close()

    def _accept(self) -> None:
        while True:
            try:
                near, _ = self._listener.accept()
            except OSError:
                return
            # What the system keeps on its way would make an upload look done before it is.
            near.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, PIECE)
            far = socket.create_connection(self._target)
            self._sockets += [near, far]
            threading.Thread(target=self._pump, args=(near, far, self._bytes_per_s), daemon=True).start()
            threading.Thread(target=self._pump, args=(far, near, None), daemon=True).start()

    def _pump(self, source: socket.socket, target: socket.socket, bytes_per_s: float | None) -> None:
        try:
            while data := source.recv(PIECE):
                if bytes_per_s:
                    self._see(data)
                target.sendall(data)
                if bytes_per_s:
                    time.sleep(len(data) / bytes_per_s)
            target.shutdown(socket.SHUT_WR)
        except OSError:
            return
