"""RDMA on bulk connections: whether network cards move the bytes, and how many."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

from .._display import table
from .._display.table import Table


@dataclass(frozen=True)
class RdmaTotals:
    """What network cards have moved for a server.

    Attributes:
        channels: RDMA channels that there are now.
        losses: how many were lost since the server started; TCP has gone on.
        bytes_sent, bytes_received: by RDMA since then; the bytes of bulk connections include them.
        bytes_copied: how many of these a processor of the server copied, because the card could not use their memory.
        system_calls: those of the server for the sake of these bytes; requests to the card count, though only Soft-RoCE
        needs one for each.

    Example::

        print(remotecl.overview("gpu1").status[0].rdma_clients.channels)
    """

    channels: int = 0
    losses: int = 0
    bytes_sent: int = 0
    bytes_received: int = 0
    bytes_copied: int = 0
    system_calls: int = 0


@dataclass(frozen=True)
class RdmaStats:
    """Whether the bulk data between two processes goes by RDMA, as seen from the side that counts.

    Attributes:
        state: ``"off"`` (one side does not ask for it), ``"unavailable"``, ``"connecting"``, ``"in use"`` or ``"lost"``
        (TCP carries everything until there is another channel).
        reason: why it is unavailable, or why the last channel was lost.
        port: the device and port of this side, like ``mlx5_0:1``.
        address, peer_address: of both ends; empty if there was no channel.
        channels: how many there are now; each bulk connection has one.
        losses: how many were lost.
        bytes_sent, bytes_received: by RDMA.
        tcp_bytes_sent, tcp_bytes_received: bulk data by TCP, or by shared memory within a machine.
        bytes_copied, system_calls: what RDMA has cost this process, as in :class:`RdmaTotals`; None where another
            process counts.

    Example::

        for server in remotecl.overview().stats:
            print(server.address, server.rdma.state, server.rdma.bytes_sent)
    """

    state: str = "off"
    reason: str = ""
    port: str = ""
    address: str = ""
    peer_address: str = ""
    channels: int = 0
    losses: int = 0
    bytes_sent: int = 0
    bytes_received: int = 0
    tcp_bytes_sent: int = 0
    tcp_bytes_received: int = 0
    bytes_copied: int | None = None
    system_calls: int | None = None

    @classmethod
    def _from_json(cls, entry: dict[str, Any] | None) -> RdmaStats | None:
        return None if entry is None else cls(**entry)


def words(rdma: RdmaStats) -> str:
    """The state in one line: ``in use, mlx5_0:1, 10.0.0.1 to 10.0.0.2``."""
    if rdma.state == "in use":
        return f"in use, {rdma.port}, {rdma.address} to {rdma.peer_address}"
    return f"{rdma.state}: {rdma.reason}" if rdma.reason else rdma.state


def rdma_table(rows: Iterable[tuple[str, str, RdmaStats | None]]) -> Table:
    """RDMA of the connections between a server and another end, if at least one side wants it."""
    columns = ("server", "with", "state", "port", ">sent", ">received", ">losses", "reason")
    cells = tuple(
        (
            server,
            other,
            rdma.state,
            rdma.port,
            table.size(rdma.bytes_sent),
            table.size(rdma.bytes_received),
            str(rdma.losses),
            rdma.reason,
        )
        for server, other, rdma in rows
        if rdma is not None and rdma.state != "off"
    )
    return Table("by RDMA", columns, cells, optional=("server", "port"))
