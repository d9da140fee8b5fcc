"""Traces: what every server, device and link did, and when."""

from __future__ import annotations

import importlib
import json
import math
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from types import ModuleType, TracebackType
from typing import TYPE_CHECKING, Any

from .._connect.connection import native
from .._display import table
from .._display.table import Shown, Table
from ..errors import RemoteCLError
from . import chrome, plot

if TYPE_CHECKING:
    import matplotlib.axes
    import pandas

# As remotecl.h documents: a record takes about 400 bytes while a trace is running.
RECORDS_MAX = 1_000_000
_TIMES = ("queued", "received", "submit", "start", "end", "arrived")


class TraceError(RemoteCLError):
    """A trace cannot begin or be looked at now; the message says what to do."""


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
    """One command of the program, or one transfer that remotecl added to bring a command its bytes.

    Times are seconds since the trace began, on this computer's clock, and NaN where nothing is known.

    Attributes:
        id: position in `Trace.records`.
        kind: ``"kernel"``, ``"read"``, ``"write"``, ``"copy"``, ``"fill"``, ``"map"``, ``"unmap"``, ``"marker"``,
            ``"barrier"``, ``"migrate"``, ... for commands, ``"transfer"`` for what remotecl added.
        name: the kernel's name, for others the kind.
        device: where it was carried out; for transfers, the receiving end.
        queue: the queue's handle (PyOpenCL's ``int_ptr``), 0 for one of remotecl's own.
        in_order: whether what comes later in that queue waits for it.
        status: 0 when it ended well, a negative OpenCL error, or positive while it has not ended.
        error: the error's name, ``"pending"``, or nothing.
        bytes: that it moved or wrote; None for kernels and the like.
        buffers: handles (``int_ptr``) of the memory objects that it used.
        depends_on: ids of the records that it waited for: its wait list's, and the transfers of its data.
        source: where bytes came from, and `destination` where they went: ``"client"`` or a device's label; None
            for what moves none.
        destination: see `source`.
        queued: when the program enqueued it.
        received: when its server received it.
        submit: when its server handed it to the native driver.
        start: when it started; where not `profiled`, the latest of `submit` and the ends that it waited for.
        end: when it ended; where not `profiled`, when its server saw that.
        arrived: when all bytes of a read were in this process.
        profiled: whether the device told start and end: in queues with profiling enabled.

    Example::

        longest = max(t, key=lambda record: record.end - record.start)
        print(longest.name, longest.device, longest.end - longest.start)
    """

    id: int
    kind: str
    name: str
    device: TraceDevice
    queue: int
    in_order: bool
    status: int
    error: str
    bytes: int | None
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

    @property
    def lane(self) -> str:
        """Where it is drawn: a device's label, or ``source → destination`` when bytes went over a link."""
        if self.source == self.destination or self.source is None:
            return self.device.label
        return f"{self.source} → {self.destination}"

    @property
    def until(self) -> float:
        """When its bytes were where they should be: the end, or the arrival here."""
        return self.end if math.isnan(self.arrived) else max(self.end, self.arrived)


@dataclass(frozen=True)
class LaneSummary:
    """What a device or a link did.

    Attributes:
        lane: the device's label, or both ends of the link.
        records: how many.
        failed: how many of them ended with an error.
        busy: seconds in which at least one was carried out.
        bytes: that they moved.

    Example::

        for lane in t.summary():
            print(lane.lane, lane.records, lane.busy, lane.bytes)
    """

    lane: str
    records: int
    failed: int
    busy: float
    bytes: int


class LaneList(Shown, list[LaneSummary]):
    """What `Trace.summary` returns: a list of `LaneSummary` that shows itself as a table.

    Example::

        t.summary()  # the last line of a cell
    """

    def __init__(self, lanes: Iterable[LaneSummary], title: str = "") -> None:
        super().__init__(lanes)
        self._title = title

    def _tables(self) -> list[Table]:
        columns = ("device or link", ">records", ">busy", ">bytes", ">failed")
        rows = tuple(
            (lane.lane, f"{lane.records:,}", f"{lane.busy * 1e3:,.3f} ms", table.size(lane.bytes), str(lane.failed))
            for lane in self
        )
        return [Table(self._title or table.count(len(self), "lane"), columns, rows)]


