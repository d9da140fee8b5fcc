"""The subcommand `remotecl bench`, and `remotecl bench haocl`."""

from __future__ import annotations

import argparse
import importlib.util

from .._connect.connection import import_pyopencl, named_servers
from ..errors import RemoteCLError
from .options import add_servers, count, counts, positive

_APPLICATIONS = ("matmul", "cfd", "knn", "bfs", "spmv")


def add(commands: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
    """Adds it to the parser."""
    bench = commands.add_parser(
        "bench",
        help="measure native driver, raw TCP and remotecl",
        description="Measures commands and transfers; `bench haocl` measures applications.",
    )
    add_servers(bench, "none starts daemons on loopback: one, and four for the rows that need several")
    bench.add_argument("--json", metavar="FILE", help="write the results there too")
    bench.add_argument(
        "--rows", choices=["all", "one", "several"], default="all", help="only those that take one server, or several"
    )
    bench.add_argument("--only", metavar="NAME,...", help="only these rows, by name or beginning of a name")
    bench.add_argument("--quick", action="store_true", help="far fewer repetitions")
    bench.add_argument("--list", action="store_true", help="print the names of all rows")
    bench.add_argument("--device", metavar="INDEX", help="of the remote device to measure")
    bench.add_argument(
        "--native-platform", metavar="NAME", help="a part of the name of the one to compare with, if not the server's"
    )
    bench.set_defaults(run=_bench)
    _add_haocl(bench.add_subparsers(metavar="haocl"))


def _add_haocl(kinds: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
    haocl = kinds.add_parser(
        "haocl",
        help="run five applications on one device, on several and natively, and check them",
        description="Runs the five applications of HaoCL's evaluation on servers' devices and on a native one, and "
        "checks every result with NumPy or SciPy.",
    )
    # With `choices`, argparse refuses to be given none.
    haocl.add_argument(
        "names", nargs="*", metavar="APPLICATION", help=f"{', '.join(_APPLICATIONS)} (default: all of them)"
    )
    # What stands before the word haocl holds as well, which other defaults would replace.
    otherwise = "none starts daemons on loopback: as many as --devices asks for, or two"
    add_servers(haocl, otherwise, default=argparse.SUPPRESS)
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
    haocl.add_argument("--seed", type=int, default=0, help="of the data (default: 0)")
    haocl.add_argument(
        "--repetitions", type=count, default=3, metavar="N", help="of each run; the fastest counts (default: 3)"
    )
    haocl.add_argument("--json", metavar="FILE", default=argparse.SUPPRESS, help="write the results there too")
    haocl.set_defaults(run=_haocl)


def _bench(options: argparse.Namespace) -> int:
    from .. import bench

    values = {"--only": options.only, "--device": options.device, "--native-platform": options.native_platform}
    arguments = [word for name, value in values.items() if value is not None for word in (name, value)]
    arguments += [name for name, given in (("--quick", options.quick), ("--list", options.list)) if given]
    return bench.run(named_servers(options.servers), arguments, rows=options.rows, json_file=options.json)


def _haocl(options: argparse.Namespace) -> int:
    import_pyopencl()
    if importlib.util.find_spec("numpy") is None:
        raise RemoteCLError("the applications need NumPy, which is not installed: pip install numpy")
    if unknown := [name for name in options.names if name not in _APPLICATIONS]:
        raise RemoteCLError(f"no application is named {unknown[0]!r}; there are {', '.join(_APPLICATIONS)}")
    from ..bench import haocl

    return haocl.main(
        options.names,
        named_servers(options.servers),
        devices=options.devices,
        scale=options.scale,
        sizes=options.sizes,
        seed=options.seed,
        repetitions=options.repetitions,
        json_file=options.json,
    )
