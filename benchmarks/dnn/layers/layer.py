"""What the layers have in common."""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
import pyopencl as cl
from numpy.typing import NDArray

from ..machine import Machine
from ..tensor import Shape


@dataclass(frozen=True)
class Place:
    """Where a layer's parameters are: the buffers of a network's values and gradients, and offsets in both."""

    values: cl.Buffer
    gradients: cl.Buffer
    weights: int
    biases: int


class Layer(ABC):
    """A layer on a machine.

    Args:
        machine: what computes it.
        shape: of its input.

    Attributes:
        input_shape: of the input.
        shape: of the output.
        weight_count: numbers to learn that are subject to weight decay.
        bias_count: those that are not.
        needs_input_gradient: whether `backward` has to return one; False for the first layer with parameters.
    """

    NAME: ClassVar[str]

    def __init__(self, machine: Machine, shape: Shape) -> None:
        self.machine = machine
        self.input_shape = shape
        self.shape = shape
        self.weight_count = 0
        self.bias_count = 0
        self.needs_input_gradient = True
        self.place: Place

    def initial(self, random: np.random.Generator) -> tuple[NDArray[Any], NDArray[Any]]:
        """The initial weights and biases; only for layers that have some."""
        raise NotImplementedError

    @abstractmethod
    def forward(self, data: cl.Buffer) -> cl.Buffer:
        """Computes the output, in a buffer of the layer. The layer also keeps the input for `backward`."""

    @abstractmethod
    def backward(self, gradient: cl.Buffer) -> cl.Buffer:
        """Returns the gradient of the input, from that of the output; writes those of the parameters to their place."""


class PlainLayer(Layer):
    """A layer with one buffer for the output and one for the gradient of the input."""

    def __init__(self, machine: Machine, shape: Shape, output_shape: Shape | None = None) -> None:
        super().__init__(machine, shape)
        self.shape = output_shape or shape
        self.output = machine.buffer(self.shape.count)
        self.input_gradient = machine.buffer(shape.count)
        self.input: cl.Buffer
