"""SpMV: a sparse matrix, which one kind of device divides and another multiplies with a vector several times."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
import pyopencl as cl
from numpy.typing import NDArray

from .application import Application, Plan
from .machine import GROUP, Clock, Machine

PRODUCTS = 10
# Rows have from 1 to this many entries; few rows have many.
_MOST_ENTRIES = 256
_MEAN_ENTRIES = 32
# Each entry has a value and a column. Each row has its beginning, and an element of the vector and of the result.
_ROW_BYTES = 8 * _MEAN_ENTRIES + 12
LANES = 8

SOURCE = """
// One work-item: cuts the rows into parts of about equally many rows and entries together.
__kernel void cut(__global const int* restrict begins, const int rows, const int parts, __global int* restrict cuts) {
  const long work = (long)begins[rows] + rows;
  cuts[0] = 0;
  for (int part = 1; part < parts; ++part) {
    int low = cuts[part - 1] + 1, high = rows - (parts - part);  // each part has a row
    while (low < high) {
      const int middle = (low + high) / 2;
      if (((long)begins[middle] + middle) * parts < work * part) low = middle + 1; else high = middle;
    }
    cuts[part] = low;
  }
  cuts[parts] = rows;
  for (int part = 0; part <= parts; ++part) cuts[parts + 1 + part] = begins[cuts[part]];
}

// Work-item row: where its entries begin in its part.
__kernel void rebase(const int count, __global const int* restrict begins, const int first_row,
                     __global int* restrict part_begins) {
  const size_t row = get_global_id(0);
  if (row >= count) return;
  part_begins[row] = begins[first_row + row] - begins[first_row];
}

// LANES work-items share a row.
__kernel __attribute__((reqd_work_group_size(GROUP, 1, 1)))
void multiply(const int items, __global const int* restrict begins, __global const int* restrict columns,
              __global const float* restrict values, __global const float* restrict vector,
              __global float* restrict product) {
  __local float sums[GROUP];
  const int rows = items / LANES, row = get_global_id(0) / LANES, item = get_local_id(0), lane = item % LANES;
  float sum = 0;
  if (row < rows)
    for (int entry = begins[row] + lane; entry < begins[row + 1]; entry += LANES)
      sum += values[entry] * vector[columns[entry]];
  sums[item] = sum;
  barrier(CLK_LOCAL_MEM_FENCE);
  if (lane != 0 || row >= rows) return;
  for (int other = 1; other < LANES; ++other) sum += sums[item + other];
  product[row] = sum;
}
"""


class SparseProduct(Application):
    """A square matrix whose rows add up to about one, in compressed rows, and a vector."""

    NAME = "spmv"
    PAPER_BYTES = 1_100_000_000

    def __init__(self, scale: float, seed: int) -> None:
        count = max(64, round(scale * self.PAPER_BYTES / _ROW_BYTES))
        random = np.random.default_rng(seed)
        # The mean of such a power of evenly distributed numbers is a fraction of the largest.
        power = _MOST_ENTRIES / _MEAN_ENTRIES - 1
        entries = 1 + ((_MOST_ENTRIES - 1) * random.random(count) ** power).astype(np.int32)
        self.begins = np.zeros(count + 1, np.int32)
        np.cumsum(entries, out=self.begins[1:])
        self.columns = random.integers(0, count, self.begins[-1], np.int32)
        self.values = random.random(self.begins[-1], np.float32) + np.float32(0.5)
        self.values /= np.repeat(entries, entries).astype(np.float32)
        self.vector = random.random(count, np.float32)
        self.size = {"rows": count, "entries": len(self.values)}
        self.bytes = self.begins.nbytes + self.columns.nbytes + self.values.nbytes + 2 * self.vector.nbytes

    def prepare(self, machine: Machine) -> Plan:
        """See `Application`."""
        return _Plan(self, machine)

    @cached_property
    def _expected(self) -> NDArray[np.float64]:
        from scipy.sparse import csr_array

        values = self.values.astype(np.float64)
        matrix = csr_array((values, self.columns, self.begins), shape=(len(self.vector), len(self.vector)))
        vector: NDArray[np.float64] = self.vector.astype(np.float64)
        for _ in range(PRODUCTS):
            vector = matrix @ vector
        return vector

    def problem(self, result: NDArray[Any]) -> str:
        """See `Application`."""
        # Everything is positive, so errors of rounding add up to no more than this.
        allowed = PRODUCTS * (_MOST_ENTRIES + 1) * np.finfo(np.float32).eps / 2
        worst = np.max(np.abs(result - self._expected) / self._expected) / allowed
        return "" if worst <= 1 else f"the largest error is {worst:.3g} times what rounding explains"


@dataclass(frozen=True)
class Roles:
    """Which shares of a machine divide the matrix, and which multiply."""

    divider: int
    multipliers: list[int]


def roles(kinds: Sequence[int]) -> Roles:
    """CPUs divide for GPUs, and either for accelerators; devices of one kind all multiply, and the first divides."""
    order = [cl.device_type.CPU, cl.device_type.GPU, cl.device_type.ACCELERATOR]
    ranks = [next((rank for rank, kind in enumerate(order) if kind & each), len(order)) for each in kinds]
    divider = ranks.index(min(ranks))
    if min(ranks) == max(ranks):
        return Roles(divider, list(range(len(kinds))))
    return Roles(divider, [share for share, rank in enumerate(ranks) if rank > ranks[divider]])


@dataclass(frozen=True)
class _Part:
    """One multiplier's rows, in buffers that the divider has filled."""

    share: int
    first: int
    rows: int
    begins: cl.Buffer
    columns: cl.Buffer
    values: cl.Buffer
    product: cl.Buffer


