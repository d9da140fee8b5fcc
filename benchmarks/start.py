"""Starts a benchmark's command, or says what it needs and this Python has not."""

from __future__ import annotations

import importlib
import sys
from collections.abc import Sequence
from importlib.util import find_spec

_REMEDIES = {
    "remotecl": "`make package`, and then .venv/bin/python; or pip install '.[bench]'",
    "numpy": "pip install numpy",
}


def start(package: str, arguments: Sequence[str] | None = None) -> int:
    """Runs `package`'s module `command` and returns its exit code; nothing is imported before it is known to be there.

    Args:
        package: of a benchmark.
        arguments: of its command; None takes those of the process.
    """
    for module, remedy in _REMEDIES.items():
        if find_spec(module) is None:
            print(f"{package} needs {module}, which is not installed: {remedy}", file=sys.stderr)
            return 1
    from remotecl import RemoteCLError
    from remotecl._connect.connection import import_pyopencl

    try:
        import_pyopencl()
        code: int = importlib.import_module(f"{package}.command").main(arguments)
    except RemoteCLError as error:
        print(f"{package}: {error}", file=sys.stderr)
        return 1
    return code
