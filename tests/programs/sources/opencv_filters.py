"""Filters, a transform and a comparison of pictures by OpenCV's transparent API."""

import time

import cv2
import numpy as np


def main() -> None:
    cv2.ocl.setUseOpenCL(True)
    print(cv2.ocl.useOpenCL())
    y, x = np.mgrid[:480, :640]
    picture = cv2.UMat(((np.sin(x / 9.0) * np.cos(y / 7.0) + 1) * 127).astype(np.uint8))
    for _ in range(3):
        begin = time.perf_counter()
        blurred = cv2.GaussianBlur(picture, (7, 7), 2)
        small = cv2.resize(blurred, (320, 240), interpolation=cv2.INTER_LINEAR)
        _, black = cv2.threshold(cv2.medianBlur(small, 3), 100, 255, cv2.THRESH_BINARY)
        grown = cv2.dilate(black, np.ones((5, 5), np.uint8))
        result = grown.get()
        seconds = time.perf_counter() - begin
    print(int(result.sum()), int(cv2.countNonZero(black)))
    print(f"seconds: {seconds}")


main()
