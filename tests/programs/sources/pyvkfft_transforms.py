"""Fourier transforms by VkFFT's OpenCL back end, compared with NumPy's."""

import time

import numpy as np
import pyopencl as cl
import pyopencl.array as cla
from pyvkfft.fft import fftn, ifftn
from pyvkfft.opencl import VkFFTApp


def main() -> None:
    queue = cl.CommandQueue(cl.create_some_context(interactive=False))
    random = np.random.default_rng(0)
    for shape in ((128, 128), (16, 60, 77), (1 << 16,)):
        host = (random.standard_normal(shape) + 1j * random.standard_normal(shape)).astype(np.complex64)
        data = cla.to_device(queue, host)
        there = fftn(data).get()
        back = ifftn(fftn(data)).get()
        print(shape, np.allclose(there, np.fft.fftn(host), rtol=1e-3, atol=1e-2), np.allclose(back, host, atol=1e-4))
    plan = VkFFTApp((256, 256), np.complex64, queue=queue)
    data = cla.zeros(queue, (256, 256), np.complex64)
    queue.finish()
    begin = time.perf_counter()
    for _ in range(50):
        plan.fft(data)
        plan.ifft(data)
    queue.finish()
    print(f"seconds: {time.perf_counter() - begin}")


main()
