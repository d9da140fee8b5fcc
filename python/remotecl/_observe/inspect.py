"""Information on servers, devices and links."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import TYPE_CHECKING

from .._connect.connection import all_devices, decoded, device_handle, import_pyopencl, native, server_of_device
from .._display import table
from .._display.table import Shown, Table

if TYPE_CHECKING:
    import pyopencl


@dataclass(frozen=True, repr=False)
class ServerInfo(Shown):
    """One server and its state, which shows itself as a table.

    Attributes:
        address: ``host:port``.
        status: ``"connected"``, ``"lost"`` (it was connected) or ``"unreachable"``.
        error: why it is lost or unreachable, else empty.
        devices: names of its devices.
        round_trip_us: the shortest round trip seen, in microseconds; None if there is none.

    Example::

        for server in remotecl.servers():
            print(server.address, server.status, server.error)
    """

    address: str
    status: str
    error: str
    devices: tuple[str, ...]
    round_trip_us: float | None

    def _tables(self) -> list[Table]:
        return [servers_table(self.address, [self])]


@dataclass(frozen=True)
class ServerLink:
    """Whether two servers send data and events to each other directly.

    If not, everything between them goes through this computer.

    Attributes:
        servers: the two addresses, ``host:port``.
        state: ``"connected"``, ``"connecting"``, ``"failed"`` or ``"none"``.
        reason: why it is not connected, else empty.

    Example::

        broken = [link for link in remotecl.links() if link.state == "failed"]
    """

    servers: tuple[str, str]
    state: str
    reason: str


class DeviceList(Shown, list["pyopencl.Device"]):
    """What `devices` returns: a list of ``pyopencl.Device`` that shows itself as a table.

    Example::

        remotecl.devices()  # the last line of a cell
    """

    def _tables(self) -> list[Table]:
        columns = (">", "server", "device", "its platform", ">compute units", ">memory", "version")
        rows = tuple(
            (str(number), server_of(device), device.name.strip(), native_platform_of(device),
             str(device.max_compute_units), table.size(device.global_mem_size), _version(device))
            for number, device in enumerate(self)
        )  # fmt: skip
        return [Table(table.count(len(self), "device"), columns, rows, optional=("its platform", "compute units"))]


class ServerList(Shown, list[ServerInfo]):
    """What `servers` returns: a list of `ServerInfo` that shows itself as a table.

    Example::

        remotecl.servers()  # the last line of a cell
    """

    def _tables(self) -> list[Table]:
        return [servers_table(table.count(len(self), "server"), self)]


class LinkList(Shown, list[ServerLink]):
    """What `links` returns: a list of `ServerLink` that shows itself as a table.

    Example::

        remotecl.links()  # the last line of a cell
    """

    def _tables(self) -> list[Table]:
        rows = tuple((*link.servers, link.state, link.reason) for link in self)
        return [Table(table.count(len(self), "link"), ("server", "other", "state", "reason"), rows)]


def devices() -> DeviceList:
    """All devices of all connected servers, as PyOpenCL objects.

    Custom devices come last. They have no compiler; PyOpenCL's own ``get_devices()`` leaves them out.

    Raises:
        ActivationError: the loader of this process does not list remotecl, for example because no server is
            connected and ``REMOTECL_SERVERS`` is not set.

    Example::

        for device in remotecl.devices():
            print(remotecl.server_of(device), device.name)
    """
    return DeviceList(all_devices(import_pyopencl()))


def server_of(device: pyopencl.Device) -> str:
    """``host:port`` of the server that `device` is on.

    Args:
        device: a ``pyopencl.Device``.

    Raises:
        TypeError: `device` is no ``pyopencl.Device``.
        ValueError: it is not one of the platform ``remotecl``.

    Example::

        remotecl.server_of(queue.device)  # "gpu1:10990"
    """
    return server_of_device(device)


def native_platform_of(device: pyopencl.Device) -> str:
    """Name of the OpenCL platform that `device` belongs to on its server, for example ``"NVIDIA CUDA"``.

    Args:
        device: a ``pyopencl.Device``.

    Raises:
        TypeError: `device` is no ``pyopencl.Device``.
        ValueError: it is not one of the platform ``remotecl``.

    Example::

        remotecl.native_platform_of(queue.device)  # "NVIDIA CUDA"
    """
    name: str = native().device_platform(device_handle(device))
    return name


def servers() -> ServerList:
    """Every server that this process has connected to or tried to, and its state.

    Example::

        for server in remotecl.servers():
            print(server.address, server.status, server.round_trip_us)
    """
    return ServerList(
        ServerInfo(
            address=entry["address"],
            status=entry["status"],
            error=entry.get("error") or "",
            devices=tuple(entry.get("devices", ())),
            round_trip_us=entry.get("round_trip_us"),
        )
        for entry in decoded(native().servers_json())
    )


def links() -> LinkList:
    """The links between servers. They are made when a context spans several servers.

    Example::

        for link in remotecl.links():
            print(*link.servers, link.state, link.reason)
    """
    found = decoded(native().stats_json())["links"]
    return LinkList(
        ServerLink((link["servers"][0], link["servers"][1]), link["state"], link["reason"]) for link in found
    )


def _version(device: pyopencl.Device) -> str:
    """The version without the driver's additions: ``OpenCL 3.0``."""
    return " ".join(device.version.split()[:2])


def servers_table(title: str, found: Iterable[ServerInfo]) -> Table:
    """Servers and their states."""
    rows = tuple(
        (info.address, info.status, ", ".join(info.devices), table.microseconds(info.round_trip_us), info.error)
        for info in found
    )
    return Table(title, ("server", "status", "devices", ">round trip", "error"), rows, optional=("devices",))
