"""Local response normalization, across channels."""

from __future__ import annotations

from pathlib import Path

import pyopencl as cl

from ..machine import Machine
from ..tensor import Shape
from .layer import PlainLayer

_FILE = Path(__file__).with_suffix(".cl")


class LocalResponseNormalization(PlainLayer):
    """x / (1 + alpha / size * the sum of squares in `size` channels around it) ** beta."""

    NAME = "normalization"

    def __init__(
        self, machine: Machine, shape: Shape, *, size: int = 5, alpha: float = 1e-4, beta: float = 0.75
    ) -> None:
        super().__init__(machine, shape)
        self._scale = machine.buffer(shape.count)
        self._where = (shape.channels, shape.pixels, shape.image_stride, shape.channel_stride, size)
        self._alpha = alpha / size
        self._beta = beta

    def forward(self, data: cl.Buffer) -> cl.Buffer:
        """See `Layer`."""
        self.input = data
        self.machine.launch(
            (_FILE, "forward"), (self.shape.count,), *self._where, self._alpha, self._beta, data, self._scale,
            self.output,
        )  # fmt: skip
        return self.output

    def backward(self, gradient: cl.Buffer) -> cl.Buffer:
        """See `Layer`."""
        self.machine.launch(
            (_FILE, "backward"), (self.shape.count,), *self._where, self._alpha, self._beta, self.input, self._scale,
            self.output, gradient, self.input_gradient,
        )  # fmt: skip
        return self.input_gradient
