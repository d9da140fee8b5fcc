"""OpenCL's error codes as PyOpenCL's exceptions."""

from __future__ import annotations

from typing import Any


class _Refusal:
    """The argument of a ``pyopencl.Error``, which gives it its `code` and `routine`."""

    def __init__(self, code: int, routine: str) -> None:
        self._code = code
        self._routine = routine

    def code(self) -> int:
        return self._code

    def routine(self) -> str:
        return self._routine

    def what(self) -> str:
        return ""


def check(cl: Any, code: int, routine: str) -> None:  # noqa: ANN401
    """Raises the exception that PyOpenCL, the module `cl`, has for this result of `routine`; none for success."""
    if code == cl.status_code.SUCCESS:
        return
    no_memory = (cl.status_code.MEM_OBJECT_ALLOCATION_FAILURE, cl.status_code.OUT_OF_HOST_MEMORY)
    raise (cl.MemoryError if code in no_memory else cl.RuntimeError)(_Refusal(code, routine))
