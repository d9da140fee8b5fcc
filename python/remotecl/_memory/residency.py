"""Where the bytes of buffers are."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from .._connect.connection import all_devices, decoded, import_pyopencl, native
from .._connect.objects import memory_object
from .._display import table
from .._display.table import Shown, Table
from ..errors import ActivationError

if TYPE_CHECKING:
    import pyopencl
    import pyopencl.array

_COLUMNS = ("bytes", ">version", "place", "state")


@dataclass(frozen=True)
class ResidentCopy:
    """What one place of a context has of a byte range; see `ResidentRange.copies`.

    Attributes:
        place: ``"host"`` or ``"host:port/device name"``.
        device: the ``pyopencl.Device``; None for the host, and for sub-devices if all buffers are listed.
        state: ``"newest"`` (has this version, or will have it when the commands enqueued so far have ended),
            ``"arriving"`` (it is being sent there), ``"stale"`` (has an older version, or nothing), ``"lost"`` (had it,
            but the server is lost) or ``"undefined"`` (these bytes were never written).

    Example::

        stale = [copy.place for part in entry.ranges for copy in part.copies if copy.state == "stale"]
    """

    place: str
    device: pyopencl.Device | None
    state: str


@dataclass(frozen=True)
class ResidentRange:
    """One byte range of a buffer, and what each place has of it.

    Attributes:
        offset: where the range begins, in bytes from the beginning of the buffer.
        size: its length in bytes.
        version: counts the writes to the buffer; a range with a larger one was written later. 0: never written.
        holders: the places (see `ResidentCopy`) that hold the newest version, or will.
        copies: one `ResidentCopy` for the host and for every device of the context.

    Example::

        for part in remotecl.residency(buffer)[0].ranges:
            print(part.offset, part.size, part.version, part.holders)
    """

    offset: int
    size: int
    version: int
    holders: tuple[str, ...]
    copies: tuple[ResidentCopy, ...]


@dataclass(frozen=True, repr=False)
class BufferResidency(Shown):
    """Where a buffer's bytes are. Shows itself as a table.

    Attributes:
        buffer: the handle that PyOpenCL calls ``int_ptr``.
        size: in bytes.
        ranges: the whole buffer, in order, without gaps.

    Example::

        print(remotecl.residency(buffer)[0])
    """

    buffer: int
    size: int
    ranges: tuple[ResidentRange, ...]

    def rows(self) -> Iterator[tuple[str, int, str, str]]:
        """``(byte range, version, place, state)`` for every range and place, as text for people."""
        for part in self.ranges:
            for copy in part.copies:
                yield f"{part.offset}..{part.offset + part.size}", part.version, copy.place, copy.state

    def _tables(self) -> list[Table]:
        rows = tuple((span, str(version), place, state) for span, version, place, state in self.rows())
        return [Table(self._title(), _COLUMNS, rows, optional=("version",))]

    def _title(self) -> str:
        return f"buffer {self.buffer:#x}, {table.size(self.size)}"


class ResidencyList(Shown, list[BufferResidency]):
    """What `residency` returns: a list that shows itself as a table.

    Example::

        print(remotecl.residency())
    """

    def _tables(self) -> list[Table]:
        rows = tuple(
            (f"{entry.buffer:#x}", table.size(entry.size), span, str(version), place, state)
            for entry in self
            for span, version, place, state in entry.rows()
        )
        columns = ("buffer", ">size", *_COLUMNS)
        return [Table(table.count(len(self), "buffer"), columns, rows, optional=("version", "buffer"))]


def residency(
    buffer: pyopencl.MemoryObject | pyopencl.array.Array | None = None,
) -> ResidencyList:
    """Which place holds which version of the bytes of `buffer`, or of every live buffer.

    Sends nothing and waits for nothing: it returns what this process knows.

    Args:
        buffer: a ``pyopencl.Buffer``, sub-buffer, ``Image`` or ``pyopencl.array.Array`` of a context of the platform
            ``remotecl``. Of an image, bytes are those of its packed pixels; of an array, those of its whole buffer.

    Returns:
        a list of `BufferResidency`, of one for one buffer. Empty for an object of another platform.

    Raises:
        TypeError: `buffer` is not a memory object of PyOpenCL.

    Example::

        for part in remotecl.residency(buffer)[0].ranges:
            for copy in part.copies:
                print(part.offset, part.size, part.version, copy.device, copy.state)
    """
    memory = None if buffer is None else memory_object(buffer, "buffer")
    found = decoded(native().residency_json(0 if memory is None else memory.int_ptr))
    if not found:
        return ResidencyList()
    devices = _platform_devices() if memory is None else memory.context.devices
    by_handle = {device.int_ptr: device for device in devices}
    return ResidencyList(_buffer_residency(entry, by_handle) for entry in found)


def _platform_devices() -> list[pyopencl.Device]:
    try:
        return all_devices(import_pyopencl())
    except ActivationError:  # a program of another loader: its devices are not PyOpenCL's
        return []


def _buffer_residency(entry: dict[str, Any], devices: Mapping[int, pyopencl.Device]) -> BufferResidency:
    places = [(place["name"], devices.get(place["device"])) for place in entry["places"]]

    def copies(states: list[str]) -> tuple[ResidentCopy, ...]:
        return tuple(ResidentCopy(name, device, state) for (name, device), state in zip(places, states, strict=True))

    ranges = tuple(
        ResidentRange(part["offset"], part["size"], part["version"], tuple(part["holders"]), copies(part["states"]))
        for part in entry["ranges"]
    )
    return BufferResidency(entry["buffer"], entry["size"], ranges)
