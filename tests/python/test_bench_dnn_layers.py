"""The layers of `benchmarks.dnn`: forward as NumPy computes it, and backward as differences of that show it."""

from collections.abc import Callable

import numpy as np
import pyopencl as cl
import pytest

from benchmarks.dnn.gemm import Gemm, Matrix
from benchmarks.dnn.layers import (
    AveragePooling,
    Convolution,
    Dropout,
    InnerProduct,
    Layer,
    LocalResponseNormalization,
    MaxPooling,
    Place,
    ReLU,
    SoftmaxLoss,
)
from benchmarks.dnn.machine import Machine, Options
from benchmarks.dnn.tensor import Shape

# Steps of a difference, in double precision.
STEP = 1e-6
OPTIONS = [Options(), Options(queues=2), Options(batched=False), Options(batched=False, queues=3)]


def identity(options: Options) -> str:
    return f"{'batched' if options.batched else 'images'}-{options.queues}"


@pytest.fixture(params=OPTIONS, ids=identity)
def machine(request, connection) -> Machine:
    device = connection.devices[0]
    return Machine(cl.Context([device]), device, request.param)


def random_array(*shape: int, seed: int = 0) -> np.ndarray:
    return np.random.default_rng(seed).standard_normal(shape).astype(np.float32)


class Tried:
    """A layer after a forward and a backward pass with random numbers, and what should have come out."""

    def __init__(self, make: Callable[..., Layer], images: np.ndarray, machine: Machine) -> None:
        count, channels, height, width = images.shape
        self.images = images
        self.layer = make(machine, Shape(count, channels, height, width, machine.options.batched))
        self.parameters = random_array(self.layer.weight_count + self.layer.bias_count, seed=1)
        values, gradients = (machine.buffer(len(self.parameters)) for _ in range(2))
        machine.write(values, self.parameters) if len(self.parameters) else None
        self.layer.place = Place(values, gradients, 0, self.layer.weight_count)
        into, out = self.layer.input_shape, self.layer.shape
        data = machine.buffer(into.count)
        machine.write(data, into.packed(images))
        self.output = out.unpacked(machine.read(self.layer.forward(data), np.empty(out.count, np.float32)))
        self.gradient = random_array(*self.output.shape, seed=2)
        above = machine.buffer(out.count)
        machine.write(above, out.packed(self.gradient))
        below = self.layer.backward(above)
        self.input_gradient = into.unpacked(machine.read(below, np.empty(into.count, np.float32)))
        self.parameter_gradient = np.empty(len(self.parameters), np.float32)
        if len(self.parameters):
            machine.read(gradients, self.parameter_gradient)

    def check(self, reference: Callable[..., np.ndarray]) -> None:
        """`reference` takes images, weights and biases."""

        def loss(images: np.ndarray, parameters: np.ndarray) -> float:
            cut = self.layer.weight_count
            return float((reference(images, parameters[:cut], parameters[cut:]) * self.gradient).sum())

        images, parameters = self.images.astype(np.float64), self.parameters.astype(np.float64)
        cut = self.layer.weight_count
        np.testing.assert_allclose(self.output, reference(images, parameters[:cut], parameters[cut:]), atol=2e-5)
        wanted = differences(lambda changed: loss(changed, parameters), images)
        np.testing.assert_allclose(self.input_gradient, wanted, atol=1e-4)
        wanted = differences(lambda changed: loss(images, changed), parameters)
        np.testing.assert_allclose(self.parameter_gradient, wanted, atol=1e-4)


def differences(function: Callable[[np.ndarray], float], at: np.ndarray) -> np.ndarray:
    """The gradient of a function, from two values for each number."""
    result = np.empty_like(at)
    for place in np.ndindex(at.shape):
        changed = at.copy()
        changed[place] += STEP
        above = function(changed)
        changed[place] -= 2 * STEP
        result[place] = (above - function(changed)) / (2 * STEP)
    return result


def windows(images: np.ndarray, size: int, stride: int, pad: int = 0) -> np.ndarray:
    """[image, channel, y, x, row, column]"""
    padded = np.pad(images, ((0, 0), (0, 0), (pad, pad), (pad, pad)))
    views = np.lib.stride_tricks.sliding_window_view(padded, (size, size), (2, 3))
    return views[:, :, ::stride, ::stride]


