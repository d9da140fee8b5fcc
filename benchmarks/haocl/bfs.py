"""BFS: the distance of every vertex of a random graph from the first, its vertices divided between devices."""

from __future__ import annotations

from functools import cached_property
from typing import Any

import numpy as np
import pyopencl as cl
from numpy.typing import NDArray

from .application import Application, Plan
from .machine import Clock, Machine, even

# The fewest and the most edges that leave a vertex. A vertex has four bytes for each edge, for their beginning and for
# its level.
_DEGREES = (4, 24)
_VERTEX_BYTES = 4 * (sum(_DEGREES) // 2 + 2)

# A marked vertex gets its level before the next level begins. So a vertex without a level has no mark of an earlier
# one, and marks need not be cleared.
SOURCE = """
// Work-item vertex: marks the neighbours of the frontier, which may be anybody's.
__kernel void expand(const int count, __global const int* restrict edges_begin, __global const int* restrict edges,
                     __global const int* restrict levels, const int level, __global uchar* restrict marks) {
  const size_t vertex = get_global_id(0);
  if (vertex >= count || levels[vertex] != level) return;
  for (int edge = edges_begin[vertex]; edge < edges_begin[vertex + 1]; ++edge) marks[edges[edge]] = 1;
}

// Work-item vertex: it is in the next frontier if any device has marked it and it had no level.
__kernel void collect(const int count, __global const uchar* restrict own_marks, const int first,
                      __global const uchar* restrict others_marks, const int others, __global int* restrict levels,
                      const int next_level, __global int* restrict last_level) {
  const size_t vertex = get_global_id(0);
  if (vertex >= count || levels[vertex] >= 0) return;
  int marked = own_marks[first + vertex];
  for (int other = 0; other < others; ++other) marked |= others_marks[(size_t)other * count + vertex];
  if (!marked) return;
  levels[vertex] = next_level;
  *last_level = next_level;
}
"""


class BreadthFirstSearch(Application):
    """A directed graph of `count` vertices, each with several edges to random ones."""

    NAME = "bfs"
    PAPER_BYTES = 240_000_000

    def __init__(self, scale: float, seed: int) -> None:
        count = max(64, round(scale * self.PAPER_BYTES / _VERTEX_BYTES))
        random = np.random.default_rng(seed)
        self.count = count
        self.edges_begin = np.zeros(count + 1, np.int32)
        np.cumsum(random.integers(*_DEGREES, count, endpoint=True), out=self.edges_begin[1:])
        self.edges = random.integers(0, count, self.edges_begin[-1], np.int32)
        self.size = {"vertices": count, "edges": len(self.edges)}
        self.bytes = self.edges_begin.nbytes + self.edges.nbytes + 4 * count

    def prepare(self, machine: Machine) -> Plan:
        """See `Application`."""
        return _Plan(self, machine)

    @cached_property
    def _expected(self) -> NDArray[np.int32]:
        from scipy.sparse import csr_array
        from scipy.sparse.csgraph import breadth_first_order

        present = np.ones(len(self.edges), np.int8)
        graph = csr_array((present, self.edges, self.edges_begin), shape=(self.count, self.count))
        order, predecessors = breadth_first_order(graph, 0)
        levels = np.full(self.count, -1, np.int32)
        levels[0] = 0
        # The order is by level, so a level ends where the first vertex comes whose predecessor is in it.
        waiting = order[1:]
        while len(waiting):
            below = levels[predecessors[waiting]]
            ready = int(np.argmax(below < 0)) or len(waiting)
            levels[waiting[:ready]] = below[:ready] + 1
            waiting = waiting[ready:]
        return levels

    def problem(self, result: NDArray[Any]) -> str:
        """See `Application`."""
        wrong = int(np.count_nonzero(result != self._expected))
        return f"{wrong} of {self.count} vertices have another level than by SciPy" if wrong else ""


class _Plan(Plan):
    def __init__(self, search: BreadthFirstSearch, machine: Machine) -> None:
        self._graph = search
        self._machine = machine
        program = machine.build(SOURCE)
        self._expand, self._collect = cl.Kernel(program, "expand"), cl.Kernel(program, "collect")
        self._vertices = even(search.count, machine)
        self.shares = [part.stop - part.start for part in self._vertices]

    def run(self, clock: Clock) -> NDArray[Any]:
        with clock.transfer():
            parts = [_Part(self._machine, share, self._graph, part) for share, part in enumerate(self._vertices)]
        with clock.compute():
            self._search(parts)
        result = np.empty(self._graph.count, np.int32)
        with clock.transfer():
            for share, (vertices, part) in enumerate(zip(self._vertices, parts, strict=True)):
                self._machine.read(share, result[vertices], part.levels)
        return result

    def _search(self, parts: list[_Part]) -> None:
        last_levels = np.zeros((len(parts), 1), np.int32)
        level = 0
        # Each level ends with all devices idle, so no marks change while another device fetches them.
        while last_levels.max() == level:
            marked = [self._mark(part, level) for part in parts]
            for part in parts:
                self._fetch_marks(part, parts, marked)
                self._machine.launch(
                    part.share, self._collect, part.count,
                    part.marks, np.int32(part.first), part.others_marks, np.int32(len(parts) - 1), part.levels,
                    np.int32(level + 1), part.last_level,
                )  # fmt: skip
                self._machine.read(part.share, last_levels[part.share], part.last_level)
            self._machine.finish()
            level += 1

    def _mark(self, part: _Part, level: int) -> cl.Event:
        return self._machine.launch(
            part.share, self._expand, part.count,
            part.edges_begin, part.edges, part.levels, np.int32(level), part.marks,
        )  # fmt: skip

    def _fetch_marks(self, part: _Part, parts: list[_Part], marked: list[cl.Event]) -> None:
        """Fetches the marks that other devices have made for this one's vertices."""
        others = [other for other in parts if other is not part]
        for place, other in enumerate(others):
            cl.enqueue_copy(
                self._machine.queues[part.share], part.others_marks, other.marks,
                src_offset=part.first, dst_offset=place * part.count, byte_count=part.count,
                wait_for=[marked[other.share]],
            )  # fmt: skip


class _Part:
    """One device's vertices."""

    def __init__(self, machine: Machine, share: int, graph: BreadthFirstSearch, vertices: slice) -> None:
        self.share = share
        self.first = int(vertices.start)
        self.count = int(vertices.stop - vertices.start)
        begin, end = graph.edges_begin[vertices.start], graph.edges_begin[vertices.stop]
        levels = np.full(self.count, -1, np.int32)
        if self.first == 0:
            levels[0] = 0
        self.edges_begin = machine.write(share, graph.edges_begin[self.first : vertices.stop + 1] - begin)
        self.edges = machine.write(share, graph.edges[begin:end])
        self.levels = machine.write(share, levels)
        self.marks = machine.write(share, np.zeros(graph.count, np.uint8))
        self.others_marks = machine.buffer((len(machine) - 1) * self.count)
        self.last_level = machine.write(share, np.zeros(1, np.int32))
