"""An animated point cloud as pictures, as V-PCC does in spirit: a geometry atlas above a texture atlas.

A walking figure of ellipsoids is seen from six sides. Each side is a patch that has the points whose surface faces it,
so no point is in two patches. A picture is NV12 and has, from top to bottom:

* geometry: luma is the distance from the patch's side, U is occupancy, for 2x2 pixels at once
* texture: the colours, full range BT.601

Unoccupied pixels continue their neighbours smoothly, because codecs blur edges into what is beside them.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

# The patches of an atlas, from left to right and from top to bottom: the axis along which each looks, and its side.
PATCHES = ((0, 1), (0, -1), (1, 1), (1, -1), (2, 1), (2, -1))
ATLAS_COLUMNS, ATLAS_ROWS = 3, 2
# Luma of depth: the cube from -1 to 1 has DEPTH_STEPS steps, and the lowest one has the value DEPTH_LOW.
DEPTH_LOW, DEPTH_STEPS = 16, 223
OCCUPIED, UNOCCUPIED = 240, 16
# A pixel is occupied if its U is at least this.
OCCUPANCY_LIMIT = 128
# Points of a 2x2 block.
BLOCK = 4

Floats = NDArray[np.float32]
Bytes = NDArray[np.uint8]
_Patch = tuple[NDArray[np.float64], NDArray[np.bool_], NDArray[np.float64]]


@dataclass(frozen=True)
class Points:
    """Points in the order in which a picture has them.

    Attributes:
        positions: float32 [n, 3], each from -1 to 1.
        colours: uint8 [n, 3], RGB.
    """

    positions: Floats
    colours: Bytes


def picture_size(patch: int) -> tuple[int, int]:
    """Width and height of a picture whose patches have `patch` rows."""
    return ATLAS_COLUMNS * patch, 2 * ATLAS_ROWS * patch


def picture_bytes(patch: int) -> int:
    """Bytes of a picture in NV12."""
    width, height = picture_size(patch)
    return width * height * 3 // 2


def capacity(patch: int) -> int:
    """The most points that a picture can have: all pixels of an atlas."""
    return len(PATCHES) * patch * patch


class Figure:
    """A walking figure.

    Args:
        frames: of one period of its walk; the frame after the last one is the first one.
        seed: of its proportions and colours.
    """

    def __init__(self, frames: int, seed: int) -> None:
        random = np.random.default_rng(seed)
        self.frames = frames
        self._scale = random.uniform(0.9, 1.1, (10, 3))
        self._colours = random.uniform(60, 230, (10, 3))
        self._stripes = random.uniform(6, 14, 10)

    def _ellipsoids(self, frame: int) -> tuple[NDArray[np.float64], NDArray[np.float64], NDArray[np.float64]]:
        """Centres [e, 3], radii [e, 3] and rotations [e, 3, 3]; y is up."""
        phase = 2 * np.pi * frame / self.frames
        swing = 0.7 * np.sin(phase)
        bob = 0.02 * np.cos(2 * phase)
        parts = [  # joint, distance of the centre below it, radii, angle of the swing
            ((0.0, 0.66 + bob, 0.0), 0.0, (0.24, 0.24, 0.24), 0.0),  # head
            ((0.0, 0.15 + bob, 0.0), 0.0, (0.38, 0.40, 0.30), 0.0),  # chest
            ((0.0, -0.18 + bob, 0.0), 0.0, (0.34, 0.22, 0.28), 0.0),  # hip
            ((0.0, 0.78 + bob, 0.0), 0.0, (0.34, 0.09, 0.34), 0.0),  # hat
            ((-0.50, 0.40, 0.0), 0.28, (0.14, 0.34, 0.14), swing),  # arms
            ((0.50, 0.40, 0.0), 0.28, (0.14, 0.34, 0.14), -swing),
            ((-0.20, -0.20, 0.0), 0.32, (0.18, 0.38, 0.18), -0.6 * swing),  # legs
            ((0.20, -0.20, 0.0), 0.32, (0.18, 0.38, 0.18), 0.6 * swing),
            ((-0.20, -0.20, 0.08), 0.66, (0.14, 0.08, 0.24), -0.6 * swing),  # feet
            ((0.20, -0.20, 0.08), 0.66, (0.14, 0.08, 0.24), 0.6 * swing),
        ]
        turn = _rotation(1, 0.5 * np.sin(phase))
        rotations = np.array([turn @ _rotation(0, angle) for _, _, _, angle in parts])
        centres = np.array([turn @ np.array(at) for at, *_ in parts])
        centres += np.array(
            [rotation @ (0, -below, 0) for rotation, (_, below, _, _) in zip(rotations, parts, strict=True)]
        )
        return centres, np.array([radii for _, _, radii, _ in parts]) * self._scale, rotations

    def picture(self, frame: int, patch: int) -> Bytes:
        """A frame, uint8 [height * 3 / 2, width] in NV12.

        Args:
            frame: any number from 0.
            patch: rows of a patch, a power of two of at least 8.
        """
        ellipsoids = self._ellipsoids(frame % self.frames)
        depth, is_occupied, colours = _atlases([self._patch(ellipsoids, *view, patch) for view in PATCHES])
        blocks = is_occupied[::2, ::2]
        luma, chroma = _yuv(colours)
        geometry_chroma = np.full((*blocks.shape, 2), 128, np.uint8)
        geometry_chroma[..., 0] = np.where(blocks, OCCUPIED, UNOCCUPIED)
        rows = np.concatenate([geometry_chroma, chroma]).reshape(2 * blocks.shape[0], -1)
        return np.concatenate([depth, luma, rows])

    def _patch(
        self,
        ellipsoids: tuple[NDArray[np.float64], NDArray[np.float64], NDArray[np.float64]],
        axis: int,
        side: int,
        size: int,
    ) -> _Patch:
        """Luma of depth, occupancy and RGB of the points that are nearest to one side, and face it."""
        centres, radii, rotations = ellipsoids
        ticks = (np.arange(size) + 0.5) / size * 2 - 1
        u, v = (axis + 1) % 3, (axis + 2) % 3
        nearest = np.full((size, size), -np.inf)
        faces = np.zeros((size, size), bool)
        colours = np.zeros((size, size, 3))
        for number, (centre, radius, rotation) in enumerate(zip(centres, radii, rotations, strict=True)):
            reach = np.sqrt(((rotation * radius) ** 2).sum(1))
            box = tuple(
                slice(*np.searchsorted(ticks, (centre[one] - reach[one], centre[one] + reach[one]))) for one in (v, u)
            )
            # In the space in which the ellipsoid is a sphere.
            to_sphere = (rotation / radius).T
            start = np.zeros((*nearest[box].shape, 3))
            start[..., u], start[..., v] = ticks[None, box[1]], ticks[box[0], None]
            start = (start - centre) @ to_sphere.T
            along = to_sphere[:, axis]
            a, b, c = along @ along, start @ along, (start * start).sum(-1) - 1
            root = b * b - a * c
            hit = side * (-b + side * np.sqrt(np.maximum(root, 0))) / a
            is_nearer = (root > 0) & (hit > nearest[box]) & (np.abs(hit) < 1)
            on_sphere = start + (side * hit)[..., None] * along
            normal = np.abs(on_sphere @ to_sphere)
            is_facing = normal[..., axis] >= normal.max(-1)
            stripes = 0.75 + 0.25 * np.sin(self._stripes[number] * on_sphere[..., 1])
            nearest[box] = np.where(is_nearer, hit, nearest[box])
            faces[box] = np.where(is_nearer, is_facing, faces[box])
            colours[box] = np.where(is_nearer[..., None], self._colours[number] * stripes[..., None], colours[box])
        blocks = (faces & np.isfinite(nearest)).reshape(size // 2, 2, size // 2, 2).all((1, 3))
        is_occupied = blocks.repeat(2, 0).repeat(2, 1)
        depth = DEPTH_LOW + DEPTH_STEPS * (side * np.where(is_occupied, nearest, 0) + 1) / 2
        return _continued(depth[..., None], is_occupied)[..., 0], is_occupied, _continued(colours, is_occupied)


def points_of(picture: Bytes, patch: int) -> Points:
    """The points of a picture, by NumPy: block after block, in each of these row after row."""
    width, height = picture_size(patch)
    luma, chroma = picture[:height], picture[height:].reshape(height // 2, width // 2, 2)
    half = height // 2
    blocks = np.argwhere(chroma[: half // 2, :, 0] >= OCCUPANCY_LIMIT)
    corners = np.array([(0, 0), (0, 1), (1, 0), (1, 1)])
    row, column = (2 * blocks[:, None, :] + corners).reshape(-1, 2).T
    depth = (luma[row, column].astype(np.float32) - DEPTH_LOW) / np.float32(DEPTH_STEPS) * 2 - 1
    plane = (
        np.stack([(column % patch + np.float32(0.5)), (row % patch + np.float32(0.5))], 1) / np.float32(patch) * 2 - 1
    )
    positions = np.empty((len(row), 3), np.float32)
    of_patch = row // patch * ATLAS_COLUMNS + column // patch
    for number, (axis, _) in enumerate(PATCHES):
        own = of_patch == number
        positions[own, axis] = depth[own]
        positions[own, (axis + 1) % 3], positions[own, (axis + 2) % 3] = plane[own].T
    y = luma[row + half, column].astype(np.float32)
    u, v = (chroma[row // 2 + half // 2, column // 2].astype(np.float32) - 128).T
    rgb = np.stack([y + 1.402 * v, y - 0.344136 * u - 0.714136 * v, y + 1.772 * u], 1)
    return Points(positions, np.clip(np.rint(rgb), 0, 255).astype(np.uint8))


def _rotation(axis: int, angle: float) -> NDArray[np.float64]:
    one, other = (axis + 1) % 3, (axis + 2) % 3
    matrix = np.eye(3)
    matrix[one, one] = matrix[other, other] = np.cos(angle)
    matrix[other, one] = np.sin(angle)
    matrix[one, other] = -matrix[other, one]
    return matrix


def _continued(values: NDArray[np.float64], is_known: NDArray[np.bool_]) -> NDArray[np.float64]:
    """Fills unknown values with means of ever larger surroundings; values [n, n, channels], n a power of two."""
    size = len(values)
    if size == 1 or is_known.all() or not is_known.any():
        return values
    weights = is_known[..., None].astype(float)
    shape = (size // 2, 2, size // 2, 2, -1)
    counts = weights.reshape(shape).sum((1, 3))
    means = (values * weights).reshape(shape).sum((1, 3)) / np.maximum(counts, 1)
    coarse = _continued(means, counts[..., 0] > 0)
    return np.where(is_known[..., None], values, coarse.repeat(2, 0).repeat(2, 1))


def _atlases(patches: list[_Patch]) -> tuple[Bytes, NDArray[np.bool_], Floats]:
    """Three atlases of the patches: depth, occupancy and RGB."""

    def joined(which: int) -> NDArray[np.float64]:
        found = [patch[which] for patch in patches]
        rows = [found[row * ATLAS_COLUMNS : (row + 1) * ATLAS_COLUMNS] for row in range(ATLAS_ROWS)]
        return np.concatenate([np.concatenate(row, 1) for row in rows])

    return np.rint(joined(0)).astype(np.uint8), joined(1).astype(bool), joined(2).astype(np.float32)


def _yuv(rgb: Floats) -> tuple[Bytes, Bytes]:
    """Luma [rows, columns], and chroma [rows / 2, columns / 2, 2]."""
    red, green, blue = np.moveaxis(rgb, -1, 0)
    luma = 0.299 * red + 0.587 * green + 0.114 * blue
    chroma = np.stack([(blue - luma) / 1.772, (red - luma) / 1.402], -1) + 128
    rows, columns = luma.shape
    chroma = chroma.reshape(rows // 2, 2, columns // 2, 2, 2).mean((1, 3))
    return (np.clip(np.rint(values), 0, 255).astype(np.uint8) for values in (luma, chroma))  # type: ignore[return-value]
