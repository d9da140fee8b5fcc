"""The records of a trace: commands and transfers, and the devices that executed them."""

from __future__ import annotations

import importlib
import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

_TIMES = ("queued", "received", "submit", "start", "end", "arrived")


@dataclass(frozen=True)
class TraceDevice:
    """A device that took part in a trace.

    Attributes:
        server: ``host:port``.
        name: the device's.
        index: its number on the server.

    Example::

        for device in t.devices:
            print(device.label, device.name)
    """

    server: str
    name: str
    index: int

    @property
    def label(self) -> str:
        """Short and unique, for people: ``host:port #index``."""
        return f"{self.server} #{self.index}"


@dataclass(frozen=True)
class TraceRecord:
    """One command of the program, or one transfer that remotecl added for a command.

    Times are seconds since the trace began, on this computer's clock, and NaN if unknown.

    Attributes:
        id: position in `Trace.records`.
        kind: ``"kernel"``, ``"read"``, ``"write"``, ``"copy"``, ``"fill"``, ``"map"``, ``"unmap"``, ``"marker"``,
            ``"barrier"``, ``"migrate"``, ... for commands, ``"transfer"`` for those that remotecl added.
        name: the kernel's name; for others, the kind.
        device: where it was executed; for transfers, the receiving end.
        queue: the queue's handle (PyOpenCL's ``int_ptr``), 0 for an internal one. A queue that is created after another
            one's release may have the same handle.
        queue_id: a number that no other queue of this process has, 0 for an internal one.
        in_order: whether later commands of that queue wait for it.
        status: 0 if it succeeded, a negative OpenCL error, or positive while it has not ended.
        error: the error's name, ``"pending"``, or nothing.
        bytes: how many it transferred or wrote; None for kernels and similar commands.
        wire_bytes: how many crossed the network in their place, where compression or bytes that the server had
            already made them fewer; else None. Between servers it is not known.
        buffers: handles (``int_ptr``) of the memory objects that it used.
        depends_on: ids of the records that it waited for: those of its wait list, and the transfers of its data.
        source: where bytes came from, and `destination` where they went: ``"client"`` or a device's label; None if it
        transfers none.
        destination: see `source`.
        queued: when the program enqueued it.
        received: when its server received it.
        submit: when its server handed it to the native driver.
        start: when it started; if not `profiled`, the latest of `submit` and the ends that it waited for.
        end: when it ended; if not `profiled`, when its server noticed.
        arrived: when all bytes of a read had arrived in this process.
        profiled: whether the device reported start and end, as it does for queues with profiling enabled.
        transport: what carried its bytes between two processes: ``"rdma"``, ``"tcp"``, ``"tls"`` or ``"shm"`` (shared
            memory); None for up to 64 KiB, which go with the commands, and for what stays within a server.

    Example::

        longest = max(t, key=lambda record: record.end - record.start)
        print(longest.name, longest.device, longest.end - longest.start)
    """

    id: int
    kind: str
    name: str
    device: TraceDevice
    queue: int
    queue_id: int
    in_order: bool
    status: int
    error: str
    bytes: int | None
    wire_bytes: int | None
    buffers: tuple[int, ...]
    depends_on: tuple[int, ...]
    source: str | None
    destination: str | None
    queued: float
    received: float
    submit: float
    start: float
    end: float
    arrived: float
    profiled: bool
    transport: str | None = None

    @property
    def lane(self) -> str:
        """Where it is drawn: a device's label, or ``source → destination`` if bytes went over a link."""
        if self.source == self.destination or self.source is None:
            return self.device.label
        return f"{self.source} → {self.destination}"

    @property
    def until(self) -> float:
        """When its bytes had reached their destination: the end, or the arrival here."""
        return self.end if math.isnan(self.arrived) else max(self.end, self.arrived)


def devices_of(told: dict[str, Any]) -> tuple[TraceDevice, ...]:
    """The devices in libremotecl's JSON of a trace."""
    return tuple(TraceDevice(lane["server"], lane["device"], lane["index"]) for lane in told["lanes"])


def records_of(told: dict[str, Any], devices: Sequence[TraceDevice]) -> list[TraceRecord]:
    """The records in it."""
    columns = told["columns"]
    return [
        _record(number, dict(zip(columns, row, strict=True)), devices) for number, row in enumerate(told["records"])
    ]


def status_text(status: int) -> str:
    """Nothing for a command that succeeded, ``"pending"``, or the name of its error."""
    if status == 0:
        return ""
    if status > 0:
        return "pending"
    try:
        return str(importlib.import_module("pyopencl").status_code.to_string(status))
    except (ImportError, ValueError):
        return f"OpenCL error {status}"


def _record(number: int, row: dict[str, Any], devices: Sequence[TraceDevice]) -> TraceRecord:
    times = {name: math.nan if row[name] is None else row[name] / 1e9 for name in _TIMES}
    return TraceRecord(
        id=number,
        kind=row["kind"],
        name=row["name"],
        device=devices[row["lane"]],
        queue=row["queue"],
        queue_id=row["queue_id"],
        in_order=bool(row["in_order"]),
        status=row["status"],
        error=status_text(row["status"]),
        bytes=row["bytes"],
        wire_bytes=row["wire_bytes"],
        buffers=tuple(row["buffers"]),
        depends_on=tuple(row["depends_on"]),
        source=_place(row["source"], devices),
        destination=_place(row["destination"], devices),
        profiled=bool(row["profiled"]),
        transport=row["transport"],
        **times,
    )


def _place(lane: int | None, devices: Sequence[TraceDevice]) -> str | None:
    if lane is None:
        return None
    return "client" if lane < 0 else devices[lane].label
