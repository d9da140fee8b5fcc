"""A dense matrix product, its rows divided between devices and gathered into one buffer."""

from __future__ import annotations

import time
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import pyopencl as cl
from numpy.typing import NDArray

TILE = 16

SOURCE = """
__kernel __attribute__((reqd_work_group_size(TILE, TILE, 1)))
void multiply(__global const float* a, __global const float* b, __global float* c, const int n) {
  __local float a_tile[TILE][TILE];
  __local float b_tile[TILE][TILE];
  const int x = get_local_id(0), y = get_local_id(1);
  const int column = get_global_id(0), row = get_global_id(1);
  float sum = 0;
  for (int start = 0; start < n; start += TILE) {
    a_tile[y][x] = a[row * n + start + x];
    b_tile[y][x] = b[(start + y) * n + column];
    barrier(CLK_LOCAL_MEM_FENCE);
    for (int k = 0; k < TILE; ++k) sum += a_tile[y][k] * b_tile[k][x];
    barrier(CLK_LOCAL_MEM_FENCE);
  }
  c[row * n + column] = sum;
}
"""


@dataclass(frozen=True)
class Product:
    """The product, the seconds it took, and the buffers that were used, by name."""

    matrix: NDArray[np.float32]
    seconds: float
    buffers: dict[str, cl.Buffer]


def multiply(
    context: cl.Context, queues: Sequence[cl.CommandQueue], a: NDArray[np.float32], b: NDArray[np.float32]
) -> Product:
    """The product of two square float32 matrices whose size is a multiple of 16."""
    n = len(a)
    if a.shape != (n, n) or b.shape != (n, n) or n % TILE:
        raise ValueError(f"two square matrices whose size is a multiple of {TILE} are needed")
    kernel = cl.Kernel(cl.Program(context, SOURCE).build(options=[f"-DTILE={TILE}"]), "multiply")

    start = time.perf_counter()
    flags = cl.mem_flags
    b_buffer = cl.Buffer(context, flags.READ_ONLY | flags.COPY_HOST_PTR, hostbuf=b)
    product_buffer = cl.Buffer(context, flags.READ_WRITE, a.nbytes)
    buffers = {"B": b_buffer, "product": product_buffer}

    copies = []
    for number, (queue, tile_rows) in enumerate(
        zip(queues, np.array_split(np.arange(n // TILE), len(queues)), strict=True)
    ):
        rows = slice(tile_rows[0] * TILE, (tile_rows[-1] + 1) * TILE)
        a_part = cl.Buffer(context, flags.READ_ONLY | flags.COPY_HOST_PTR, hostbuf=a[rows])
        c_part = cl.Buffer(context, flags.READ_WRITE, a[rows].nbytes)
        computed = kernel(queue, (n, rows.stop - rows.start), (TILE, TILE), a_part, b_buffer, c_part, np.int32(n))
        queue.flush()
        # The first device gathers; the event orders its copy after another device's kernel, with no host in between.
        copies.append(
            cl.enqueue_copy(
                queues[0],
                product_buffer,
                c_part,
                dst_offset=int(rows.start) * n * a.itemsize,
                byte_count=a[rows].nbytes,
                wait_for=[computed],
            )
        )
        buffers[f"A, share {number}"] = a_part
        buffers[f"product, share {number}"] = c_part
    matrix = np.empty_like(a)
    cl.enqueue_copy(queues[0], matrix, product_buffer, wait_for=copies)
    return Product(matrix, time.perf_counter() - start, buffers)


def worst_error(a: NDArray[np.float32], b: NDArray[np.float32], product: NDArray[np.float32]) -> float:
    """The largest error, relative to what n rounded multiply-adds may lose: at most 1 for a correct result."""
    n = len(a)
    exact = a.astype(np.float64) @ b.astype(np.float64)
    magnitude = np.abs(a.astype(np.float64)) @ np.abs(b.astype(np.float64))
    unit_roundoff = np.finfo(np.float32).eps / 2
    allowed = n * unit_roundoff / (1 - n * unit_roundoff) * magnitude
    return float(np.max(np.abs(product - exact) / allowed))
