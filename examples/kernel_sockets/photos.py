"""Faces that nobody has: photos of people, who differ in the shape and skin of their faces, made from a seed."""

from __future__ import annotations

import functools

import numpy as np

SIDE = 64


@functools.cache
def photo(person: int, occasion: int, seed: int = 0) -> np.ndarray:
    """A photo of a person, shape (64, 64), uint8, read-only: the same for the same numbers.

    Photos of one person differ in light, in the place within the picture, in expression and in noise.
    """
    who = np.random.default_rng([seed, person])
    when = np.random.default_rng([seed, person, occasion])
    y, x = np.mgrid[0:SIDE, 0:SIDE].astype(np.float64)
    x, y = x - SIDE / 2 + when.uniform(-0.4, 0.4), y - SIDE / 2 + when.uniform(-0.4, 0.4)

    def spot(at_x: float, at_y: float, width: float, height: float) -> np.ndarray:
        return np.exp(-(((x - at_x) / width) ** 2) - ((y - at_y) / height) ** 2)

    width, height = who.uniform(19, 25), who.uniform(25, 30)
    skin = who.uniform(120, 200)
    face = 1 / (1 + np.exp(12 * ((x / width) ** 2 + (y / height) ** 2 - 1)))
    picture = 60 + (skin - 60) * face + _skin(who, x, y) * face
    eye_y, eye_x, eye = who.uniform(-10, -5), who.uniform(7, 11), who.uniform(2.0, 3.5)
    brow, mouth_y, mouth = who.uniform(4, 7), who.uniform(10, 15), who.uniform(5, 9)
    smile = when.uniform(-0.3, 0.3)
    for side in (-1, 1):
        picture -= 90 * spot(side * eye_x, eye_y, eye, eye * 0.7)
        picture -= 60 * spot(side * eye_x, eye_y - brow, eye * 1.8, 1.2)
        picture -= 40 * spot(side * mouth * 0.8, mouth_y - smile, 2.0, 1.2)
    picture -= 70 * spot(0, mouth_y, mouth, 1.5) + 35 * spot(who.uniform(-1, 1), who.uniform(1, 4), 2.0, 5.0)
    hair = who.uniform(-26, -17) + who.uniform(0, 3) * np.sin(x / who.uniform(4, 9))
    picture -= who.uniform(40, 90) / (1 + np.exp(y - hair))
    light = when.uniform(0.85, 1.15) * (1 + when.uniform(-0.004, 0.004) * x)
    result = np.clip(picture * light + when.normal(0, 0.6, picture.shape), 0, 255).astype(np.uint8)
    result.flags.writeable = False
    return result


def _skin(who: np.random.Generator, x: np.ndarray, y: np.ndarray) -> np.ndarray:
    """Wrinkles, beard and freckles: waves of many directions, which are a person's own."""
    waves = np.zeros_like(x)
    for _ in range(24):
        angle, length = who.uniform(0, 2 * np.pi), who.uniform(4, 14)
        waves += np.sin((x * np.cos(angle) + y * np.sin(angle)) * 2 * np.pi / length + who.uniform(0, 2 * np.pi))
    return 5 * waves
