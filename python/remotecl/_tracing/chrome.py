"""A trace in Chrome's trace event format, which Perfetto opens."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

from .records import TraceRecord

_SHORTEST_US = 0.001


class _Tracks:
    """The threads of the file. Overlapping records of a lane go to separate rows, because slices must nest."""

    def __init__(self) -> None:
        self.metadata: list[dict[str, Any]] = []
        self._processes: dict[str, int] = {}
        self._rows: dict[tuple[int, str], list[tuple[int, float]]] = {}
        self._threads = 0

    def take(self, record: TraceRecord, begin: float, end: float) -> tuple[int, int]:
        """Process and thread for a slice; slices come in the order in which they begin."""
        process = self._process(record.device.server)
        rows = self._rows.setdefault((process, record.lane), [])
        for place, (thread, busy_until) in enumerate(rows):
            if busy_until <= begin:
                rows[place] = (thread, end)
                return process, thread
        self._threads += 1
        rows.append((self._threads, end))
        name = record.lane if len(rows) == 1 else f"{record.lane} ({len(rows)})"
        if record.lane == record.device.label:
            name = f"#{record.device.index} {record.device.name}" + name.removeprefix(record.lane)
        self._name("thread_name", process, self._threads, name)
        return process, self._threads

    def _process(self, server: str) -> int:
        if server not in self._processes:
            self._processes[server] = len(self._processes) + 1
            self._name("process_name", self._processes[server], 0, server)
        return self._processes[server]

    def _name(self, what: str, process: int, thread: int, name: str) -> None:
        self.metadata.append({"ph": "M", "name": what, "pid": process, "tid": thread, "args": {"name": name}})


def events(records: Sequence[TraceRecord], dropped: int, duration: float) -> dict[str, Any]:
    """See `Trace.save`. Times in the file are microseconds since the trace began."""
    tracks = _Tracks()
    slices: dict[int, dict[str, Any]] = {}
    drawn = [record for record in records if not (math.isnan(record.start) or math.isnan(record.end))]
    for record in sorted(drawn, key=lambda one: one.start):
        slices[record.id] = _slice(tracks, record)
    flows: list[dict[str, Any]] = []
    for record in drawn:
        for before in record.depends_on:
            if before in slices:
                flows += _flow(len(flows), slices[before], slices[record.id])
    return {
        "traceEvents": tracks.metadata + list(slices.values()) + flows,
        "displayTimeUnit": "ns",
        "otherData": {"records": len(records), "dropped": dropped, "duration_s": duration},
    }


def _slice(tracks: _Tracks, record: TraceRecord) -> dict[str, Any]:
    begin = record.start * 1e6
    duration = max(_SHORTEST_US, (record.until - record.start) * 1e6)
    process, thread = tracks.take(record, begin, begin + duration)
    arguments: dict[str, Any] = {
        "id": record.id,
        "queue": hex(record.queue),
        "status": record.error or "ok",
        "queued_us": record.queued * 1e6,
        "depends_on": list(record.depends_on),
        "buffers": [hex(buffer) for buffer in record.buffers],
        "profiled": record.profiled,
    }
    if not math.isnan(record.submit):
        arguments["submit_us"] = record.submit * 1e6
    if record.bytes is not None:
        arguments["bytes"] = record.bytes
    if record.wire_bytes is not None:
        arguments["wire_bytes"] = record.wire_bytes
    if record.source is not None:
        arguments.update(source=record.source, destination=record.destination)
    if record.transport is not None:
        arguments["transport"] = record.transport
    return {
        "ph": "X",
        "name": record.name,
        "cat": record.kind,
        "pid": process,
        "tid": thread,
        "ts": begin,
        "dur": duration,
        "args": arguments,
    }


def _flow(number: int, before: dict[str, Any], after: dict[str, Any]) -> list[dict[str, Any]]:
    # An arrow must start at a moment inside its slice.
    leaves = before["ts"] + before["dur"] - _SHORTEST_US / 2
    common = {"name": "waits for", "cat": "dependency", "id": number}
    return [
        {"ph": "s", **common, "pid": before["pid"], "tid": before["tid"], "ts": leaves},
        {"ph": "f", "bp": "e", **common, "pid": after["pid"], "tid": after["tid"], "ts": after["ts"]},
    ]
