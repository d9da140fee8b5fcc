"""Filters, a threshold and labels by pyclesperanto, which brings its own loader."""

import time

import numpy as np
import pyclesperanto as cle


def main() -> None:
    print(bool(cle.select_device()))
    y, x = np.mgrid[:256, :256]
    picture = (np.sin(x / 9.0) * np.cos(y / 7.0) * 100).astype(np.float32)
    for _ in range(2):
        begin = time.perf_counter()
        blurred = cle.gaussian_blur(cle.push(picture), sigma_x=3, sigma_y=3)
        labels = cle.connected_components_labeling(cle.greater_constant(blurred, scalar=20))
        found = cle.pull(labels)
        seconds = time.perf_counter() - begin
    print(f"{int(found.max())} labels, {np.count_nonzero(found)} pixels, sum {float(cle.pull(blurred).std()):.5g}")
    print(f"seconds: {seconds}")


main()
