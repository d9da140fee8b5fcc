"""A network on one machine."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from .architectures import Architecture
from .layers import Dropout, Layer, SoftmaxLoss
from .machine import Machine
from .parameters import Parameters
from .tensor import Shape


class Network:
    """The layers of an architecture, ready for a batch of images.

    Args:
        machine: what computes it.
        architecture: which layers.
        images: of a batch.
        seed: of the initial weights.
        first_image: the number of the first image in the whole batch, if other devices have other parts of it.
        batch: images of the whole batch.
    """

    def __init__(
        self,
        machine: Machine,
        architecture: Architecture,
        images: int,
        *,
        seed: int = 0,
        first_image: int = 0,
        batch: int | None = None,
    ) -> None:
        self.machine = machine
        side = architecture.side
        self.shape = Shape(images, architecture.channels, side, side, machine.options.batched)
        self.layers: list[Layer] = []
        shape = self.shape
        for make in architecture.layers:
            self.layers.append(make(machine, shape))
            shape = self.layers[-1].shape
        # Nothing learns from the gradient of the images.
        self.layers[0].needs_input_gradient = False
        for layer in self.dropouts:
            layer.first_image = first_image
        self.loss = SoftmaxLoss(machine, shape, batch=batch or images)
        self.parameters = Parameters(machine, self.layers, seed)
        self._images = machine.buffer(self.shape.count)
        self._rate = architecture.rate

    @property
    def dropouts(self) -> list[Dropout]:
        """Its layers that drop something."""
        return [layer for layer in self.layers if isinstance(layer, Dropout)]

    def load(self, images: NDArray[np.float32], labels: NDArray[np.int32]) -> None:
        """Sends a batch, which stays on the device until the next one."""
        self.machine.write(self._images, self.shape.packed(images))
        self.machine.write(self.loss.labels, np.ascontiguousarray(labels, np.int32))

    def forward(self) -> None:
        """Computes the losses of the batch."""
        data = self._images
        for layer in [*self.layers, self.loss]:
            self.machine.begin_pass()
            data = layer.forward(data)

    def backward(self) -> None:
        """Computes the gradients of all parameters from the losses."""
        gradient = None
        for layer in [self.loss, *reversed(self.layers)]:
            self.machine.begin_pass()
            gradient = layer.backward(gradient)

    def step(self) -> None:
        """One step of training; waits for nothing."""
        self.forward()
        self.backward()
        self.machine.begin_pass()
        self.parameters.update(self._rate)

    def update(self, part: slice) -> None:
        """Does the last part of a step for some of the parameters."""
        self.parameters.update(self._rate, part)

    def mean_loss(self) -> float:
        """Waits for the last forward pass and returns its mean loss."""
        return float(self.loss.losses().mean())

    def classes(self, images: NDArray[np.float32]) -> NDArray[np.int64]:
        """The classes that the network predicts for any number of images."""
        found: list[NDArray[np.int64]] = []
        for layer in self.dropouts:
            layer.training = False
        for first in range(0, len(images), self.shape.images):
            part = images[first : first + self.shape.images]
            filled = np.zeros((self.shape.images, *images.shape[1:]), np.float32)
            filled[: len(part)] = part
            self.load(filled, np.zeros(self.shape.images, np.int32))
            self.forward()
            shape = self.loss.shape
            scores = shape.unpacked(self.machine.read(self.loss.input, np.empty(shape.count, np.float32)))
            found.append(scores.reshape(shape.images, -1).argmax(axis=1)[: len(part)])
        for layer in self.dropouts:
            layer.training = True
        return np.concatenate(found)
