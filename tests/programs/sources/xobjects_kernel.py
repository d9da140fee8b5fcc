"""An object in a device's memory and a kernel on it, by xobjects' PyOpenCL context."""

import time

import numpy as np
import xobjects as xo

SOURCE = """
/*gpukern*/ void push(const int32_t count, /*gpuglmem*/ double* x, /*gpuglmem*/ const double* p, const double step) {
  for (int32_t i = 0; i < count; i++) { //vectorize_over i count
    x[i] = x[i] + step * p[i];
  } //end_vectorize
}
"""


def main() -> None:
    context = xo.ContextPyopencl()
    pointer = {"pointer": True}
    arguments = [
        xo.Arg(xo.Int32, name="count"), xo.Arg(xo.Float64, **pointer, name="x"),
        xo.Arg(xo.Float64, **pointer, const=True, name="p"), xo.Arg(xo.Float64, const=True, name="step"),
    ]  # fmt: skip
    context.add_kernels(sources=[SOURCE], kernels={"push": xo.Kernel(args=arguments, n_threads="count")})
    count = 100000
    x, p = context.nparray_to_context_array(np.zeros(count)), context.nparray_to_context_array(np.arange(count) * 1.0)
    begin = time.perf_counter()
    for _ in range(200):
        context.kernels.push(count=count, x=x, p=p, step=0.5)
    result = context.nparray_from_context_array(x)
    print(f"seconds: {time.perf_counter() - begin}")
    print(result.sum())


main()
