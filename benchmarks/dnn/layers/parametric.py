"""What convolutions and inner products have in common: weights, and a bias for each channel of the output."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pyopencl as cl
from numpy.typing import NDArray

from ..gemm import Gemm, Matrix
from ..machine import Machine
from ..tensor import Shape
from .layer import PlainLayer

_FILE = Path(__file__).with_suffix(".cl")
# How many work-items sum up one channel's gradient, as in the kernel.
_SUMMERS = 64


class Parametric(PlainLayer):
    """A layer with `inputs` weights and a bias for each channel of the output."""

    def __init__(self, machine: Machine, shape: Shape, output_shape: Shape, inputs: int) -> None:
        super().__init__(machine, shape, output_shape)
        self.inputs = inputs
        self.weight_count = output_shape.channels * inputs
        self.bias_count = output_shape.channels
        self.gemm = Gemm(machine)

    def initial(self, random: np.random.Generator) -> tuple[NDArray[Any], NDArray[Any]]:
        """See `Layer`."""
        weights = random.standard_normal(self.weight_count, np.float32) * np.float32(self.inputs**-0.5)
        return weights, np.zeros(self.bias_count, np.float32)

    def weights(self, first_row: int = 0) -> Matrix:
        """The weights from this row on; each channel of the output has a row."""
        return Matrix(self.place.values, self.inputs, self.place.weights + first_row * self.inputs)

    def weight_gradient(self, first_row: int = 0) -> Matrix:
        """The gradient of the weights, likewise."""
        return Matrix(self.place.gradients, self.inputs, self.place.weights + first_row * self.inputs)

    def add_bias(self) -> None:
        """Adds the biases to the output."""
        shape = self.shape
        self.machine.launch(
            (_FILE, "add_bias"), (shape.count,), shape.channels, shape.pixels, shape.image_stride,
            shape.channel_stride, self.place.values, self.place.biases, self.output,
        )  # fmt: skip

    def sum_bias_gradient(self, gradient: cl.Buffer) -> None:
        """Sums up the gradient of the biases, into its place."""
        shape = self.shape
        self.machine.launch(
            (_FILE, "sum_bias_gradient"), (_SUMMERS, shape.channels), shape.images, shape.pixels, shape.image_stride,
            shape.channel_stride, gradient, self.place.gradients, self.place.biases, group=(_SUMMERS, 1),
        )  # fmt: skip
