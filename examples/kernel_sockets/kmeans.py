#!/usr/bin/env python3
"""k-means on several devices as iterated MapReduce in one launch: sums and centroids go over the kernels' sockets.

Each server reads its points from a file by itself, if it may.

python kmeans.py --devices 2 --points 20000 --clusters 16
"""

from __future__ import annotations

import argparse
import contextlib
import sys
import tempfile
import time
from collections.abc import Sequence
from pathlib import Path

import common
import inputs
import numpy as np
import pyopencl as cl
from word_count import listen


def make_points(count: int, clusters: int, dimensions: int, seed: int) -> np.ndarray:
    """Points around random centres, shape (count, dimensions), whole numbers from 0 to 4095."""
    random = np.random.default_rng(seed)
    centres = random.uniform(400, 3700, (clusters, dimensions))
    points = centres[random.integers(0, clusters, count)] + random.normal(0, 150, (count, dimensions))
    return np.clip(points.round(), 0, 4095).astype(np.int32)


def reference(points: np.ndarray, clusters: int, iterations: int) -> np.ndarray:
    """The centroids, shape (clusters, dimensions); the first points are those at the beginning."""
    wide = points.astype(np.int64)
    centroids = wide[:clusters].copy()
    for _ in range(iterations):
        distances = ((wide[:, None, :] - centroids[None, :, :]) ** 2).sum(axis=2)
        nearest = distances.argmin(axis=1)
        for cluster in range(clusters):
            members = wide[nearest == cluster]
            if len(members):
                centroids[cluster] = (members.sum(axis=0) + len(members) // 2) // len(members)
    return centroids


def kmeans(
    devices: Sequence[cl.Device],
    points: inputs.Input,
    dimensions: int,
    clusters: int,
    iterations: int,
    *,
    seconds: float = 300,
) -> np.ndarray:
    """The centroids, found on all of these devices; one work-group of each reduces and the others map."""
    mappers = [max(common.groups(device) - 1, 1) for device in devices]
    everyone, row = sum(mappers), 4 * dimensions
    context = cl.Context([*devices, *points.sources(devices)])
    with contextlib.ExitStack() as stack:
        sites = [
            stack.enter_context(
                common.Site(device, "kmeans.cl", sockets=everyone + count * len(devices) + 1, context=context)
            )
            for device, count in zip(devices, mappers, strict=True)
        ]
        listeners = listen(sites)
        targets = common.addresses(*(address for _, address in listeners))
        count = points.size(sites) // row
        ends = [clusters * k // len(sites) for k in range(len(sites) + 1)]
        rows = [count * k // len(sites) for k in range(len(sites) + 1)]
        statuses = [site.zeros(1) for site in sites]
        starts, found = [], []
        for me, site in enumerate(sites):
            begin, end = ends[me : me + 2]  # the clusters that this device reduces
            own = points.part(site, row * rows[me], row * rows[me + 1])
            starts.append(site.prepare(
                "reduce_points", 1, listeners[me][0], everyone, iterations, end - begin, dimensions,
                points.part(site, row * begin, row * end),
                site.zeros((end - begin) * (dimensions + 1) * everyone, np.uint32), site.zeros(everyone), statuses[me],
            ))  # fmt: skip
            found.append(repeat(site, points.part(site, 0, row * clusters), row * clusters, mappers[me]))
            starts.append(site.prepare(
                "map_points", mappers[me], site.buffer(targets), len(sites), iterations, own,
                rows[me + 1] - rows[me], clusters, dimensions, found[me],
                site.zeros(clusters * (dimensions + 1) * mappers[me], np.uint32),
                site.zeros(len(sites) * mappers[me]), statuses[me],
            ))  # fmt: skip
        common.wait([start() for start in starts], seconds)
        for site, status in zip(sites, statuses, strict=True):
            common.check(int(site.read(status)[0]), "k-means")
        return sites[0].read(found[0])[: clusters * dimensions].reshape(clusters, dimensions)


def repeat(site: common.Site, one: cl.Buffer, size: int, times: int) -> cl.Buffer:
    """A buffer with the first bytes of another one so many times."""
    every = cl.Buffer(site.context, cl.mem_flags.READ_WRITE, size * times)
    for k in range(times):
        cl.enqueue_copy(site.queue, every, one, byte_count=size, dst_offset=size * k)
    site.queue.finish()
    return every


def main() -> None:
    """The command."""
    parser = argparse.ArgumentParser(description="k-means in kernels that speak over sockets.")
    common.add_servers_option(parser)
    inputs.add_reader_option(parser)
    parser.add_argument("--devices", type=int, default=2, metavar="N", help="servers to use, 1 or more (default: 2)")
    parser.add_argument(
        "--file",
        type=Path,
        help="the points: 32-bit whole numbers from 0 to 4095, little-endian (default: some are made)",
    )
    parser.add_argument("--points", type=int, default=20000, metavar="N", help="to make (default: 20000)")
    parser.add_argument("--clusters", type=int, default=16, metavar="N", help="(default: 16)")
    parser.add_argument("--dimensions", type=int, default=4, metavar="N", help="(default: 4)")
    parser.add_argument("--iterations", type=int, default=10, metavar="N", help="(default: 10)")
    parser.add_argument("--seed", type=int, default=0, help="of the points (default: 0)")
    parser.add_argument("--seconds", type=float, default=300, help="that the kernels may take (default: 300)")
    options = parser.parse_args()
    with contextlib.ExitStack() as stack:
        file = options.file
        if file is None:
            file = Path(stack.enter_context(tempfile.TemporaryDirectory())) / "points"
            made = make_points(options.points, options.clusters, options.dimensions, options.seed)
            file.write_bytes(made.astype("<i4").tobytes())
        by_servers = inputs.is_for_servers(options)
        points = inputs.ServerFiles([file]) if by_servers else inputs.Upload(inputs.content([file]))
        devices = stack.enter_context(common.devices(options.servers, options.devices, [file]))
        begin = time.perf_counter()
        found = kmeans(
            devices, points, options.dimensions, options.clusters, options.iterations, seconds=options.seconds
        )
        took = time.perf_counter() - begin
        print(f"{options.clusters} clusters, {options.iterations} iterations, {options.devices} devices, {took:.2f} s; "
              f"read by {points.reader}")  # fmt: skip

        def is_right(content: bytes) -> bool:
            wanted = np.frombuffer(content, "<i4").reshape(-1, options.dimensions)
            return np.array_equal(found, reference(wanted, options.clusters, options.iterations))

        sys.exit(inputs.report([file], is_right))


if __name__ == "__main__":
    main()
