"""Runs a small network with OpenCV's module for them, on the processor and on an OpenCL device; prints both results.

Nothing in it knows about remotecl.
"""

import json

import cv2
import numpy as np

NETWORK = """[net]
width=16
height=16
channels=3
[convolutional]
filters=8
size=3
stride=1
pad=1
activation=leaky
[maxpool]
size=2
stride=2
[convolutional]
filters=16
size=3
stride=1
pad=1
activation=leaky
[avgpool]
[softmax]
"""


def parameters() -> bytes:
    """A file as Darknet writes it: a version, how many images it has seen, and each layer's biases and weights."""
    random = np.random.default_rng(0)
    arrays = [np.array([0, 2, 0], np.int32), np.zeros(1, np.int64)]
    for filters, inputs in ((8, 3 * 9), (16, 8 * 9)):
        arrays += [random.standard_normal(count).astype(np.float32) for count in (filters, filters * inputs)]
    return b"".join(array.tobytes() for array in arrays)


def result_on(target: int) -> list[float]:
    files = [np.frombuffer(content, np.uint8) for content in (NETWORK.encode(), parameters())]
    network = cv2.dnn.readNetFromDarknet(*files)
    network.setPreferableBackend(cv2.dnn.DNN_BACKEND_OPENCV)
    network.setPreferableTarget(target)
    network.setInput(np.random.default_rng(1).standard_normal((2, 3, 16, 16)).astype(np.float32))
    return network.forward().reshape(-1).tolist()


def main() -> None:
    cv2.ocl.setUseOpenCL(True)
    results = {
        "processor": result_on(cv2.dnn.DNN_TARGET_CPU),
        "opencl": result_on(cv2.dnn.DNN_TARGET_OPENCL),
        "device": cv2.ocl.Device.getDefault().name(),
    }
    print(json.dumps(results))


if __name__ == "__main__":
    main()
