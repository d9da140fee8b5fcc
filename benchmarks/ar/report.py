"""What frames of the augmented-reality pipeline take: as tables for people, and as JSON."""

from __future__ import annotations

import json
import os
from dataclasses import asdict, dataclass, field
from datetime import datetime, timezone
from pathlib import Path
from typing import Any

from remotecl._display import table
from remotecl._display.table import Table

from ..dnn.report import cpu_model
from .links import LINKS
from .pipelines import COMPLETE, LOCAL, REMOTE_SORT

# How many times better the complete configuration should be.
FASTER_THAN_LOCAL, FASTER_THAN_REMOTE_SORT, LESS_PROCESSOR = 10.0, 5.0, 10.0
# What PoCL-R's authors have measured with a phone: frames per second, and energy per frame.
PAPER_FASTER, PAPER_LESS_ENERGY = 19.0, 17.0


@dataclass
class Measurement:
    """A configuration over a link.

    Attributes:
        link: its name; ``"loopback"``.
        configuration: of `CONFIGURATIONS`.
        device: what a report says of the device that sorts the points.
        frames: how many were measured.
        frames_per_s: of them.
        alone_s: median latency from pose to picture if there is one frame at a time.
        latency_p50_s, latency_p99_s: the same with several on their way.
        processor_s: of the client, for a frame.
        servers_s: of the servers, likewise.
        client_bytes: between client and servers, both ways, for a frame.
        peer_bytes: between servers, likewise.
        energy_j: of the whole machine, likewise; None if it does not tell.
        problem: what is wrong with the picture; empty if it is right.
    """

    link: str
    configuration: str
    device: dict[str, str]
    frames: int
    frames_per_s: float
    alone_s: float
    latency_p50_s: float
    latency_p99_s: float
    processor_s: float
    servers_s: float
    client_bytes: float
    peer_bytes: float
    energy_j: float | None
    problem: str = ""


@dataclass(frozen=True)
class Target:
    """What the complete configuration should reach over a link, and what it does reach, as factors.

    Attributes:
        name: ``"faster than local"``, for example.
        times: reached.
        least: wanted.
        paper: of PoCL-R's authors; None if they have none.
    """

    name: str
    times: float
    least: float
    paper: float | None

    def __str__(self) -> str:
        """In words."""
        paper = f"; PoCL-R: {self.paper:g}" if self.paper else ""
        verdict = "met" if self.times >= self.least else "missed"
        return f"{self.name}: {self.times:.1f} times (target: {self.least:g}, {verdict}{paper})"


@dataclass
class Report:
    """All measurements of a run."""

    device: dict[str, str]
    codec: str
    video_mbit_per_s: float
    points: int
    capacity: int
    pixels: int
    in_flight: int
    client: str
    hows: dict[str, str] = field(default_factory=dict)
    rows: list[Measurement] = field(default_factory=list)
    load: float = field(default_factory=lambda: os.getloadavg()[0])

    @property
    def right(self) -> bool:
        """Whether all pictures are right."""
        return not any(row.problem for row in self.rows)

    def heading(self) -> str:
        """What is measured, and where."""
        return (
            f"{self.points:,} points a frame (room for {self.capacity:,}), {self.codec} of "
            f"{self.video_mbit_per_s:.1f} Mbit/s at 30 frames/s, pictures of {self.pixels}x{self.pixels}, "
            f"{self.in_flight} frames on their way.\n"
            f"Device: {self.device['device']}. Client: {self.client}.\n"
            f"Client and servers share {len(os.sched_getaffinity(0))} cores; load {self.load:.1f}."
        )

    def table(self, link: str) -> str:
        """The rows of a link, and its targets."""
        columns = (
            "configuration", ">frames/s", ">of local", ">one alone", ">p50", ">p99", ">client's link",
            ">server to server", ">client's processor", ">servers' processors", ">energy", "picture",
        )  # fmt: skip
        rows = self.of(link)
        words = f"{link}: {LINKS[link]}, {self.hows[link]}" if link in LINKS else link
        lines = table.text_of([Table(f"{words}; per frame:", columns, tuple(self._cells(row) for row in rows))])
        return "\n".join([lines, *(f"  {COMPLETE}, {target}" for target in self.targets(link))])

    def _cells(self, row: Measurement) -> tuple[str, ...]:
        local = self._row(row.link, LOCAL)
        return (
            row.configuration,
            f"{row.frames_per_s:.1f}",
            f"{row.frames_per_s / local.frames_per_s:.1f}" if local else "-",
            *(f"{seconds * 1e3:.1f} ms" for seconds in (row.alone_s, row.latency_p50_s, row.latency_p99_s)),
            *(table.size(round(count)) if count else "-" for count in (row.client_bytes, row.peer_bytes)),
            f"{row.processor_s * 1e3:.2f} ms",
            f"{row.servers_s * 1e3:.2f} ms" if row.servers_s else "-",
            "not available" if row.energy_j is None else f"{row.energy_j:.3f} J",
            row.problem or "right",
        )

    def of(self, link: str) -> list[Measurement]:
        """The rows of a link."""
        return [row for row in self.rows if row.link == link]

    def _row(self, link: str, configuration: str) -> Measurement | None:
        return next((row for row in self.of(link) if row.configuration == configuration), None)

    def targets(self, link: str) -> list[Target]:
        """The targets of a link, as far as it has the rows that they compare."""
        local, sort, complete = (self._row(link, name) for name in (LOCAL, REMOTE_SORT, COMPLETE))
        if complete is None:
            return []
        found = []
        if local:
            times = complete.frames_per_s / local.frames_per_s
            found.append(Target("frames per second of local", times, FASTER_THAN_LOCAL, PAPER_FASTER))
        if sort:
            times = complete.frames_per_s / sort.frames_per_s
            found.append(Target(f"frames per second of {REMOTE_SORT}", times, FASTER_THAN_REMOTE_SORT, None))
        if local:
            times = local.processor_s / complete.processor_s
            found.append(Target("less processor time of the client than local", times, LESS_PROCESSOR, None))
            if local.energy_j is not None and complete.energy_j:
                times = local.energy_j / complete.energy_j
                found.append(Target("less energy than local", times, 1, PAPER_LESS_ENERGY))
        return found

    def write(self, file: str) -> None:
        """Everything, as JSON. The keys about the machine are those of `remotecl bench --json`."""
        content: dict[str, Any] = {
            "date": datetime.now(timezone.utc).isoformat(timespec="seconds"),
            "cpu": cpu_model(),
            "cores": len(os.sched_getaffinity(0)),
            "load": self.load,
            "quick": False,
            "native_device": self.device,
            "remotecl_device": next((row.device for row in self.rows if row.configuration != LOCAL), None),
            "failures": [f"{row.link}, {row.configuration}: {row.problem}" for row in self.rows if row.problem],
            "client": self.client,
            "codec": self.codec,
            "video_mbit_per_s": self.video_mbit_per_s,
            "points": self.points,
            "capacity": self.capacity,
            "pixels": self.pixels,
            "in_flight": self.in_flight,
            "links": {
                name: str(LINKS.get(name, name)) + (f", {how}" if how else "") for name, how in self.hows.items()
            },
            "targets": {
                link: [asdict(target) | {"met": target.times >= target.least} for target in self.targets(link)]
                for link in self.hows
            },
            "results": [asdict(row) for row in self.rows],
        }
        Path(file).write_text(json.dumps(content, indent=2) + "\n")
