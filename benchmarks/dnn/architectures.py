"""The three networks: LeNet, CIFAR-10 quick and AlexNet, layer by layer as Caffe has them."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial

from .layers import (
    AveragePooling,
    Convolution,
    Dropout,
    InnerProduct,
    Layer,
    LocalResponseNormalization,
    MaxPooling,
    ReLU,
)


@dataclass(frozen=True)
class Architecture:
    """What a network is made of.

    Attributes:
        name: for `python -m benchmarks.dnn`.
        channels: of an image.
        side: pixels of an image in each direction.
        classes: that it tells apart.
        batch: images of a step.
        rate: by how much of the gradient a step changes a weight.
        layers: what makes them, all but the loss.
    """

    name: str
    channels: int
    side: int
    classes: int
    batch: int
    rate: float
    layers: Sequence[Callable[..., Layer]]


LENET = Architecture(
    "lenet", channels=1, side=8, classes=10, batch=64, rate=0.01,
    layers=(
        partial(Convolution, filters=20, size=5, pad=2),
        partial(MaxPooling, size=2, stride=2),
        partial(Convolution, filters=50, size=5, pad=2),
        partial(MaxPooling, size=2, stride=2),
        partial(InnerProduct, outputs=500),
        ReLU,
        partial(InnerProduct, outputs=10),
    ),
)  # fmt: skip

CIFAR10_QUICK = Architecture(
    "cifar10", channels=3, side=32, classes=10, batch=100, rate=0.001,
    layers=(
        partial(Convolution, filters=32, size=5, pad=2),
        partial(MaxPooling, size=3, stride=2),
        ReLU,
        partial(Convolution, filters=32, size=5, pad=2),
        ReLU,
        partial(AveragePooling, size=3, stride=2),
        partial(Convolution, filters=64, size=5, pad=2),
        ReLU,
        partial(AveragePooling, size=3, stride=2),
        partial(InnerProduct, outputs=64),
        partial(InnerProduct, outputs=10),
    ),
)  # fmt: skip

ALEXNET = Architecture(
    "alexnet", channels=3, side=227, classes=1000, batch=100, rate=0.001,
    layers=(
        partial(Convolution, filters=96, size=11, stride=4),
        ReLU,
        LocalResponseNormalization,
        partial(MaxPooling, size=3, stride=2),
        partial(Convolution, filters=256, size=5, pad=2, groups=2),
        ReLU,
        LocalResponseNormalization,
        partial(MaxPooling, size=3, stride=2),
        partial(Convolution, filters=384, size=3, pad=1),
        ReLU,
        partial(Convolution, filters=384, size=3, pad=1, groups=2),
        ReLU,
        partial(Convolution, filters=256, size=3, pad=1, groups=2),
        ReLU,
        partial(MaxPooling, size=3, stride=2),
        partial(InnerProduct, outputs=4096),
        ReLU,
        partial(Dropout, seed=1),
        partial(InnerProduct, outputs=4096),
        ReLU,
        partial(Dropout, seed=2),
        partial(InnerProduct, outputs=1000),
    ),
)  # fmt: skip

ARCHITECTURES = {each.name: each for each in (LENET, CIFAR10_QUICK, ALEXNET)}
