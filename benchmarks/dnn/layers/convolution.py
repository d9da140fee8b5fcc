"""Convolution: images are unrolled into columns, and a matrix product computes the output."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pyopencl as cl

from ..gemm import Matrix
from ..machine import Machine
from ..tensor import Shape
from .parametric import Parametric

_FILE = Path(__file__).with_suffix(".cl")
_WHOLE_IMAGES = ("-DWHOLE_IMAGES",)


class Convolution(Parametric):
    """`filters` of `size` x `size` pixels, each `stride` after the one before, in images with a frame of `pad` zeros.

    Channels and filters are divided into independent `groups`.
    """

    NAME = "convolution"

    def __init__(
        self,
        machine: Machine,
        shape: Shape,
        *,
        filters: int,
        size: int,
        stride: int = 1,
        pad: int = 0,
        groups: int = 1,
    ) -> None:
        height, width = (1 + (length + 2 * pad - size) // stride for length in (shape.height, shape.width))
        output_shape = replace(shape, channels=filters, height=height, width=width)
        super().__init__(machine, shape, output_shape, shape.channels // groups * size**2)
        self._groups = groups
        self._window = (shape.height, shape.width, height, width, size, stride, pad)
        self._column_rows = shape.channels * size**2
        self._chunk_images = self._images_at_once()
        count = self._column_rows * self._chunk_images * self.shape.pixels
        self._columns = [machine.buffer(count) for _ in machine.lanes]
        # Lane 0 sums up its images directly in the gradient.
        self._sums = [machine.buffer(self.weight_count) for _ in machine.lanes[1:]]

    def forward(self, data: cl.Buffer) -> cl.Buffer:
        """See `Layer`."""
        self.input = data
        self.machine.fork()
        for lane, first, images in self._chunks():
            self._unroll(lane, first, images)
            for group, row in self._group_rows():
                self.gemm.multiply(
                    self.weights(row), self._column_matrix(lane, images, group), self._matrix(self.output, first, row),
                    (self._rows, images * self.shape.pixels, self.inputs), lane=lane,
                )  # fmt: skip
        self.machine.join()
        self.add_bias()
        return self.output

    def backward(self, gradient: cl.Buffer) -> cl.Buffer:
        """See `Layer`."""
        self.sum_bias_gradient(gradient)
        self.machine.fork()
        begun: set[int] = set()
        for lane, first, images in self._chunks():
            self._add_weight_gradient(lane, first, images, gradient, add=lane in begun)
            begun.add(lane)
            if self.needs_input_gradient:
                self._make_input_gradient(lane, first, images, gradient)
        self.machine.join()
        for lane in sorted(begun - {0}):
            self.machine.launch(
                (_FILE, "add"), (self.weight_count,), self._sums[lane - 1], self.place.gradients, self.place.weights
            )
        return self.input_gradient

    def _add_weight_gradient(self, lane: int, first: int, images: int, gradient: cl.Buffer, *, add: bool) -> None:
        self._unroll(lane, first, images)
        for group, row in self._group_rows():
            place = self.weight_gradient(row)
            if lane > 0:
                place = Matrix(self._sums[lane - 1], self.inputs, row * self.inputs)
            self.gemm.multiply(
                self._matrix(gradient, first, row), self._column_matrix(lane, images, group), place,
                (self._rows, self.inputs, images * self.shape.pixels), transpose_b=True, add=add, lane=lane,
            )  # fmt: skip

    def _make_input_gradient(self, lane: int, first: int, images: int, gradient: cl.Buffer) -> None:
        for group, row in self._group_rows():
            self.gemm.multiply(
                self.weights(row), self._matrix(gradient, first, row), self._column_matrix(lane, images, group),
                (self.inputs, images * self.shape.pixels, self._rows), transpose_a=True, lane=lane,
            )  # fmt: skip
        shape = self.input_shape
        self.machine.launch(
            (_FILE, "roll"), (images * shape.pixels, shape.channels), images, *self._window, first,
            shape.image_stride, shape.channel_stride, self._columns[lane], self.input_gradient, lane=lane,
        )  # fmt: skip

    def _unroll(self, lane: int, first: int, images: int) -> None:
        shape = self.input_shape
        arguments = (*self._window, first, shape.image_stride, shape.channel_stride, self.input, self._columns[lane])
        rows = self._column_rows
        if self.machine.is_cpu:
            self.machine.launch(
                (_FILE, "unroll"), (images, rows), images, *arguments, group=(1, 1), options=_WHOLE_IMAGES, lane=lane
            )
        else:
            self.machine.launch((_FILE, "unroll"), (images * self.shape.pixels, rows), *arguments, lane=lane)

    @property
    def _rows(self) -> int:
        """The number of filters in a group."""
        return self.shape.channels // self._groups

    def _group_rows(self) -> Iterator[tuple[int, int]]:
        """Each group and its first filter."""
        return ((group, group * self._rows) for group in range(self._groups))

    def _matrix(self, buffer: cl.Buffer, first_image: int, first_channel: int) -> Matrix:
        """The output as a matrix from this image and channel on, with a row for each channel."""
        offset = first_image * self.shape.image_stride + first_channel * self.shape.channel_stride
        return Matrix(buffer, self.shape.channel_stride, offset)

    def _column_matrix(self, lane: int, images: int, group: int) -> Matrix:
        """The unrolled images, with a column for each pixel of the output."""
        columns = images * self.shape.pixels
        return Matrix(self._columns[lane], columns, group * self.inputs * columns)

    def _images_at_once(self) -> int:
        if not self.machine.options.batched:
            return 1
        image_bytes = 4 * self._column_rows * self.shape.pixels
        share = -(-self.shape.images // len(self.machine.queues))
        return max(1, min(share, self.machine.columns_bytes_max // image_bytes))

    def _chunks(self) -> Iterator[tuple[int, int, int]]:
        """Chunks of the batch: the lane, the first image, and how many images it computes at once."""
        for number, first in enumerate(range(0, self.shape.images, self._chunk_images)):
            yield number % len(self.machine.queues), first, min(self._chunk_images, self.shape.images - first)
