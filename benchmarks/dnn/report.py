"""What a step of training takes: as tables for people, and as JSON."""

from __future__ import annotations

import json
import os
from collections.abc import Sequence
from dataclasses import asdict, astuple, dataclass, field
from datetime import datetime, timezone
from pathlib import Path
from typing import Any

import pyopencl as cl

from remotecl._display import table
from remotecl._display.table import Table

from .machine import Options
from .places import FAR, NATIVE, REMOTE, Place

# The target of a step, in native steps, once programs are built and images sent. A far step gets a round trip more.
_TARGETS = {REMOTE: 1.05, FAR: 1.1}


@dataclass
class Measurement:
    """The training of a network in one place, with one choice of optimisations.

    Attributes:
        network: its name.
        batch: images of a step.
        where: ``"native"``, ``"remotecl"``, ``"far"``, or ``"2 devices"`` and so on.
        options: the optimisations.
        step_s: the median of steps whose images were there, to the loss.
        loading_step_s: that of steps whose images had to be sent; None if there were none.
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
    loading_step_s: float | None
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
        """Whether all losses are right."""
        return not any(row.problem for row in self.rows)

    def heading(self) -> str:
        """A table of the places."""
        rows = tuple(
            (place.name, place.device.name.strip(), place.server or "-", table.microseconds(place.round_trip_s * 1e6))
            for place in self.places
        )
        far = f" Far: {self.gbit_per_s:g} Gbit/s, {self.delay_ms:g} ms each way."
        title = "Devices:" + (far if any(place.name == FAR for place in self.places) else "")
        return table.text_of([Table(title, ("place", "device", "server", ">read of 4 bytes"), rows)])

    def table(self, rows: Sequence[Measurement]) -> str:
        """One network's rows: a block for each choice of optimisations."""
        title = (
            f"{rows[0].network}, {rows[0].batch} images a step; gain over the last row that differs in one choice, "
            "speed-up over the first one of the same place:"
        )
        columns = (
            "kernels", "layout", ">queues", "place", ">step", ">with images", ">launches", ">builds", ">sent",
            ">received", ">gain", ">speed-up", ">of native", ">target", "result",
        )  # fmt: skip
        return table.text_of([Table(title, columns, tuple(self._cells(row) for row in rows))])

    def _cells(self, row: Measurement) -> tuple[str, ...]:
        options = row.options
        ratios = (self.gain(row), self.speedup(row), self.ratio_to_native(row))
        target = self.target_s(row)
        return (
            options.kernels,
            "batched" if options.batched else "images",
            str(options.queues),
            row.where,
            f"{row.step_s * 1e3:,.1f} ms",
            "-" if row.loading_step_s is None else f"{row.loading_step_s * 1e3:,.1f} ms",
            str(row.launches),
            str(row.builds),
            *("-" if count is None else table.size(count) for count in (row.sent, row.received)),
            *("-" if ratio is None else f"{ratio:.2f}" for ratio in ratios),
            "-" if target is None else f"{target * 1e3:,.1f} ms {'met' if row.step_s <= target else 'missed'}",
            row.problem or "right",
        )

    def gain(self, row: Measurement) -> float | None:
        """The gain of one optimisation: the step of the last row above with one other choice, divided by this row's."""
        there = self._of_place(row)
        above = reversed(there[: there.index(row)])
        other = next((other for other in above if _differences(other.options, row.options) == 1), None)
        return other.step_s / row.step_s if other else None

    def speedup(self, row: Measurement) -> float | None:
        """How many times as long a step takes with the first choice of optimisations in the same place."""
        first = self._of_place(row)[0]
        return None if first is row else first.step_s / row.step_s

    def ratio_to_native(self, row: Measurement) -> float | None:
        """The time of a step divided by that of the native device."""
        native = self._native(row)
        return row.step_s / native.step_s if native else None

    def target_s(self, row: Measurement) -> float | None:
        """What a step should take at most; None for native devices, for several, and while programs are built."""
        native = self._native(row)
        if native is None or row.builds or row.where not in _TARGETS:
            return None
        round_trip = next(place.round_trip_s for place in self.places if place.name == row.where)
        return _TARGETS[row.where] * native.step_s + (round_trip if row.where == FAR else 0)

    def _of_place(self, row: Measurement) -> list[Measurement]:
        return [other for other in self.rows if (other.network, other.where) == (row.network, row.where)]

    def _native(self, row: Measurement) -> Measurement | None:
        """The row of the native device with the same choices; None if that is `row`, or there is none."""
        key = (row.network, NATIVE, row.options)
        found = next((other for other in self.rows if (other.network, other.where, other.options) == key), None)
        return None if found is row else found

    def write(self, file: str) -> None:
        """Everything, as JSON. The keys about the machine are those of `remotecl bench --json`."""
        content: dict[str, Any] = {
            "date": datetime.now(timezone.utc).isoformat(timespec="seconds"),
            "cpu": cpu_model(),
            "cores": len(os.sched_getaffinity(0)),
            "load": self.load,
            "quick": False,
            "delay_ms": self.delay_ms,
            "gbit_per_s": self.gbit_per_s,
            "native_device": self._device(NATIVE),
            "remotecl_device": self._device(REMOTE) or self._device(FAR),
            "failures": [f"{row.network}, {row.where}: {row.problem}" for row in self.rows if row.problem],
            "places": [
                {
                    "name": place.name,
                    "device": place.device.name.strip(),
                    "server": place.server,
                    "round_trip_s": place.round_trip_s,
                }
                for place in self.places
            ],
            "results": [asdict(row) | self._compared(row) for row in self.rows],
        }
        Path(file).write_text(json.dumps(content, indent=2) + "\n")

    def _compared(self, row: Measurement) -> dict[str, Any]:
        target = self.target_s(row)
        return {
            "gain": self.gain(row),
            "speedup": self.speedup(row),
            "ratio_to_native": self.ratio_to_native(row),
            "target_s": target,
            "met": None if target is None else row.step_s <= target,
        }

    def _device(self, where: str) -> dict[str, str] | None:
        device = next((place.device for place in self.places if place.name == where), None)
        return None if device is None else described(device)


def described(device: cl.Device) -> dict[str, str]:
    """What a report says of a device."""
    words = {
        "platform": device.platform.name, "device": device.name, "version": device.version,
        "driver": device.driver_version,
    }  # fmt: skip
    return {name: word.strip() for name, word in words.items()}


def _differences(one: Options, other: Options) -> int:
    """The number of choices in which two options differ."""
    return sum(ours != theirs for ours, theirs in zip(astuple(one), astuple(other), strict=True))


def cpu_model() -> str:
    """The name of this machine's processor."""
    info = Path("/proc/cpuinfo")
    lines = info.read_text().splitlines() if info.is_file() else []
    return next((line.partition(":")[2].strip() for line in lines if line.startswith("model name")), "unknown")
