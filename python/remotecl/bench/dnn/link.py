"""A link that is far and slow: a process that passes on what comes, later, and so many bits a second.

It is a process of its own because PyOpenCL does not let other Python threads run while it waits.
"""

from __future__ import annotations

import contextlib
import queue
import socket
import subprocess
import sys
import threading
import time

_PIECE = 1 << 16
# Pieces that are on their way in one direction.
_PIECES_MAX = 64


class Link:
    """A relay before a server, until the end of the ``with`` block.

    Attributes:
        address: where clients connect.
    """

    def __init__(self, server: str, delay_ms: float, gbit_per_s: float) -> None:
        command = [sys.executable, __file__, server, str(delay_ms), str(gbit_per_s)]
        self._process = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
        assert self._process.stdout is not None
        self.address = self._process.stdout.readline().strip()

    def __enter__(self) -> Link:
        return self

    def __exit__(self, *_: object) -> None:
        # The process ends when this end of its standard input is closed.
        self._process.communicate()


def _receive(source: socket.socket, pieces: queue.Queue[tuple[float, bytes]]) -> None:
    with contextlib.suppress(OSError):
        while data := source.recv(_PIECE):
            pieces.put((time.monotonic(), data))
    pieces.put((time.monotonic(), b""))


def _send(target: socket.socket, pieces: queue.Queue[tuple[float, bytes]], delay_s: float, bytes_per_s: float) -> None:
    free_at = 0.0
    with contextlib.suppress(OSError):
        while True:
            came_at, data = pieces.get()
            free_at = max(came_at, free_at) + len(data) / bytes_per_s
            time.sleep(max(0.0, free_at + delay_s - time.monotonic()))
            if not data:
                target.shutdown(socket.SHUT_WR)
                return
            target.sendall(data)
    while pieces.get()[1]:  # so that nobody waits for room
        pass


def _accept(listener: socket.socket, server: tuple[str, int], delay_s: float, bytes_per_s: float) -> None:
    while True:
        near, _ = listener.accept()
        far = socket.create_connection(server)
        for one in (near, far):
            one.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        for source, target in ((near, far), (far, near)):
            pieces: queue.Queue[tuple[float, bytes]] = queue.Queue(_PIECES_MAX)
            threading.Thread(target=_receive, args=(source, pieces), daemon=True).start()
            threading.Thread(target=_send, args=(target, pieces, delay_s, bytes_per_s), daemon=True).start()


def _main(server: str, delay_ms: float, gbit_per_s: float) -> None:
    host, _, port = server.rpartition(":")
    with socket.create_server(("127.0.0.1", 0)) as listener:
        arguments = (listener, (host.strip("[]"), int(port)), delay_ms / 1e3, gbit_per_s * 1e9 / 8)
        threading.Thread(target=_accept, args=arguments, daemon=True).start()
        print(f"127.0.0.1:{listener.getsockname()[1]}", flush=True)
        sys.stdin.read()


if __name__ == "__main__":
    _main(sys.argv[1], float(sys.argv[2]), float(sys.argv[3]))
