"""Chooses the devices, runs both jobs, checks them and reports."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import ExitStack
from dataclasses import dataclass

import numpy as np
import pyopencl as cl
from numpy.typing import NDArray

from .._clusters.cluster import LocalCluster
from .._connect.connection import PLATFORM_NAME, connect
from .._observe.inspect import native_platform_of
from ..errors import RemoteCLError
from . import knn, matmul
from .report import Traffic, show_devices, show_next, show_residency, show_times

# The first run includes what a driver does only once.
_REPETITIONS = 3


@dataclass(frozen=True)
class Outcome:
    """Whether all results were right, and the shortest seconds that each job took."""

    right: bool
    seconds: dict[str, float]


def main(servers: Sequence[str] = (), platform: str | None = None, size: int = 1024) -> int:
    """Runs the demo and prints the results. Returns 0, or 1 if a result is wrong.

    Args:
        servers: ``host[:port]`` of servers to use; none starts two daemons on loopback.
        platform: part of the name of any other OpenCL platform to run on instead.
        size: rows of the square matrices, a multiple of 16.
    """
    with ExitStack() as cleanup:
        if platform and platform != PLATFORM_NAME:
            return _exit_code(_run(_platform_devices(platform), size, remote=False))
        addresses = servers or cleanup.enter_context(LocalCluster(servers=2)).addresses
        connection = connect(*addresses)
        try:
            there = _run(connection.devices, size, remote=True)
        except cl.RuntimeError as error:
            if "unknown target CPU" not in str(error):
                raise
            raise RemoteCLError(
                "the PoCL that serves here has an older compiler than this processor (PoCL's wheel is from 2022): "
                "install the system's PoCL instead, on Debian by apt-get install pocl-opencl-icd"
            ) from error
        count = len(connection.servers)
        _compare(there, f"{count} server{'s' if count != 1 else ''}", native_platform_of(connection.devices[0]), size)
        show_next()
        return _exit_code(there)


def _exit_code(outcome: Outcome) -> int:
    print("\nEverything is right." if outcome.right else "\nWRONG RESULTS, see above.")
    return 0 if outcome.right else 1


def _compare(there: Outcome, where: str, platform: str, size: int) -> None:
    """Runs the same with this machine's own driver of the kind that the servers have, if there is one."""
    here = [one for one in cl.get_platforms() if one.name == platform]
    if not here:
        show_times({where: there.seconds})
        return
    device = here[0].get_devices()[0]
    context = cl.Context([device])
    queues = [cl.CommandQueue(context)]
    seconds = {name: found[1] for name, found in _jobs(context, queues, size).items()}
    show_times({where: there.seconds, f"this machine's {platform}": seconds})


def _platform_devices(name: str) -> list[cl.Device]:
    found = [platform for platform in cl.get_platforms() if name.lower() in platform.name.lower()]
    if not found:
        known = ", ".join(platform.name for platform in cl.get_platforms())
        raise RemoteCLError(f"no OpenCL platform is named like {name!r}; there are: {known}")
    devices: list[cl.Device] = found[0].get_devices()
    return devices if len(devices) > 1 else devices * 2  # the job is for several; one device gets two queues


def _jobs(context: cl.Context, queues: Sequence[cl.CommandQueue], size: int) -> dict[str, tuple[bool, float]]:
    """Both jobs, several times: whether they were right, and the shortest time."""
    digits, (a, b) = knn.load_digits(), _matrices(size)
    expected = knn.reference_predictions(digits)
    classified = [knn.classify(context, queues, digits) for _ in range(_REPETITIONS)]
    products = [matmul.multiply(context, queues, a, b) for _ in range(_REPETITIONS)]
    return {
        "handwritten digits": (
            all(np.array_equal(one.predictions, expected) for one in classified),
            min(one.seconds for one in classified),
        ),
        "matrix product": (
            all(matmul.worst_error(a, b, one.matrix) <= 1 for one in products[:1]),
            min(one.seconds for one in products),
        ),
    }


def _matrices(size: int) -> list[NDArray[np.float32]]:
    random = np.random.default_rng(0)
    return [random.standard_normal((size, size), np.float32) for _ in range(2)]


def _run(devices: Sequence[cl.Device], size: int, *, remote: bool) -> Outcome:
    context = cl.Context(list(dict.fromkeys(devices)))
    queues = [cl.CommandQueue(context, device) for device in devices]
    show_devices(devices, remote)
    traffic = Traffic() if remote else None

    digits_right, digits_buffers = _classify_digits(context, queues)
    if traffic:
        traffic.show()
    product_right, product_buffers = _multiply_matrices(context, queues, size)
    if traffic:
        traffic.show()
        show_residency({**digits_buffers, **product_buffers}, devices)

    again = _jobs(context, queues, size)
    right = digits_right and product_right and all(is_right for is_right, _ in again.values())
    return Outcome(right, {name: seconds for name, (_, seconds) in again.items()})


def _classify_digits(context: cl.Context, queues: Sequence[cl.CommandQueue]) -> tuple[bool, dict[str, cl.Buffer]]:
    digits = knn.load_digits()
    result = knn.classify(context, queues, digits)
    different = int(np.count_nonzero(result.predictions != knn.reference_predictions(digits)))
    accuracy = float(np.mean(result.predictions == digits.query_labels))
    print(
        f"\nHandwritten digits: {len(digits.queries)} classified by {knn.NEIGHBOURS} nearest of "
        f"{len(digits.training)} images"
    )
    print(f"  accuracy {accuracy:.2%}, {different} predictions differ from scikit-learn's")
    print(f"  {result.seconds * 1e3:.1f} ms from arrays to predictions")
    return different == 0, result.buffers


def _multiply_matrices(
    context: cl.Context, queues: Sequence[cl.CommandQueue], size: int
) -> tuple[bool, dict[str, cl.Buffer]]:
    a, b = _matrices(size)
    result = matmul.multiply(context, queues, a, b)
    error = matmul.worst_error(a, b, result.matrix)
    print(f"\nMatrix product: {size} x {size} float32, rows divided between {len(queues)} devices")
    print(f"  largest error is {error:.1%} of what rounding may cost, by NumPy in float64")
    print(f"  {result.seconds * 1e3:.1f} ms from arrays to the gathered product")
    return error <= 1.0, result.buffers
