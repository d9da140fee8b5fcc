"""Dropout: some of the numbers become zero, others each time."""

from __future__ import annotations

from pathlib import Path

import pyopencl as cl

from ..machine import Machine
from ..tensor import Shape
from .layer import PlainLayer

_FILE = Path(__file__).with_suffix(".cl")


class Dropout(PlainLayer):
    """Zero with probability `rate`, else larger by so much that the mean stays. Only while it trains.

    Attributes:
        training: else it changes nothing.
        first_image: the number of its first image in the whole batch, so that parts of a batch on several devices drop
            what one device would.
        seed: of what is dropped; it changes after each step.
    """

    NAME = "dropout"

    def __init__(self, machine: Machine, shape: Shape, *, rate: float = 0.5, seed: int = 0) -> None:
        super().__init__(machine, shape)
        self.training = True
        self.first_image = 0
        self.seed = seed
        self._rate = rate

    def forward(self, data: cl.Buffer) -> cl.Buffer:
        """See `Layer`."""
        if not self.training:
            return data
        return self._dropped(data, self.output)

    def backward(self, gradient: cl.Buffer) -> cl.Buffer:
        """See `Layer`."""
        result = self._dropped(gradient, self.input_gradient)
        self.seed = (self.seed + 1) % (1 << 31)
        return result

    def _dropped(self, values: cl.Buffer, result: cl.Buffer) -> cl.Buffer:
        shape = self.shape
        self.machine.launch(
            (_FILE, "drop"), (shape.count,), shape.channels, shape.pixels, shape.image_stride, shape.channel_stride,
            self.first_image, self._rate, self.seed, values, result,
        )  # fmt: skip
        return result
