"""Fourier transforms by clFFT, through gpyfft."""

import time

import numpy as np
import pyopencl as cl
import pyopencl.array as cla
from gpyfft import FFT


def main() -> None:
    context = cl.create_some_context(interactive=False)
    queue = cl.CommandQueue(context)
    host = np.random.default_rng(0).standard_normal((64, 128)).astype(np.complex64)
    data = cla.to_device(queue, host)
    plan = FFT(context, queue, data, axes=(1,))
    for _ in range(2):
        begin = time.perf_counter()
        for step in range(200):
            (event,) = plan.enqueue_arrays(data=data, forward=step % 2 == 0)
            event.wait()
        seconds = time.perf_counter() - begin
    print(np.allclose(data.get(), host, atol=1e-3))
    print(f"seconds: {seconds}")


main()
