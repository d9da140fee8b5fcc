"""How many kernels a second the automatic device of this process places, by device."""

from __future__ import annotations

import time
from collections.abc import Sequence
from dataclasses import dataclass

from .._connect.connection import decoded, native
from .._display.table import Table


@dataclass(frozen=True)
class DecisionRate:
    """How many kernels the automatic device has placed on one device: so far, and per second since the last reading.

    `per_s` is None at the first reading.
    """

    server: str
    device: str
    kernels: int
    per_s: float | None


class Decisions:
    """Reads the counters of this process's scheduler. Asks no server. One thread at a time."""

    def __init__(self) -> None:
        self._before: list[int] = []
        self._looked_at = 0.0

    def look(self) -> list[DecisionRate]:
        now = time.monotonic()
        counted = decoded(native().stats_json())["placements"]
        rates = []
        for place, entry in enumerate(counted):
            # Devices keep their place; later ones come behind.
            before = self._before[place] if place < len(self._before) else 0
            passed_s = now - self._looked_at if self._looked_at else 0.0
            per_s = (entry["kernels"] - before) / passed_s if passed_s > 0 else None
            rates.append(DecisionRate(entry["server"], entry["device"], entry["kernels"], per_s))
        self._before = [entry["kernels"] for entry in counted]
        self._looked_at = now
        return rates


def decision_table(rates: Sequence[DecisionRate]) -> Table:
    """Empty, and so not shown, for a program without the automatic device."""
    rows = [
        (rate.server, rate.device, str(rate.kernels), "-" if rate.per_s is None else f"{rate.per_s:.0f}")
        for rate in rates
    ]
    if len(rates) > 1:
        known = [rate.per_s for rate in rates if rate.per_s is not None]
        total = f"{sum(known):.0f}" if known else "-"
        rows.append(("all", "", str(sum(rate.kernels for rate in rates)), total))
    return Table(
        "decisions of this process's automatic device", ("server", "device", ">kernels", ">decisions/s"), tuple(rows)
    )
