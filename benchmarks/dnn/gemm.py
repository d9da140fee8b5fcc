"""Matrix products: one kernel for GPUs, one for CPUs, and a sum where the inner dimension is divided."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

import pyopencl as cl

from .machine import Machine

_FOLDER = Path(__file__).parent
_GPU = (_FOLDER / "gemm_gpu.cl", "multiply")
_CPU = (_FOLDER / "gemm_cpu.cl", "multiply")
_SUM = (_FOLDER / "gemm_sum.cl", "sum_parts")

_GPU_GROUP = 16
# How many work-groups keep a GPU busy, and how much of the inner dimension is worth a work-group of its own there.
_GPU_GROUPS = 512
_GPU_DEPTH_MIN = 256
# The rows and columns of a work-item on a CPU, as in gemm_cpu.cl, and the longest inner dimension that fits its cache.
_CPU_TILES = {False: (8, 32), True: (4, 4)}
_CPU_DEPTH_MAX = 4096


@dataclass(frozen=True)
class Matrix:
    """A matrix in a buffer, with an offset, and a stride from row to row."""

    buffer: cl.Buffer
    stride: int
    offset: int = 0


class Gemm:
    """Multiplies matrices on a machine."""

    def __init__(self, machine: Machine) -> None:
        self._machine = machine
        self._parts: dict[int, tuple[int, cl.Buffer]] = {}  # by lane: its size and the buffer

    def multiply(
        self,
        a: Matrix,
        b: Matrix,
        product: Matrix,
        size: tuple[int, int, int],
        *,
        transpose_a: bool = False,
        transpose_b: bool = False,
        add: bool = False,
        lane: int = 0,
    ) -> None:
        """`product` = A B, or `product` += A B.

        Args:
            a: A, or its transpose with `transpose_a`; at most one of the two is transposed.
            b: B, or its transpose with `transpose_b`.
            product: where the result goes.
            size: rows of A, columns of B, and columns of A.
            transpose_a: whether `a` holds the transpose of A.
            transpose_b: whether `b` holds the transpose of B.
            add: whether the result is added to what is there.
            lane: the one that computes.
        """
        rows, columns, depth = size
        tile = self._tile(rows, columns, transpose_b)
        tiles = -(-rows // tile[0]), -(-columns // tile[1])
        parts = self._part_count(tiles[0] * tiles[1], depth, transpose_b)
        part_depth = -(-depth // parts)
        target = Matrix(self._scratch(lane, parts * rows * columns), columns) if parts > 1 else product
        flags = (("-DTRANSPOSE_A",) if transpose_a else ()) + (("-DTRANSPOSE_B",) if transpose_b else ())
        matrices = [value for one in (a, b, target) for value in (one.buffer, one.offset, one.stride)]
        arguments = (*matrices, rows, columns, depth, part_depth, add and parts == 1)
        if self._machine.is_cpu:
            items, group, kernel = (*tiles, parts), (1, 1, 1), _CPU
        else:
            side = _GPU_GROUP
            items, group, kernel = (tiles[1] * side, tiles[0] * side, parts), (side, side, 1), _GPU
            flags += (f"-DTILE={tile[0]}",)
        self._machine.launch(kernel, items, *arguments, group=group, options=flags, lane=lane)
        if parts > 1:
            self._machine.launch(
                _SUM, (rows * columns,), target.buffer, parts, columns, product.buffer, product.offset,
                product.stride, add, lane=lane,
            )  # fmt: skip

    def _tile(self, rows: int, columns: int, transpose_b: bool) -> tuple[int, int]:
        if self._machine.is_cpu:
            return _CPU_TILES[transpose_b]
        side = 128 if min(rows, columns) >= 96 else 64
        return side, side

    def _part_count(self, tiles: int, depth: int, transpose_b: bool) -> int:
        """Into how many parts the inner dimension is divided."""
        if not self._machine.is_cpu:
            return max(1, min(_GPU_GROUPS // tiles, depth // _GPU_DEPTH_MIN))
        return -(-depth // _CPU_DEPTH_MAX) if transpose_b else 1

    def _scratch(self, lane: int, count: int) -> cl.Buffer:
        size, buffer = self._parts.get(lane, (0, None))
        if size < count:
            buffer = self._machine.buffer(count)
            self._parts[lane] = (count, buffer)
        return buffer
