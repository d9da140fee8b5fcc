"""What values of the commands' options may be, besides those of `remotecl`'s own options."""

from __future__ import annotations

import argparse
from collections.abc import Callable, Sequence

from remotecl._cli.options import count, output_file


def add_seed_and_json(parser: argparse.ArgumentParser, of_what: str) -> None:
    """Adds the options that all have."""
    parser.add_argument("--seed", type=seed, default=0, help=f"of {of_what} (default: 0)")
    parser.add_argument("--json", type=output_file, metavar="FILE", help="write the results there too")


def seed(text: str) -> int:
    """What random data comes from."""
    number = int(text)
    if number < 0:
        raise argparse.ArgumentTypeError("it must be at least 0")
    return number


def counts(text: str) -> list[int]:
    """Several numbers of things: ``1,2,4``, ``1..4`` or ``1000..10000:1000``."""
    numbers: list[int] = []
    for part in text.split(","):
        first, dots, rest = part.partition("..")
        last, _, step = rest.partition(":")
        numbers += range(count(first), count(last) + 1, count(step or "1")) if dots else [count(first)]
    if not numbers:
        raise argparse.ArgumentTypeError(f"{text} has no number in it")
    return numbers


def one_of(what: str, known: Sequence[str]) -> Callable[[str], str]:
    """A parser of one of these names. With `choices`, argparse would refuse to be given none."""

    def read(text: str) -> str:
        if text not in known:
            raise argparse.ArgumentTypeError(f"no {what} is named {text!r}; there are {', '.join(known)}")
        return text

    return read


def words(allowed: Sequence[str]) -> Callable[[str], list[str]]:
    """A parser of an option whose value is several of these words, separated by commas."""

    def read(text: str) -> list[str]:
        found = text.split(",")
        if unknown := [word for word in found if word not in allowed]:
            raise argparse.ArgumentTypeError(f"{unknown[0]!r} is none of {', '.join(allowed)}")
        return found

    return read
