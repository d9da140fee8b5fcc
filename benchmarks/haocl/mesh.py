"""A mesh of tetrahedra that fills a cube, with neighbours and normals: unstructured, from a seed."""

from __future__ import annotations

import itertools
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

# Stand for the neighbour of a face that has none.
WALL = -1
FAR_FIELD = -2
# The farthest that a vertex is moved along each axis, in edges of a cell. So no tetrahedron turns inside out.
_JITTER = 0.1


@dataclass(frozen=True)
class Mesh:
    """Tetrahedra, each with four faces: `neighbours[face, element]`, and outward normals as long as a face is large."""

    neighbours: NDArray[np.int32]
    normals: NDArray[np.float32]  # [face, axis, element]

    def __len__(self) -> int:
        return len(self.neighbours[0])


def make_mesh(side: int, seed: int) -> Mesh:
    """Six tetrahedra for each of `side` x `side` x `side` cells, whose corners are moved at random."""
    corners = _tetrahedra(side)
    positions = _positions(side, seed)
    normals = np.empty((4, 3, len(corners)), np.float32)
    centres = positions[corners].mean(axis=1)
    for face in range(4):
        a, b, c = (positions[corners[:, other]] for other in range(4) if other != face)
        normal = np.cross(b - a, c - a) / 2
        normal[np.einsum("ei,ei->e", normal, a - centres) < 0] *= -1
        normals[face] = normal.T
    return Mesh(_neighbours(corners, side), normals)


def _tetrahedra(side: int) -> NDArray[np.int32]:
    """The corners of all tetrahedra: in each cell, the six paths along edges from one corner to the opposite one."""
    steps = (1, side + 1, (side + 1) ** 2)
    ways = [np.cumsum([0, *(steps[axis] for axis in order)]) for order in itertools.permutations(range(3))]
    z, y, x = np.meshgrid(*[np.arange(side)] * 3, indexing="ij")
    first = (z * steps[2] + y * steps[1] + x * steps[0]).reshape(-1, 1, 1)
    corners: NDArray[np.int32] = (first + np.array(ways)).reshape(-1, 4).astype(np.int32)
    return corners


def _positions(side: int, seed: int) -> NDArray[np.float64]:
    """The positions of all vertices. Those on the surface are not moved."""
    grid = np.stack(np.meshgrid(*[np.arange(side + 1)] * 3, indexing="ij")[::-1], axis=-1).reshape(-1, 3)
    inside = ((grid > 0) & (grid < side)).all(axis=1)
    moved = np.random.default_rng(seed).uniform(-_JITTER, _JITTER, (int(inside.sum()), 3))
    positions = grid.astype(np.float64)
    positions[inside] += moved
    return positions / side


def _neighbours(corners: NDArray[np.int32], side: int) -> NDArray[np.int32]:
    """The element beyond each face. Where the mesh ends it is a wall below and above, and the far field elsewhere."""
    elements, vertices = len(corners), (side + 1) ** 3
    layer = corners // (side + 1) ** 2
    result = np.full((4, elements), FAR_FIELD, np.int32)
    keys = np.empty((4, elements), np.int64)
    for face in range(4):
        others = [corner for corner in range(4) if corner != face]
        a, b, c = np.sort(corners[:, others], axis=1).astype(np.int64).T
        keys[face] = (a * vertices + b) * vertices + c
        at_wall = (layer[:, others] == 0).all(axis=1) | (layer[:, others] == side).all(axis=1)
        result[face, at_wall] = WALL
    # A face between two elements occurs twice.
    order = np.argsort(keys, axis=None)
    ordered = keys.reshape(-1)[order]
    twice = np.flatnonzero(ordered[:-1] == ordered[1:])
    one, other = order[twice], order[twice + 1]
    flat = result.reshape(-1)
    flat[one], flat[other] = other % elements, one % elements
    return result
