"""The status that servers report: their devices' load, their sessions, their links."""

from __future__ import annotations

import contextlib
import json
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

from .._connect.connection import decoded, error_text, full_address, named_servers, native
from .._display import table
from .._display.table import Shown, Table
from ..errors import RemoteCLError, ServerUnreachable
from .rdma import RdmaStats, RdmaTotals, rdma_table
from .stores import StoreStatus, store_table
from .traffic import Traffic


@dataclass(frozen=True)
class DeviceStatus:
    """One device of a server, with the work of all sessions.

    Attributes:
        index: the device's number on its server.
        name: its name.
        memory_used: bytes of all sessions' buffers, images and shared virtual memory, including sub-devices.
        memory_total: bytes, as reported by the driver.
        queue_depth: commands that the server has accepted and that have not ended, as far as it knows; those that wait
        for events count too. While the status is being watched, the server checks every 50 ms.
        utilisation: the part of `observed_s` in which the driver had commands, from 0 to 1; None if nobody has asked
        the server for a while, because it observes its devices only on request.
        observed_s: seconds, at most 1.
        placed: kernels that the clients' automatic devices have placed here, since the server started.

    Example::

        for device in remotecl.overview("gpu1").status[0].devices:
            print(device.name, device.queue_depth, device.memory_used / device.memory_total)
    """

    index: int
    name: str
    memory_used: int
    memory_total: int
    queue_depth: int
    utilisation: float | None
    observed_s: float
    placed: int = 0


@dataclass(frozen=True)
class SessionStatus:
    """One client of a server.

    Attributes:
        is_own: whether it is the asker's.
        session: its id, as in the server's log and for ``remotecl kick``.
        address: ``host:port`` that the client connected from.
        host, program, process: as stated by the client; empty and 0 if it states nothing.
        user: the owner of the token that it proved, as named in the server's limits; ``default`` without one.
        age_s: seconds since it connected.
        over_s: seconds that the session has been over while the driver still has work of it; None if it is not over.
        commands: how many it has enqueued.
        memory: bytes of its buffers and images on each device of the server.
        traffic: seen from the server.
        rdma: whether its bulk data goes by RDMA, likewise; None if the server does not say so.
        weight: its user's share where several use a device, as the server's limits say; None if it does not say so.
        placed: kernels that its automatic device has placed on each device of the server.

    Example::

        for session in remotecl.overview("gpu1").status[0].sessions:
            print(session.address, session.program, session.commands, sum(session.memory))
    """

    is_own: bool
    session: str
    address: str
    host: str
    program: str
    user: str
    process: int
    age_s: float
    over_s: float | None
    commands: int
    memory: tuple[int, ...]
    traffic: Traffic
    rdma: RdmaStats | None = None
    weight: float | None = None
    placed: tuple[int, ...] = ()


@dataclass(frozen=True)
class LinkStatus:
    """One server's end of a link to another server, for one session.

    Attributes:
        is_own: whether the session is the asker's.
        server: the other one's ``host:port``, or only its host if the other side connected.
        is_connected: whether the link is there now.
        traffic: what this side has sent and received, including former links.
        rdma: whether bulk data goes by RDMA, likewise; None if the server does not say so.

    Example::

        for link in remotecl.overview("gpu1").status[0].links:
            print(link.server, link.is_connected, link.traffic.bytes_sent)
    """

    is_own: bool
    server: str
    is_connected: bool
    traffic: Traffic
    rdma: RdmaStats | None = None


@dataclass(frozen=True)
class UserStatus:
    """How much of one device one user has had, in all sessions, including those that have ended.

    Attributes:
        user: the user's name, as in `SessionStatus`.
        device: the device's number on its server.
        busy_s: seconds in which the driver was seen to have commands of the user; counted only while somebody asks.
        commands: how many the driver was given.
        sockets: those that kernels of the user have there now.
        sockets_opened: how many they have had.
        socket_bytes_sent, socket_bytes_received: what has passed through these, seen from the kernels.
        placed: kernels that automatic devices of the user's programs have placed there.

    Example::

        for use in remotecl.overview("gpu1").status[0].users:
            print(use.user, use.device, use.busy_s, use.commands)
    """

    user: str
    device: int
    busy_s: float
    commands: int
    sockets: int = 0
    sockets_opened: int = 0
    socket_bytes_sent: int = 0
    socket_bytes_received: int = 0
    placed: int = 0


