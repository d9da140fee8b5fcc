"""Moving data away from servers that will be stopped."""

from __future__ import annotations

from typing import TYPE_CHECKING

from .._connect.connection import import_pyopencl, known_as, named_servers, server_of_device
from .operations import prefetch
from .residency import BufferResidency, ResidencyList, residency

if TYPE_CHECKING:
    import pyopencl


def drain(*servers: str) -> ResidencyList:
    """Moves every buffer and image whose newest bytes only these servers have to other servers of its context.

    Waits for the commands that write the bytes, and until the bytes have arrived. Data written to these servers
    afterwards is not moved. `remotecl.Cluster.scale` does this before it stops servers.

    Args:
        servers: as in `remotecl.connect`, or by other names of the same daemons. A name that resolves to another
        address than the connected one, as an end of a tunnel does, is asked for its status, so it needs token and pin.

    Returns:
        the buffers that could not be moved, because their context has no device of another connected server: a list of
        `BufferResidency`, usually empty.

    Raises:
        ValueError: no server is named, or one that this process is not connected to.
        pyopencl.Error: a transfer failed.

    Example::

        stuck = remotecl.drain("gpu2")
        if not stuck:
            connection_to_gpu2.close()
    """
    if not servers:
        raise ValueError('name at least one server: remotecl.drain("host[:port]")')
    leaving: set[str] = set()
    for name in named_servers(*servers):
        known = known_as(name)
        if not known:
            raise ValueError(f"this process is not connected to {name}; remotecl.overview().servers has the names")
        leaving |= known
    stuck = ResidencyList()
    moves = []
    for entry in residency():
        if not _lives_only_on(entry, leaving):
            continue
        memory = import_pyopencl().MemoryObject.from_int_ptr(entry.buffer, retain=True)
        target = _device_elsewhere(memory.context, leaving)
        if target is None:
            stuck.append(entry)
        else:
            moves.append(prefetch(memory, target))
    for move in moves:
        move.wait()
    return stuck


def _lives_only_on(entry: BufferResidency, leaving: set[str]) -> bool:
    for part in entry.ranges:
        there = [copy.place.partition("/")[0] for copy in part.copies if copy.state in ("newest", "arriving")]
        if there and leaving.issuperset(there):
            return True
    return False


def _device_elsewhere(context: pyopencl.Context, leaving: set[str]) -> pyopencl.Device | None:
    found: list[pyopencl.Device] = context.devices
    return next((device for device in found if server_of_device(device) not in leaving and device.available), None)
