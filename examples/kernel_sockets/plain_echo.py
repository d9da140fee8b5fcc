#!/usr/bin/env python3
"""An echo server and a client of echo servers, which are ordinary programs and know nothing of kernels or remotecl.

python plain_echo.py serve            # prints its port
python plain_echo.py ping PORT SIZE CONNECTIONS SECONDS
"""

from __future__ import annotations

import selectors
import socket
import sys
import time

PIECE = 1 << 16


def serve() -> None:
    """Sends back what comes, for any number of clients and for ever."""
    listener = socket.create_server(("127.0.0.1", 0), backlog=1024)
    print(listener.getsockname()[1], flush=True)
    selector = selectors.DefaultSelector()
    selector.register(listener, selectors.EVENT_READ)
    while True:
        for key, _ in selector.select():
            if key.fileobj is listener:
                client, _ = listener.accept()
                client.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
                selector.register(client, selectors.EVENT_READ)
            elif data := key.fileobj.recv(PIECE):
                key.fileobj.sendall(data)
            else:
                selector.unregister(key.fileobj)
                key.fileobj.close()


def round_trip(sockets: list[socket.socket], selector: selectors.BaseSelector, message: bytes) -> None:
    """One message to each of the connections and back, checked."""
    sent, got, open_ones = dict.fromkeys(sockets, 0), {one: bytearray() for one in sockets}, len(sockets)
    for one in sockets:
        selector.register(one, selectors.EVENT_READ | selectors.EVENT_WRITE)
    while open_ones:
        for key, events in selector.select():
            one = key.fileobj
            if events & selectors.EVENT_WRITE:
                sent[one] += one.send(message[sent[one] : sent[one] + PIECE])
                if sent[one] == len(message):
                    selector.modify(one, selectors.EVENT_READ)
            if events & selectors.EVENT_READ:
                data = one.recv(PIECE)
                if not data:
                    raise ConnectionError("the echo server has ended the connection")
                got[one] += data
                if len(got[one]) == len(message):
                    if got[one] != message:
                        raise ValueError("the echo differs")
                    selector.unregister(one)
                    open_ones -= 1


def ping(port: int, size: int, connections: int, seconds: float) -> float:
    """Seconds that one message to each connection and back take, on average."""
    sockets = [socket.create_connection(("127.0.0.1", port)) for _ in range(connections)]
    for one in sockets:
        one.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        one.setblocking(False)
    message = bytes(k * 31 % 251 for k in range(size))
    rounds = 0
    with selectors.DefaultSelector() as selector:
        round_trip(sockets, selector, message)
        begin = time.perf_counter()
        while (took := time.perf_counter() - begin) < seconds:
            round_trip(sockets, selector, message)
            rounds += 1
    for one in sockets:
        one.close()
    return took / rounds


if __name__ == "__main__":
    if sys.argv[1] == "serve":
        serve()
    print(ping(int(sys.argv[2]), int(sys.argv[3]), int(sys.argv[4]), float(sys.argv[5])))
