"""What the catalogue says about a program, and how its outputs are compared."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field

# A program that times its own work prints such a line, which is no part of its result.
SECONDS = re.compile(r"^seconds: ([\d.e+-]+)$", re.MULTILINE)
NUMBER = re.compile(r"[-+]?(?:\d+\.?\d*|\.\d+)(?:[eE][-+]?\d+)?")


@dataclass(frozen=True)
class Program:
    """One program of Debian or PyPI, or a few lines that use one of their libraries.

    Args:
        does: what it computes, in a few words.
        command: a shell's command, run in an empty folder. `python` is the virtual environment's; $SOURCES is the
            folder `sources`, $BUILT the one that `build` fills, and $DEVICE_TYPE is CPU or GPU.
        debian: Debian packages.
        pypi: what pip installs.
        venv: the virtual environment that it goes into; programs that get on with each other share one.
        build: a shell's command, run once.
        settings: environment variables.
        check: what is compared: "same" output, "close" numbers in the same text, or "own", where the program checks
            itself and `says` what it prints then.
        tolerance: for close numbers, relative to the larger one.
        says: a regular expression that each output must have in it.
        ignore: a regular expression; lines with it are not compared.
        two: the command on two servers, if the program can use several devices.
        idle: whether it only looks at devices, so that servers carry out nothing.
        missing: why it is listed but does not run.
        limit_s: what one run may take.
        short: whether it is one of the dozen of make programs-short.
    """

    name: str
    does: str
    command: str = ""
    debian: tuple[str, ...] = ()
    pypi: tuple[str, ...] = ()
    venv: str = "common"
    build: str = ""
    settings: Mapping[str, str] = field(default_factory=dict)
    check: str = "same"
    tolerance: float = 1e-4
    says: str = ""
    ignore: str = ""
    two: str = ""
    idle: bool = False
    missing: str = ""
    limit_s: float = 180.0
    short: bool = False


def work_seconds(output: str) -> float | None:
    """The time of a program's work without its start, if it says that."""
    found = SECONDS.search(output)
    return float(found[1]) if found else None


def problem_of(program: Program, output: str) -> str:
    """Why this output cannot be right; empty if it may be."""
    if program.says and not re.search(program.says, output):
        return f"does not print /{program.says}/: {last_line(output)}"
    return ""


def difference(program: Program, native: str, remote: str) -> str:
    """How two outputs of a program differ; empty if they agree."""
    if program.check == "own":
        return ""
    ours, theirs = (_compared(program, output) for output in (remote, native))
    for line, expected in zip(ours, theirs, strict=False):
        if line != expected and not (program.check == "close" and _are_close(line, expected, program.tolerance)):
            return f"prints {line[:100]!r}, natively {expected[:100]!r}"
    return "" if len(ours) == len(theirs) else f"prints {len(ours)} lines, natively {len(theirs)}"


def last_line(output: str) -> str:
    """What a program said last."""
    lines = [line.strip() for line in output.splitlines() if line.strip()]
    return lines[-1][:300] if lines else "(nothing)"


def _compared(program: Program, output: str) -> list[str]:
    lines = (line.rstrip() for line in output.splitlines())
    return [
        line
        for line in lines
        if line and not SECONDS.match(line) and not (program.ignore and re.search(program.ignore, line))
    ]


def _are_close(line: str, expected: str, tolerance: float) -> bool:
    if NUMBER.sub("#", line) != NUMBER.sub("#", expected):
        return False
    pairs = zip(map(float, NUMBER.findall(line)), map(float, NUMBER.findall(expected)), strict=True)
    return all(abs(one - other) <= tolerance * max(abs(one), abs(other)) for one, other in pairs)
