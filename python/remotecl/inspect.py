"""Looking inside: servers, devices, traffic, and where buffers live."""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from .connection import find_platform, import_pyopencl, native, server_of_device

if TYPE_CHECKING:
    import pyopencl


@dataclass(frozen=True)
class ServerInfo:
    """One server and its state. `status` is ``"connected"``, ``"lost"`` or ``"unreachable"``; `error` says why."""

    address: str
    status: str
    error: str
    devices: tuple[str, ...]
    round_trip_us: float | None


@dataclass(frozen=True)
class ServerStats:
    """Traffic between this process and one server since it was connected, in bytes and messages."""

    address: str
    bytes_sent: int
    bytes_received: int
    messages_sent: int
    messages_received: int


@dataclass(frozen=True)
class ServerLink:
    """Whether two servers send data and events to each other.

    `state` is ``"connected"``, ``"connecting"``, ``"failed"`` or ``"none"``. While it is not connected, everything
    between the two goes through this computer, and `reason` says why.
    """

    servers: tuple[str, str]
    state: str
    reason: str


@dataclass(frozen=True)
class ResidentRange:
    """One byte range of a buffer, and who holds its newest version: ``"host"`` or ``"host:port/device name"``."""

    offset: int
    size: int
    holders: tuple[str, ...]
    version: int


@dataclass(frozen=True)
class BufferResidency:
    """Where a buffer's bytes are. `buffer` is the handle that PyOpenCL calls ``int_ptr``; `size` is in bytes."""

    buffer: int
    size: int
    ranges: tuple[ResidentRange, ...]


def devices() -> list[pyopencl.Device]:
    """All devices of all connected servers, as PyOpenCL objects.

    Counts as use of the platform: no further server can be connected afterwards.

    Raises:
        ActivationError: the loader of this process does not list remotecl, for example because no server is
            connected and ``REMOTECL_SERVERS`` is not set.

    Example::

        for device in remotecl.devices():
            print(remotecl.server_of(device), device.name)
    """
    found: list[pyopencl.Device] = find_platform(import_pyopencl()).get_devices()
    return found


def server_of(device: pyopencl.Device) -> str:
    """``host:port`` of the server that `device` is on.

    Raises:
        ValueError: `device` is not a device of the platform ``remotecl``.

    Example::

        remotecl.server_of(queue.device)  # "gpu1:10990"
    """
    return server_of_device(device)


def native_platform_of(device: pyopencl.Device) -> str:
    """Name of the OpenCL platform that `device` belongs to on its server, for example ``"NVIDIA CUDA"``.

    Raises:
        ValueError: `device` is not a device of the platform ``remotecl``.

    Example::

        remotecl.native_platform_of(queue.device)  # "NVIDIA CUDA"
    """
    name: str = native().device_platform(device.int_ptr)
    return name


def servers() -> list[ServerInfo]:
    """Every server that this process has connected to or tried to, and its state.

    Example::

        for server in remotecl.servers():
            print(server.address, server.status, server.round_trip_us)
    """
    return [
        ServerInfo(
            address=entry["address"],
            status=entry["status"],
            error=entry.get("error") or "",
            devices=tuple(entry.get("devices", ())),
            round_trip_us=entry.get("round_trip_us"),
        )
        for entry in json.loads(native().servers_json())
    ]


def links() -> list[ServerLink]:
    """The links between servers. They are made when a context spans several servers.

    Example::

        for link in remotecl.links():
            print(*link.servers, link.state, link.reason)
    """
    found = json.loads(native().stats_json())["links"]
    return [ServerLink((link["servers"][0], link["servers"][1]), link["state"], link["reason"]) for link in found]


def stats() -> list[ServerStats]:
    """Bytes and messages exchanged with every server so far.

    Example::

        sent = sum(server.bytes_sent for server in remotecl.stats())
    """
    names = ServerStats.__dataclass_fields__
    return [
        ServerStats(**{name: entry[name] for name in names}) for entry in json.loads(native().stats_json())["servers"]
    ]


def residency(buffer: pyopencl.MemoryObject | None = None) -> list[BufferResidency]:
    """Who holds the newest version of which bytes of `buffer`, or of every live buffer.

    Args:
        buffer: a buffer of a context of the platform ``remotecl``; also a ``pyopencl.array.Array``'s ``.data``.

    Example::

        for part in remotecl.residency(buffer)[0].ranges:
            print(part.offset, part.size, part.holders)
    """
    handle = 0 if buffer is None else buffer.int_ptr
    return [_buffer_residency(entry) for entry in json.loads(native().residency_json(handle))]


def _buffer_residency(entry: dict[str, Any]) -> BufferResidency:
    ranges = tuple(
        ResidentRange(part["offset"], part["size"], tuple(part["holders"]), part["version"]) for part in entry["ranges"]
    )
    return BufferResidency(entry["buffer"], entry["size"], ranges)
