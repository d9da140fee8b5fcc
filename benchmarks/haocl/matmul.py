"""MatrixMul: a dense product, its rows divided between devices in proportion to their measured speeds."""

from __future__ import annotations

import time
from functools import cached_property
from typing import Any

import numpy as np
import pyopencl as cl
from numpy.typing import NDArray

from .application import Application, Plan
from .machine import Clock, Machine, divide

# A work-group computes a tile of TILE rows and columns, each of its 16 x 16 work-items 4 x 4 elements of it.
TILE = 64
GROUP = (16, 16)
# Speeds are measured with matrices of at least this many rows, for about this long.
_SMALLEST_PROBE = 256
_PROBE_S = 0.02

SOURCE = """
#define DEPTH 16
#define SIDE 4

__kernel __attribute__((reqd_work_group_size(16, 16, 1)))
void multiply(__global const float* restrict a, __global const float* restrict b, __global float* restrict product,
              const int rows, const int n) {
  __local float a_tile[DEPTH][TILE + 1];  // transposed; the odd stride avoids bank conflicts
  __local float b_tile[DEPTH][TILE];
  const int x = get_local_id(0), y = get_local_id(1), item = y * 16 + x;
  const int first_column = get_group_id(0) * TILE, first_row = get_group_id(1) * TILE;
  float sum[SIDE][SIDE];
  for (int i = 0; i < SIDE; ++i) for (int j = 0; j < SIDE; ++j) sum[i][j] = 0;

  for (int start = 0; start < n; start += DEPTH) {
    for (int i = 0; i < SIDE; ++i) {
      const int at = item + 256 * i;
      const int row = first_row + at / DEPTH, a_depth = start + at % DEPTH;
      a_tile[at % DEPTH][at / DEPTH] = row < rows && a_depth < n ? a[(size_t)row * n + a_depth] : 0;
      const int column = first_column + at % TILE, b_depth = start + at / TILE;
      b_tile[at / TILE][at % TILE] = column < n && b_depth < n ? b[(size_t)b_depth * n + column] : 0;
    }
    barrier(CLK_LOCAL_MEM_FENCE);
    for (int k = 0; k < DEPTH; ++k)
      for (int i = 0; i < SIDE; ++i)
        for (int j = 0; j < SIDE; ++j) sum[i][j] += a_tile[k][y + 16 * i] * b_tile[k][x + 16 * j];
    barrier(CLK_LOCAL_MEM_FENCE);
  }

  for (int i = 0; i < SIDE; ++i) {
    const int row = first_row + y + 16 * i;
    for (int j = 0; j < SIDE; ++j) {
      const int column = first_column + x + 16 * j;
      if (row < rows && column < n) product[(size_t)row * n + column] = sum[i][j];
    }
  }
}
"""


class MatrixMul(Application):
    """Two square float32 matrices. `n` takes the place of the size that `scale` gives."""

    NAME = "matmul"
    PAPER_BYTES = 760_000_000

    def __init__(self, scale: float, seed: int, n: int | None = None) -> None:
        self.n = n or max(TILE, round((scale * self.PAPER_BYTES / 12) ** 0.5))
        random = np.random.default_rng(seed)
        self.a, self.b = (random.random((self.n, self.n), np.float32) - np.float32(0.5) for _ in range(2))
        self.size = {"n": self.n}
        self.bytes = self.a.nbytes + self.b.nbytes + self.a.nbytes

    def prepare(self, machine: Machine) -> Plan:
        """See `Application`."""
        return _Plan(self, machine)

    @cached_property
    def _exact(self) -> NDArray[np.float64]:
        product: NDArray[np.float64] = self.a.astype(np.float64) @ self.b.astype(np.float64)
        return product

    def problem(self, result: NDArray[Any]) -> str:
        """See `Application`."""
        # Errors of n rounded multiply-adds add up to n at worst, but usually grow like a random walk.
        allowed = min(self.n, 10 * self.n**0.5) * np.finfo(np.float32).eps / 2
        rows, columns = np.linalg.norm(self.a, axis=1), np.linalg.norm(self.b, axis=0)
        worst = np.max(np.abs(result - self._exact) / np.outer(rows, columns)) / allowed
        return "" if worst <= 1 else f"the largest error is {worst:.3g} times what rounding explains"


class _Plan(Plan):
    def __init__(self, product: MatrixMul, machine: Machine) -> None:
        self._product = product
        self._machine = machine
        self._kernel = cl.Kernel(machine.build(SOURCE, TILE=TILE), "multiply")
        speeds = [1.0] if len(machine) == 1 else [self._speed(share) for share in machine.all_shares]
        self._rows = divide(product.n, speeds, TILE)
        self.shares = [rows.stop - rows.start for rows in self._rows]

    def run(self, clock: Clock) -> NDArray[Any]:
        machine, product = self._machine, self._product
        with clock.transfer():
            b = machine.spread(product.b, machine.all_shares)
            parts = [machine.write(share, product.a[rows]) for share, rows in enumerate(self._rows)]
            results = [machine.buffer(product.a[rows].nbytes) for rows in self._rows]
        with clock.compute():
            for share, (part, result) in enumerate(zip(parts, results, strict=True)):
                self._launch(share, part, b, result, self.shares[share], product.n)
        matrix: NDArray[np.float32] = np.empty_like(product.a)
        with clock.transfer():
            for share, (rows, result) in enumerate(zip(self._rows, results, strict=True)):
                machine.read(share, matrix[rows], result)
        return matrix

    def _launch(self, share: int, a: cl.Buffer, b: cl.Buffer, result: cl.Buffer, rows: int, n: int) -> None:
        groups = (-(-n // TILE), -(-rows // TILE))
        items = (groups[0] * GROUP[0], groups[1] * GROUP[1])
        queue = self._machine.queues[share]
        self._kernel(queue, items, GROUP, a, b, result, np.int32(rows), np.int32(n))
        queue.flush()

    def _speed(self, share: int) -> float:
        """Multiply-adds per second of one device, while the others are idle.

        The matrix grows until it keeps the device busy for a while, up to the size of the one to multiply.
        """
        n = _SMALLEST_PROBE
        while (seconds := self._seconds(share, n, 1)) < _PROBE_S and n < self._product.n:
            n *= 2
        launches = max(1, round(_PROBE_S / seconds))
        return launches * n**3 / self._seconds(share, n, launches)

    def _seconds(self, share: int, n: int, launches: int) -> float:
        machine = self._machine
        matrix = machine.write(share, np.zeros((n, n), np.float32))
        result = machine.buffer(4 * n**2)
        self._launch(share, matrix, matrix, result, n, n)  # includes what a driver does only once
        machine.finish()
        start = time.perf_counter()
        for _ in range(launches):
            self._launch(share, matrix, matrix, result, n, n)
        machine.finish()
        return time.perf_counter() - start
