"""Images to learn from: scikit-learn's digits, and generated ones."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from .architectures import Architecture

# One of so many digits is for testing.
_TEST_SHARE = 5


@dataclass(frozen=True)
class Images:
    """Images and their classes."""

    images: NDArray[np.float32]
    labels: NDArray[np.int32]

    def batch(self, number: int, size: int) -> Images:
        """Batch `number` of `size` images; after the last image comes the first one again."""
        chosen = np.arange(number * size, (number + 1) * size) % len(self.labels)
        return Images(self.images[chosen], self.labels[chosen])


def digits(seed: int = 0) -> tuple[Images, Images]:
    """1,797 handwritten digits of 8 x 8 pixels, shuffled: four fifths to learn from, the rest to test with."""
    from sklearn.datasets import load_digits

    found = load_digits()
    order = np.random.default_rng(seed).permutation(len(found.target))
    images = (found.images[order, np.newaxis] / 8 - 1).astype(np.float32)
    labels = found.target[order].astype(np.int32)
    tests = len(order) // _TEST_SHARE
    return Images(images[tests:], labels[tests:]), Images(images[:tests], labels[:tests])


def generated(architecture: Architecture, count: int, seed: int = 0) -> Images:
    """Noise in which each class has a pattern of its own."""
    random = np.random.default_rng(seed)
    shape = (architecture.channels, architecture.side, architecture.side)
    labels = random.integers(0, architecture.classes, count, np.int32)
    images = random.standard_normal((count, *shape), np.float32)
    for number, label in enumerate(labels):
        images[number] += np.random.default_rng(int(label)).standard_normal(shape, np.float32)
    return Images(images, labels)
