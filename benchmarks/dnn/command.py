"""The command `python -m benchmarks.dnn`."""

from __future__ import annotations

import argparse
import itertools
from collections.abc import Sequence

from remotecl._cli.options import add_servers, count, positive
from remotecl._connect.connection import named_servers

from ..options import add_seed_and_json, counts, one_of, words
from . import run
from .machine import KERNELS, Options
from .places import PLACES

_LAYOUTS = ("batched", "images")


def parser() -> argparse.ArgumentParser:
    """Its options."""
    dnn = argparse.ArgumentParser(
        prog="python -m benchmarks.dnn",
        description="Trains networks as Caffe does, with the optimisations of OpenCL Caffe one after the other. "
        "--kernels, --layout and --queues choose others: all combinations of their values.",
    )
    dnn.add_argument(
        "names", nargs="*", type=one_of("network", run.NAMES), metavar="NETWORK",
        help=f"{', '.join(run.NAMES)} (default: all but alexnet)",
    )  # fmt: skip
    add_servers(dnn, "none starts daemons on loopback")
    dnn.add_argument(
        "--places", type=words(PLACES), default=list(PLACES), metavar="PLACE,...",
        help=f"where to train: {', '.join(PLACES)} (default: all); far is the server behind a slow link",
    )  # fmt: skip
    dnn.add_argument(
        "--kernels", type=words(KERNELS), default=[], metavar="KIND,...",
        help="cached, rebuilt in each pass of a layer, which drivers may remember, or really compiled there",
    )  # fmt: skip
    dnn.add_argument(
        "--layout", type=words(_LAYOUTS), default=[], metavar="KIND,...",
        help="one matrix product for a batch, or one for each of its images",
    )  # fmt: skip
    dnn.add_argument("--queues", type=counts, default=[], metavar="COUNTS", help="how many a device has: 1,2")
    dnn.add_argument("--batch", type=count, metavar="N", help="images of a step (default: 64 for lenet, else 100)")
    dnn.add_argument(
        "--steps", type=count, metavar="N",
        help="steps that are measured (default: 5; 2 with rebuilt kernels, and 1 with compiled ones)",
    )  # fmt: skip
    dnn.add_argument(
        "--devices", type=count, default=1, metavar="N", help="train on so many devices at once, too (default: 1)"
    )
    dnn.add_argument(
        "--delay-ms", type=positive, default=1.0, metavar="MS", help="of the far link, each way (default: 1)"
    )
    dnn.add_argument("--gbit", type=positive, default=1.0, metavar="RATE", help="of the far link, Gbit/s (default: 1)")
    add_seed_and_json(dnn, "data and weights")
    return dnn


def main(arguments: Sequence[str] | None = None) -> int:
    """Runs the command and returns its exit code.

    Raises:
        RemoteCLError: see `run.main`.
    """
    options = parser().parse_args(arguments)
    chosen = []
    if options.kernels or options.layout or options.queues:
        values = (options.kernels or KERNELS[:1], options.layout or _LAYOUTS[:1], options.queues or [1])
        chosen = [
            Options(kernels, layout == "batched", queues) for kernels, layout, queues in itertools.product(*values)
        ]
    return run.main(
        options.names,
        named_servers(options.servers),
        where=options.places,
        options=chosen,
        batch=options.batch,
        steps=options.steps,
        devices=options.devices,
        delay_ms=options.delay_ms,
        gbit_per_s=options.gbit,
        seed=options.seed,
        json_file=options.json,
    )
