"""A link that is far and slow: a process that passes bytes on after a delay, and with a limited rate.

It is a process of its own because PyOpenCL does not let other Python threads run while it waits.
"""

from __future__ import annotations

import contextlib
import ctypes
import os
import queue
import random
import socket
import subprocess
import sys
import threading
import time
from collections.abc import Sequence

_PIECE = 1 << 16
# If some packets are late, a piece is one packet.
_PACKET = 1448
# The most pieces that are in flight in one direction.
_PIECES_MAX = 64
_CLONE_NEWNET = 0x40000000


class Link:
    """A relay before a server, until the end of the ``with`` block.

    Args:
        server: where it connects to.
        delay_ms: each way.
        gbit_per_s: how much it passes on at most.
        late_part: how many packets come later by one more delay, from 0 to 1; what follows waits for them, as TCP does.
        listen: where it listens; port 0 lets the system choose.
        inside: a command that runs it in a namespace.
        namespace: a network namespace in which it connects to the server; empty for that in which it listens.

    Attributes:
        address: where clients connect.
    """

    def __init__(
        self,
        server: str,
        delay_ms: float,
        gbit_per_s: float,
        *,
        late_part: float = 0.0,
        listen: str = "127.0.0.1:0",
        inside: Sequence[str] = (),
        namespace: str = "",
    ) -> None:
        options = [server, str(delay_ms), str(gbit_per_s), str(late_part), listen, namespace]
        self._process = subprocess.Popen(
            [*inside, sys.executable, __file__, *options], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
        )
        assert self._process.stdout is not None
        self.address = self._process.stdout.readline().strip()

    def __enter__(self) -> Link:
        return self

    def __exit__(self, *_: object) -> None:
        # The process ends when this end of its standard input is closed.
        self._process.communicate()


class _Way:
    """The properties that both directions of all connections share."""

    def __init__(self, delay_s: float, bytes_per_s: float, late_part: float) -> None:
        self.delay_s = delay_s
        self.bytes_per_s = bytes_per_s
        self.piece = _PACKET if late_part else _PIECE
        self._late_part = late_part
        self._random = random.Random(0)

    def further_s(self) -> float:
        """The further delay of the next packet."""
        return self.delay_s if self._random.random() < self._late_part else 0.0


def _receive(source: socket.socket, pieces: queue.Queue[tuple[float, bytes]], way: _Way) -> None:
    with contextlib.suppress(OSError):
        while data := source.recv(way.piece):
            pieces.put((time.monotonic(), data))
    pieces.put((time.monotonic(), b""))


def _send(target: socket.socket, pieces: queue.Queue[tuple[float, bytes]], way: _Way) -> None:
    free_at = 0.0
    with contextlib.suppress(OSError):
        while True:
            came_at, data = pieces.get()
            free_at = max(came_at, free_at) + len(data) / way.bytes_per_s
            time.sleep(max(0.0, free_at + way.delay_s + way.further_s() - time.monotonic()))
            if not data:
                target.shutdown(socket.SHUT_WR)
                return
            target.sendall(data)
    while pieces.get()[1]:  # so that nobody waits for room
        pass


def _accept(listener: socket.socket, server: tuple[str, int], way: _Way, namespace: str) -> None:
    # Holds for this thread and those that it starts; the listener stays where it is.
    if namespace:
        _enter(namespace)
    while True:
        near, _ = listener.accept()
        far = socket.create_connection(server)
        for one in (near, far):
            one.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        for source, target in ((near, far), (far, near)):
            pieces: queue.Queue[tuple[float, bytes]] = queue.Queue(_PIECES_MAX)
            threading.Thread(target=_receive, args=(source, pieces, way), daemon=True).start()
            threading.Thread(target=_send, args=(target, pieces, way), daemon=True).start()


def _enter(namespace: str) -> None:
    descriptor = os.open(f"/run/netns/{namespace}", os.O_RDONLY)
    # Python has os.setns() from 3.12 on.
    if ctypes.CDLL(None, use_errno=True).setns(descriptor, _CLONE_NEWNET) != 0:
        raise OSError(ctypes.get_errno(), f"setns: {namespace}")
    os.close(descriptor)


def _address(text: str) -> tuple[str, int]:
    host, _, port = text.rpartition(":")
    return host.strip("[]"), int(port)


def _main(server: str, delay_ms: str, gbit_per_s: str, late_part: str, listen: str, namespace: str) -> None:
    with socket.create_server(_address(listen)) as listener:
        way = _Way(float(delay_ms) / 1e3, float(gbit_per_s) * 1e9 / 8, float(late_part))
        threading.Thread(target=_accept, args=(listener, _address(server), way, namespace), daemon=True).start()
        host, port = listener.getsockname()[:2]
        print(f"{host}:{port}", flush=True)
        sys.stdin.read()


if __name__ == "__main__":
    _main(*sys.argv[1:])
