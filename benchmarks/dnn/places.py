"""Where a network is trained: natively, through a server, and through one that is far away."""

from __future__ import annotations

import os
import statistics
import time
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass

import numpy as np
import pyopencl as cl

from remotecl import LocalCluster, RemoteCLError, connect, native_platform_of, server_of
from remotecl.bench.link import Link
from remotecl.bench.native import native_device

NATIVE, REMOTE, FAR = PLACES = ("native", "remotecl", "far")
_ROUND_TRIPS = 20


@dataclass(frozen=True)
class Place:
    """A device, and the time that an answer from it takes.

    Attributes:
        name: one of `PLACES`.
        device: the one that computes there.
        server: the server's address; empty for a native device.
        round_trip_s: the median of blocking reads of four bytes.
    """

    name: str
    device: cl.Device
    server: str
    round_trip_s: float


@contextmanager
def places(
    wanted: Sequence[str], servers: Sequence[str], devices: int, delay_ms: float, gbit_per_s: float
) -> Iterator[tuple[list[Place], list[cl.Device]]]:
    """The places, and so many devices of servers, one of each server, if servers have to be started here.

    Args:
        wanted: of `PLACES`.
        servers: as for `remotecl.connect`; none starts daemons on loopback.
        devices: how many to train on at once.
        delay_ms: of the far link, each way.
        gbit_per_s: of the far link.

    Raises:
        RemoteCLError: there are fewer devices, or no native one.
    """
    with ExitStack() as cleanup:
        near = list(servers) or cleanup.enter_context(LocalCluster(devices)).addresses
        addresses = list(near)
        if FAR in wanted:
            target = near[0] if servers else cleanup.enter_context(_without_shared_memory()).addresses[0]
            addresses.append(cleanup.enter_context(Link(target, delay_ms, gbit_per_s)).address)
        connection = cleanup.enter_context(connect(*addresses))
        first = {server_of(device): device for device in reversed(connection.devices)}
        of_near = [device for device in connection.devices if server_of(device) != addresses[-1] or FAR not in wanted]
        if not servers:
            of_near = [first[address] for address in near]
        if devices > len(of_near):
            raise RemoteCLError(f"--devices asks for {devices} devices, and the servers have {len(of_near)}")
        there = {REMOTE: of_near[0]}
        if FAR in wanted:
            there[FAR] = first[addresses[-1]]
        if NATIVE in wanted:
            native = native_device(of_near[0])
            if native is None:
                raise RemoteCLError(
                    f"this machine's loader shows no native device of the platform {native_platform_of(of_near[0])!r}; "
                    "name its driver for PyOpenCL's loader (OCL_ICD_VENDORS=libnvidia-opencl.so.1), or choose other "
                    "--places"
                )
            there[NATIVE] = native
        yield [_place(name, there[name]) for name in PLACES if name in wanted], of_near[:devices]


def _place(name: str, device: cl.Device) -> Place:
    context = cl.Context([device])
    queue = cl.CommandQueue(context, device)
    buffer, number = cl.Buffer(context, cl.mem_flags.READ_WRITE, 4), np.zeros(1, np.float32)
    cl.enqueue_copy(queue, buffer, number)
    seconds = []
    for _ in range(_ROUND_TRIPS):
        cl.enqueue_fill_buffer(queue, buffer, np.float32(0), 0, 4)  # the client has no copy of what comes back
        start = time.perf_counter()
        cl.enqueue_copy(queue, number, buffer)
        seconds.append(time.perf_counter() - start)
    return Place(name, device, "" if name == NATIVE else server_of(device), statistics.median(seconds))


@contextmanager
def _without_shared_memory() -> Iterator[LocalCluster]:
    """A daemon whose data takes the connection, though its clients are on the same host."""
    name = "REMOTECL_SHARED_MEMORY"
    before = os.environ.get(name)
    os.environ[name] = "off"
    try:
        cluster = LocalCluster(1)
    finally:
        del os.environ[name]
        if before is not None:
            os.environ[name] = before
    with cluster:
        yield cluster
