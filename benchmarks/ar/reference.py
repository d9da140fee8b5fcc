"""What the kernels should find, by NumPy."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from .cloud import Points
from .stages import _POINT_SIZE

_OPAQUE, _BACKGROUND = 192, (0x20, 0x28, 0x30)


def order_of(points: Points, pose: NDArray[np.float32]) -> NDArray[np.int64]:
    """Indices of points, the farthest from the viewer first; those of one distance in their own order."""
    way = points.positions - pose[:3]
    squares = way * way
    distances = squares[:, 0] + squares[:, 1] + squares[:, 2]
    return np.argsort(-distances, kind="stable")


def draw(points: Points, pose: NDArray[np.float32], pixels: int) -> NDArray[np.uint8]:
    """The image, uint8 [pixels, pixels, 3] of RGB."""
    order = order_of(points, pose)
    positions = np.concatenate([points.positions[order], np.ones((len(order), 1), np.float32)], 1)
    x, y, _, w = (positions @ pose[4:].reshape(4, 4).T).T
    seen = (w > 0.1) & (np.abs(x) < w) & (np.abs(y) < w)
    x, y, w, colours = x[seen], y[seen], w[seen], points.colours[order][seen].astype(np.uint16)
    sizes = np.maximum((np.float32(_POINT_SIZE) * pixels / w + 0.5).astype(int), 1)
    lefts = ((x / w + 1) / 2 * pixels).astype(int) - sizes // 2
    tops = ((1 - y / w) / 2 * pixels).astype(int) - sizes // 2
    image = np.full((pixels, pixels, 3), _BACKGROUND, np.uint16)
    for left, top, size, colour in zip(lefts, tops, sizes, colours, strict=True):
        behind = image[max(top, 0) : top + size, max(left, 0) : left + size]
        behind[:] = (colour * _OPAQUE + behind * (256 - _OPAQUE)) >> 8
    return image.astype(np.uint8)


def unpacked(packed: NDArray[np.uint16]) -> NDArray[np.uint8]:
    """An image of five, six and five bits as uint8 [..., 3] of RGB."""
    return np.stack([packed >> 8 & 0xF8, packed >> 3 & 0xFC, packed << 3 & 0xF8], -1).astype(np.uint8)


def different_part(one: NDArray[np.uint8], other: NDArray[np.uint8]) -> float:
    """The share of pixels that differ between two images by more than rounding, from 0 to 1."""
    return float((np.abs(one.astype(int) - other).max(-1) > 16).mean())
