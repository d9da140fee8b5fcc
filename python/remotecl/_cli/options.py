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


def output_file(text: str) -> str:
    """A file that can be written, as far as can be seen before the work begins."""
    file = Path(text)
    place = file if file.exists() else f"{file.parent}/"
    if file.is_dir() or not os.access(place, os.W_OK):
        raise argparse.ArgumentTypeError(f"{text} cannot be written")
    return text


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
