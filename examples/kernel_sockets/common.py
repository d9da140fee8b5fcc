"""What the examples share: servers whose kernels may have sockets, and what a program has on each device."""

from __future__ import annotations

import argparse
import contextlib
import socket
import time
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path

import numpy as np
import pyopencl as cl

import remotecl

HERE = Path(__file__).parent
ADDRESS = 64  # bytes for each address that a kernel gets
LOOPBACK = ["127.0.0.1:*"]  # all that these examples connect to and bind


def add_servers_option(parser: argparse.ArgumentParser) -> None:
    """Adds --servers."""
    parser.add_argument(
        "--servers",
        nargs="+",
        metavar="HOST[:PORT]",
        help="servers whose limits let kernels connect to and bind 127.0.0.1:* (default: some are started here)",
    )


@contextlib.contextmanager
def devices(servers: Sequence[str] | None, count: int, files: Sequence[Path] = ()) -> Iterator[list[cl.Device]]:
    """The first device of each of `count` servers: of those that are named, or of some that end with the block.

    Args:
        servers: their addresses, or none.
        count: how many.
        files: what servers that are started here may read.
    """
    with contextlib.ExitStack() as stack:
        if not servers:
            streams = [f"read:{file.absolute()}" for file in files] or None
            started = (
                remotecl.Server(kernel_connect=LOOPBACK, kernel_bind=LOOPBACK, streams=streams) for _ in range(count)
            )
            servers = [stack.enter_context(server).address for server in started]
        connection = stack.enter_context(remotecl.connect(*servers))
        first = {remotecl.server_of(device): device for device in reversed(connection.devices)}
        if len(first) < count:
            raise SystemExit(f"{count} servers are needed, and --servers names {len(first)}")
        yield [first[server] for server in connection.servers[:count]]


class Site:
    """A device with what a program has there: context, queue, sockets, and the kernels of one file.

    It is a context manager, which closes the sockets at the end of the block, so that no kernel waits any longer. Sites
    whose kernels connect to each other by name have one context.
    """

    def __init__(
        self,
        device: cl.Device,
        source: str,
        *,
        sockets: int,
        ring_bytes: int = 65536,
        context: cl.Context | None = None,
    ) -> None:
        self.device = device
        self.context = context or cl.Context([device])
        self.queue = cl.CommandQueue(self.context, device)
        self.kernels: dict[str, tuple[cl.Kernel, cl.CommandQueue]] = {}
        self.network = remotecl.Network(self.context, device, sockets=sockets, ring_bytes=ring_bytes)
        sources = "".join((HERE / name).read_text() for name in ("common.cl", source))
        self.program = cl.Program(self.context, sources).build(devices=[device])
        # So many work-groups run at the same time: one that waits for another one's bytes never keeps it from running.
        self.groups = groups(device)
        self.items = 256 if device.type & cl.device_type.GPU else 16

    def __enter__(self) -> Site:
        return self

    def __exit__(self, *_: object) -> None:
        self.network.stop()
        for _, queue in self.kernels.values():
            queue.finish()

    def buffer(self, content: np.ndarray | bytes) -> cl.Buffer:
        """A buffer with this content."""
        flags = cl.mem_flags.READ_WRITE | cl.mem_flags.COPY_HOST_PTR
        host = np.frombuffer(content, np.uint8).copy() if isinstance(content, bytes) else np.ascontiguousarray(content)
        return cl.Buffer(self.context, flags, hostbuf=host)

    def zeros(self, count: int, kind: type = np.int32) -> cl.Buffer:
        """A buffer of so many zeros, at least one."""
        return self.buffer(np.zeros(max(count, 1), kind))

    def read(self, buffer: cl.Buffer, kind: type = np.int32) -> np.ndarray:
        """All of a buffer, which no kernel uses any more."""
        content = np.empty(buffer.size // np.dtype(kind).itemsize, kind)
        cl.enqueue_copy(self.queue, content, buffer)
        return content

    def free_places(self, groups: int, most: int, listener: int) -> cl.Buffer:
        """For each work-group, so many places for clients' sockets, and the listener behind them."""
        return self.buffer(np.tile(np.array([-1] * most + [listener], np.int32), groups))

    def prepare(self, kernel: str, groups: int, *arguments: object) -> Callable[[], cl.Event]:
        """What starts a kernel of so many work-groups; its first argument is the network. Numbers become ints.

        Its buffers are on the device when this returns. A driver may wait for running kernels before it allocates
        memory, so kernels that wait for each other are prepared before the first of them starts.

        It may run beside those that were started before: each kernel has a queue of its own.
        """
        values = [np.int32(value) if isinstance(value, int) else value for value in arguments]
        if kernel not in self.kernels:
            self.kernels[kernel] = cl.Kernel(self.program, kernel), cl.CommandQueue(self.context, self.device)
        one, queue = self.kernels[kernel]
        cl.enqueue_migrate_mem_objects(queue, [value for value in values if isinstance(value, cl.Buffer)], 0)
        queue.finish()

        def start() -> cl.Event:
            event = one(queue, (groups * self.items,), (self.items,), self.network.memory, *values)
            queue.flush()
            return event

        return start

    def run(self, kernel: str, groups: int, *arguments: object) -> cl.Event:
        """Starts a kernel that waits for no other one that is to be started after it."""
        return self.prepare(kernel, groups, *arguments)()

    def listen(self, address: str) -> tuple[int, int]:
        """Opens a listener and returns its handle, for kernels, and its port."""
        result = self.zeros(2)
        self.run("open_listener", 1, self.buffer(addresses(address)), result).wait()
        listener, port = map(int, self.read(result))
        check(min(listener, 0), f"listening on {address}")
        return listener, port


def groups(device: cl.Device) -> int:
    """How many work-groups of a kernel run at the same time there."""
    return remotecl.Network.groups(device)


def addresses(*texts: str) -> bytes:
    """Addresses for a kernel, each in its own 64 bytes."""
    return b"".join(text.encode().ljust(ADDRESS, b"\0") for text in texts)


def connect(port: int, seconds: float = 20) -> socket.socket:
    """A connection to a program of this machine that is just starting."""
    end = time.monotonic() + seconds
    while True:
        try:
            return socket.create_connection(("127.0.0.1", port), timeout=seconds)
        except ConnectionRefusedError:
            if time.monotonic() > end:
                raise
            time.sleep(0.01)


def wait(events: Sequence[cl.Event], seconds: float) -> None:
    """Waits for kernels, but not forever: a kernel that has lost its peer may wait for another one that never comes."""
    end = time.monotonic() + seconds
    while any(event.command_execution_status > cl.command_execution_status.COMPLETE for event in events):
        if time.monotonic() > end:
            raise TimeoutError(f"the kernels did not end within {seconds:g} s")
        time.sleep(0.002)


def check(result: int, what: str) -> None:
    """Raises OSError if a kernel's result is an error."""
    if result < 0:
        raise OSError(-result, f"{what}: error {-result} in a kernel")
    if result > 0:
        raise RuntimeError(f"{what}: a table was too small, or a connection ended early")
