"""What this process has transferred and saved, and the memory that it uses on its servers."""

from __future__ import annotations

import time
from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from typing import Any

from .._connect.connection import decoded, native
from .._display import table
from .._display.table import Shown, Table
from .rdma import RdmaStats, rdma_table, words
from .status import ServerStatus, server_status
from .traffic import Traffic

_NOT_OFFERED = "the other side offers none"
_CONNECTING_S = 2.0  # longer than it takes to make a channel


@dataclass(frozen=True)
class DeviceMemory:
    """Memory of one device, in bytes.

    Attributes:
        name: the device's.
        own: of this process's buffers and images.
        used: of those of all sessions.
        total: as reported by the driver.

    Example::

        for device in remotecl.overview().stats[0].memory:
            print(device.name, device.own, "of", device.total)
    """

    name: str
    own: int
    used: int
    total: int


@dataclass(frozen=True)
class ServerStats:
    """Traffic between this process and one server since the connection was made.

    Attributes:
        address: ``host:port``.
        bytes_sent, bytes_received: bytes on both connections.
        messages_sent, messages_received: messages on the control connection.
        traffic: the same for each connection and direction, seen from this process.
        rdma: whether bulk data goes by RDMA, and how much did.
        round_trip_us: microseconds of the last round trip; None if the server is lost.
        memory: for each device of the server; empty if it is lost.

    Example::

        for server in remotecl.overview().stats:
            print(server.address, server.bytes_sent, server.round_trip_us)
    """

    address: str
    bytes_sent: int
    bytes_received: int
    messages_sent: int
    messages_received: int
    traffic: Traffic = field(default_factory=Traffic)
    rdma: RdmaStats = field(default_factory=RdmaStats)
    round_trip_us: float | None = None
    memory: tuple[DeviceMemory, ...] = ()


@dataclass(frozen=True)
class LinkStats:
    """What `server` has sent to `other` and received from it for this process, as counted by `server`.

    Attributes:
        server: ``host:port`` of the one that counts.
        other: ``host:port`` of the other one.
        is_connected: whether the link is there now.
        traffic: seen from `server`.
        rdma: whether bulk data goes by RDMA, likewise; None if `server` does not say so.

    Example::

        for link in remotecl.overview().stats.links:
            print(link.server, "to", link.other, link.traffic.bytes_sent)
    """

    server: str
    other: str
    is_connected: bool
    traffic: Traffic
    rdma: RdmaStats | None = None


@dataclass(frozen=True)
class TransferCount:
    """A number of byte ranges, and of bytes in all of them.

    Attributes:
        count: ranges.
        bytes: in all of them.

    Example::

        print(remotecl.overview().stats.transfers.saved.count)
    """

    count: int
    bytes: int


@dataclass(frozen=True)
class TransferStats:
    """Where the bytes that commands have read on their devices came from.

    Attributes:
        saved: the device held the newest version already, so nothing was transferred.
        from_host: sent from this process.
        found: the part of that, and of writes, that was not sent because the server had it already
            (``REMOTECL_UPLOADS``); its ranges are chunks.
        between_servers: sent from one server to another, without passing this process.
        within_server: sent between two devices of one server.
        through_client: fetched from one server and sent to another, because the two have no link.

    Example::

        transfers = remotecl.overview().stats.transfers
        print(transfers.saved.bytes, transfers.between_servers.bytes)
    """

    saved: TransferCount
    from_host: TransferCount
    found: TransferCount
    between_servers: TransferCount
    within_server: TransferCount
    through_client: TransferCount


@dataclass(frozen=True)
class CacheStats:
    """How often a cache of this process had the answer, and how often a server had to be asked.

    Attributes:
        hits: answers from the cache.
        misses: requests to a server.

    Example::

        print(remotecl.overview().stats.caches["image_formats"].hits)
    """

    hits: int
    misses: int


@dataclass(frozen=True)
class PlacementCount:
    """How many kernels of the automatic device this process has placed on a device.

    Attributes:
        server: the address of the device's server.
        device: its name.
        kernels: so far.

    Example::

        before = sum(one.kernels for one in remotecl.overview().stats.placements)
        time.sleep(1)
        print(sum(one.kernels for one in remotecl.overview().stats.placements) - before, "decisions a second")
    """

    server: str
    device: str
    kernels: int


@dataclass(frozen=True, repr=False)
class Stats(Shown):
    """The stats of an `Overview`. Iterating over it yields the `ServerStats`.

    Attributes:
        servers: traffic, round trip and memory of each server.
        links: both ends of each link between servers.
        transfers: where the bytes that commands have read came from.
        caches: by name; ``"image_formats"`` has the answers of clGetSupportedImageFormats.
        placements: how many kernels the automatic device (see `auto`) has given to each device.

    Example::

        stats = remotecl.overview().stats
        print(stats)  # tables; in Jupyter, HTML
        print(stats.servers[0].bytes_sent, stats.transfers.saved.bytes)
    """

    servers: tuple[ServerStats, ...]
    links: tuple[LinkStats, ...]
    transfers: TransferStats
    caches: dict[str, CacheStats]
    placements: tuple[PlacementCount, ...]

    def __iter__(self) -> Iterator[ServerStats]:
        return iter(self.servers)

    def __len__(self) -> int:
        return len(self.servers)

    def __getitem__(self, index: int) -> ServerStats:
        return self.servers[index]

    def _tables(self) -> list[Table]:
        transfers = tuple(
            (name.replace("_", " "), str(entry.count), table.size(entry.bytes))
            for name, entry in vars(self.transfers).items()
        )
        caches = tuple(
            (name.replace("_", " "), str(cache.hits), str(cache.misses)) for name, cache in self.caches.items()
        )
        return [
            _traffic_table(self.servers),
            _link_table(self.links),
            rdma_table(
                [
                    *((server.address, "this process", server.rdma) for server in self.servers),
                    *((link.server, link.other, link.rdma) for link in self.links),
                ]
            ),
            _memory_table(self.servers),
            Table("how commands have got the bytes that they read", ("", ">ranges", ">bytes"), transfers),
            Table("caches", ("", ">hits", ">misses"), caches),
            *([_placement_table(self.placements)] if self.placements else []),
        ]


