"""Where the viewer is."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

# Floats of a pose: the position, and a 4x4 matrix from there to clip coordinates, row after row.
POSE_FLOATS = 20
_DISTANCE, _HEIGHT, _ZOOM = 2.6, 0.7, 2.2
_FRAMES_OF_A_ROUND = 120


def pose(frame: int) -> NDArray[np.float32]:
    """The pose of a viewer who walks around the origin: float32 [`POSE_FLOATS`]."""
    angle = 2 * np.pi * frame / _FRAMES_OF_A_ROUND
    eye = np.array([_DISTANCE * np.sin(angle), _HEIGHT + 0.3 * np.sin(3 * angle), _DISTANCE * np.cos(angle)])
    back = eye / np.linalg.norm(eye)
    right = np.cross([0, 1, 0], back)
    right /= np.linalg.norm(right)
    view = np.eye(4)
    view[:3, :3] = right, np.cross(back, right), back
    view[:3, 3] = -view[:3, :3] @ eye
    projection = np.diag([_ZOOM, _ZOOM, 1, 0])
    projection[3, 2] = -1
    return np.concatenate([eye, [1], (projection @ view).ravel()]).astype(np.float32)
