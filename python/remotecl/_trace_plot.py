"""A trace as a timeline, drawn with matplotlib."""

from __future__ import annotations

import importlib
import math
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    import matplotlib.axes

    from .trace import Trace, TraceRecord

ARROWS_MAX = 500
_NAMES_IN_LEGEND = 12
_HALF_HEIGHT = 0.4


def draw(trace: Trace, axes: matplotlib.axes.Axes | None, arrows: bool | None) -> matplotlib.axes.Axes:
    """See `Trace.plot`."""
    drawn = [record for record in trace.records if not (math.isnan(record.start) or math.isnan(record.end))]
    places = _places(trace, drawn)
    if axes is None:
        height = 1.0 + 0.5 * max(1, len(places))
        _, axes = importlib.import_module("matplotlib.pyplot").subplots(figsize=(10, height), layout="constrained")
    _draw_bars(axes, drawn, places)
    dependencies = [(trace.records[before], record) for record in drawn for before in record.depends_on]
    if arrows or (arrows is None and len(dependencies) <= ARROWS_MAX):
        _draw_arrows(axes, dependencies, places)
    axes.set_yticks(range(len(places)), list(places))
    axes.invert_yaxis()
    axes.set_xlabel("time since the trace began [ms]")
    axes.grid(axis="x", alpha=0.3)
    return axes


def _places(trace: Trace, drawn: list[TraceRecord]) -> dict[str, int]:
    lanes = [device.label for device in trace.devices]
    lanes += dict.fromkeys(record.lane for record in drawn if record.lane not in lanes)
    return {lane: place for place, lane in enumerate(lanes)}


def _draw_bars(axes: matplotlib.axes.Axes, drawn: list[TraceRecord], places: dict[str, int]) -> None:
    colors = importlib.import_module("matplotlib").colormaps["tab20"]
    names = list(dict.fromkeys(record.name for record in drawn))
    bars: dict[tuple[str, str, bool], list[tuple[float, float]]] = {}
    for record in drawn:
        bar = (record.start * 1e3, (record.until - record.start) * 1e3)
        bars.setdefault((record.name, record.lane, record.status < 0), []).append(bar)
    labelled: set[str] = set()
    for (name, lane, failed), spans in bars.items():
        label = name if name not in labelled and len(labelled) < _NAMES_IN_LEGEND else None
        labelled.add(name)
        axes.broken_barh(
            spans,
            (places[lane] - _HALF_HEIGHT, 2 * _HALF_HEIGHT),
            facecolor=colors(names.index(name) % 20),
            edgecolor="red" if failed else "black",
            linewidth=1.5 if failed else 0.3,
            alpha=0.8,
            label=label,
        )
    if bars:
        axes.legend(loc="upper left", bbox_to_anchor=(1.0, 1.0), fontsize="small")


def _draw_arrows(
    axes: matplotlib.axes.Axes, dependencies: list[tuple[TraceRecord, TraceRecord]], places: dict[str, int]
) -> None:
    style: dict[str, Any] = {"arrowstyle": "->", "color": "black", "alpha": 0.5, "linewidth": 0.8, "shrinkA": 0}
    for before, after in dependencies:
        if math.isnan(before.end):
            continue
        begin = (before.end * 1e3, places[before.lane])
        axes.annotate("", (after.start * 1e3, places[after.lane]), begin, arrowprops=style)
