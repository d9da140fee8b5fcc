"""A Gaussian blur, a convolution, a maximum and a rotation of a volume by gputools."""

import time

import gputools
import numpy as np


def main() -> None:
    volume = np.random.default_rng(0).random((32, 64, 64)).astype(np.float32)
    for _ in range(3):
        begin = time.perf_counter()
        blurred = gputools.blur(volume, 2.0)
        median = gputools.max_filter(volume, 3)
        turned = gputools.rotate(volume, axis=(1, 0, 0), angle=0.3)
        convolved = gputools.convolve(volume, np.ones((3, 3, 3), np.float32) / 27)
        seconds = time.perf_counter() - begin
    print(*(f"{result.std():.5g}" for result in (blurred, median, turned, convolved)))
    print(f"seconds: {seconds}")


main()
