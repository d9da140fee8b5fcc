"""The stages between a decoded picture and a drawn image, as plain OpenCL on any device.

A stage builds its kernels for one device, and prepares their launches for certain buffers once: what is left to do for
a frame is to enqueue them.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pyopencl as cl

from . import cloud
from .viewer import POSE_FLOATS

POINT_BYTES = 16
# Blocks of a chunk in which one work-item finds points.
_BLOCKS = 4
# Work-items of a scan.
_SCAN_ITEMS = 64
_DIGITS = 256
_SQUARE_BYTES = 12
# The size of a point at distance 1, as a part of the image.
_POINT_SIZE = 0.045
_RGB565_BYTES = 2
_FLAGS = cl.mem_flags.READ_WRITE


@dataclass(frozen=True)
class Shape:
    """The sizes of everything.

    Attributes:
        patch: rows of a patch, a power of two of at least 8.
        pixels: rows and columns of the drawn image.
    """

    patch: int
    pixels: int

    @property
    def capacity(self) -> int:
        """The most points that a frame can have."""
        return cloud.capacity(self.patch)

    @property
    def points_bytes(self) -> int:
        """Size of a buffer of points: a float4 each, a position and a colour in the bits of the last number."""
        return self.capacity * POINT_BYTES

    @property
    def order_bytes(self) -> int:
        """Size of a buffer of uints: the number of points, and their indices."""
        return 4 * (1 + self.capacity)

    @property
    def image_bytes(self) -> int:
        """Size of a drawn image: five, six and five bits of red, green and blue."""
        return self.pixels * self.pixels * _RGB565_BYTES

    @property
    def pose_bytes(self) -> int:
        """Size of a pose."""
        return 4 * POSE_FLOATS


@dataclass(frozen=True)
class Launch:
    """A kernel with its sizes and arguments; OpenCL's kernels do not keep their buffers alive."""

    kernel: cl.Kernel
    items: int
    group: int
    arguments: tuple[Any, ...]


def enqueue(queue: cl.CommandQueue, launches: Sequence[Launch], wait_for: Sequence[cl.Event] = ()) -> cl.Event:
    """Enqueues the launches one after the other; the first one waits for the events. Returns the last one's event."""
    for launch in launches:
        event = cl.enqueue_nd_range_kernel(queue, launch.kernel, (launch.items,), (launch.group,), wait_for=wait_for)
        wait_for = ()
    return event


class Stage:
    """Kernels on one device.

    Args:
        context: of the device, and of all buffers.
        device: where they run.
        shape: of the data.
    """

    SOURCES: tuple[str, ...]

    def __init__(self, context: cl.Context, device: cl.Device, shape: Shape) -> None:
        self.context, self.shape = context, shape
        self._is_cpu = bool(device.type & cl.device_type.CPU)
        # A CPU has few cores, and each runs one work-item of a chunk; other devices run them in groups.
        self._group = 1 if self._is_cpu else 32
        source = "\n".join((Path(__file__).parent / name).read_text() for name in self.SOURCES)
        width, height = cloud.picture_size(shape.patch)
        macros: dict[str, Any] = {
            "PATCH": shape.patch, "COLUMNS": cloud.ATLAS_COLUMNS, "WIDTH": width, "HEIGHT": height,
            "DEPTH_LOW": cloud.DEPTH_LOW, "DEPTH_STEPS": cloud.DEPTH_STEPS, "OCCUPANCY_LIMIT": cloud.OCCUPANCY_LIMIT,
            "CHUNK": _BLOCKS, "ITEMS": _SCAN_ITEMS, "PIXELS": shape.pixels, "POINT_SIZE": f"{_POINT_SIZE}f",
        }  # fmt: skip
        options = [f"-D{name}={value}" for name, value in macros.items()]
        self._program = cl.Program(context, source).build(options=options, devices=[device])

    def buffer(self, byte_count: int) -> cl.Buffer:
        """A buffer without content."""
        return cl.Buffer(self.context, _FLAGS, byte_count)

    def _launch(self, name: str, items: int, group: int, *arguments: Any) -> Launch:  # noqa: ANN401  what PyOpenCL takes
        kernel = cl.Kernel(self._program, name)
        kernel.set_args(*(np.uint32(one) if isinstance(one, int) else one for one in arguments))
        return Launch(kernel, items, group, arguments)

    def _over_points(self, name: str, *arguments: Any) -> Launch:  # noqa: ANN401
        group = 64
        return self._launch(name, -(-self.shape.capacity // group) * group, group, *arguments)


class Reconstruct(Stage):
    """Makes points of a picture."""

    SOURCES = ("reconstruct.cl", "scan.cl")

    def prepare(self, picture: cl.Buffer, points: cl.Buffer, content: cl.Buffer) -> list[Launch]:
        """Prepares the launches.

        Args:
            picture: NV12.
            points: gets `Shape.points_bytes` at most.
            content: gets the bytes of the points, one ulong.
        """
        chunks = self.shape.capacity // cloud.BLOCK // _BLOCKS
        counts = self.buffer(4 * chunks)
        return [
            self._launch("count_points", chunks, self._group, picture, counts),
            self._launch("scan", _SCAN_ITEMS, _SCAN_ITEMS, counts, chunks),
            self._launch("write_points", chunks, self._group, picture, counts, points, content),
        ]


class Sort(Stage):
    """Sorts points, the farthest from the viewer first."""

    SOURCES = ("sort.cl", "scan.cl")

    def prepare(self, points: cl.Buffer, content: cl.Buffer, pose: cl.Buffer, order: cl.Buffer) -> list[Launch]:
        """Prepares the launches; `order` gets the number of points, and their indices."""
        chunks = 32 if self._is_cpu else 1024
        keys, values, other_keys, other_values = (self.buffer(4 * self.shape.capacity) for _ in range(4))
        table = self.buffer(4 * _DIGITS * chunks)
        launches = [self._over_points("make_keys", points, content, pose, keys, values)]
        for shift in (0, 8, 16, 24):
            is_last = shift == 24
            to_values = order if is_last else other_values
            launches += [
                self._launch("count_digits", chunks, self._group, keys, content, table, shift),
                self._launch("scan", _SCAN_ITEMS, _SCAN_ITEMS, table, _DIGITS * chunks),
                self._launch(
                    "move",
                    chunks,
                    self._group,
                    keys,
                    values,
                    content,
                    table,
                    shift,
                    int(is_last),
                    other_keys,
                    to_values,
                ),
            ]
            keys, other_keys, values, other_values = other_keys, keys, other_values, values
        return launches


class Draw(Stage):
    """Draws an image of points in their order."""

    SOURCES = ("draw.cl",)

    def prepare(self, points: cl.Buffer, order: cl.Buffer, pose: cl.Buffer, packed: cl.Buffer) -> list[Launch]:
        """Prepares the launches; `packed` gets `Shape.image_bytes`."""
        squares = self.buffer(_SQUARE_BYTES * self.shape.capacity)
        image = self.buffer(4 * self.shape.pixels * self.shape.pixels)
        bands = min(16, self.shape.pixels) if self._is_cpu else self.shape.pixels
        return [
            self._over_points("project", points, order, pose, squares),
            self._launch("blend", bands, self._group if bands % self._group == 0 else 1, squares, order, image, packed),
        ]
