"""PyOpenCL's own algorithms: element-wise kernels, reductions, scans, sorting, random numbers, complex arithmetic."""

import time

import numpy as np
import pyopencl as cl
import pyopencl.array as cla
import pyopencl.clmath as clmath
import pyopencl.clrandom as clrandom
from pyopencl.algorithm import RadixSort, unique
from pyopencl.elementwise import ElementwiseKernel
from pyopencl.reduction import ReductionKernel
from pyopencl.scan import GenericScanKernel


def main() -> None:
    context = cl.create_some_context(interactive=False)
    queue = cl.CommandQueue(context)
    host = np.random.default_rng(0).integers(0, 1 << 20, 1 << 16).astype(np.int32)
    data = cla.to_device(queue, host)
    wave = ElementwiseKernel(context, "float* y, const int* x", "y[i] = sin(x[i] * 0.001f)", "wave")
    norm = ReductionKernel(context, np.float32, "0", "a+b", "x[i]*x[i]", "const float* x")
    total = GenericScanKernel(
        context, np.int32, "int* x, int* y", "x[i] & 255", "a+b", "0", output_statement="y[i] = item"
    )
    sort = RadixSort(context, "int* x", key_expr="x[i]", sort_arg_names=["x"])
    for _ in range(2):
        begin = time.perf_counter()
        y, sums = cla.empty(queue, host.shape, np.float32), cla.empty_like(data)
        wave(y, data)
        squares = norm(y).get()
        total(data, sums)
        (ordered,), _ = sort(data)
        _, count, _ = unique(ordered)
        noise = clrandom.rand(queue, 10000, np.float32).get()
        angles = clmath.atan2(y, y + 1).get()
        phases = (cla.to_device(queue, np.exp(1j * host[:1000]).astype(np.complex64)) ** 3).get()
        seconds = time.perf_counter() - begin
    print((sums.get() == np.cumsum(host & 255)).all(), (ordered.get() == np.sort(host)).all())
    print(int(count.get()) == len(np.unique(host)), 0 <= noise.min() < noise.max() < 1)
    print(f"{squares:.6g} {angles.sum():.5g} {phases.sum():.4g}")
    print(f"seconds: {seconds}")


main()
