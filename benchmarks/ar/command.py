"""The command `python -m benchmarks.ar`. It starts its servers itself, because they must read its video."""

from __future__ import annotations

import argparse
from collections.abc import Sequence

from remotecl._cli.options import count, positive

from ..options import add_seed_and_json, words
from . import run
from .links import LINKS
from .pipelines import CONFIGURATIONS
from .video import CODECS


def parser() -> argparse.ArgumentParser:
    """Its options."""
    ar = argparse.ArgumentParser(
        prog="python -m benchmarks.ar",
        description="Decodes a video that holds a point cloud, sorts its points for a viewer who moves, and draws "
        "them: on a weak client alone, and with servers that take over more and more of it. Starts its servers itself.",
    )
    ar.add_argument(
        "--link", type=words(tuple(LINKS)), default=[], metavar="LINK,...",
        help="between client and servers: 1g (1 Gbit/s, 1 ms), 100m (100 Mbit/s, 5 ms) or 20m (20 Mbit/s, 30 ms, "
        "1 %% of packets later), in network namespaces if this user is root (default: loopback)",
    )  # fmt: skip
    ar.add_argument(
        "--configurations", type=words(CONFIGURATIONS), default=list(CONFIGURATIONS), metavar="NAME,...",
        help=f"{', '.join(CONFIGURATIONS)} (default: all)",
    )  # fmt: skip
    ar.add_argument(
        "--patch", type=_power_of_two, default=256, metavar="ROWS",
        help="of each of the six sides of the point cloud, a power of two (default: 256)",
    )  # fmt: skip
    ar.add_argument(
        "--pixels", type=count, default=256, metavar="N", help="rows and columns of a picture (default: 256)"
    )
    ar.add_argument("--frames", type=count, default=30, metavar="N", help="of the video, a loop (default: 30)")
    ar.add_argument("--in-flight", type=count, default=4, metavar="N", help="frames on their way at once (default: 4)")
    ar.add_argument(
        "--seconds", type=positive, default=8.0, metavar="S", help="how long each row is measured (default: 8)"
    )
    ar.add_argument(
        "--client-part", type=positive, default=0.1, metavar="PART", help="of a core, for the client (default: 0.1)"
    )
    ar.add_argument("--codec", choices=CODECS, default="h264", help="of the video (default: h264)")
    add_seed_and_json(ar, "the video")
    return ar


def main(arguments: Sequence[str] | None = None) -> int:
    """Runs the command and returns its exit code.

    Raises:
        RemoteCLError: see `run.main`.
        ServerStartError: a server did not start.
    """
    options = parser().parse_args(arguments)
    return run.main(
        options.link,
        configurations=options.configurations,
        patch=options.patch,
        pixels=options.pixels,
        frames=options.frames,
        in_flight=options.in_flight,
        seconds=options.seconds,
        client_part=options.client_part,
        codec=options.codec,
        seed=options.seed,
        json_file=options.json,
    )


def _power_of_two(text: str) -> int:
    number = int(text)
    if number < 16 or number & (number - 1):
        raise argparse.ArgumentTypeError("it must be a power of two, at least 16")
    return number
