"""ReLU: nothing below zero."""

from __future__ import annotations

from pathlib import Path

import pyopencl as cl

from .layer import PlainLayer

_FILE = Path(__file__).with_suffix(".cl")


class ReLU(PlainLayer):
    """max(x, 0)."""

    NAME = "relu"

    def forward(self, data: cl.Buffer) -> cl.Buffer:
        """See `Layer`."""
        self.input = data
        self.machine.launch((_FILE, "forward"), (self.shape.count,), data, self.output)
        return self.output

    def backward(self, gradient: cl.Buffer) -> cl.Buffer:
        """See `Layer`."""
        self.machine.launch((_FILE, "backward"), (self.shape.count,), self.input, gradient, self.input_gradient)
        return self.input_gradient
