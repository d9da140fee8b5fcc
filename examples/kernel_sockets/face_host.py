"""The same server with its sockets on the host: one thread, all requests that are there in one batch."""

from __future__ import annotations

import selectors
import socket
import struct
from collections.abc import Callable

import numpy as np
from binary_patterns import PIXELS, THRESHOLD

NAME = 32
REQUEST = NAME + PIXELS
UNKNOWN = -1
# The distances of pairs of photos, both of shape (n, 4096).
Distances = Callable[[np.ndarray, np.ndarray], np.ndarray]


class HostServer:
    """Serves until so many clients have come and gone.

    Args:
        memcached: where the photos are.
        distances: compares a batch of pairs, on the host or on a device.
    """

    def __init__(self, memcached: tuple[str, int], distances: Distances) -> None:
        self.listener = socket.create_server(("127.0.0.1", 0), backlog=512)
        self.port: int = self.listener.getsockname()[1]
        self.store = socket.create_connection(memcached)
        self.store.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        self.answers = self.store.makefile("rb", buffering=1 << 18)
        self.distances = distances
        self.gone = 0

    def serve(self, expected: int) -> None:
        """Answers requests; returns when all clients are gone."""
        with selectors.DefaultSelector() as selector:
            selector.register(self.listener, selectors.EVENT_READ, None)
            while self.gone < expected:
                batch = []
                for key, _ in selector.select():
                    if key.data is None:
                        self._accept(selector)
                    elif self._receive(selector, key.fileobj, key.data):
                        batch.append((key.fileobj, bytes(key.data)))
                        key.data.clear()
                if batch:
                    self._answer(batch)
        self.listener.close()
        self.store.close()

    def _accept(self, selector: selectors.BaseSelector) -> None:
        client, _ = self.listener.accept()
        client.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        selector.register(client, selectors.EVENT_READ, bytearray())

    def _receive(self, selector: selectors.BaseSelector, client: socket.socket, request: bytearray) -> bool:
        """Whether the client's request is complete."""
        part = client.recv(REQUEST - len(request))
        if not part:
            selector.unregister(client)
            client.close()
            self.gone += 1
        request += part
        return len(request) == REQUEST

    def _answer(self, batch: list[tuple[socket.socket, bytes]]) -> None:
        names = [request[:NAME].rstrip(b"\0") for _, request in batch]
        known = self._fetch(names)
        found = [k for k, name in enumerate(names) if name in known]
        answers = [(0, UNKNOWN)] * len(batch)
        if found:
            asked = np.stack([np.frombuffer(batch[k][1], np.uint8, offset=NAME) for k in found])
            far = self.distances(asked, np.stack([known[names[k]] for k in found]))
            for k, distance in zip(found, far.tolist(), strict=True):
                answers[k] = (distance, int(distance <= THRESHOLD))
        for (client, _), answer in zip(batch, answers, strict=True):
            client.sendall(struct.pack("<Ii", *answer))

    def _fetch(self, names: list[bytes]) -> dict[bytes, np.ndarray]:
        """The photos of those that memcached knows, in one request."""
        self.store.sendall(b"get " + b" ".join(dict.fromkeys(names)) + b"\r\n")
        photos = {}
        while (line := self.answers.readline().split())[0] == b"VALUE":
            photos[line[1]] = np.frombuffer(self.answers.read(int(line[3])), np.uint8)
            self.answers.readline()
        return photos
