"""The gas of the Euler solver: its constants, how it begins, and the same solver in NumPy and float64."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from .mesh import FAR_FIELD, WALL, Mesh

GAMMA = 1.4
COURANT = 0.5  # a quarter of what is stable
_MACH = 0.5
_DENSITY = GAMMA  # with a pressure of 1 the speed of sound is 1
_FAR = np.array([_DENSITY, _DENSITY * _MACH, 0, 0, 1 / (GAMMA - 1) + _DENSITY * _MACH**2 / 2])
_BLOCK = 1 << 15

State = NDArray[np.float64]  # [variable, element]: density, momentum (3), energy


def constants() -> str:
    """Macros for the kernels."""
    values = {
        "GAMMA": GAMMA,
        "COURANT": COURANT,
        "FAR_DENSITY": _FAR[0],
        "FAR_MOMENTUM": _FAR[1],
        "FAR_ENERGY": _FAR[4],
    }
    lines = [f"#define {name} {float(value)!r}f" for name, value in values.items()]
    return "\n".join([*lines, f"#define WALL {WALL}", ""])


def first_states(elements: int, side: int) -> NDArray[np.float32]:
    """The far field's gas, denser and under more pressure around the middle."""
    cell = np.arange(elements) // 6
    places = np.stack([cell % side, cell // side % side, cell // side**2]) / side - 0.5
    blob = 0.5 * np.exp(-20 * (places**2).sum(axis=0))
    states = np.tile(_FAR[:, None], (1, elements))
    states[:4] *= 1 + blob
    states[4] *= 1 + blob
    return states.astype(np.float32)


def solve(mesh: Mesh, states: NDArray[np.float32], steps: int, stages: int) -> State:
    """The states after so many steps, each of several stages."""
    now: State = states.astype(np.float64)
    for _ in range(steps):
        before = now
        step = _steps(mesh, before)
        for stage in range(stages):
            following = np.empty_like(now)
            for first in range(0, len(mesh), _BLOCK):
                block = slice(first, first + _BLOCK)
                following[:, block] = before[:, block] + step[block] / (stages - stage) * _changes(mesh, now, block)
            now = following
    return now


def _steps(mesh: Mesh, states: State) -> NDArray[np.float64]:
    speeds = np.zeros(len(mesh))
    for normal in mesh.normals:
        speeds += _speed(states, normal.astype(np.float64))
    return COURANT / speeds


def _changes(mesh: Mesh, states: State, block: slice) -> State:
    own = states[:, block]
    change = np.zeros_like(own)
    for neighbours, normals in zip(mesh.neighbours[:, block], mesh.normals[:, :, block], strict=True):
        normal = normals.astype(np.float64)
        other = states[:, neighbours]
        other[:, neighbours == FAR_FIELD] = _FAR[:, None]
        speed = np.maximum(_speed(own, normal), _speed(other, normal))
        through = (_flux(own, normal) + _flux(other, normal) - speed * (other - own)) / 2
        wall = neighbours == WALL
        through[:, wall] = 0
        through[1:4, wall] = _pressure(own[:, wall]) * normal[:, wall]
        change -= through
    return change


def _pressure(states: State) -> NDArray[np.float64]:
    result: NDArray[np.float64] = (GAMMA - 1) * (states[4] - (states[1:4] ** 2).sum(axis=0) / (2 * states[0]))
    return result


def _speed(states: State, normal: NDArray[np.float64]) -> NDArray[np.float64]:
    sound = np.sqrt(GAMMA * _pressure(states) / states[0])
    across = np.abs((states[1:4] * normal).sum(axis=0)) / states[0]
    speed: NDArray[np.float64] = across + sound * np.sqrt((normal**2).sum(axis=0))
    return speed


def _flux(states: State, normal: NDArray[np.float64]) -> State:
    volume = (states[1:4] * normal).sum(axis=0) / states[0]
    pressure = _pressure(states)
    flux: State = states * volume
    flux[1:4] += pressure * normal
    flux[4] += pressure * volume
    return flux
