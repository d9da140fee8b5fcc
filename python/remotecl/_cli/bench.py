"""The subcommand `remotecl bench`, with `remotecl bench haocl`, `dnn` and `ar`."""

from __future__ import annotations

import argparse
import importlib.util
import itertools
from collections.abc import Callable, Sequence

from .._connect.connection import import_pyopencl, named_servers
from ..errors import RemoteCLError
from .options import add_servers, count, counts, output_file, positive, seed

_APPLICATIONS = ("matmul", "cfd", "knn", "bfs", "spmv")
_NETWORKS = ("lenet", "cifar10", "alexnet")
_PLACES = ("native", "remotecl", "far")
_KERNELS = ("cached", "rebuilt", "compiled")
_LAYOUTS = ("batched", "images")
_CONFIGURATIONS = ("local", "remote-sort", "two-servers", "two-servers-content", "one-server", "complete")
_LINKS = ("1g", "100m", "20m")
_CODECS = ("h264", "hevc")


def add(commands: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
    """Adds the subcommand to the parser."""
    bench = commands.add_parser(
        "bench",
        help="measure native driver, raw TCP and remotecl",
        description="Measures commands and transfers; `bench haocl` measures applications, `bench dnn` training, "
        "`bench ar` an augmented-reality pipeline.",
    )
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
    kinds = bench.add_subparsers(metavar="haocl, dnn, ar")
    _add_haocl(kinds)
    _add_dnn(kinds)
    _add_ar(kinds)


def _add_haocl(kinds: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
    haocl = kinds.add_parser(
        "haocl",
        help="run five applications on one device, on several and natively, and check them",
        description="Runs the five applications of HaoCL's evaluation on servers' devices and on a native one, and "
        "checks every result with NumPy or SciPy.",
    )
    haocl.add_argument(
        "names",
        nargs="*",
        type=_one_of("application", _APPLICATIONS),
        metavar="APPLICATION",
        help=f"{', '.join(_APPLICATIONS)} (default: all of them)",
    )
    # SUPPRESS, because a default here would replace an option that is given before the word haocl.
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
    haocl.add_argument("--seed", type=seed, default=0, help="of the data (default: 0)")
    haocl.add_argument(
        "--repetitions", type=count, default=3, metavar="N", help="of each run; the fastest counts (default: 3)"
    )
    haocl.add_argument(
        "--json", type=output_file, metavar="FILE", default=argparse.SUPPRESS, help="write the results there too"
    )
    haocl.set_defaults(run=_haocl)


def _add_dnn(kinds: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
    dnn = kinds.add_parser(
        "dnn",
        help="train neural networks natively, through a server, and through one far away",
        description="Trains networks as Caffe does, with the optimisations of OpenCL Caffe one after the other. "
        "--kernels, --layout and --queues choose others: all combinations of their values.",
    )
    dnn.add_argument(
        "names", nargs="*", type=_one_of("network", _NETWORKS), metavar="NETWORK",
        help=f"{', '.join(_NETWORKS)} (default: all but alexnet)",
    )  # fmt: skip
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
    dnn.add_argument("--seed", type=seed, default=0, help="of data and weights (default: 0)")
    dnn.add_argument(
        "--json", type=output_file, metavar="FILE", default=argparse.SUPPRESS, help="write the results there too"
    )
    dnn.set_defaults(run=_dnn)


def _add_ar(kinds: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
    ar = kinds.add_parser(
        "ar",
        help="show a weak client an animated point cloud that servers decode, sort and draw",
        description="Decodes a video that holds a point cloud, sorts its points for a viewer who moves, and draws "
        "them: on a weak client alone, and with servers that take over more and more of it.",
    )
    ar.add_argument(
        "--link", type=_words(_LINKS), default=[], metavar="LINK,...",
        help="between client and servers: 1g (1 Gbit/s, 1 ms), 100m (100 Mbit/s, 5 ms) or 20m (20 Mbit/s, 30 ms, "
        "1 %% of packets later), in network namespaces if this user is root (default: loopback)",
    )  # fmt: skip
    ar.add_argument(
        "--configurations", type=_words(_CONFIGURATIONS), default=list(_CONFIGURATIONS), metavar="NAME,...",
        help=f"{', '.join(_CONFIGURATIONS)} (default: all)",
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
    ar.add_argument("--codec", choices=_CODECS, default="h264", help="of the video (default: h264)")
    ar.add_argument("--seed", type=seed, default=0, help="of the video (default: 0)")
    ar.add_argument(
        "--json", type=output_file, metavar="FILE", default=argparse.SUPPRESS, help="write the results there too"
    )
    ar.set_defaults(run=_ar)


def _power_of_two(text: str) -> int:
    number = int(text)
    if number < 16 or number & (number - 1):
        raise argparse.ArgumentTypeError("it must be a power of two, at least 16")
    return number


def _one_of(what: str, known: Sequence[str]) -> Callable[[str], str]:
    """A parser of one of these names. With `choices`, argparse would refuse to be given none."""

    def read(text: str) -> str:
        if text not in known:
            raise argparse.ArgumentTypeError(f"no {what} is named {text!r}; there are {', '.join(known)}")
        return text

    return read


def _words(allowed: Sequence[str]) -> Callable[[str], list[str]]:
    """A parser of an option whose value is several of these words, separated by commas."""

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
    _require_numpy("applications")
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
    _require_numpy("networks")
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


def _ar(options: argparse.Namespace) -> int:
    _require_numpy("configurations")
    if options.servers:
        raise RemoteCLError("`bench ar` starts its own servers, which must read its video; leave out --servers")
    from ..bench import ar

    return ar.main(
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


def _require_numpy(what: str) -> None:
    """Raises RemoteCLError unless PyOpenCL and NumPy are installed."""
    import_pyopencl()
    if importlib.util.find_spec("numpy") is None:
        raise RemoteCLError(f"NumPy, which {what} need, is not installed: pip install numpy")
