"""What the demo prints about remotecl itself: devices, traffic, residency."""

from __future__ import annotations

import sys
from collections.abc import Mapping, Sequence
from pathlib import Path

import pyopencl as cl

from .._table import Table, size
from ..buffers import ResidentRange, residency
from ..inspect import native_platform_of, server_of
from ..stats import stats


class Traffic:
    """Bytes since the last look, per server."""

    def __init__(self) -> None:
        self._last = {entry.address: entry for entry in stats()}

    def show(self) -> None:
        """Prints what was sent and received since the object was made or last shown."""
        for now in stats():
            before = self._last.get(now.address)
            sent = now.bytes_sent - (before.bytes_sent if before else 0)
            received = now.bytes_received - (before.bytes_received if before else 0)
            print(f"  {now.address}: {size(sent)} sent, {size(received)} received")
            self._last[now.address] = now


def show_devices(devices: Sequence[cl.Device], remote: bool) -> None:
    """Prints every device, and the server it is on."""
    for number, device in enumerate(devices):
        where = f" on {server_of(device)} ({native_platform_of(device)})" if remote else ""
        print(f"  device {number}: {device.name.strip()}{where}")


def show_residency(buffers: Mapping[str, cl.Buffer]) -> None:
    """Prints who holds the newest version of every buffer."""
    for name, buffer in buffers.items():
        for entry in residency(buffer):
            where = "; ".join(_range_text(part, entry.size) for part in entry.ranges)
            print(f"  {name:<22} {size(entry.size):>10}  {where}")


def show_times(seconds: Mapping[str, Mapping[str, float]]) -> None:
    """Prints a table: places beside each other, jobs below each other."""
    jobs = next(iter(seconds.values()))
    rows = tuple((job, *(f"{times[job] * 1e3:,.1f} ms" for times in seconds.values())) for job in jobs)
    table = Table("From arrays to results, the best of three:", ("", *(f">{place}" for place in seconds)), rows)
    print(f"\n{table.text()}")
    if len(seconds) == 1:
        print("  (no driver of that kind here to compare with)")
    else:
        print(
            "  Servers of one machine share its processor; what they add is what remotecl costs. On machines of their"
        )
        print("  own they work side by side.")


def show_next() -> None:
    """Prints what to try now, with the command as it was called."""
    command = sys.argv[0] if Path(sys.argv[0]).name == "remotecl" else "remotecl"
    python = "python" if command == "remotecl" else str(Path(command).with_name("python"))
    print(f"""
What to try next:
  {command} run --local 2 {python} program.py    any OpenCL program, on two servers of this machine
  {command} keygen --for gpu1                    keys and a short name for a server of another machine
  {command} run --servers gpu1 {python} program.py
  {command} top gpu1                             who uses it, and how busy it is
  {command} doctor                               when something does not work
  docs/quickstart.md, notebooks/01-first-steps.ipynb""")


def _range_text(part: ResidentRange, buffer_size: int) -> str:
    holders = ", ".join(part.holders) or "nobody (never written)"
    if part.size == buffer_size:
        return holders
    return f"bytes {part.offset}..{part.offset + part.size}: {holders}"
