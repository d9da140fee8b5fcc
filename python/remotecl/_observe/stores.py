"""What servers keep for later processes: built programs and uploads."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from .._display import table
from .._display.table import Table


@dataclass(frozen=True)
class StoreStatus:
    """What a server keeps of built programs, or of chunks of uploads.

    Attributes:
        entries, bytes: what is on its disk.
        hits, misses: how many were looked for and found or not, since it started.
        hit_bytes: of chunks that were found, and did not travel.
        failures: how many could not be kept, or were removed because they were damaged.

    Example::

        for name, store in remotecl.overview("gpu1").status[0].stores.items():
            print(name, store.entries, store.hits)
    """

    entries: int
    bytes: int
    hits: int
    misses: int
    hit_bytes: int
    failures: int


def store_table(servers: Iterable[tuple[str, dict[str, StoreStatus]]]) -> Table:
    """What servers keep; each is given with its address."""
    columns = ("server", "kept", ">entries", ">size", ">hits", ">misses", ">found", ">failures")
    rows = tuple(
        (
            address,
            name,
            str(store.entries),
            table.size(store.bytes),
            str(store.hits),
            str(store.misses),
            table.size(store.hit_bytes) if name == "uploads" else "",
            str(store.failures),
        )
        for address, stores in servers
        for name, store in stores.items()
    )
    return Table("stores", columns, rows, optional=("failures", "found"))
