"""Softmax and its loss: how improbable the right classes are."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pyopencl as cl
from numpy.typing import NDArray

from ..machine import Machine
from ..tensor import Shape
from .layer import PlainLayer

_FILE = Path(__file__).with_suffix(".cl")


class SoftmaxLoss(PlainLayer):
    """The negative logarithm of the probability of each image's label.

    Args:
        machine: what computes it.
        shape: of the scores, one channel for each class.
        batch: images of the whole batch, over which the gradient is the mean; this layer may have a part of them.

    Attributes:
        labels: the classes, one int for each image.
    """

    NAME = "softmax loss"

    def __init__(self, machine: Machine, shape: Shape, *, batch: int) -> None:
        super().__init__(machine, shape)
        self.labels = machine.buffer(shape.images)
        self._losses = machine.buffer(shape.images)
        self._batch = batch

    def forward(self, data: cl.Buffer) -> cl.Buffer:
        """Computes the probabilities of the classes."""
        self.input = data
        shape = self.shape
        self.machine.launch(
            (_FILE, "forward"), (shape.images,), shape.channels, shape.image_stride, shape.channel_stride, data,
            self.labels, self.output, self._losses,
        )  # fmt: skip
        return self.output

    def backward(self, gradient: cl.Buffer | None = None) -> cl.Buffer:
        """Computes the gradient of the scores. It needs no gradient, because no layer follows this one."""
        shape = self.shape
        self.machine.launch(
            (_FILE, "backward"), (shape.count,), shape.channels, shape.image_stride, shape.channel_stride,
            1.0 / self._batch, self.output, self.labels, self.input_gradient,
        )  # fmt: skip
        return self.input_gradient

    def losses(self) -> NDArray[np.float32]:
        """Waits for the losses of all images and returns them."""
        return self.machine.read(self._losses, np.empty(self.shape.images, np.float32))