@pytest.mark.parametrize(("size", "stride", "pad", "groups"), [(3, 1, 1, 1), (2, 2, 0, 1), (3, 2, 1, 2), (4, 3, 0, 2)])
def test_convolution(machine, size, stride, pad, groups):
    filters = 6

    def make(*arguments):
        return Convolution(*arguments, filters=filters, size=size, stride=stride, pad=pad, groups=groups)

    def reference(images, weights, biases):
        channels = images.shape[1] // groups
        rows = weights.reshape(groups, filters // groups, channels, size, size)
        cut = windows(images, size, stride, pad)
        parts = [
            np.einsum("ncyxij,fcij->nfyx", cut[:, group * channels : (group + 1) * channels], rows[group])
            for group in range(groups)
        ]
        return np.concatenate(parts, axis=1) + biases[:, None, None]

    Tried(make, random_array(3, 4, 7, 6), machine).check(reference)


def test_a_first_layer_computes_no_gradient_of_images(machine):
    layer = Convolution(machine, Shape(2, 1, 4, 4, machine.options.batched), filters=2, size=3)
    layer.needs_input_gradient = False
    buffers = [machine.buffer(100) for _ in range(4)]
    layer.place = Place(buffers[0], buffers[1], 0, layer.weight_count)
    layer.forward(buffers[2])
    before = machine.launches
    layer.backward(buffers[3])
    assert not any("roll" in key for key in machine._kernels)
    assert machine.launches > before


def test_inner_product(machine):
    def reference(images, weights, biases):
        result = images.reshape(len(images), -1) @ weights.reshape(5, -1).T + biases
        return result[:, :, None, None]

    def make(*arguments):
        return InnerProduct(*arguments, outputs=5)

    Tried(make, random_array(3, 2, 3, 4), machine).check(reference)
    Tried(make, random_array(4, 7, 1, 1), machine).check(reference)


@pytest.mark.parametrize(("size", "stride"), [(2, 2), (3, 2)])
def test_pooling(machine, size, stride):
    """The last window of a row is cut off if the stride does not come out even."""

    def pooled(reduce):
        def reference(images, *_):
            height, width = images.shape[2:]
            tops = range(0, height - size + stride, stride)
            lefts = range(0, width - size + stride, stride)
            rows = [[reduce(images[:, :, y : y + size, x : x + size], axis=(2, 3)) for x in lefts] for y in tops]
            return np.moveaxis(np.array(rows), (0, 1), (2, 3))

        return reference

    images = np.random.default_rng(3).permutation(2 * 3 * 6 * 7).reshape(2, 3, 6, 7).astype(np.float32) / 100
    Tried(lambda *arguments: MaxPooling(*arguments, size=size, stride=stride), images, machine).check(pooled(np.max))
    Tried(lambda *arguments: AveragePooling(*arguments, size=size, stride=stride), images, machine).check(
        pooled(np.mean)
    )


def test_relu(machine):
    Tried(ReLU, random_array(2, 3, 4, 5), machine).check(lambda images, *_: np.maximum(images, 0))


@pytest.mark.parametrize("channels", [3, 8])
def test_normalization(machine, channels):
    size, alpha, beta = 5, 0.5, 0.75

    def reference(images, *_):
        padded = np.pad(images**2, ((0, 0), (size // 2, size // 2), (0, 0), (0, 0)))
        sums = np.lib.stride_tricks.sliding_window_view(padded, size, 1).sum(axis=-1)
        return images / (1 + alpha / size * sums) ** beta

    def make(*arguments):
        return LocalResponseNormalization(*arguments, size=size, alpha=alpha, beta=beta)

    Tried(make, random_array(2, channels, 2, 3), machine).check(reference)


def test_dropout(machine):
    """The same numbers are dropped in both passes and in both layouts, others in the next step."""
    images = random_array(4, 5, 6, 6)
    tried = Tried(lambda *arguments: Dropout(*arguments, rate=0.3, seed=7), images, machine)
    kept = tried.output != 0
    assert 0.6 < kept.mean() < 0.8
    np.testing.assert_allclose(tried.output, np.where(kept, images / 0.7, 0), rtol=1e-6)
    np.testing.assert_allclose(tried.input_gradient, np.where(kept, tried.gradient / 0.7, 0), rtol=1e-6)
    np.testing.assert_array_equal(kept.reshape(-1), ~dropped(kept.size, seed=7, rate=0.3))
    shape = tried.layer.shape
    again = tried.layer.forward(_buffer_of(machine, shape.packed(images)))
    assert (shape.unpacked(machine.read(again, np.empty(shape.count, np.float32))) != 0).tolist() != kept.tolist()
    tried.layer.training = False
    untouched = _buffer_of(machine, shape.packed(images))
    assert tried.layer.forward(untouched) is untouched


def dropped(count: int, seed: int, rate: float) -> np.ndarray:
    """Which of so many numbers, as the kernel finds it."""
    mixed = np.arange(count, dtype=np.uint64) * 0x9E3779B9 ^ (seed * 0x85EBCA6B + 0x27D4EB2F)
    mixed &= 0xFFFFFFFF
    for shift, factor in ((16, 0x7FEB352D), (15, 0x846CA68B), (16, 1)):
        mixed = (mixed ^ (mixed >> np.uint64(shift))) * factor & 0xFFFFFFFF
    return (mixed >> np.uint64(8)) / (1 << 24) < rate


def _buffer_of(machine: Machine, array: np.ndarray) -> cl.Buffer:
    buffer = machine.buffer(array.size)
    machine.write(buffer, array)
    return buffer


def test_softmax_loss(machine):
    count, classes, batch = 4, 5, 10
    scores = random_array(count, classes) * 3
    labels = np.array([0, 4, 2, 2], np.int32)

    def losses(scores):
        shifted = scores - scores.max(axis=1, keepdims=True)
        return np.log(np.exp(shifted).sum(axis=1)) - shifted[np.arange(count), labels]

    shape = Shape(count, classes, batched=machine.options.batched)
    layer = SoftmaxLoss(machine, shape, batch=batch)
    machine.write(layer.labels, labels)
    probabilities = layer.forward(_buffer_of(machine, shape.packed(scores)))
    found = shape.unpacked(machine.read(probabilities, np.empty(shape.count, np.float32)))[:, :, 0, 0]
    np.testing.assert_allclose(found.sum(axis=1), 1, rtol=1e-5)
    np.testing.assert_allclose(layer.losses(), losses(scores), rtol=1e-5, atol=1e-6)
    gradient = shape.unpacked(machine.read(layer.backward(), np.empty(shape.count, np.float32)))[:, :, 0, 0]
    wanted = differences(lambda changed: losses(changed).sum() / batch, scores.astype(np.float64))
    np.testing.assert_allclose(gradient, wanted, atol=1e-5)


@pytest.mark.parametrize("kind", ["cpu", "gpu"])
@pytest.mark.parametrize("transposed", ["", "a", "b"])
@pytest.mark.parametrize("size", [(1, 1, 1), (7, 5, 3), (33, 70, 40), (130, 97, 17), (6, 9, 9001)])
def test_matrix_products(connection, kind, transposed, size):
    """With the kernel for CPUs and the one for GPUs, with and without what was there, in the middle of a buffer."""
    device = connection.devices[0]
    machine = Machine(cl.Context([device]), device)
    machine.is_cpu = kind == "cpu"
    rows, columns, depth = size
    a, b, before = (random_array(*shape) for shape in ((rows, depth), (depth, columns), (rows, columns + 3)))
    matrices = []
    for array, name in ((a, "a"), (b, "b")):
        stored = np.pad(array.T if name == transposed else array, ((1, 0), (0, 2)))
        matrices.append(Matrix(_buffer_of(machine, np.ascontiguousarray(stored)), stored.shape[1], stored.shape[1]))
    gemm = Gemm(machine)
    for add in (False, True):
        product = _buffer_of(machine, np.concatenate([[9], before.reshape(-1)]).astype(np.float32))
        gemm.multiply(
            *matrices, Matrix(product, columns + 3, 1), size, transpose_a=transposed == "a",
            transpose_b=transposed == "b", add=add, lane=0,
        )  # fmt: skip
        found = machine.read(product, np.empty(before.size + 1, np.float32))
        wanted = before.astype(np.float64)
        wanted[:, :columns] = a.astype(np.float64) @ b + add * wanted[:, :columns]
        assert found[0] == 9
        np.testing.assert_allclose(found[1:].reshape(before.shape), wanted, atol=2e-5 * depth**0.5)
