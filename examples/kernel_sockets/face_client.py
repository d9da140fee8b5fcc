#!/usr/bin/env python3
"""Clients of a face-verification server: plain sockets, which know nothing of kernels or remotecl.

A request is a name (32 bytes, zeros behind it) and a photo (64 x 64 bytes); its answer is a distance and a verdict, two
32-bit numbers: 1 for the same person, 0 for another one, -1 for an unknown name. Prints "ready", waits for a line on
standard input, and prints what it measured as JSON.
"""

from __future__ import annotations

import argparse
import json
import selectors
import socket
import struct
import sys
import time

from photos import photo


def make_request(number: int, people: int) -> bytes:
    """A request: mostly the person of that name, every 4th somebody else, every 8th of an unknown name."""
    person = number * 7 % people
    shown = (person + 1) % people if number % 4 == 1 else person
    name = f"nobody{number}" if number % 8 == 3 else f"person{person}"
    return name.encode().ljust(32, b"\0") + photo(shown, 1 + number % 3).tobytes()


class Client:
    """A connection that asks one question after the other."""

    def __init__(self, address: tuple[str, int], requests: list[bytes]) -> None:
        self.socket = socket.create_connection(address, timeout=60)
        self.socket.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        self.requests = requests
        self.answers: list[tuple[int, int]] = []
        self.latencies: list[float] = []
        self.got = b""

    def ask(self) -> None:
        """Sends the next request."""
        self.begin = time.perf_counter()
        self.socket.sendall(self.requests[len(self.answers)])

    def read(self) -> bool:
        """Reads of an answer what there is, and asks again after it; returns whether there is more to come."""
        part = self.socket.recv(8 - len(self.got))
        if not part:
            raise ConnectionError("the server has ended the connection")
        self.got += part
        if len(self.got) < 8:
            return True
        self.latencies.append(1000 * (time.perf_counter() - self.begin))
        self.answers.append(struct.unpack("<Ii", self.got))
        self.got = b""
        if len(self.answers) == len(self.requests):
            return False
        self.ask()
        return True


def main() -> None:
    """The command."""
    parser = argparse.ArgumentParser(description="Many clients of a face-verification server.")
    parser.add_argument("host")
    parser.add_argument("port", type=int)
    parser.add_argument("--clients", type=int, default=4)
    parser.add_argument("--requests", type=int, default=50, help="of each client")
    parser.add_argument("--people", type=int, default=20)
    parser.add_argument("--first", type=int, default=0, help="number of the first request")
    parser.add_argument("--timeout", type=float, default=120, help="seconds without any answer")
    options = parser.parse_args()
    numbers = [range(options.first + k, options.first + options.clients * options.requests, options.clients)
               for k in range(options.clients)]  # fmt: skip
    requests = [[make_request(number, options.people) for number in mine] for mine in numbers]
    clients = [Client((options.host, options.port), mine) for mine in requests]
    print("ready", flush=True)
    sys.stdin.readline()
    begin = time.perf_counter()
    with selectors.DefaultSelector() as selector:
        for client in clients:
            selector.register(client.socket, selectors.EVENT_READ, client)
            client.ask()
        while selector.get_map():
            events = selector.select(options.timeout)
            if not events:
                sys.exit(f"face_client: no answer for {options.timeout:g} s")
            for key, _ in events:
                if not key.data.read():
                    selector.unregister(key.fileobj)
                    key.fileobj.close()
    result = {
        "seconds": time.perf_counter() - begin,
        "latencies_ms": [latency for client in clients for latency in client.latencies],
        "answers": {
            number: answer
            for mine, client in zip(numbers, clients, strict=True)
            for number, answer in zip(mine, client.answers, strict=False)
        },
    }
    print(json.dumps(result), flush=True)


if __name__ == "__main__":
    main()
