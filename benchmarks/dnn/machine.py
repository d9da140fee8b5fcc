"""What a network computes on: one device, a queue for each lane, and the kernels of the layers."""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pyopencl as cl
from numpy.typing import NDArray

# When kernels are compiled: once; in every pass of a layer, where a driver may remember them; or anew in every pass.
CACHED, REBUILT, COMPILED = KERNELS = ("cached", "rebuilt", "compiled")
# Work-items of a work-group where a kernel does not demand a number.
GROUP = 64
# The largest buffer of a layer for unrolled images.
_COLUMNS_BYTES_MAX = 1 << 30

_unique = itertools.count()


@dataclass(frozen=True)
class Options:
    """The three optimisations of OpenCL Caffe.

    Attributes:
        kernels: one of `KERNELS`.
        batched: a layout in which one matrix product computes a layer for many images; else each image has its own.
        queues: over how many queues the images of a convolution are spread.
    """

    kernels: str = CACHED
    batched: bool = True
    queues: int = 1


class Machine:
    """A device with one in-order queue for each lane. Lane 0 computes whatever names no other lane.

    Attributes:
        launches: how many kernels it has launched.
        builds: how many programs it has built.
    """

    def __init__(self, context: cl.Context, device: cl.Device, options: Options | None = None) -> None:
        self.options = options or Options()
        self.context = context
        self.device = device
        self.is_cpu = bool(device.type & cl.device_type.CPU)
        self.queues = [cl.CommandQueue(context, device) for _ in range(self.options.queues)]
        self.columns_bytes_max = min(_COLUMNS_BYTES_MAX, int(device.max_mem_alloc_size))
        self.launches = 0
        self.builds = 0
        self._programs: dict[tuple[str, tuple[str, ...]], cl.Program] = {}
        self._kernels: dict[tuple[str, str, tuple[str, ...]], cl.Kernel] = {}

    @property
    def queue(self) -> cl.CommandQueue:
        """The queue of lane 0."""
        return self.queues[0]

    @property
    def lanes(self) -> range:
        """The numbers of all lanes."""
        return range(len(self.queues))

    def begin_pass(self) -> None:
        """Begins a forward or backward pass of a layer, for which kernels are compiled unless they are cached."""
        if self.options.kernels != CACHED:
            self._programs.clear()
            self._kernels.clear()

    def launch(
        self,
        kernel: tuple[Path, str],
        items: Sequence[int],
        *arguments: Any,  # noqa: ANN401  buffers and numbers
        group: Sequence[int] | None = None,
        options: tuple[str, ...] = (),
        lane: int = 0,
    ) -> None:
        """Runs a kernel of a file; ints are int, and floats are float in its parameters.

        Without a group, `items` is rounded up to whole groups, and the kernel's first parameter is the first of them.
        """
        if group is None:
            arguments = (items[0], *arguments)
            items = (-(-items[0] // GROUP) * GROUP, *items[1:])
            group = (GROUP, *(1 for _ in items[1:]))
        values = [_WRAPPED.get(type(value), _same)(value) for value in arguments]
        self._kernel(*kernel, options)(self.queues[lane], tuple(items), tuple(group), *values)
        self.launches += 1

    def buffer(self, count: int) -> cl.Buffer:
        """An uninitialised buffer for `count` floats or ints."""
        return cl.Buffer(self.context, cl.mem_flags.READ_WRITE, 4 * max(count, 1))

    def write(self, buffer: cl.Buffer, array: NDArray[Any]) -> None:
        """Fills a buffer from its beginning."""
        cl.enqueue_copy(self.queue, buffer, array)

    def read(self, buffer: cl.Buffer, array: NDArray[Any]) -> NDArray[Any]:
        """Fills an array from the beginning of a buffer."""
        cl.enqueue_copy(self.queue, array, buffer)
        return array

    def fork(self) -> None:
        """Makes the other lanes wait for the work enqueued on lane 0."""
        if len(self.queues) > 1:
            self.wait_for(cl.enqueue_marker(self.queue), self.lanes[1:])

    def join(self) -> None:
        """Makes lane 0 wait for the work enqueued on the other lanes."""
        for lane in self.lanes[1:]:
            self.wait_for(cl.enqueue_marker(self.queues[lane]), [0])
            self.queues[lane].flush()

    def wait_for(self, event: cl.Event, lanes: Sequence[int] = (0,)) -> None:
        """Makes all later work of these lanes wait for an event."""
        for lane in lanes:
            cl.enqueue_barrier(self.queues[lane], wait_for=[event])

    def finish(self) -> None:
        """Waits for everything."""
        for queue in self.queues:
            queue.finish()

    def _kernel(self, file: Path, name: str, options: tuple[str, ...]) -> cl.Kernel:
        key = (file.name, name, options)
        if key not in self._kernels:
            self._kernels[key] = cl.Kernel(self._program(file, options), name)
        return self._kernels[key]

    def _program(self, file: Path, options: tuple[str, ...]) -> cl.Program:
        key = (file.name, options)
        if key not in self._programs:
            source = file.read_text()
            if self.options.kernels == COMPILED:  # so that no cache of a driver or server has it
                source += f"\n__kernel void unique_{np.random.default_rng().integers(1 << 62)}_{next(_unique)}() {{}}\n"
            program = cl.Program(self.context, source)
            # PyOpenCL's own cache would take part in what is measured.
            self._programs[key] = program.build(list(options), devices=[self.device], cache_dir=False)
            self.builds += 1
        return self._programs[key]


def _same(value: Any) -> Any:  # noqa: ANN401
    return value


_WRAPPED: dict[type, Any] = {int: np.int32, float: np.float32, bool: np.int32}
