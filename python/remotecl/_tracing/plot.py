"""A trace as a timeline, drawn with matplotlib."""

from __future__ import annotations

import importlib
import math
from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING, Any

from .records import TraceDevice, TraceRecord

if TYPE_CHECKING:
    import matplotlib.axes

# More arrows than that would cross each other.
ARROWS_MAX = 40
_OUTLINED_MAX = 300
_COLORED_NAMES = 10
_NAME_LENGTH_MAX = 32
_HALF_HEIGHT = 0.4
# Less than a pixel in a wide figure.
_SHORTEST_SHARE = 1 / 3000
_OTHERS = "others"
# A figure has its own background, so that it can be read on dark pages too.
_BACKGROUND = "white"


def draw(
    records: Sequence[TraceRecord],
    devices: Iterable[TraceDevice],
    axes: matplotlib.axes.Axes | None,
    arrows: bool | None,
) -> matplotlib.axes.Axes:
    """See `Trace.plot`."""
    drawn = [record for record in records if not (math.isnan(record.start) or math.isnan(record.end))]
    places = _places(devices, drawn)
    if axes is None:
        height = 1.2 + 0.5 * max(1, len(places))
        plots = importlib.import_module("matplotlib.pyplot")
        with plots.style.context("default"):
            _, axes = plots.subplots(figsize=(10, height), layout="constrained", facecolor=_BACKGROUND)
    _draw_bars(axes, drawn, places)
    dependencies = [(records[before], record) for record in drawn for before in record.depends_on]
    if arrows or (arrows is None and len(dependencies) <= ARROWS_MAX):
        _draw_arrows(axes, dependencies, places)
    axes.set_yticks(range(len(places)), list(places))
    axes.set_ylim(len(places) - 0.5, -0.5)
    axes.set_xlabel("time since the trace began [ms]")
    axes.grid(axis="x", alpha=0.3)
    axes.set_axisbelow(True)
    return axes


def _places(devices: Iterable[TraceDevice], drawn: list[TraceRecord]) -> dict[str, int]:
    lanes = [device.label for device in devices]
    lanes += dict.fromkeys(record.lane for record in drawn if record.lane not in lanes)
    return {lane: place for place, lane in enumerate(lanes)}


def _draw_bars(axes: matplotlib.axes.Axes, drawn: list[TraceRecord], places: dict[str, int]) -> None:
    names = _names(drawn)
    colors = importlib.import_module("matplotlib").colormaps["tab10"]
    shortest = _SHORTEST_SHARE * 1e3 * _extent(drawn)
    bars: dict[tuple[str, str, bool], list[tuple[float, float]]] = {}
    for record in drawn:
        name = record.name if record.name in names else _OTHERS
        bars.setdefault((name, record.lane, record.status < 0), []).append((record.start * 1e3, record.until * 1e3))
    outline = 0.3 if len(drawn) <= _OUTLINED_MAX else 0.0
    labelled: set[str] = set()
    for (name, lane, failed), spans in sorted(bars.items(), key=lambda bar: _rank(names, bar[0][0])):
        label = None if name in labelled else _short(name)
        labelled.add(name)
        color = "lightgrey" if name == _OTHERS else colors(names.index(name))
        axes.broken_barh(
            _merged(spans, shortest),
            (places[lane] - _HALF_HEIGHT, 2 * _HALF_HEIGHT),
            facecolor=color,
            edgecolor="red" if failed else "black" if outline else color,
            linewidth=1.5 if failed else outline,
            label=label,
        )
    if bars:
        axes.legend(loc="upper left", bbox_to_anchor=(1.0, 1.0), fontsize="small")


def _names(drawn: list[TraceRecord]) -> list[str]:
    """The names that get a color of their own: those that took the longest in total."""
    spent: dict[str, float] = {}
    for record in drawn:
        spent[record.name] = spent.get(record.name, 0.0) + record.until - record.start
    return sorted(spent, key=lambda name: -spent[name])[:_COLORED_NAMES]


def _rank(names: list[str], name: str) -> int:
    """Sorts the longest first and the others last."""
    return names.index(name) if name in names else len(names)


def _short(name: str) -> str:
    return name if len(name) <= _NAME_LENGTH_MAX else f"{name[: _NAME_LENGTH_MAX - 1]}…"


def _extent(drawn: list[TraceRecord]) -> float:
    return max((record.until for record in drawn), default=0.0) - min((record.start for record in drawn), default=0.0)


def _merged(spans: list[tuple[float, float]], shortest: float) -> list[tuple[float, float]]:
    """Beginnings and lengths: none too short to be seen, and one for records that cannot be distinguished."""
    merged: list[tuple[float, float]] = []
    for begin, end in sorted(spans):
        if merged and len(spans) > _OUTLINED_MAX and begin - sum(merged[-1]) < shortest:
            merged[-1] = (merged[-1][0], max(end, sum(merged[-1])) - merged[-1][0])
        else:
            merged.append((begin, max(end - begin, shortest)))
    return merged


def _draw_arrows(
    axes: matplotlib.axes.Axes, dependencies: list[tuple[TraceRecord, TraceRecord]], places: dict[str, int]
) -> None:
    style: dict[str, Any] = {"arrowstyle": "->", "color": "black", "alpha": 0.5, "linewidth": 0.8, "shrinkA": 0}
    for before, after in dependencies:
        if math.isnan(before.end):
            continue
        begin = (before.end * 1e3, places[before.lane])
        axes.annotate("", (after.start * 1e3, places[after.lane]), begin, arrowprops=style)
