"""What the demo prints about remotecl itself: devices, traffic, residency."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import pyopencl as cl

from .._table import size
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


def _range_text(part: ResidentRange, buffer_size: int) -> str:
    holders = ", ".join(part.holders) or "nobody (never written)"
    if part.size == buffer_size:
        return holders
    return f"bytes {part.offset}..{part.offset + part.size}: {holders}"
