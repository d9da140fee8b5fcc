"""Pooling: the maximum or average of windows, as Caffe has them: the last one may be cut off by the border."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pyopencl as cl

from ..machine import Machine
from ..tensor import Shape
from .layer import PlainLayer

_FILE = Path(__file__).with_suffix(".cl")


class _Pooling(PlainLayer):
    """Windows of `size` x `size` pixels, each `stride` after the one before."""

    def __init__(self, machine: Machine, shape: Shape, *, size: int, stride: int) -> None:
        height, width = (1 + max(0, -(-(length - size) // stride)) for length in (shape.height, shape.width))
        super().__init__(machine, shape, replace(shape, height=height, width=width))
        self._window = (shape.height, shape.width, height, width, size, stride)


class MaxPooling(_Pooling):
    """The largest of each window."""

    NAME = "max pooling"

    def __init__(self, machine: Machine, shape: Shape, *, size: int, stride: int) -> None:
        super().__init__(machine, shape, size=size, stride=stride)
        self._largest = machine.buffer(self.shape.count)

    def forward(self, data: cl.Buffer) -> cl.Buffer:
        """See `Layer`."""
        self.machine.launch(
            (_FILE, "max_forward"), (self.shape.count,), *self._window, data, self.output, self._largest
        )
        return self.output

    def backward(self, gradient: cl.Buffer) -> cl.Buffer:
        """See `Layer`."""
        self.machine.launch(
            (_FILE, "max_backward"), (self.input_shape.count,), *self._window, self._largest, gradient,
            self.input_gradient,
        )  # fmt: skip
        return self.input_gradient


class AveragePooling(_Pooling):
    """The mean of each window."""

    NAME = "average pooling"

    def forward(self, data: cl.Buffer) -> cl.Buffer:
        """See `Layer`."""
        self.machine.launch((_FILE, "average_forward"), (self.shape.count,), *self._window, data, self.output)
        return self.output

    def backward(self, gradient: cl.Buffer) -> cl.Buffer:
        """See `Layer`."""
        self.machine.launch(
            (_FILE, "average_backward"), (self.input_shape.count,), *self._window, gradient, self.input_gradient
        )
        return self.input_gradient
