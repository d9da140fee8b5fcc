"""The subcommand `remotecl bench`, with `remotecl bench haocl` and `remotecl bench dnn`."""

from __future__ import annotations

import argparse
import importlib.util
import itertools
from collections.abc import Callable, Sequence

from .._connect.connection import import_pyopencl, named_servers
from ..errors import RemoteCLError
from .options import add_servers, count, counts, positive

_APPLICATIONS = ("matmul", "cfd", "knn", "bfs", "spmv")
_NETWORKS = ("lenet", "cifar10", "alexnet")
_PLACES = ("native", "remotecl", "far")
_KERNELS = ("cached", "rebuilt", "compiled")
_LAYOUTS = ("batched", "images")


def add(commands: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
    """Adds it to the parser."""
    bench = commands.add_parser(
        "bench",
        help="measure native driver, raw TCP and remotecl",
        description="Measures commands and transfers; `bench haocl` measures applications, `bench dnn` training.",
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
    kinds = bench.add_subparsers(metavar="haocl, dnn")
    _add_haocl(kinds)
    _add_dnn(kinds)


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


def _add_dnn(kinds: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
    dnn = kinds.add_parser(
        "dnn",
        help="train neural networks natively, through a server, and through one far away",
        description="Trains networks as Caffe does, with the optimisations of OpenCL Caffe one after the other. "
        "--kernels, --layout and --queues choose others: all combinations of their values.",
    )
    dnn.add_argument("names", nargs="*", metavar="NETWORK", help=f"{', '.join(_NETWORKS)} (default: all but alexnet)")
    add_servers(dnn, "none starts daemons on loopback", default=argparse.SUPPRESS)
    dnn.add_argument(
        "--places", type=_words(_PLACES), default=list(_PLACES), metavar="PLACE,...",
        help=f"where to train: {', '.join(_PLACES)} (default: all); far is the server behind a slow link",
    )  # fmt: skip
    dnn.add_argument(
        "--kernels", type=_words(_KERNELS), default=[], metavar="KIND,...",
        help="cached, rebuilt in each pass of a layer, which drivers may remember, or really compiled there",
    )  # fmt: skip
    dnn.add_argument(
        "--layout", type=_words(_LAYOUTS), default=[], metavar="KIND,...",
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
    dnn.add_argument("--seed", type=int, default=0, help="of data and weights (default: 0)")
    dnn.add_argument("--json", metavar="FILE", default=argparse.SUPPRESS, help="write the results there too")
    dnn.set_defaults(run=_dnn)


def _words(allowed: Sequence[str]) -> Callable[[str], list[str]]:
    """What reads several of these words, with commas between them."""

    def read(text: str) -> list[str]:
        found = text.split(",")
        if unknown := [word for word in found if word not in allowed]:
            raise argparse.ArgumentTypeError(f"{unknown[0]!r} is none of {', '.join(allowed)}")
        return found

    return read


def _bench(options: argparse.Namespace) -> int:
    from .. import bench

    values = {"--only": options.only, "--device": options.device, "--native-platform": options.native_platform}
    arguments = [word for name, value in values.items() if value is not None for word in (name, value)]
    arguments += [name for name, given in (("--quick", options.quick), ("--list", options.list)) if given]
    return bench.run(named_servers(options.servers), arguments, rows=options.rows, json_file=options.json)


def _haocl(options: argparse.Namespace) -> int:
    _require("application", options.names, _APPLICATIONS)
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


def _dnn(options: argparse.Namespace) -> int:
    _require("network", options.names, _NETWORKS)
    from ..bench import dnn

    chosen = []
    if options.kernels or options.layout or options.queues:
        values = (options.kernels or _KERNELS[:1], options.layout or _LAYOUTS[:1], options.queues or [1])
        chosen = [
            dnn.Options(kernels, layout == "batched", queues) for kernels, layout, queues in itertools.product(*values)
        ]
    return dnn.main(
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


def _require(what: str, names: Sequence[str], known: Sequence[str]) -> None:
    """PyOpenCL, NumPy, and no other names."""
    import_pyopencl()
    if importlib.util.find_spec("numpy") is None:
        raise RemoteCLError(f"NumPy, which {what}s need, is not installed: pip install numpy")
    if unknown := [name for name in names if name not in known]:
        raise RemoteCLError(f"no {what} is named {unknown[0]!r}; there are {', '.join(known)}")