class _Plan(Plan):
    def __init__(self, matrix: SparseProduct, machine: Machine) -> None:
        self._matrix = matrix
        self._machine = machine
        self._roles = roles(machine.kinds)
        program = machine.build(SOURCE, LANES=LANES, GROUP=GROUP)
        self._cut, self._rebase = cl.Kernel(program, "cut"), cl.Kernel(program, "rebase")
        self._multiply = cl.Kernel(program, "multiply")
        self.shares = [0] * len(machine)  # of rows, known after a run

    def run(self, clock: Clock) -> NDArray[Any]:
        machine, matrix, divider = self._machine, self._matrix, self._roles.divider
        with clock.transfer():
            begins, columns, values = (
                machine.write(divider, array) for array in (matrix.begins, matrix.columns, matrix.values)
            )
            vector = machine.spread(matrix.vector, self._roles.multipliers)
        with clock.compute():
            parts, divided = self._divide(begins, columns, values)
            product = self._power(parts, vector, machine.buffer(matrix.vector.nbytes), divided)
        result = np.empty_like(matrix.vector)
        with clock.transfer():
            machine.read(self._roles.multipliers[0], result, product)
        return result

    def _divide(self, begins: cl.Buffer, columns: cl.Buffer, values: cl.Buffer) -> tuple[list[_Part], cl.Event]:
        machine, divider = self._machine, self._roles.divider
        queue = machine.queues[divider]
        multipliers = self._roles.multipliers
        cuts = np.empty((2, len(multipliers) + 1), np.int32)
        cuts_buffer = machine.buffer(cuts.nbytes)
        count = len(self._matrix.vector)
        self._cut(queue, (1,), None, begins, np.int32(count), np.int32(len(multipliers)), cuts_buffer)
        cl.enqueue_copy(queue, cuts, cuts_buffer)
        parts = []
        for number, share in enumerate(multipliers):
            first, rows = int(cuts[0, number]), int(cuts[0, number + 1] - cuts[0, number])
            offset, size = 4 * int(cuts[1, number]), 4 * int(cuts[1, number + 1] - cuts[1, number])
            part = _Part(share, first, rows, *map(machine.buffer, (4 * (rows + 1), size, size, 4 * rows)))
            machine.launch(divider, self._rebase, rows + 1, begins, np.int32(first), part.begins)
            cl.enqueue_copy(queue, part.columns, columns, src_offset=offset, byte_count=size)
            divided = cl.enqueue_copy(queue, part.values, values, src_offset=offset, byte_count=size)
            queue.flush()
            parts.append(part)
            self.shares[share] = rows
        return parts, divided

    def _power(self, parts: list[_Part], vector: cl.Buffer, other: cl.Buffer, divided: cl.Event) -> cl.Buffer:
        """Multiplies repeatedly. Each device needs the whole vector and computes a part of the next one."""
        ready = [divided]
        for _ in range(PRODUCTS):
            gathered = []
            for part in parts:
                queue = self._machine.queues[part.share]
                self._machine.launch(
                    part.share, self._multiply, part.rows * LANES,
                    part.begins, part.columns, part.values, vector, part.product, wait_for=ready,
                )  # fmt: skip
                copied = cl.enqueue_copy(
                    queue, other, part.product, dst_offset=4 * part.first, byte_count=4 * part.rows
                )
                gathered.append(copied)
                queue.flush()
            ready, vector, other = gathered, other, vector
        return vector
