"""The subcommand `remotecl bench`."""

from __future__ import annotations

import argparse
from collections.abc import Sequence

from .._connect.connection import named_servers
from .options import add_servers, output_file

_MOVED = ("haocl", "dnn", "ar")


def add(commands: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
    """Adds the subcommand to the parser."""
    bench = commands.add_parser(
        "bench",
        help="measure native driver, raw TCP and remotecl",
        description="Measures commands and transfers.",
    )
    bench.add_argument("word", nargs="?", action=_Moved, help=argparse.SUPPRESS)
    add_servers(bench, "none starts daemons on loopback: one, and four for the rows that need several")
    bench.add_argument("--json", type=output_file, metavar="FILE", help="write the results there too")
    bench.add_argument(
        "--rows",
        choices=["all", "one", "several", "tcp"],
        default="all",
        help="only those that take one server, or several, or those without shared memory",
    )
    bench.add_argument("--only", metavar="NAME,...", help="only these rows, by name or beginning of a name")
    bench.add_argument("--quick", action="store_true", help="far fewer repetitions")
    bench.add_argument("--list", action="store_true", help="print the names of all rows")
    bench.add_argument("--device", metavar="INDEX", help="of the remote device to measure")
    bench.add_argument(
        "--native-platform", metavar="NAME", help="a part of the name of the one to compare with, if not the server's"
    )
    bench.set_defaults(run=_bench)


class _Moved(argparse.Action):
    """A word after `bench`, which takes none: says where those are that it once took."""

    def __call__(
        self,
        parser: argparse.ArgumentParser,
        namespace: argparse.Namespace,
        values: str | Sequence[object] | None,
        option: str | None = None,
    ) -> None:
        if values in _MOVED:
            parser.exit(2, f"remotecl: `bench {values}` is now `python -m benchmarks.{values}` in the checkout\n")
        if values is not None:
            parser.error(f"unrecognized arguments: {values}")


def _bench(options: argparse.Namespace) -> int:
    from .. import bench

    values = {"--only": options.only, "--device": options.device, "--native-platform": options.native_platform}
    arguments = [word for name, value in values.items() if value is not None for word in (name, value)]
    arguments += [name for name, given in (("--quick", options.quick), ("--list", options.list)) if given]
    return bench.run(named_servers(options.servers), arguments, rows=options.rows, json_file=options.json)