@dataclass(frozen=True, repr=False)
class ServerStatus(Shown):
    """The status that a server reports.

    Attributes:
        address: ``host:port`` that was asked.
        version: remotecl's version on the server.
        host, process: name of its machine and id of its process.
        uptime_s: seconds since it started.
        session_count: connected clients, including those that are not in `sessions`.
        commands: how many have been enqueued by all sessions since it started.
        clients: traffic with all clients since it started, seen from the server.
        peers: traffic with other servers since it started, likewise.
        devices: its devices.
        sessions: those that the asker may see: an operator all, others their own user's, from their own address or,
            over loopback, from everywhere.
        links: the same sessions' links to other servers.
        users: how much of each device the users of these sessions have had; for an operator, all users.
        rdma_clients, rdma_peers: what of `clients` and `peers` went by RDMA.
        stores: what it keeps, by ``"programs"`` and ``"uploads"``; empty if it keeps nothing, or does not say.
        round_trip_us: microseconds that request and answer took.
        epoch: differs between two runs of a server.

    Example::

        status = remotecl.overview("gpu1").status[0]
        print(status)  # tables; in Jupyter, HTML
        print(status.uptime_s, status.session_count)
    """

    address: str
    version: str
    host: str
    process: int
    uptime_s: float
    session_count: int
    commands: int
    clients: Traffic
    peers: Traffic
    devices: tuple[DeviceStatus, ...]
    sessions: tuple[SessionStatus, ...]
    links: tuple[LinkStatus, ...]
    rdma_clients: RdmaTotals = field(default_factory=RdmaTotals)
    rdma_peers: RdmaTotals = field(default_factory=RdmaTotals)
    users: tuple[UserStatus, ...] = ()
    stores: dict[str, StoreStatus] = field(default_factory=dict)
    round_trip_us: float | None = None
    epoch: int | None = None

    def _tables(self) -> list[Table]:
        title = f"{self.address}: remotecl {self.version} on {self.host}, up {table.duration(self.uptime_s)}"
        return [
            device_table(title, [self]),
            session_table("sessions", [self]),
            store_table([(self.address, self.stores)]),
            bulk_rdma_table([self]),
        ]


class StatusList(Shown, list[ServerStatus]):
    """The status of an `Overview`: a list of `ServerStatus` that shows itself as tables.

    Example::

        remotecl.overview().status  # the last line of a cell
    """

    def _tables(self) -> list[Table]:
        return [each for server in self for each in server._tables()] or [Table("0 servers", (), ())]


def status(*servers: str | Sequence[str]) -> StatusList:
    """For `Overview.status`."""
    found = StatusList()
    for server in named_servers(*servers) or known_servers():
        with contextlib.closing(Asker(server)) as asker:
            found.append(asker.ask())
    return found


def known_servers() -> list[str]:
    """The name of every server that this process has connected to or tried to, lost ones too, with its options."""
    return [entry["name"] for entry in decoded(native().servers_json())]


class Asker:
    """A connection to a server, named as for `connect`, that only asks for its status. One thread at a time."""

    def __init__(self, server: str) -> None:
        self._address = full_address(server)
        try:
            self._monitor = native().Monitor(server)
        except RuntimeError as error:
            raise ServerUnreachable(error_text(str(error))) from None

    def ask(self) -> ServerStatus:
        """One round trip. Raises ServerUnreachable; then only close() is left to do."""
        try:
            return server_status(self._address, json.loads(self._monitor.status_json()))
        except RuntimeError as error:
            raise ServerUnreachable(error_text(str(error))) from None

    def kick(self, session: str) -> str:
        """Ends a session, and says what became of that. Raises RemoteCLError when it has not ended."""
        try:
            number = int(session, 16)
        except ValueError:
            number = -1
        if not 0 <= number < 1 << 64:
            raise RemoteCLError(f"{session!r} is no session's number; remotecl top shows them, with 16 digits each")
        try:
            answer = json.loads(self._monitor.kick(number))
        except RuntimeError as error:
            raise ServerUnreachable(error_text(str(error))) from None
        whose = f"session {number:016x} of {self._address}"
        if answer["result"] == "unknown":
            raise RemoteCLError(f"{whose}: there is none that you may end; remotecl top shows what there is")
        if answer["result"] != "ended":
            raise RemoteCLError(f"{whose}: {answer['text']}")
        return f"{whose} has ended"

    def close(self) -> None:
        """Closes the connection."""
        self._monitor.close()


