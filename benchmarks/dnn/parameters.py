"""What a network learns: all weights and then all biases in one buffer, their gradients in another."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import numpy as np
import pyopencl as cl
from numpy.typing import NDArray

from .layers import Layer, Place
from .machine import Machine

_FILE = Path(__file__).with_suffix(".cl")
# As in Caffe's examples. A bias learns at twice the rate and does not decay.
_MOMENTUM = 0.9
_DECAY = 0.0005


class Parameters:
    """Values, gradients and velocities, and SGD with momentum and weight decay.

    Attributes:
        count: of all weights and biases.
        values: their buffer.
        gradients: theirs.
    """

    def __init__(self, machine: Machine, layers: Sequence[Layer], seed: int) -> None:
        self._machine = machine
        self.weight_count = sum(layer.weight_count for layer in layers)
        self.count = self.weight_count + sum(layer.bias_count for layer in layers)
        initial = np.empty(self.count, np.float32)
        self.values, self.gradients, self._velocities = (machine.buffer(self.count) for _ in range(3))
        weights, biases = 0, self.weight_count
        random = np.random.default_rng(seed)
        for layer in layers:
            if layer.weight_count == 0:
                continue
            layer.place = Place(self.values, self.gradients, weights, biases)
            next_weights, next_biases = weights + layer.weight_count, biases + layer.bias_count
            initial[weights:next_weights], initial[biases:next_biases] = layer.initial(random)
            weights, biases = next_weights, next_biases
        machine.write(self.values, initial)
        machine.write(self._velocities, np.zeros(self.count, np.float32))

    def update(self, rate: float, part: slice | None = None) -> None:
        """Takes one step against the gradient, for all parameters or a part of them."""
        begin, end = (part.start, part.stop) if part else (0, self.count)
        self._machine.launch(
            (_FILE, "update"), (end - begin,), begin, self.weight_count, rate, _MOMENTUM, _DECAY, self.gradients,
            self.values, self._velocities,
        )  # fmt: skip

    def add_gradient(self, other: cl.Buffer, part: slice) -> None:
        """Adds numbers from the beginning of another buffer to a part of the gradient."""
        self._machine.launch((_FILE, "add_gradient"), (part.stop - part.start,), part.start, other, self.gradients)

    def array(self) -> NDArray[np.float32]:
        """Reads the values."""
        return self._machine.read(self.values, np.empty(self.count, np.float32))
