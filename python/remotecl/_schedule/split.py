"""One kernel on several devices."""

from __future__ import annotations

import threading
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import Future
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, TypeVar

from .._connect.connection import import_pyopencl
from .._connect.objects import require_remote
from .._connect.refusal import check
from .scheduling import scheduling

if TYPE_CHECKING:
    import pyopencl

_Result = TypeVar("_Result")


@dataclass(frozen=True)
class Slice:
    """Which bytes of a buffer a work-item touches, for `split`.

    Item i touches those from ``i * item_bytes`` on; i is the global id in the dimension that is divided.

    Attributes:
        item_bytes: how many bytes belong to one item; those of a row if a row-major matrix is divided into rows.
        before: how many items before its own a work-item reads, too; only of buffers that the kernel does not write.
        after: the same for items after its own.
        overwrites: the kernel writes all bytes of its items and reads none, so their old content need not travel.

    Example::

        remotecl.Slice(4 * width, before=1, after=1)  # a row of floats, and its two neighbours
    """

    item_bytes: int
    before: int = 0
    after: int = 0
    overwrites: bool = False


def split(
    kernel: pyopencl.Kernel,
    queues: Sequence[pyopencl.CommandQueue],
    global_size: Sequence[int],
    local_size: Sequence[int] | None,
    *args: Any,  # noqa: ANN401  whatever the kernel takes
    slices: Mapping[int, Slice | int],
    dimension: int = 0,
    global_offset: Sequence[int] | None = None,
    wait_for: Sequence[pyopencl.Event] | None = None,
) -> pyopencl.Event:
    """Runs a kernel on several devices at once: each works on pieces of the range, as many as it is fast enough for.

    Each device has a region of the range in proportion to its speed, which the first launch measures, and takes pieces
    of it; one that has ended its own takes over the end of another one's (guided self-scheduling, as HGuided of Nozal,
    Bosque and Beivide, "EngineCL", 2020). Regions stay for later launches, so the bytes stay, too. Devices may be
    unlike and on several servers. Only the bytes of a piece travel to its device.

    The kernel may use its global ids only: a piece is a launch with an offset of its own, so ids and number of groups,
    the global size and the global offset are those of the piece, and atomic operations see the device's own copy.

    Args:
        kernel: with `args` it is called as ``kernel(queue, global_size, local_size, *args)`` would be.
        queues: one for each device, of one context; of remotecl's platform.
        global_size: the whole range.
        local_size: a work-group, or None to let the drivers choose. Pieces are whole work-groups.
        args: the kernel's arguments; without any, those that are set already.
        slices: for each buffer that the kernel writes, and for those of which a piece reads only a part: the argument's
            index, and a `Slice` or only its `item_bytes`. A buffer without one is read as a whole.
        dimension: the one that is divided.
        global_offset: as for any kernel.
        wait_for: events that must end first. The call may wait for them, too.

    Returns:
        an event that ends with the last piece. The call itself returns shortly before; later commands of `queues` come
        after all pieces.

    Raises:
        ValueError: there is no queue or no such dimension, queues are of several contexts or another platform, a slice
            is impossible, or the kernel may write a buffer that has none.
        pyopencl.Error: OpenCL refuses for other reasons, or a piece has failed; what the kernel writes is undefined
            then.

    Example::

        # out[i] depends on the rows i - 1 to i + 1 of `image`; 4 bytes a pixel
        remotecl.split(blur, queues, (width, height), None, image, out, np.int32(width), dimension=1,
                       slices={0: remotecl.Slice(4 * width, before=1, after=1), 1: 4 * width})
        remotecl.split(add, queues, (count,), None, a, b, out, slices={0: 4, 1: 4, 2: 4})  # out[i] = a[i] + b[i]
    """
    cl = import_pyopencl()
    targets = list(queues)
    if not targets:
        raise ValueError("there is no queue to divide the kernel among; name one for each device")
    for queue in targets:
        require_remote(queue, "queues")
    if args:
        kernel.set_args(*args)
    parts = [_encode(index, part) for index, part in slices.items()]
    code, handle = _interruptible(
        lambda: scheduling().enqueue_split(
            [queue.int_ptr for queue in targets],
            kernel.int_ptr,
            dimension,
            list(global_offset or ()),
            list(global_size),
            list(local_size or ()),
            parts,
            [event.int_ptr for event in wait_for or ()],
        )
    )
    _check_slices(cl, code, kernel, len(global_size), dimension)
    check(cl, code, "remotecl_enqueue_split")
    return cl.Event.from_int_ptr(handle, retain=False)


def _encode(index: int, part: Slice | int) -> tuple[int, bool, int, int, int]:
    one = Slice(part) if isinstance(part, int) else part
    if one.item_bytes < 1 or one.before < 0 or one.after < 0 or index < 0:
        raise ValueError(f"the slice of argument {index} is impossible: {one}; items have at least 1 byte")
    return index, one.overwrites, one.item_bytes, one.before, one.after


def _check_slices(cl: Any, code: int, kernel: pyopencl.Kernel, dimensions: int, dimension: int) -> None:  # noqa: ANN401
    name = kernel.function_name
    status = cl.status_code
    if code == status.INVALID_OPERATION:
        raise ValueError(
            f"{name} may write a buffer that has no slice; add one for each buffer argument that is not const"
        )
    if code == status.INVALID_ARG_INDEX:
        raise ValueError(f"a slice names an argument that {name} does not have; it has {kernel.num_args}, from 0 on")
    if code == status.INVALID_ARG_VALUE:
        raise ValueError(f"a slice names an argument of {name} that is no buffer")
    if code == status.INVALID_VALUE and not 0 <= dimension < dimensions:
        raise ValueError(f"there is no dimension {dimension} to divide; the range has {dimensions}, from 0 on")
    if code == status.INVALID_VALUE:
        raise ValueError(f"{name} may write a buffer whose slice has neighbours (before, after); only read ones may")
    if code == status.INVALID_CONTEXT:
        raise ValueError("kernel, queues and events must be of one context")


def _interruptible(call: Callable[[], _Result]) -> _Result:
    """Makes the call on another thread, so that signal handlers run meanwhile.

    After an interrupt the call goes on. The program's end waits for it: a thread that comes back from C when Python has
    ended would end the process with an error.
    """
    if threading.current_thread() is not threading.main_thread():
        return call()
    outcome: Future[_Result] = Future()

    def run() -> None:
        try:
            outcome.set_result(call())
        except BaseException as error:
            outcome.set_exception(error)

    threading.Thread(target=run, name="remotecl-split").start()
    return outcome.result()
