"""A Fourier transform, a matrix product, a reduction and random numbers by reikna."""

import time

import numpy as np
from reikna.algorithms import Reduce, predicate_sum
from reikna.cluda import ocl_api
from reikna.fft import FFT
from reikna.linalg import MatrixMul


def main() -> None:
    thread = ocl_api().Thread.create()
    random = np.random.default_rng(0)
    wave = (random.standard_normal((64, 128)) + 1j).astype(np.complex64)
    left, right = random.standard_normal((2, 96, 96)).astype(np.float32)
    waves, lefts, rights = (thread.to_device(array) for array in (wave, left, right))
    transform = FFT(waves, axes=(1,)).compile(thread)
    product = MatrixMul(lefts, rights).compile(thread)
    total = Reduce(lefts, predicate_sum(np.float32)).compile(thread)
    results = thread.empty_like(waves), thread.array((96, 96), np.float32), thread.array((), np.float32)
    for _ in range(20):
        begin = time.perf_counter()
        transform(results[0], waves)
        product(results[1], lefts, rights)
        total(results[2], lefts)
        spectrum, matrix, summed = (result.get() for result in results)
        seconds = time.perf_counter() - begin
    print(np.allclose(spectrum, np.fft.fft(wave, axis=1), atol=1e-3), np.allclose(matrix, left @ right, atol=1e-3))
    print(f"{float(summed):.4f}")
    print(f"seconds: {seconds}")


main()
