"""Trains a small convolutional network with tinygrad on as many OpenCL devices as its argument says; prints losses.

Nothing in it knows about remotecl.
"""

import ctypes
import json
import sys

import numpy as np
from tinygrad import Tensor, nn
from tinygrad.helpers import Context
from tinygrad.runtime.autogen import opencl as cl
from tinygrad.runtime.ops_cl import CLDevice

BATCH, CLASSES, STEPS = 32, 10, 4


def show_all_devices() -> None:
    """tinygrad takes all GPUs of the first platform; without GPUs it takes one device. This gives it all of them."""
    cl.clGetPlatformIDs(1, platforms := (cl.cl_platform_id * 1)(), None)
    cl.clGetDeviceIDs(platforms[0], cl.CL_DEVICE_TYPE_ALL, 0, None, count := ctypes.c_uint32())
    CLDevice.device_ids = (cl.cl_device_id * count.value)()
    cl.clGetDeviceIDs(platforms[0], cl.CL_DEVICE_TYPE_ALL, count, CLDevice.device_ids, None)


class Network:
    def __init__(self) -> None:
        self.convolution = nn.Conv2d(1, 4, 3, padding=1)
        self.scores = nn.Linear(4 * 4 * 4, CLASSES)

    def __call__(self, images: Tensor) -> Tensor:
        return self.scores(self.convolution(images).relu().max_pool2d(2).flatten(1))


def main(device_count: int) -> None:
    show_all_devices()
    devices = tuple(f"CL:{number}" if number else "CL" for number in range(device_count))
    random = np.random.default_rng(0)
    images = Tensor(random.standard_normal((BATCH, 1, 8, 8)).astype(np.float32))
    labels = Tensor(np.eye(CLASSES, dtype=np.float32)[random.integers(0, CLASSES, BATCH)])
    network = Network()
    parameters = nn.state.get_parameters(network)
    for parameter in parameters:
        parameter.replace(Tensor(random.uniform(-0.2, 0.2, parameter.shape).astype(np.float32))).realize()
    if device_count > 1:
        for parameter in parameters:
            parameter.to_(devices)
        images, labels = images.shard(devices, axis=0), labels.shard(devices, axis=0)
    optimizer = nn.optim.SGD(parameters, lr=0.1)
    losses = []
    with Context(TRAINING=1):
        for _ in range(STEPS):
            optimizer.zero_grad()
            loss = -(network(images).log_softmax() * labels).sum() / BATCH
            loss.backward()
            losses.append(loss.item())
            optimizer.step()
    print(json.dumps(losses))


if __name__ == "__main__":
    main(int(sys.argv[1]))
