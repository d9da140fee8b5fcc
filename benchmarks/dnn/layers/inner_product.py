"""Inner product: every number of the input has a weight for every number of the output."""

from __future__ import annotations

from pathlib import Path

import pyopencl as cl

from ..gemm import Matrix
from ..machine import Machine
from ..tensor import Shape
from .parametric import Parametric

_FILE = Path(__file__).with_suffix(".cl")


class InnerProduct(Parametric):
    """`outputs` numbers of each image. One matrix product computes them for all images, in both layouts."""

    NAME = "inner product"

    def __init__(self, machine: Machine, shape: Shape, *, outputs: int) -> None:
        super().__init__(machine, shape, Shape(shape.images, outputs, batched=shape.batched), shape.features)
        # A batched layout of more than one pixel has no rows and columns that a matrix product could use.
        self._permutes = shape.batched and shape.pixels > 1
        if self._permutes:
            self._features, self._feature_gradient = machine.buffer(shape.count), machine.buffer(shape.count)

    def forward(self, data: cl.Buffer) -> cl.Buffer:
        """See `Layer`."""
        self.input = self._permuted("flatten", data, self._features) if self._permutes else data
        images, outputs = self.shape.images, self.shape.channels
        product = Matrix(self.output, self._stride(outputs))
        features = Matrix(self.input, self._stride(self.inputs))
        if self.shape.batched:
            self.gemm.multiply(self.weights(), features, product, (outputs, images, self.inputs))
        else:
            self.gemm.multiply(features, self.weights(), product, (images, outputs, self.inputs), transpose_b=True)
        self.add_bias()
        return self.output

    def backward(self, gradient: cl.Buffer) -> cl.Buffer:
        """See `Layer`."""
        self.sum_bias_gradient(gradient)
        images, outputs = self.shape.images, self.shape.channels
        of_output = Matrix(gradient, self._stride(outputs))
        features = Matrix(self.input, self._stride(self.inputs))
        batched = self.shape.batched
        self.gemm.multiply(
            of_output, features, self.weight_gradient(), (outputs, self.inputs, images),
            transpose_a=not batched, transpose_b=batched,
        )  # fmt: skip
        if not self.needs_input_gradient:
            return self.input_gradient
        result = Matrix(self._feature_gradient if self._permutes else self.input_gradient, self._stride(self.inputs))
        if batched:
            self.gemm.multiply(self.weights(), of_output, result, (self.inputs, images, outputs), transpose_a=True)
        else:
            self.gemm.multiply(of_output, self.weights(), result, (images, self.inputs, outputs))
        if self._permutes:
            self._permuted("unflatten", self._feature_gradient, self.input_gradient)
        return self.input_gradient

    def _stride(self, features: int) -> int:
        """The stride between rows, which are features if the layout is batched, else images."""
        return self.shape.images if self.shape.batched else features

    def _permuted(self, kernel: str, source: cl.Buffer, target: cl.Buffer) -> cl.Buffer:
        shape = self.input_shape
        self.machine.launch((_FILE, kernel), (shape.count,), shape.images, shape.pixels, source, target)
        return target
