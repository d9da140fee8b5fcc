#!/usr/bin/env python3
"""An echo server and its clients in kernels, with ordinary programs on the other side and with each other.

python echo.py            # with socat, both ways, and kernel to kernel
python echo.py --bench    # latency and bandwidth, beside those of two ordinary programs
"""

from __future__ import annotations

import argparse
import contextlib
import shutil
import socket
import subprocess
import sys
import time
from collections.abc import Iterator

import common
import numpy as np
import pyopencl as cl

PIECE = 16384  # as in echo.cl
TCP = "tcp:127.0.0.1:{}"


class EchoServer:
    """A persistent kernel that serves until so many clients have come and gone.

    Args:
        name: under which kernels of the same program find it, in place of a port.
    """

    def __init__(self, site: common.Site, clients: int, name: str = "") -> None:
        self.site = site
        groups = min(site.groups, clients)
        most = -(-clients // groups)  # of one work-group
        listener, self.port = site.listen(name or TCP.format(0))
        self.address = name or TCP.format(self.port)
        self.running = site.run(
            "serve", groups, listener, most, clients, site.zeros(1), site.zeros(PIECE * groups, np.uint8),
            site.free_places(groups, most, listener), site.buffer(np.ones(most + 1, np.uint32)),
            site.zeros((most + 1) * groups, np.uint32),
        )  # fmt: skip

    def wait(self, seconds: float = 60) -> None:
        """Until all clients are gone."""
        common.wait([self.running], seconds)


class EchoClient:
    """Connections of kernels to an echo server.

    Args:
        to: the server's address.
        most: bytes that a message can have.
    """

    def __init__(self, site: common.Site, to: str, connections: int, most: int) -> None:
        self.site, self.connections = site, connections
        self.groups = min(site.groups, connections)
        self.sockets, self.status, self.wrong = site.zeros(connections), site.zeros(1), site.zeros(1)
        self.counters = [site.zeros(connections) for _ in range(2)]
        self.scratch = site.zeros(PIECE * self.groups, np.uint8)
        self.message = site.buffer((np.arange(most, dtype=np.uint32) * 31 % 251).astype(np.uint8))
        address = site.buffer(common.addresses(to))
        self._run("open_connections", address, connections, self.sockets, self.status)

    def ping(self, size: int, rounds: int) -> float:
        """Seconds that so many messages on each connection took, and their way back. Raises if an echo differs."""
        begin = time.perf_counter()
        self._run("ping", self.sockets, self.connections, self.message, size, rounds, self.scratch, *self.counters,
                  self.status, self.wrong)  # fmt: skip
        took = time.perf_counter() - begin
        if self.site.read(self.wrong)[0]:
            raise ValueError("the echo differs")
        return took

    def pace(self, size: int, seconds: float) -> float:
        """Seconds for one message to each connection and back, from rounds that take about so long."""
        rounds = 1
        while (took := self.ping(size, rounds)) < seconds / 2:
            rounds = max(rounds * 2, min(int(rounds * seconds / max(took, 1e-6)), rounds * 100))
        return took / rounds

    def close(self) -> None:
        """Closes the connections."""
        self._run("close_connections", self.sockets, self.connections)

    def _run(self, kernel: str, *arguments: object) -> None:
        event = self.site.run(kernel, self.groups, *arguments)
        common.wait([event], 120)
        common.check(int(self.site.read(self.status)[0]), kernel)


def socat() -> str:
    """The program. Raises SystemExit if it is missing."""
    program = shutil.which("socat")
    if program is None:
        raise SystemExit("socat is missing: apt-get install socat")
    return program


def kernel_serves_socat(site: common.Site) -> None:
    """300,000 bytes through socat to a kernel and back."""
    server, data = EchoServer(site, 1), np.random.default_rng(1).bytes(300_000)
    command = [socat(), "-t60", "-", f"TCP:127.0.0.1:{server.port}"]
    back = subprocess.run(command, input=data, capture_output=True, timeout=120, check=True).stdout
    server.wait()
    if back != data:
        raise ValueError("socat got something else back")


@contextlib.contextmanager
def socat_server() -> Iterator[int]:
    """Socat as an echo server; its port."""
    with socket.create_server(("127.0.0.1", 0)) as free:
        port = free.getsockname()[1]
    command = [socat(), f"TCP-LISTEN:{port},bind=127.0.0.1,reuseaddr,fork", "EXEC:cat"]
    with subprocess.Popen(command) as process:
        try:
            common.connect(port).close()
            yield port
        finally:
            process.terminate()


def socat_serves_kernel(site: common.Site) -> None:
    """Ten messages of 40,000 bytes on two connections of a kernel to socat."""
    with socat_server() as port:
        client = EchoClient(site, TCP.format(port), 2, 40_000)
        client.ping(40_000, 10)
        client.close()


def kernel_to_kernel(servers: common.Site, clients: common.Site) -> None:
    """The same between two kernels, on four connections."""
    server = EchoServer(servers, 4)
    client = EchoClient(clients, server.address, 4, 40_000)
    client.ping(40_000, 10)
    client.close()
    server.wait()


@contextlib.contextmanager
def plain_server() -> Iterator[int]:
    """The ordinary echo server; its port."""
    command = [sys.executable, str(common.HERE / "plain_echo.py"), "serve"]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as process:
        try:
            yield int(process.stdout.readline())
        finally:
            process.terminate()


def plain_ping(port: int, size: int, connections: int, seconds: float) -> float:
    """What the ordinary client takes for one message to each connection and back."""
    command = [
        sys.executable,
        str(common.HERE / "plain_echo.py"),
        "ping",
        *map(str, (port, size, connections, seconds)),
    ]
    return float(subprocess.run(command, capture_output=True, text=True, timeout=120, check=True).stdout)


def bench(sites: list[common.Site], sizes: list[int], connections: list[int], seconds: float) -> None:
    """A table: microseconds for one message to each connection and back, and MB/s in each direction.

    The server in a kernel is one of the other server's; by name, the bytes go over the link of the two.
    """
    print("                       two programs      kernel to program   kernel to kernel  kernel to kernel by name")
    print("   bytes connections       us     MB/s        us     MB/s        us     MB/s        us     MB/s")
    for count in connections:
        with plain_server() as port:
            columns = [[plain_ping(port, size, count, seconds) for size in sizes]]
            columns.append(paces(sites[0], TCP.format(port), sizes, count, seconds))
        for name in ("", f"rcl:echo-{count}"):  # Listeners stay.
            server = EchoServer(sites[1], count, name)
            columns.append(paces(sites[0], server.address, sizes, count, seconds))
            server.wait()
        for size, *took in zip(sizes, *columns, strict=True):
            cells = (f"{1e6 * one:9.0f} {size * count / one / 1e6:8.1f}" for one in took)
            print(f"{size:8} {count:11} {'  '.join(cells)}", flush=True)


def paces(site: common.Site, to: str, sizes: list[int], connections: int, seconds: float) -> list[float]:
    """What a client in a kernel takes for one message to each connection and back, for each size."""
    client = EchoClient(site, to, connections, max(sizes))
    took = [client.pace(size, seconds) for size in sizes]
    client.close()
    return took


def numbers(text: str) -> list[int]:
    """Numbers with commas between them."""
    return [int(word) for word in text.split(",")]


def main() -> None:
    """The command."""
    parser = argparse.ArgumentParser(description="Echo servers and clients in kernels.")
    common.add_servers_option(parser)
    parser.add_argument("--bench", action="store_true", help="latency and bandwidth")
    parser.add_argument(
        "--sizes", type=numbers, default=[64, 1024, 16384, 65536, 1 << 20], help="of messages, in bytes"
    )
    parser.add_argument("--connections", type=numbers, default=[1, 8, 64, 512], help="(default: 1,8,64,512)")
    parser.add_argument("--time", type=float, default=0.5, help="seconds for each figure (default: 0.5)")
    options = parser.parse_args()
    sockets = 2 * max(options.connections) + 16 if options.bench else 32
    with contextlib.ExitStack() as stack:
        devices = stack.enter_context(common.devices(options.servers, 2))
        context = cl.Context(devices)
        sites = [
            stack.enter_context(common.Site(device, "echo.cl", sockets=sockets, context=context)) for device in devices
        ]
        if options.bench:
            bench(sites, options.sizes, options.connections, options.time)
            return
        kernel_serves_socat(sites[0])
        print("socat and a server in a kernel: equal")
        socat_serves_kernel(sites[0])
        print("a client in a kernel and socat: equal")
        kernel_to_kernel(*sites)
        print("kernel and kernel: equal")


if __name__ == "__main__":
    main()