class Trace(Shown):
    """What was recorded between the begin and the end of a ``with`` block; see `trace`.

    Attributes:
        records: all of them, in an order in which each stands after those that it depends on.
        devices: those that took part.
        duration: of the block, in seconds.
        dropped: how many records did not fit.

    Args:
        records_max: how many records it takes; later ones are only counted.
        wait: seconds that its end waits for commands that have not ended.

    Example::

        with remotecl.trace() as t:
            queue.finish()
        t.save("trace.json")
    """

    def __init__(self, records_max: int = RECORDS_MAX, wait: float = 10.0) -> None:
        if not 1 <= records_max <= 2**32 - 2:
            raise ValueError(f"records_max is {records_max}; it has to be at least 1")
        self._records_max = records_max
        self._wait = wait
        self._state = "new"
        self._records: list[TraceRecord] = []
        self._devices: tuple[TraceDevice, ...] = ()
        self._duration = 0.0
        self._dropped = 0

    def __enter__(self) -> Trace:
        if self._state != "new":
            raise TraceError("a trace records once; make another one with remotecl.trace()")
        if error := native().trace_start(self._records_max):
            raise TraceError(str(json.loads(error)))
        self._state = "running"
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, where: TracebackType | None
    ) -> None:
        self._state = "ended"
        text = native().trace_stop(self._wait)
        if not text:
            if error is None:
                raise TraceError("the trace was lost: the process was forked, or it has no memory left")
            return
        self._take(json.loads(text))

    @property
    def records(self) -> Sequence[TraceRecord]:
        """All records, each after those that it depends on."""
        self._require_end()
        return self._records

    @property
    def devices(self) -> tuple[TraceDevice, ...]:
        """Those that took part."""
        self._require_end()
        return self._devices

    @property
    def duration(self) -> float:
        """Of the block, in seconds."""
        self._require_end()
        return self._duration

    @property
    def dropped(self) -> int:
        """How many records did not fit."""
        self._require_end()
        return self._dropped

    def __len__(self) -> int:
        return len(self.records)

    def __iter__(self) -> Iterator[TraceRecord]:
        return iter(self.records)

    def to_dataframe(self) -> pandas.DataFrame:
        """The records as a pandas DataFrame, one row each, with `TraceRecord`'s attributes as columns.

        The index is the record's id; `device` becomes the columns ``server``, ``device`` (its name) and
        ``device_index``; ``lane`` is where the record is drawn; ``duration`` is end - start. All times are in seconds.

        Raises:
            TraceError: pandas is not installed.

        Example::

            frame = t.to_dataframe()
            frame.groupby("name").duration.sum()
        """
        frame: pandas.DataFrame = _import("pandas").DataFrame([_row(record) for record in self.records])
        return frame.set_index("id") if len(frame) else frame

    def plot(self, axes: matplotlib.axes.Axes | None = None, arrows: bool | None = None) -> matplotlib.axes.Axes:
        """Draws a timeline with matplotlib: one lane per device, one per link, arrows for dependencies.

        Of thousands of records, those that would share a pixel are drawn as one; the names that took the longest have
        colors of their own. ``to_dataframe`` and ``save`` have all of them.

        Args:
            axes: where to draw; default: a new figure.
            arrows: whether to draw dependencies; default: when there are at most 40.

        Returns:
            The axes. Time is in milliseconds since the trace began.

        Raises:
            TraceError: matplotlib is not installed.

        Example::

            t.plot().figure.savefig("timeline.png")
        """
        _import("matplotlib.pyplot")
        return plot.draw(self, axes, arrows)

    def save(self, path: str | Path) -> None:
        """Writes the trace as Chrome trace JSON, which https://ui.perfetto.dev and chrome://tracing open.

        Processes are servers, threads are devices and links, flow arrows are dependencies.

        Example::

            t.save("trace.json")
        """
        Path(path).write_text(json.dumps(chrome.events(self)), encoding="utf-8")

    def summary(self) -> LaneList:
        """What each device and each link did.

        Example::

            for lane in t.summary():
                print(lane.lane, lane.records, lane.busy, lane.bytes)
        """
        lanes: dict[str, list[TraceRecord]] = {}
        for record in self.records:
            lanes.setdefault(record.lane, []).append(record)
        return LaneList((_summary(lane, records) for lane, records in lanes.items()), f"Trace: {self._headline()}")

    def _tables(self) -> list[Table]:
        if self._state != "ended":
            return [Table(f"<remotecl.Trace, {self._state}>", (), ())]
        return self.summary()._tables()

    def _headline(self) -> str:
        records = table.count(len(self._records), "record")
        text = f"{records} in {self._duration * 1e3:,.3f} ms on {table.count(len(self._devices), 'device')}"
        return text + (f"; {self._dropped:,} more did not fit" if self._dropped else "")

    def _require_end(self) -> None:
        if self._state != "ended":
            raise TraceError("the trace has no records before the end of its with block")

    def _take(self, told: dict[str, Any]) -> None:
        self._duration = told["duration_ns"] / 1e9
        self._dropped = told["dropped"]
        self._devices = tuple(TraceDevice(lane["server"], lane["device"], lane["index"]) for lane in told["lanes"])
        columns = told["columns"]
        self._records = [
            self._record(number, dict(zip(columns, row, strict=True))) for number, row in enumerate(told["records"])
        ]

    def _record(self, number: int, row: dict[str, Any]) -> TraceRecord:
        times = {name: math.nan if row[name] is None else row[name] / 1e9 for name in _TIMES}
        return TraceRecord(
            id=number,
            kind=row["kind"],
            name=row["name"],
            device=self._devices[row["lane"]],
            queue=row["queue"],
            in_order=bool(row["in_order"]),
            status=row["status"],
            error=status_text(row["status"]),
            bytes=row["bytes"],
            buffers=tuple(row["buffers"]),
            depends_on=tuple(row["depends_on"]),
            source=self._place(row["source"]),
            destination=self._place(row["destination"]),
            profiled=bool(row["profiled"]),
            **times,
        )

    def _place(self, lane: int | None) -> str | None:
        if lane is None:
            return None
        return "client" if lane < 0 else self._devices[lane].label


