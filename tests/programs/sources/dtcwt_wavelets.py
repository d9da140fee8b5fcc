"""A dual-tree complex wavelet transform by dtcwt's OpenCL back end."""

import time

import dtcwt
import numpy as np


def main() -> None:
    dtcwt.push_backend("opencl")
    picture = np.random.default_rng(0).random((128, 128)).astype(np.float32)
    transform = dtcwt.Transform2d()
    for _ in range(3):
        begin = time.perf_counter()
        result = transform.forward(picture, nlevels=3)
        lowest, highest = result.lowpass, result.highpasses
        seconds = time.perf_counter() - begin
    print(f"{lowest.sum():.5g}", *(f"{np.abs(part).sum():.5g}" for part in highest))
    print(f"seconds: {seconds}")


main()
