"""Chooses the devices, runs both jobs, checks them and reports."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import ExitStack

import numpy as np
import pyopencl as cl

from ..cluster import LocalCluster
from ..connection import PLATFORM_NAME, connect
from ..errors import RemoteCLError
from . import knn, matmul
from .report import Traffic, show_devices, show_residency


def main(servers: Sequence[str] = (), platform: str | None = None, size: int = 1024) -> int:
    """Runs the demo and prints what it finds. Returns 0, or 1 when a result is wrong.

    Args:
        servers: ``host[:port]`` of servers to use; none starts two daemons on loopback.
        platform: part of the name of any other OpenCL platform to run on instead.
        size: rows of the square matrices, a multiple of 16.
    """
    with ExitStack() as cleanup:
        if platform and platform != PLATFORM_NAME:
            return _run(_platform_devices(platform), size, remote=False)
        addresses = servers or cleanup.enter_context(LocalCluster(servers=2)).addresses
        connection = connect(*addresses)
        try:
            return _run(connection.devices, size, remote=True)
        except cl.RuntimeError as error:
            if "unknown target CPU" not in str(error):
                raise
            raise RemoteCLError(
                "the PoCL that serves here has an older compiler than this processor (PoCL's wheel is from 2022): "
                "install the system's PoCL instead, on Debian by apt-get install pocl-opencl-icd"
            ) from error


def _platform_devices(name: str) -> list[cl.Device]:
    found = [platform for platform in cl.get_platforms() if name.lower() in platform.name.lower()]
    if not found:
        known = ", ".join(platform.name for platform in cl.get_platforms())
        raise RemoteCLError(f"no OpenCL platform is named like {name!r}; there are: {known}")
    devices: list[cl.Device] = found[0].get_devices()
    return devices if len(devices) > 1 else devices * 2  # the job is for several; one device gets two queues


def _run(devices: Sequence[cl.Device], size: int, *, remote: bool) -> int:
    context = cl.Context(list(dict.fromkeys(devices)))
    queues = [cl.CommandQueue(context, device) for device in devices]
    print("Devices, all in one context:")
    show_devices(devices, remote)
    traffic = Traffic() if remote else None

    digits_right, digits_buffers = _classify_digits(context, queues)
    if traffic:
        traffic.show()
    product_right, product_buffers = _multiply_matrices(context, queues, size)
    if traffic:
        traffic.show()
        print("\nWhere every buffer is now:")
        show_residency({**digits_buffers, **product_buffers})

    right = digits_right and product_right
    print("\nEverything is right." if right else "\nWRONG RESULTS, see above.")
    return 0 if right else 1


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
    random = np.random.default_rng(0)
    a, b = (random.standard_normal((size, size), np.float32) for _ in range(2))
    result = matmul.multiply(context, queues, a, b)
    error = matmul.worst_error(a, b, result.matrix)
    print(f"\nMatrix product: {size} x {size} float32, rows divided between {len(queues)} devices")
    print(f"  largest error is {error:.1%} of what rounding may cost, compared with NumPy in float64")
    print(f"  {result.seconds * 1e3:.1f} ms from arrays to the gathered product")
    return error <= 1.0, result.buffers