def server_status(address: str, entry: dict[str, Any]) -> ServerStatus:
    """The status from the library's JSON."""
    return ServerStatus(
        address=address,
        clients=Traffic._from_json(entry["clients"]),
        peers=Traffic._from_json(entry["peers"]),
        devices=tuple(DeviceStatus(**device) for device in entry["devices"]),
        sessions=tuple(_session(session) for session in entry["sessions"]),
        links=tuple(_link(link) for link in entry["links"]),
        rdma_clients=RdmaTotals(**entry["rdma"]["clients"]),
        rdma_peers=RdmaTotals(**entry["rdma"]["peers"]),
        users=tuple(UserStatus(**user) for user in entry["users"]),
        stores={name: StoreStatus(**store) for name, store in entry["stores"].items()},
        round_trip_us=entry.get("round_trip_us"),
        epoch=entry.get("epoch"),
        **{name: entry[name] for name in ("version", "host", "process", "uptime_s", "session_count", "commands")},
    )


def _session(entry: dict[str, Any]) -> SessionStatus:
    by_device = {name: tuple(entry[name]) for name in ("memory", "placed")}
    return SessionStatus(**{**entry, **_counted(entry), **by_device})


def _link(entry: dict[str, Any]) -> LinkStatus:
    return LinkStatus(**{**entry, **_counted(entry)})


def _counted(entry: dict[str, Any]) -> dict[str, Any]:
    return {"traffic": Traffic._from_json(entry["traffic"]), "rdma": RdmaStats._from_json(entry["rdma"])}


def bulk_rdma_table(servers: list[ServerStatus]) -> Table:
    """Sessions and links whose bulk data goes by RDMA, or is meant to."""
    return rdma_table(
        (server.address, other, rdma)
        for server in servers
        for other, rdma in [
            *((f"session {session.session}", session.rdma) for session in server.sessions),
            *((f"server {link.server}", link.rdma) for link in server.links),
        ]
    )


def device_table(title: str, servers: list[ServerStatus], rates: Sequence[Sequence[float]] | None = None) -> Table:
    """Every device of the servers. `rates`: placed kernels per second, by server and device; without it, totals."""
    placed = ">placed" if rates is None else ">placed/s"
    columns = ("server", "device", ">busy", ">queued", placed, ">memory", ">of")
    rows = tuple(
        (
            server.address,
            f"{device.index}: {device.name}",
            table.share(device.utilisation),
            str(device.queue_depth),
            str(device.placed) if rates is None else f"{rates[at][place]:.0f}" if rates[at] else "-",
            table.size(device.memory_used),
            table.size(device.memory_total),
        )
        for at, server in enumerate(servers)
        for place, device in enumerate(server.devices)
    )
    return Table(title, columns, rows, optional=("server", "of"))


def session_table(title: str, servers: list[ServerStatus]) -> Table:
    """Every visible session of the servers."""
    columns = (
        "server",
        ">session",
        "user",
        ">weight",
        "client",
        "from",
        ">age",
        ">commands",
        ">memory",
        ">received",
        ">sent",
    )
    rows = tuple(
        (
            server.address,
            session.session,
            session.user,
            "" if session.weight is None else f"{session.weight:g}",
            f"{session.host} {session.program} {session.process}" if session.process else "(says nothing)",
            session.address,
            table.duration(session.age_s) if session.over_s is None else f"over {table.duration(session.over_s)}",
            str(session.commands),
            table.size(sum(session.memory)),
            table.size(session.traffic.bytes_received),
            table.size(session.traffic.bytes_sent),
        )
        for server in servers
        for session in server.sessions
    )
    return Table(title, columns, rows, optional=("from", "server", "commands", "sent", "received", "weight"))