def stats() -> Stats:
    """For `Overview.stats`."""
    counted = decoded(native().stats_json())
    known = {
        entry["address"]: server_status(entry["address"], entry["status"])
        for entry in decoded(native().status_json())
        if entry["state"] == "connected"
    }
    return Stats(
        servers=tuple(_server_stats(entry, known.get(entry["address"])) for entry in counted["servers"]),
        links=tuple(
            LinkStats(server.address, link.server, link.is_connected, link.traffic, link.rdma)
            for server in known.values()
            for link in server.links
            if link.is_own
        ),
        transfers=TransferStats(**{name: TransferCount(**entry) for name, entry in counted["transfers"].items()}),
        caches={name: CacheStats(**entry) for name, entry in counted["caches"].items()},
        placements=tuple(PlacementCount(**entry) for entry in counted["placements"]),
    )


def rdma_words() -> dict[str, str]:
    """For each server that RDMA is wanted for, by address, its state in one line. Asks the servers if there are any."""
    end = time.monotonic() + _CONNECTING_S
    while "connecting" in (states := _rdma_states()) and time.monotonic() < end:
        time.sleep(0.02)  # there is no notification of a channel
    if states <= {"off"}:
        return {}
    return {entry.address: words(entry.rdma) for entry in stats() if entry.rdma.state != "off"}


def _rdma_states() -> set[str]:
    return {entry["rdma"]["state"] for entry in decoded(native().stats_json())["servers"]}


def _server_stats(entry: dict[str, Any], status: ServerStatus | None) -> ServerStats:
    names = ("address", "bytes_sent", "bytes_received", "messages_sent", "messages_received")
    return ServerStats(
        **{name: entry[name] for name in names},
        traffic=Traffic._from_json(entry["traffic"]),
        rdma=_rdma(RdmaStats(**entry["rdma"]), status),
        round_trip_us=status.round_trip_us if status else None,
        memory=_memory(status) if status else (),
    )


def _rdma(own: RdmaStats, status: ServerStatus | None) -> RdmaStats:
    """The view of this side; the server knows better why it has offered none."""
    its = next((session.rdma for session in status.sessions if session.is_own), None) if status else None
    if its is None or not own.reason.startswith(_NOT_OFFERED):
        return own
    if its.state not in ("off", "unavailable"):
        return own
    reason = (
        f"the server says: {its.reason}" if its.reason else "it is off at the server: --rdma off, or REMOTECL_RDMA=off"
    )
    return replace(own, reason=reason)


def _memory(status: ServerStatus) -> tuple[DeviceMemory, ...]:
    own = next((session.memory for session in status.sessions if session.is_own), (0,) * len(status.devices))
    return tuple(
        DeviceMemory(device.name, size, device.memory_used, device.memory_total)
        for device, size in zip(status.devices, own, strict=True)
    )


def _traffic_table(servers: tuple[ServerStats, ...]) -> Table:
    columns = ("server", "connection", ">sent", ">messages", ">received", ">messages", ">round trip")
    rows = []
    for server in servers:
        for name, flow in (("control", server.traffic.control), ("bulk", server.traffic.bulk)):
            sent = (table.size(flow.sent.bytes), str(flow.sent.messages))
            received = (table.size(flow.received.bytes), str(flow.received.messages))
            round_trip = table.microseconds(server.round_trip_us) if name == "control" else ""
            rows.append((server.address, name, *sent, *received, round_trip))
    return Table("between this process and its servers", columns, tuple(rows), optional=("messages",))


def _placement_table(placements: tuple[PlacementCount, ...]) -> Table:
    rows = tuple((one.server, one.device, str(one.kernels)) for one in placements)
    return Table("where the automatic device's kernels have run", ("server", "device", ">kernels"), rows)


def _link_table(links: tuple[LinkStats, ...]) -> Table:
    rows = tuple(
        (link.server, link.other, table.size(link.traffic.bytes_sent), table.size(link.traffic.bytes_received))
        for link in links
    )
    return Table("between servers", ("server", "other", ">sent", ">received"), rows)


def _memory_table(servers: tuple[ServerStats, ...]) -> Table:
    rows = tuple(
        (server.address, device.name, table.size(device.own), table.size(device.used), table.size(device.total))
        for server in servers
        for device in server.memory
    )
    return Table("memory", ("server", "device", ">this process", ">all sessions", ">of"), rows)
