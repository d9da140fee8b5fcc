"""A base for objects that are stopped at the end of a ``with`` block."""

from __future__ import annotations

from abc import ABC, abstractmethod
from types import TracebackType
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from typing_extensions import Self  # typing has it from Python 3.11 on


class Stoppable(ABC):
    """A context manager that stops itself."""

    @abstractmethod
    def stop(self) -> object:
        """Ends it. Calling it again does nothing."""

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.stop()
