"""What the five applications have in common."""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import Any, ClassVar

from numpy.typing import NDArray

from .machine import Clock, Machine


class Application(ABC):
    """An application and its data, which the constructor makes.

    Args:
        scale: 1 for as much data as in HaoCL's evaluation, which is `PAPER_BYTES`.
        seed: of the data.

    Attributes:
        size: its data's dimensions, for example ``{"n": 1000}``.
        bytes: of its input and its result.
    """

    NAME: ClassVar[str]
    PAPER_BYTES: ClassVar[int]
    size: dict[str, int]
    bytes: int

    @abstractmethod
    def __init__(self, scale: float, seed: int) -> None: ...

    @abstractmethod
    def prepare(self, machine: Machine) -> Plan:
        """Builds its kernels and divides its work; neither is part of the times."""

    @abstractmethod
    def problem(self, result: NDArray[Any]) -> str:
        """What is wrong with a result, checked by NumPy or SciPy; empty if it is right."""


class Plan(ABC):
    """An application that is ready to run on a machine, any number of times.

    Attributes:
        shares: how many of its rows, vertices or elements each device has.
    """

    shares: list[int]

    @abstractmethod
    def run(self, clock: Clock) -> NDArray[Any]:
        """Sends the data, computes, and returns the result."""
