"""Content size, prefetch and pinned memory."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING, Any

from .._connect.connection import import_pyopencl, native
from .._connect.objects import memory_object, require_remote, whole_buffer
from .._connect.refusal import check

if TYPE_CHECKING:
    import numpy
    import pyopencl
    import pyopencl.array
    from numpy.typing import DTypeLike, NDArray

_SIZE_BYTES = 8  # a cl_ulong


def set_content_size(
    buffer: pyopencl.Buffer | pyopencl.array.Array, size_buffer: pyopencl.Buffer | pyopencl.array.Array | None
) -> None:
    """Lets `size_buffer` say how many bytes at the beginning of `buffer` are worth sending.

    For buffers that are made for the worst case and mostly hold less: compressed data, filtered points. A transfer of
    `buffer` between servers then sends only its content; the bytes after it are undefined at the destination. The value
    is read at the time of each transfer, so kernels may write it. Before `size_buffer` is first written, all bytes
    count.

    Args:
        buffer: a buffer, or an array that begins where its buffer does, on devices of remotecl; not a sub-buffer.
        size_buffer: its first 8 bytes are the number of bytes, as ``uint64``; of the same context, and not a
            sub-buffer either. It stays alive as long as it is attached. None detaches it: all bytes count again.

    Raises:
        TypeError: an argument is neither buffer nor array.
        ValueError: an array begins in the middle of its buffer, the two are of different contexts, `size_buffer` is
            smaller than 8 bytes, one is an image or a sub-buffer, or they are not on devices of remotecl.

    Example::

        size = pyopencl.array.zeros(queue, 1, numpy.uint64)
        remotecl.set_content_size(points, size)
        filter_kernel(queue, shape, None, points.data, size.data)  # writes points, and their bytes into size
    """
    cl = import_pyopencl()
    of = require_remote(whole_buffer(buffer, "buffer"), "buffer")
    size = None if size_buffer is None else require_remote(whole_buffer(size_buffer, "size_buffer"), "size_buffer")
    code = native().set_content_size(of.int_ptr, 0 if size is None else size.int_ptr)
    if code == cl.status_code.INVALID_CONTEXT:
        raise ValueError("buffer and size_buffer are of different contexts; make both in one")
    if code == cl.status_code.INVALID_BUFFER_SIZE:
        raise ValueError(f"size_buffer holds a uint64, so it must have at least {_SIZE_BYTES} bytes")
    if code == cl.status_code.INVALID_MEM_OBJECT:
        raise ValueError("buffer and size_buffer must be whole buffers: neither images nor sub-buffers")
    check(cl, code, "remotecl_set_content_size")


def prefetch(
    buffers: pyopencl.MemoryObject | pyopencl.array.Array | Iterable[pyopencl.MemoryObject | pyopencl.array.Array],
    to: pyopencl.Device | pyopencl.CommandQueue,
    wait_for: Sequence[pyopencl.Event] | None = None,
) -> pyopencl.Event:
    """Sends the newest version of `buffers` to a device before a kernel needs them. Returns at once.

    Data is transferred automatically when a command needs it; a prefetch lets that overlap with other work. It comes
    after the commands that were enqueued to write the buffers, on any device.

    Args:
        buffers: one buffer, image or ``pyopencl.array.Array``, or several; all of one context.
        to: a device of that context (independent of every queue), or a queue (in its order, on its device).
        wait_for: events that must end first.

    Returns:
        the event of the transfer. Kernels need not wait for it: remotecl orders them.

    Raises:
        TypeError: an argument has the wrong type.
        ValueError: there is no buffer, the buffers are of several contexts, or the device is not one of theirs.
        pyopencl.Error: OpenCL refuses for other reasons, for example because the server is lost.

    Example::

        remotecl.prefetch(weights, context.devices[1])  # on its way while device 0 computes
        kernel(queue0, shape, None, points.data)
    """
    cl = import_pyopencl()
    memory = [memory_object(buffer, "buffers") for buffer in _several(buffers)]
    if not memory:
        raise ValueError("there is nothing to prefetch: name at least one buffer")
    events = [] if wait_for is None else list(wait_for)
    if isinstance(to, cl.CommandQueue):
        event: pyopencl.Event = cl.enqueue_migrate_mem_objects(to, memory, wait_for=events)
        to.flush()
        return event
    if not isinstance(to, cl.Device):
        raise TypeError(f"to must be a pyopencl.Device or a pyopencl.CommandQueue, not {type(to).__name__}")
    for buffer in memory:
        require_remote(buffer, "buffers")
    code, handle = native().prefetch(
        to.int_ptr, [buffer.int_ptr for buffer in memory], [event.int_ptr for event in events]
    )
    if code == cl.status_code.INVALID_CONTEXT:
        raise ValueError("all buffers and events must be of one context; prefetch those of each context by themselves")
    if code == cl.status_code.INVALID_DEVICE:
        raise ValueError(f"{to} is not a device of the buffers' context; choose one of buffer.context.devices")
    check(cl, code, "remotecl_prefetch")
    return cl.Event.from_int_ptr(handle, retain=False)


def pinned_empty(
    queue: pyopencl.CommandQueue,
    shape: int | Iterable[int],
    dtype: DTypeLike = float,
    order: str = "C",
) -> NDArray[Any]:
    """An uninitialised NumPy array in memory that the driver has allocated for fast transfers.

    It is a mapped buffer (``CL_MEM_ALLOC_HOST_PTR``), which GPU drivers pin: copies to and from their devices take one
    step instead of two. Works with a queue of any platform. remotecl itself sends from and receives into any memory
    without a copy, so with its queues this is page-aligned memory and no faster than ``numpy.empty``.

    The memory lives as long as the array and its views do, and with it the queue and its context. Use it like any other
    array: kernels cannot access it.

    Args:
        queue: a queue of the context that the memory is for.
        shape: as in ``numpy.empty``; at least one element.
        dtype: as in ``numpy.empty``.
        order: ``"C"`` or ``"F"``.

    Raises:
        ValueError: the array would have no element.
        pyopencl.MemoryError: the driver has no memory left.

    Example::

        frame = remotecl.pinned_empty(queue, (1080, 1920, 3), numpy.uint8)
        camera.read_into(frame)
        pyopencl.enqueue_copy(queue, buffer, frame, is_blocking=False)
    """
    import numpy

    cl = import_pyopencl()
    extent = tuple(shape) if isinstance(shape, Iterable) else (shape,)
    kind: numpy.dtype[Any] = numpy.dtype(dtype)
    size = math.prod(map(int, extent)) * kind.itemsize
    if min(extent, default=1) < 0 or size == 0:
        raise ValueError(f"an array of shape {extent} and type {kind} has no bytes to pin; use numpy.empty")
    buffer = cl.Buffer(queue.context, cl.mem_flags.READ_WRITE | cl.mem_flags.ALLOC_HOST_PTR, size)
    flags = cl.map_flags.READ | cl.map_flags.WRITE
    array: NDArray[Any]
    array, _ = cl.enqueue_map_buffer(queue, buffer, flags, 0, extent, kind, order=order)
    return array


def _several(buffers: Any) -> list[Any]:  # noqa: ANN401
    from pyopencl.array import Array

    cl = import_pyopencl()
    if isinstance(buffers, (cl.MemoryObjectHolder, Array)) or hasattr(buffers, "__array__"):
        return [buffers]
    return list(buffers) if isinstance(buffers, Iterable) else [buffers]
