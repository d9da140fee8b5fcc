"""Key points, a median filter and a reconstruction by silx."""

import time

import numpy as np
from silx.opencl.backprojection import Backprojection
from silx.opencl.medfilt import MedianFilter2D
from silx.opencl.sift import SiftPlan


def main() -> None:
    y, x = np.mgrid[:256, :256]
    picture = (np.sin(x / 9.0) * np.cos(y / 7.0) * 100 + 128 + (x * 7919 + y * 104729) % 23).astype(np.float32)
    plans = SiftPlan(template=picture, devicetype="ALL"), MedianFilter2D(picture.shape, (5, 5), devicetype="ALL")
    projection = Backprojection((180, 256), devicetype="ALL")
    for _ in range(2):
        begin = time.perf_counter()
        points = plans[0].keypoints(picture)
        median = plans[1].medfilt2d(picture, (5, 5))
        slices = projection.filtered_backprojection(picture[:180])
        seconds = time.perf_counter() - begin
    print(f"{len(points)} key points, scales {np.sort(points.scale)[-3:]}")
    print(f"median {median.sum():.6g}, slice {np.abs(slices).sum():.6g}")
    print(f"seconds: {seconds}")


main()
