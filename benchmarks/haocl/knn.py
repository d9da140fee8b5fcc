"""kNN: for each query its nearest rows, the rows divided between devices and the candidates merged on the first."""

from __future__ import annotations

import os
from concurrent.futures import ThreadPoolExecutor
from functools import cached_property
from typing import Any

import numpy as np
import pyopencl as cl
from numpy.typing import NDArray

from .application import Application, Plan
from .machine import Clock, Machine, even

FEATURES = 16
NEIGHBOURS = 8
QUERIES = 4096
# So many work-items share the rows of one query on a device, unless each would have too few.
_PARTS = 64
_FEWEST_ROWS = 256

# A candidate is one number, its squared distance's bits above its row's index: floats that are not negative have the
# order of their bits. So equal distances go to the row that comes first, however the rows are divided.
SOURCE = """
#define NOBODY 0x7f800000ffffffffUL  // infinitely far

// Without branches and with fixed places, so that a GPU keeps `best`, which is ascending, in registers.
void insert(ulong* best, const ulong candidate) {
  for (int place = NEIGHBOURS - 1; place > 0; --place)
    best[place] = max(best[place - 1], min(best[place], candidate));
  best[0] = min(best[0], candidate);
}

// Work-items of a part, one for each query: the nearest among a part of the rows.
__kernel void search(const int items, __global const float* restrict rows, const int count, const int first,
                     const int part_rows, __global const float* restrict queries, __global ulong* restrict found) {
  if (get_global_id(0) >= items) return;
  const size_t query = get_global_id(0) % QUERIES;
  const int part = get_global_id(0) / QUERIES;
  float wanted[FEATURES];
  for (int f = 0; f < FEATURES; ++f) wanted[f] = queries[query * FEATURES + f];
  ulong best[NEIGHBOURS];
  for (int k = 0; k < NEIGHBOURS; ++k) best[k] = NOBODY;
  float worst = INFINITY;

  const int end = min(count, (part + 1) * part_rows);
  for (int row = part * part_rows; row < end; ++row) {
    float distance = 0;
    for (int f = 0; f < FEATURES; ++f) {
      const float difference = wanted[f] - rows[(size_t)row * FEATURES + f];
      distance += difference * difference;
    }
    if (distance >= worst) continue;
    insert(best, (ulong)as_uint(distance) << 32 | (uint)(first + row));
    worst = as_float((uint)(best[NEIGHBOURS - 1] >> 32));
  }
  for (int k = 0; k < NEIGHBOURS; ++k) found[(part * QUERIES + query) * NEIGHBOURS + k] = best[k];
}

// Work-item query: the nearest in several lists.
__kernel void merge(const int queries, __global const ulong* restrict found, const int lists,
                    __global ulong* restrict nearest) {
  const size_t query = get_global_id(0);
  if (query >= queries) return;
  ulong best[NEIGHBOURS];
  for (int k = 0; k < NEIGHBOURS; ++k) best[k] = NOBODY;
  for (int list = 0; list < lists; ++list)
    for (int k = 0; k < NEIGHBOURS; ++k) {
      const ulong candidate = found[(list * QUERIES + query) * NEIGHBOURS + k];
      if (candidate >= best[NEIGHBOURS - 1]) break;
      insert(best, candidate);
    }
  for (int k = 0; k < NEIGHBOURS; ++k) nearest[query * NEIGHBOURS + k] = best[k];
}
"""

_LIST_BYTES = 8 * QUERIES * NEIGHBOURS


class NearestNeighbours(Application):
    """Rows and queries of whole numbers from 0 to 15, so that every squared distance is exact in float32."""

    NAME = "knn"
    PAPER_BYTES = 100_000_000

    def __init__(self, scale: float, seed: int) -> None:
        count = max(4 * NEIGHBOURS, round(scale * self.PAPER_BYTES / (4 * FEATURES)))
        random = np.random.default_rng(seed)
        self.rows = random.integers(0, 16, (count, FEATURES), np.uint8).astype(np.float32)
        self.queries = random.integers(0, 16, (QUERIES, FEATURES), np.uint8).astype(np.float32)
        self.size = {"rows": count, "queries": QUERIES}
        self.bytes = self.rows.nbytes + self.queries.nbytes + _LIST_BYTES

    def prepare(self, machine: Machine) -> Plan:
        """See `Application`."""
        return _Plan(self, machine)

    @cached_property
    def _expected(self) -> NDArray[np.uint64]:
        lengths = np.einsum("rf,rf->r", self.rows, self.rows)
        indices = np.arange(len(self.rows), dtype=np.uint64)

        def nearest(query: NDArray[np.float32]) -> NDArray[np.uint64]:
            distances = lengths - 2 * (self.rows @ query) + query @ query
            candidates = distances.view(np.uint32).astype(np.uint64) << np.uint64(32) | indices
            return np.sort(np.partition(candidates, NEIGHBOURS - 1)[:NEIGHBOURS])

        with ThreadPoolExecutor(os.cpu_count()) as pool:
            return np.stack(list(pool.map(nearest, self.queries)))

    def problem(self, result: NDArray[Any]) -> str:
        """See `Application`."""
        wrong = int(np.count_nonzero((result != self._expected).any(axis=1)))
        return f"{wrong} of {QUERIES} queries have other neighbours than by NumPy" if wrong else ""


class _Plan(Plan):
    def __init__(self, search: NearestNeighbours, machine: Machine) -> None:
        self._data = search
        self._machine = machine
        program = machine.build(SOURCE, FEATURES=FEATURES, NEIGHBOURS=NEIGHBOURS, QUERIES=QUERIES)
        self._search, self._merge = cl.Kernel(program, "search"), cl.Kernel(program, "merge")
        self._rows = even(len(search.rows), machine)
        self.shares = [rows.stop - rows.start for rows in self._rows]

    def run(self, clock: Clock) -> NDArray[Any]:
        machine = self._machine
        with clock.transfer():
            queries = machine.spread(self._data.queries, machine.all_shares)
            parts = [machine.write(share, self._data.rows[rows]) for share, rows in enumerate(self._rows)]
        with clock.compute():
            gathered = machine.buffer(len(machine) * _LIST_BYTES)
            nearest = machine.buffer(_LIST_BYTES)
            for share, part in enumerate(parts):
                found, searched = self._nearest_of_share(share, part, queries)
                # The first device fetches the list from the other one.
                cl.enqueue_copy(
                    machine.queues[0], gathered, found,
                    dst_offset=share * _LIST_BYTES, byte_count=_LIST_BYTES, wait_for=[searched],
                )  # fmt: skip
            machine.launch(0, self._merge, QUERIES, gathered, np.int32(len(machine)), nearest)
        result = np.empty((QUERIES, NEIGHBOURS), np.uint64)
        with clock.transfer():
            machine.read(0, result, nearest)
        return result

    def _nearest_of_share(self, share: int, rows: cl.Buffer, queries: cl.Buffer) -> tuple[cl.Buffer, cl.Event]:
        machine, count = self._machine, self.shares[share]
        part_rows = max(_FEWEST_ROWS, -(-count // _PARTS))
        lists = -(-count // part_rows)
        candidates, nearest = machine.buffer(lists * _LIST_BYTES), machine.buffer(_LIST_BYTES)
        first = self._rows[share].start
        machine.launch(
            share, self._search, lists * QUERIES,
            rows, np.int32(count), np.int32(first), np.int32(part_rows), queries, candidates,
        )  # fmt: skip
        return nearest, machine.launch(share, self._merge, QUERIES, candidates, np.int32(lists), nearest)
