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

        for server in remotecl.overview().servers:
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

        broken = [link for link in remotecl.overview().links if link.state == "failed"]
    """

    servers: tuple[str, str]
    state: str
    reason: str


class DeviceList(Shown, list["pyopencl.Device"]):
    """The devices of an `Overview`: a list of ``pyopencl.Device`` that shows itself as a table.

    Example::

        remotecl.overview().devices  # the last line of a cell
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
    """The servers of an `Overview`: a list of `ServerInfo` that shows itself as a table.

    Example::

        remotecl.overview().servers  # the last line of a cell
    """

    def _tables(self) -> list[Table]:
        return [servers_table(table.count(len(self), "server"), self)]


class LinkList(Shown, list[ServerLink]):
    """The links of an `Overview`: a list of `ServerLink` that shows itself as a table.

    Example::

        remotecl.overview().links  # the last line of a cell
    """

    def _tables(self) -> list[Table]:
        rows = tuple((*link.servers, link.state, link.reason) for link in self)
        return [Table(table.count(len(self), "link"), ("server", "other", "state", "reason"), rows)]


def devices() -> DeviceList:
    """For `Overview.devices`."""
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
    """For `Overview.servers`."""
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
    """For `Overview.links`."""
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