def trace(records_max: int = RECORDS_MAX, wait: float = 10.0) -> Trace:
    """Records every command and every transfer of this process, on all servers, while a ``with`` block runs.

    Queues need no profiling and commands no events for it. All times are on this computer's clock; between two
    machines they are as good as half of the shortest round trip.

    Args:
        records_max: records beyond this many are counted (`Trace.dropped`) and not kept. A record takes about 400
            bytes while the trace is running, and more once it is looked at in Python.
        wait: the end of the block waits so long, in seconds, for commands that have not ended; those that still
            have not are ``"pending"`` and have no end.

    Returns:
        A `Trace`, to be looked at after the block.

    Raises:
        TraceError: when the block begins, if another trace of this process is running.

    Example::

        with remotecl.trace() as t:
            run(queue)
        t.plot()
        t.save("trace.json")
        t.to_dataframe().groupby("lane").bytes.sum()
    """
    return Trace(records_max, wait)


def status_text(status: int) -> str:
    """Nothing for a command that ended well, ``"pending"``, or the name of its error."""
    if status == 0:
        return ""
    if status > 0:
        return "pending"
    try:
        return str(importlib.import_module("pyopencl").status_code.to_string(status))
    except (ImportError, ValueError):
        return f"OpenCL error {status}"


def _row(record: TraceRecord) -> dict[str, Any]:
    row = {name: getattr(record, name) for name in TraceRecord.__dataclass_fields__ if name != "device"}
    row.update(
        server=record.device.server,
        device=record.device.name,
        device_index=record.device.index,
        lane=record.lane,
        duration=record.end - record.start,
    )
    return row


def _summary(lane: str, records: list[TraceRecord]) -> LaneSummary:
    busy, covered = 0.0, -math.inf
    for record in sorted((one for one in records if not math.isnan(one.end)), key=lambda one: one.start):
        begin = record.start if not math.isnan(record.start) else record.end
        busy += max(0.0, record.until - max(begin, covered))
        covered = max(covered, record.until)
    return LaneSummary(
        lane=lane,
        records=len(records),
        failed=sum(record.status < 0 for record in records),
        busy=busy,
        bytes=sum(record.bytes or 0 for record in records),
    )


def _import(name: str) -> ModuleType:
    try:
        return importlib.import_module(name)
    except ImportError as error:
        package = name.partition(".")[0]
        raise TraceError(f"this needs {package}, which is not installed: pip install {package}") from error
