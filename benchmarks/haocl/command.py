"""The command `python -m benchmarks.haocl`."""

from __future__ import annotations

import argparse
from collections.abc import Sequence

from remotecl._cli.options import add_servers, count, positive
from remotecl._connect.connection import named_servers

from ..options import add_seed_and_json, counts, one_of
from . import run


def parser() -> argparse.ArgumentParser:
    """Its options."""
    haocl = argparse.ArgumentParser(
        prog="python -m benchmarks.haocl",
        description="Runs the five applications of HaoCL's evaluation on servers' devices and on a native one, and "
        "checks every result with NumPy or SciPy.",
    )
    haocl.add_argument(
        "names",
        nargs="*",
        type=one_of("application", run.NAMES),
        metavar="APPLICATION",
        help=f"{', '.join(run.NAMES)} (default: all of them)",
    )
    add_servers(haocl, "none starts daemons on loopback: as many as --devices asks for, or two")
    haocl.add_argument(
        "--devices",
        type=counts,
        default=[],
        metavar="COUNTS",
        help="how many to use, one number after the other: 1..4 or 1,2,4 (default: 1 to all)",
    )
    haocl.add_argument(
        "--scale",
        type=positive,
        default=0.01,
        help="of the data (default: 0.01); 1 is that of the evaluation: 760 MB, 800 MB, 100 MB, 240 MB and 1.1 GB",
    )
    haocl.add_argument(
        "--sizes", type=counts, default=[], metavar="COUNTS", help="matmul's matrices instead: 1000..10000:1000"
    )
    haocl.add_argument(
        "--repetitions", type=count, default=3, metavar="N", help="of each run; the fastest counts (default: 3)"
    )
    add_seed_and_json(haocl, "the data")
    return haocl


def main(arguments: Sequence[str] | None = None) -> int:
    """Runs the command and returns its exit code.

    Raises:
        RemoteCLError: see `run.main`.
    """
    options = parser().parse_args(arguments)
    return run.main(
        options.names,
        named_servers(options.servers),
        devices=options.devices,
        scale=options.scale,
        sizes=options.sizes,
        seed=options.seed,
        repetitions=options.repetitions,
        json_file=options.json,
    )
