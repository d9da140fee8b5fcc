"""loopy writes and runs a stencil and a matrix product."""

import time

import loopy
import numpy as np
import pyopencl as cl


def main() -> None:
    queue = cl.CommandQueue(cl.create_some_context(interactive=False))
    product = loopy.make_kernel("{[i,j,k]: 0<=i,j,k<n}", "c[i,j] = sum(k, a[i,k]*b[k,j])", lang_version=(2018, 2))
    product = loopy.add_and_infer_dtypes(product, {"a": np.float32, "b": np.float32})
    product = loopy.split_iname(product, "i", 16, outer_tag="g.0", inner_tag="l.0")
    a, b = np.random.default_rng(0).standard_normal((2, 128, 128)).astype(np.float32)
    for _ in range(10):
        begin = time.perf_counter()
        _, (c,) = product(queue, a=a, b=b)
        seconds = time.perf_counter() - begin
    print(np.allclose(c, a @ b, atol=1e-3), f"{np.abs(c).sum():.5g}")
    print(f"seconds: {seconds}")


main()
