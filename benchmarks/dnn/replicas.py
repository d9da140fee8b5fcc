"""Data-parallel training: a network on each device, each with its part of every batch."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pyopencl as cl
from numpy.typing import NDArray

from remotecl import RemoteCLError

from .architectures import Architecture
from .machine import Machine, Options
from .network import Network

# Parts of the parameters begin at multiples of so many numbers.
_UNIT = 64


class Replicas:
    """The same network on several devices of one context.

    Each device owns a part of the parameters. In a step it fetches that part of every gradient, sums up, and
    changes its part, which all others then fetch. So bytes go from device to device, each device sends and receives as
    much as in a ring, and the parameters are the same everywhere, to the last bit.

    Args:
        devices: one or more, all of which belong in one context.
        architecture: of the network.
        batch: images of a step, which the number of devices divides.
        options: as for `Machine`.
        seed: of the initial parameters.
    """

    def __init__(
        self,
        devices: Sequence[cl.Device],
        architecture: Architecture,
        batch: int,
        options: Options | None = None,
        *,
        seed: int = 0,
    ) -> None:
        if batch % len(devices):
            raise RemoteCLError(f"{batch} images cannot be divided evenly between {len(devices)} devices")
        context = cl.Context(list(devices))
        share = batch // len(devices)
        self.networks = [
            Network(
                Machine(context, device, options), architecture, share, seed=seed, first_image=share * number,
                batch=batch,
            )
            for number, device in enumerate(devices)
        ]  # fmt: skip
        self._parts = _divided(self.networks[0].parameters.count, len(devices))
        longest = max(part.stop - part.start for part in self._parts)
        self._received = [network.machine.buffer(longest) for network in self.networks]

    def load(self, images: NDArray[np.float32], labels: NDArray[np.int32]) -> None:
        """Sends each device its part of a batch."""
        share = len(labels) // len(self.networks)
        for number, network in enumerate(self.networks):
            own = slice(number * share, (number + 1) * share)
            network.load(images[own], labels[own])

    def step(self) -> None:
        """One step of training; waits for nothing."""
        for network in self.networks:
            network.forward()
            network.backward()
        self._sum_gradients(_markers(self.networks))
        for network, part in zip(self.networks, self._parts, strict=True):
            network.update(part)
        self._spread_parameters(_markers(self.networks))
        for network in self.networks:
            network.machine.queue.flush()

    def mean_loss(self) -> float:
        """Waits for the last forward pass and returns its mean loss."""
        return float(np.concatenate([network.loss.losses() for network in self.networks]).mean())

    def _sum_gradients(self, made: Sequence[cl.Event]) -> None:
        """Sums up all gradients of each device's own part."""
        for number, (network, part, received) in enumerate(
            zip(self.networks, self._parts, self._received, strict=True)
        ):
            for other, event in self._others(number, made):
                network.machine.wait_for(event)
                cl.enqueue_copy(
                    network.machine.queue, received, other.parameters.gradients, src_offset=4 * part.start,
                    dst_offset=0, byte_count=4 * (part.stop - part.start),
                )  # fmt: skip
                network.parameters.add_gradient(received, part)

    def _spread_parameters(self, changed: Sequence[cl.Event]) -> None:
        for number, network in enumerate(self.networks):
            for (other, event), part in zip(
                self._others(number, changed), self._parts[:number] + self._parts[number + 1 :], strict=True
            ):
                network.machine.wait_for(event)
                cl.enqueue_copy(
                    network.machine.queue, network.parameters.values, other.parameters.values,
                    src_offset=4 * part.start, dst_offset=4 * part.start, byte_count=4 * (part.stop - part.start),
                )  # fmt: skip

    def _others(self, number: int, events: Sequence[cl.Event]) -> list[tuple[Network, cl.Event]]:
        pairs = list(zip(self.networks, events, strict=True))
        return pairs[:number] + pairs[number + 1 :]


def _markers(networks: Sequence[Network]) -> list[cl.Event]:
    """Events of the end of what each network's machine has enqueued."""
    events = []
    for network in networks:
        events.append(cl.enqueue_marker(network.machine.queue))
        network.machine.queue.flush()
    return events


def _divided(count: int, parts: int) -> list[slice]:
    share = -(-count // (parts * _UNIT)) * _UNIT
    if share * (parts - 1) >= count:
        raise RemoteCLError(f"{count} parameters cannot be divided between {parts} devices")
    return [slice(first, min(first + share, count)) for first in range(0, count, share)]
