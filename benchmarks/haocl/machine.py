"""What an application runs on: one context, and a queue for each share of the work."""

from __future__ import annotations

import itertools
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Any

import numpy as np
import pyopencl as cl
from numpy.typing import NDArray

from remotecl import RemoteCLError

# Work-items of a work-group.
GROUP = 64


class Machine:
    """A context and one in-order queue for each share of the work.

    Applications order commands of different queues by events alone. So the queues may as well be several of one
    device that finds a place for each command itself.
    """

    def __init__(self, queues: Sequence[cl.CommandQueue]) -> None:
        self.queues = list(queues)
        self.context = queues[0].context
        self._events: list[cl.Event] = []

    @classmethod
    def of_devices(cls, devices: Sequence[cl.Device]) -> Machine:
        """A machine where every share stays on a device of its own."""
        context = cl.Context(list(devices))
        return cls([cl.CommandQueue(context, device) for device in devices])

    @classmethod
    def of_automatic(cls, device: cl.Device, shares: int) -> Machine:
        """A machine where the automatic device chooses a device for each command."""
        context = cl.Context([device])
        return cls([cl.CommandQueue(context, device) for _ in range(shares)])

    def __len__(self) -> int:
        return len(self.queues)

    @property
    def kinds(self) -> list[int]:
        """The type of each share's device; all alike on the automatic device."""
        return [queue.device.type for queue in self.queues]

    def build(self, source: str, **constants: int) -> cl.Program:
        """A program, with these constants as macros."""
        return cl.Program(self.context, source).build(
            options=[f"-D{name}={value}" for name, value in constants.items()]
        )

    def buffer(self, byte_count: int) -> cl.Buffer:
        """A buffer without content; one of no bytes has four, because OpenCL has no empty ones."""
        return cl.Buffer(self.context, cl.mem_flags.READ_WRITE, max(byte_count, 4))

    def launch(
        self,
        share: int,
        kernel: cl.Kernel,
        count: int,
        *arguments: Any,  # noqa: ANN401  what PyOpenCL takes
        wait_for: Sequence[cl.Event] = (),
    ) -> cl.Event:
        """Runs a kernel whose first argument is the number of work-items that have something to do.

        There may be more, because all work-groups have one size: a driver that chooses one itself takes what divides
        the number, however small, and some compile for each size.
        """
        items = -(-count // GROUP) * GROUP
        queue = self.queues[share]
        event = kernel(queue, (items,), (GROUP,), np.int32(count), *arguments, wait_for=list(wait_for))
        queue.flush()
        return event

    def write(self, share: int, array: NDArray[Any]) -> cl.Buffer:
        """A new buffer with the array's bytes, which leave for that share's device at once."""
        buffer = self.buffer(array.nbytes)
        if array.nbytes:
            self._keep(cl.enqueue_copy(self.queues[share], buffer, array, is_blocking=False))
        return buffer

    def read(self, share: int, array: NDArray[Any], buffer: cl.Buffer) -> None:
        """Fills the array from the beginning of a buffer that this share has written."""
        self._keep(cl.enqueue_copy(self.queues[share], array, buffer, is_blocking=False))

    def spread(self, array: NDArray[Any], shares: Sequence[int]) -> cl.Buffer:
        """A new buffer whose bytes go to the first of these shares' devices, and from there to the others."""
        buffer = self.write(shares[0], array)
        written = self._events[-1:]
        for share in shares[1:]:
            self._keep(cl.enqueue_migrate_mem_objects(self.queues[share], [buffer], wait_for=written))
        return buffer

    @property
    def all_shares(self) -> range:
        """The numbers of all shares."""
        return range(len(self.queues))

    def finish(self) -> None:
        """Waits for everything."""
        for queue in self.queues:
            queue.flush()
        for queue in self.queues:
            queue.finish()
        self._events.clear()

    def _keep(self, event: cl.Event) -> None:
        # PyOpenCL waits for a transfer as soon as its event is garbage.
        self._events.append(event)


class Clock:
    """Measures the phases of a run. Each one ends when the machine has nothing left to do."""

    def __init__(self, machine: Machine) -> None:
        self._machine = machine
        self.transfer_s = 0.0
        self.compute_s = 0.0

    @contextmanager
    def transfer(self) -> Iterator[None]:
        """Counts what follows as transfer between this process and devices."""
        start = time.perf_counter()
        yield
        self._machine.finish()
        self.transfer_s += time.perf_counter() - start

    @contextmanager
    def compute(self) -> Iterator[None]:
        """Counts what follows as kernels, and what devices exchange between them."""
        start = time.perf_counter()
        yield
        self._machine.finish()
        self.compute_s += time.perf_counter() - start


def divide(count: int, weights: Sequence[float], unit: int = 1) -> list[slice]:
    """Cuts `range(count)` into parts in proportion to weights, each at least one unit, all but the last whole units.

    Raises:
        RemoteCLError: there are fewer units than parts.
    """
    units, parts = -(-count // unit), len(weights)
    if units < parts:
        raise RemoteCLError(f"the work is too small to divide it over {parts} devices; take a larger --scale")
    total, reached, begun = sum(weights), 0.0, 0
    cuts = [0]
    for part, weight in enumerate(weights):
        reached += weight
        left = parts - part - 1
        begun = min(max(round(units * reached / total), begun + 1), units - left)
        cuts.append(min(begun * unit, count))
    return [slice(first, last) for first, last in itertools.pairwise(cuts)]


def even(count: int, machine: Machine) -> list[slice]:
    """Cuts `range(count)` into one part of about equal size for each share."""
    return divide(count, [1.0] * len(machine))
