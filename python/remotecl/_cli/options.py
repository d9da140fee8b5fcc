"""Options that several subcommands have, and what their values may be."""

from __future__ import annotations

import argparse
import os
from collections.abc import Sequence
from pathlib import Path

CONFIGURED = "none takes those in REMOTECL_SERVERS, else the configuration's default"


def add_servers(parser: argparse._ActionsContainer, otherwise: str, default: Sequence[str] | str = ()) -> None:
    """Adds ``--servers``; `otherwise` says what happens without it."""
    parser.add_argument(
        "--servers",
        type=lambda text: [name.strip() for name in text.split(",") if name.strip()],
        default=default,
        metavar="HOST[:PORT],...",
        help=f"servers to use, or names and @groups of the configuration; {otherwise}",
    )


def count(text: str) -> int:
    """A number of things, at least one."""
    number = int(text)
    if number < 1:
        raise argparse.ArgumentTypeError("it must be at least 1")
    return number


def seed(text: str) -> int:
    """What random data comes from."""
    number = int(text)
    if number < 0:
        raise argparse.ArgumentTypeError("it must be at least 0")
    return number


def output_file(text: str) -> str:
    """A file that can be written, as far as can be seen before the work begins."""
    file = Path(text)
    place = file if file.exists() else f"{file.parent}/"
    if file.is_dir() or not os.access(place, os.W_OK):
        raise argparse.ArgumentTypeError(f"{text} cannot be written")
    return text


def counts(text: str) -> list[int]:
    """Several of them: ``1,2,4``, ``1..4`` or ``1000..10000:1000``."""
    numbers: list[int] = []
    for part in text.split(","):
        first, dots, rest = part.partition("..")
        last, _, step = rest.partition(":")
        numbers += range(count(first), count(last) + 1, count(step or "1")) if dots else [count(first)]
    if not numbers:
        raise argparse.ArgumentTypeError(f"{text} has no number in it")
    return numbers


def positive(text: str) -> float:
    """A number above zero."""
    number = float(text)
    if not 0 < number < float("inf"):
        raise argparse.ArgumentTypeError("it must be more than 0")
    return number


def matrix_size(text: str) -> int:
    """Rows of a matrix for `remotecl demo`."""
    size = int(text)
    if size <= 0 or size % 16:
        raise argparse.ArgumentTypeError("it must be a positive multiple of 16")
    return size
