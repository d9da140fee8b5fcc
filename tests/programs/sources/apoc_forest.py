"""A random forest for pixels, trained and applied by apoc on OpenCL."""

import time

import apoc
import numpy as np


def main() -> None:
    y, x = np.mgrid[:128, :128]
    picture = (np.sin(x / 9.0) * np.cos(y / 7.0) * 100).astype(np.float32)
    truth = np.zeros(picture.shape, np.uint8)
    truth[:40] = 1 + (picture[:40] > 10)
    classifier = apoc.PixelClassifier(opencl_filename="pixels.cl", max_depth=3, num_ensembles=10)
    np.random.seed(0)
    classifier.train("original gaussian_blur=1", truth, picture)
    for _ in range(2):
        begin = time.perf_counter()
        found = np.asarray(classifier.predict(image=picture))
        seconds = time.perf_counter() - begin
    print(np.array_equal(found == 2, picture > 10) or f"{np.mean((found == 2) == (picture > 10)):.2f}")
    print(f"seconds: {seconds}")


main()
