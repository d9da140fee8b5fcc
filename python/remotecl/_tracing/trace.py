"""Traces: what every server, device and link did, and when."""

from __future__ import annotations

import importlib
import json
from collections.abc import Iterator, Sequence
from pathlib import Path
from types import ModuleType, TracebackType
from typing import TYPE_CHECKING, Any

from .._connect.connection import native
from .._display import table
from .._display.table import Shown, Table
from ..errors import RemoteCLError
from . import chrome, plot
from .lanes import LaneList, summaries
from .records import TraceDevice, TraceRecord, devices_of, records_of

if TYPE_CHECKING:
    import matplotlib.axes
    import pandas

# As remotecl.h documents: a record takes about 400 bytes while a trace is running.
RECORDS_MAX = 1_000_000


class TraceError(RemoteCLError):
    """A trace cannot begin or be read now; the message says what to do."""


class Trace(Shown):
    """What was recorded during a ``with`` block; see `trace`.

    Attributes:
        records: all of them, each after those that it depends on.
        devices: those that took part.
        duration: of the block, in seconds.
        dropped: how many records did not fit.

    Args:
        records_max: how many records it keeps; later ones are only counted.
        wait: seconds for which the end of the block waits for pending commands.

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

        If there are thousands of records, those that would share a pixel are drawn as one; the names that took the
        longest have colors of their own. ``to_dataframe`` and ``save`` have all of them.

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
        return plot.draw(self.records, self.devices, axes, arrows)

    def save(self, path: str | Path) -> None:
        """Writes the trace as Chrome trace JSON, which https://ui.perfetto.dev and chrome://tracing open.

        Processes are servers, threads are devices and links, flow arrows are dependencies.

        Example::

            t.save("trace.json")
        """
        Path(path).write_text(json.dumps(chrome.events(self.records, self.dropped, self.duration)), encoding="utf-8")

    def summary(self) -> LaneList:
        """What each device and each link did.

        Example::

            for lane in t.summary():
                print(lane.lane, lane.records, lane.busy, lane.bytes)
        """
        return LaneList(summaries(self.records), f"Trace: {self._headline()}")

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
        self._devices = devices_of(told)
        self._records = records_of(told, self._devices)


def trace(records_max: int = RECORDS_MAX, wait: float = 10.0) -> Trace:
    """Records every command and every transfer of this process, on all servers, while a ``with`` block runs.

    Queues need no profiling and commands no events for it. All times are on this computer's clock; between two machines
    they are accurate to half of the shortest round trip.

    Args:
        records_max: records beyond this number are only counted (`Trace.dropped`). A record takes about 400
            bytes while the trace is running, and more once it is used in Python.
        wait: seconds for which the end of the block waits for pending commands; those that still have not ended are
            ``"pending"`` and have no end.

    Returns:
        A `Trace`, to be used after the block.

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


def _import(name: str) -> ModuleType:
    try:
        return importlib.import_module(name)
    except ImportError as error:
        package = name.partition(".")[0]
        raise TraceError(f"this needs {package}, which is not installed: pip install {package}") from error
