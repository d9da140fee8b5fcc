"""What the demo prints about remotecl itself: devices, traffic, residency."""

from __future__ import annotations

import sys
from collections.abc import Mapping, Sequence
from pathlib import Path

import pyopencl as cl

from .._display.table import Table, size, terminal_width, text_of
from .._memory.residency import ResidentRange, residency
from .._observe.inspect import native_platform_of, server_of
from .._observe.stats import stats


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
    columns = ("device", "name", *(("server", "its platform") if remote else ()))
    rows = tuple(
        (str(number), device.name.strip(), *((server_of(device), native_platform_of(device)) if remote else ()))
        for number, device in enumerate(devices)
    )
    print(_text(Table("Devices, all in one context:", columns, rows, optional=("its platform",))))


def show_residency(buffers: Mapping[str, cl.Buffer], devices: Sequence[cl.Device]) -> None:
    """Prints who holds the newest version of every buffer, with devices numbered as by `show_devices`."""
    rows = tuple(
        (name, size(entry.size), _range_text(part, entry.size), _holders_text(part, devices))
        for name, buffer in buffers.items()
        for entry in residency(buffer)
        for part in entry.ranges
    )
    print()
    print(_text(Table("Where every buffer is now:", ("buffer", ">size", "bytes", "newest version"), rows)))


def show_times(seconds: Mapping[str, Mapping[str, float]]) -> None:
    """Prints a table with places as columns and jobs as rows."""
    jobs = next(iter(seconds.values()))
    rows = tuple((job, *(f"{times[job] * 1e3:,.1f} ms" for times in seconds.values())) for job in jobs)
    table = Table("From arrays to results, the best of three:", ("", *(f">{place}" for place in seconds)), rows)
    print(f"\n{_text(table)}")
    if len(seconds) == 1:
        print("  (no driver of that kind here to compare with)")
    else:
        print("  Servers of one machine share its processor: what they add is remotecl's cost.")
        print("  On machines of their own they work side by side.")


def show_next() -> None:
    """Prints what to try now, with the command as it was called."""
    command = sys.argv[0] if Path(sys.argv[0]).name == "remotecl" else "remotecl"
    python = "python" if command == "remotecl" else str(Path(command).with_name("python"))
    print(f"""
What to try next:
  any OpenCL program, on two servers of this machine:
    {command} run --local 2 {python} program.py
  keys and a short name for a server of another machine, and a program there:
    {command} keygen --for gpu1
    {command} run --servers gpu1 {python} program.py
  who uses it, and how busy it is:
    {command} top gpu1
  when something does not work:
    {command} doctor
  docs/quickstart.md, notebooks/01-first-steps.ipynb""")


def _text(table: Table) -> str:
    return text_of([table], terminal_width())


def _range_text(part: ResidentRange, buffer_size: int) -> str:
    return "all" if part.size == buffer_size else f"{part.offset}..{part.offset + part.size}"


def _holders_text(part: ResidentRange, devices: Sequence[cl.Device]) -> str:
    holders = [
        copy.place if copy.device is None else f"device {list(devices).index(copy.device)}"
        for copy in part.copies
        if copy.place in part.holders
    ]
    return ", ".join(holders) or "nobody (never written)"
