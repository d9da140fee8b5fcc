"""Probes in processes of their own, so that a driver that crashes or hangs affects nothing else."""

from __future__ import annotations

import json
import signal
import subprocess
import sys
import tempfile
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

OPENCL_PROBE = Path(__file__).with_name("opencl.py")


class ProbeError(Exception):
    """A probe did not answer; the text says how it ended."""


def ask(arguments: Sequence[str], environment: Mapping[str, str], timeout_s: float) -> dict[str, Any]:
    """The answer of a probe. `arguments` are the interpreter's; the descriptor for the answer is appended."""
    # A file, because drivers print to the standard output.
    with tempfile.TemporaryFile() as answer:
        descriptor = answer.fileno()
        command = [sys.executable, *arguments, str(descriptor)]
        try:
            ended = subprocess.run(
                command,
                env=dict(environment),
                pass_fds=[descriptor],
                stdin=subprocess.DEVNULL,
                capture_output=True,
                text=True,
                errors="replace",
                timeout=timeout_s,
                check=False,
            )
        except subprocess.TimeoutExpired:
            raise ProbeError(f"did not end within {timeout_s:g} s") from None
        if ended.returncode < 0:
            raise ProbeError(f"crashed ({_signal_name(-ended.returncode)}){_last_words(ended.stderr)}")
        answer.seek(0)
        text = answer.read()
    if not text:
        raise ProbeError(f"ended with exit code {ended.returncode}{_last_words(ended.stderr)}")
    result: dict[str, Any] = json.loads(text)
    result["stderr"] = ended.stderr
    return result


def probe(name: str, *arguments: str) -> list[str]:
    """The interpreter's arguments for one of the probes in `probes`, in a process that imports remotecl."""
    return ["-W", "ignore", "-m", "remotecl.doctor.probes", name, *arguments]


def opencl_probe(*arguments: str) -> list[str]:
    """The arguments for the probe of one native driver, in a process that does not import remotecl."""
    return ["-I", str(OPENCL_PROBE), *arguments]


def _signal_name(number: int) -> str:
    try:
        return signal.Signals(number).name
    except ValueError:
        return f"signal {number}"


def _last_words(text: str) -> str:
    lines = [line.strip() for line in text.splitlines() if line.strip()]
    return f": {lines[-1][:300]}" if lines else ""
