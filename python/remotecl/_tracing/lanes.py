"""What each device and each link did in a trace."""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import dataclass

from .._display import table
from .._display.table import Shown, Table
from .records import TraceRecord


@dataclass(frozen=True)
class LaneSummary:
    """What a device or a link did.

    Attributes:
        lane: the device's label, or both ends of the link.
        records: how many.
        failed: how many of them ended with an error.
        busy: seconds in which at least one was running.
        bytes: how many they transferred.

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


def summaries(records: Iterable[TraceRecord]) -> list[LaneSummary]:
    """One for each lane."""
    lanes: dict[str, list[TraceRecord]] = {}
    for record in records:
        lanes.setdefault(record.lane, []).append(record)
    return [_summary(lane, of_lane) for lane, of_lane in lanes.items()]


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
