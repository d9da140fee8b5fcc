"""What a step of training takes: as tables for people, and as JSON."""

from __future__ import annotations

import json
import os
from collections.abc import Sequence
from dataclasses import asdict, dataclass, field
from datetime import datetime, timezone
from pathlib import Path
from typing import Any

from ..._display import table
from ..._display.table import Table
from .machine import Options
from .places import FAR, NATIVE, Place


@dataclass
class Measurement:
    """The training of a network in one place, with one choice of optimisations.

    Attributes:
        network: its name.
        batch: images of a step.
        where: ``"native"``, ``"remotecl"``, ``"far"``, or ``"2 devices"`` and so on.
        options: the optimisations.
        step_s: the median of steps whose images were there, to the loss.
        loading_step_s: that of steps whose images had to be sent.
        launches: kernels of a step.
        builds: programs of a step.
        sent: bytes to servers in a step whose images were there; None for a native device.
        received: bytes from them.
        losses: after each step.
        problem: what is wrong with the losses; empty if they are right.
    """

    network: str
    batch: int
    where: str
    options: Options
    step_s: float
    loading_step_s: float
    launches: int
    builds: int
    sent: int | None
    received: int | None
    losses: list[float]
    problem: str = ""


@dataclass
class Report:
    """All measurements of a run."""

    places: Sequence[Place]
    delay_ms: float
    gbit_per_s: float
    rows: list[Measurement] = field(default_factory=list)
    load: float = field(default_factory=lambda: os.getloadavg()[0])

    @property
    def right(self) -> bool:
        """Whether all losses are."""
        return not any(row.problem for row in self.rows)

    def heading(self) -> str:
        """The places."""
        rows = tuple(
            (place.name, place.device.name.strip(), place.server or "-", table.microseconds(place.round_trip_s * 1e6))
            for place in self.places
        )
        far = f" Far: {self.gbit_per_s:g} Gbit/s, {self.delay_ms:g} ms each way."
        title = "Devices:" + (far if any(place.name == FAR for place in self.places) else "")
        return table.text_of([Table(title, ("place", "device", "server", ">read of 4 bytes"), rows)])

    def table(self, rows: Sequence[Measurement]) -> str:
        """One network's rows: a block for each choice of optimisations."""
        title = f"{rows[0].network}, {rows[0].batch} images a step, speed-up over the first row of the same place:"
        columns = (
            "kernels", "layout", ">queues", "place", ">step", ">with images", ">launches", ">builds", ">sent",
            ">received", ">speed-up", ">of native", "result",
        )  # fmt: skip
        return table.text_of([Table(title, columns, tuple(self._cells(row) for row in rows))])

    def _cells(self, row: Measurement) -> tuple[str, ...]:
        options = row.options
        speedup, native = self.speedup(row), self.ratio_to_native(row)
        return (
            options.kernels,
            "batched" if options.batched else "images",
            str(options.queues),
            row.where,
            f"{row.step_s * 1e3:,.1f} ms",
            f"{row.loading_step_s * 1e3:,.1f} ms",
            str(row.launches),
            str(row.builds),
            *("-" if count is None else table.size(count) for count in (row.sent, row.received)),
            "-" if speedup is None else f"{speedup:.2f}",
            "-" if native is None else f"{native:.2f}",
            row.problem or "right",
        )

    def speedup(self, row: Measurement) -> float | None:
        """How much less time a step takes than with the first choice of optimisations there."""
        there = [other for other in self.rows if (other.network, other.where) == (row.network, row.where)]
        return None if there[0] is row else there[0].step_s / row.step_s

    def ratio_to_native(self, row: Measurement) -> float | None:
        """The time of a step in those of the native device."""
        key = (row.network, NATIVE, row.options)
        native = next((other for other in self.rows if (other.network, other.where, other.options) == key), row)
        return None if native is row else row.step_s / native.step_s

    def write(self, file: str) -> None:
        """Everything, as JSON."""
        content: dict[str, Any] = {
            "date": datetime.now(timezone.utc).isoformat(timespec="seconds"),
            "cores": len(os.sched_getaffinity(0)),
            "load": self.load,
            "delay_ms": self.delay_ms,
            "gbit_per_s": self.gbit_per_s,
            "places": [
                {
                    "name": place.name,
                    "device": place.device.name.strip(),
                    "server": place.server,
                    "round_trip_s": place.round_trip_s,
                }
                for place in self.places
            ],
            "results": [
                asdict(row) | {"speedup": self.speedup(row), "ratio_to_native": self.ratio_to_native(row)}
                for row in self.rows
            ],
        }
        Path(file).write_text(json.dumps(content, indent=2) + "\n")
