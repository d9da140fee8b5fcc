"""The results: as tables for people, and as JSON."""

from __future__ import annotations

import json
import os
from collections.abc import Sequence
from dataclasses import dataclass, field
from datetime import datetime, timezone
from pathlib import Path
from typing import Any

import pyopencl as cl

from remotecl import native_platform_of, server_of
from remotecl._display import table
from remotecl._display.table import Table

# A run in which the automatic device placed each command.
AUTOMATIC = "automatic"


@dataclass
class Measurement:
    """An application's fastest run on so many devices.

    Attributes:
        application: its name.
        devices: how many.
        size: its data's dimensions.
        bytes: of input and result.
        shares: how many rows, vertices or elements each device had.
        transfer_s: seconds for bytes between the program and devices.
        compute_s: seconds for kernels, and for what devices exchange between them.
        problem: what is wrong with the result; empty if it is right.
        where: ``"native"``; ``"remotecl"``, with each share on a device of its own; or ``"automatic"``.
        data_create_s: seconds in which the program made the data, the same for all its runs.
        native: the run on one native device; None if there is none, or if this is it.
    """

    application: str
    devices: int
    size: dict[str, int]
    bytes: int
    shares: list[int]
    transfer_s: float
    compute_s: float
    problem: str
    where: str = ""
    data_create_s: float = 0.0
    native: Measurement | None = None

    @property
    def end_to_end_s(self) -> float:
        """Seconds from arrays to results."""
        return self.transfer_s + self.compute_s

    @property
    def speedup(self) -> float | None:
        """How many times as fast as one native device it is."""
        return self.native.end_to_end_s / self.end_to_end_s if self.native else None

    @property
    def resident_speedup(self) -> float | None:
        """The same with the data on the devices already."""
        return self.native.compute_s / self.compute_s if self.native else None

    def as_dict(self) -> dict[str, Any]:
        """Its fields for JSON."""
        fields = {key: value for key, value in vars(self).items() if key != "native"}
        calculated = ("end_to_end_s", "speedup", "resident_speedup")
        return fields | {key: getattr(self, key) for key in calculated}


@dataclass
class Report:
    """Everything that one call of the command has measured, and the devices."""

    scale: float
    seed: int
    repetitions: int
    devices: list[cl.Device]
    native: cl.Device | None
    rows: list[Measurement] = field(default_factory=list)
    load: float = field(default_factory=lambda: os.getloadavg()[0])

    @property
    def right(self) -> bool:
        """Whether all results are right."""
        return not any(row.problem for row in self.rows)

    def heading(self) -> str:
        """A table of the devices."""
        rows = [
            (str(number), server_of(device), device.name.strip(), native_platform_of(device))
            for number, device in enumerate(self.devices, 1)
        ]
        if self.native is not None:
            rows.append(("", "native", self.native.name.strip(), self.native.platform.name))
        columns = (">device", "server", "name", "platform")
        return table.text_of([Table("Devices:", columns, tuple(rows), optional=("platform",))], table.terminal_width())

    def table(self, rows: Sequence[Measurement]) -> str:
        """One application's runs, below each other."""
        first = rows[0]
        size = ", ".join(f"{name} = {value:,}" for name, value in first.size.items())
        title = f"{first.application}: {size}, {table.size(first.bytes)}, made in {first.data_create_s:.3g} s"
        columns = ("", ">transfer", ">compute", ">end to end", ">speed-up", ">with data resident", "result")
        cells = tuple(
            (
                table.count(row.devices, "device") if row.where == "remotecl" else row.where,
                *(f"{seconds * 1e3:,.1f} ms" for seconds in (row.transfer_s, row.compute_s, row.end_to_end_s)),
                *(f"{value:.2f}" if value else "-" for value in (row.speedup, row.resident_speedup)),
                row.problem or "right",
            )
            for row in rows
        )
        return table.text_of([Table(title, columns, cells)])

    def write(self, file: str) -> None:
        """Everything, as JSON."""
        native = self.native and {"name": self.native.name.strip(), "platform": self.native.platform.name}
        content = {
            "date": datetime.now(timezone.utc).isoformat(timespec="seconds"),
            "cores": len(os.sched_getaffinity(0)),
            "load": self.load,
            "scale": self.scale,
            "seed": self.seed,
            "repetitions": self.repetitions,
            "devices": [
                {"server": server_of(device), "name": device.name.strip(), "platform": native_platform_of(device)}
                for device in self.devices
            ],
            "native_device": native,
            "results": [row.as_dict() for row in self.rows],
        }
        Path(file).write_text(json.dumps(content, indent=2) + "\n")
