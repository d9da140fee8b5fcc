"""Random commands on several queues of two servers, every byte compared with a sequential model."""

import os
import random

import numpy as np
import pytest

cl = pytest.importorskip("pyopencl")

SOURCE = """
__kernel void add(__global uint *to, uint value) { to[get_global_id(0)] += value; }
__kernel void combine(__global const uint *from, __global uint *to) {
    to[get_global_id(0)] ^= from[get_global_id(0)] * 3u;
}
"""
WORDS = 40_000  # 160 kB: larger than what travels inside a message; parts of it are smaller
PART = 1024  # sub-buffer alignment, in words


class Model:
    """Buffers of a context over several devices beside NumPy arrays that get the same commands at once."""

    def __init__(self, context, seed):
        self.random = random.Random(seed)
        self.context = context
        self.queues = [
            cl.CommandQueue(context, device, properties=properties)
            for device in context.devices
            for properties in (0, cl.command_queue_properties.OUT_OF_ORDER_EXEC_MODE_ENABLE)
        ]
        program = cl.Program(context, SOURCE).build()
        self.add_kernel = cl.Kernel(program, "add")
        self.mix_kernel = cl.Kernel(program, "combine")
        flags = cl.mem_flags
        self.arrays = [np.arange(WORDS, dtype=np.uint32) * (i + 1) for i in range(3)]
        hosts = [array.copy() for array in self.arrays]
        self.keep = hosts
        self.buffers = [
            cl.Buffer(context, flags.READ_WRITE | flags.COPY_HOST_PTR, hostbuf=hosts[0]),
            cl.Buffer(context, flags.READ_WRITE | flags.USE_HOST_PTR, hostbuf=hosts[1]),
            cl.Buffer(context, flags.READ_WRITE, size=WORDS * 4),
        ]
        self.events = [[], [], []]
        cl.enqueue_copy(self.queues[0], self.buffers[2], self.arrays[2])

    def words(self):
        size = self.random.choice([1, 7, 1000, 20_000, WORDS])
        return self.random.randrange(0, WORDS - size + 1), size

    def part(self):
        begin = self.random.randrange(0, WORDS // PART) * PART
        size = self.random.randrange(1, WORDS - begin + 1)
        return begin, size

    def step(self):
        index = self.random.randrange(3)
        other = (index + self.random.randrange(1, 3)) % 3
        queue = self.random.choice(self.queues)
        wait = self.events[index] + self.events[other]
        name = self.random.choice(
            ["write", "write_later", "read", "copy", "fill", "add", "add_part", "mix", "map", "migrate"]
        )
        event = getattr(self, name)(queue, index, other, wait)
        self.events[index] = [event] if event is not None else wait
        self.events[other] = [event] if event is not None else wait
        if self.random.random() < 0.1:
            queue.flush()

    def write(self, queue, index, other, wait):
        begin, size = self.words()
        data = np.full(size, self.random.getrandbits(32), np.uint32)
        self.arrays[index][begin : begin + size] = data
        return cl.enqueue_copy(queue, self.buffers[index], data, dst_offset=begin * 4, wait_for=wait)

    def write_later(self, queue, index, other, wait):
        begin, size = self.words()
        data = np.full(size, self.random.getrandbits(32), np.uint32)
        self.keep.append(data)
        self.arrays[index][begin : begin + size] = data
        return cl.enqueue_copy(queue, self.buffers[index], data, dst_offset=begin * 4, wait_for=wait, is_blocking=False)

    def read(self, queue, index, other, wait):
        begin, size = self.words()
        data = np.empty(size, np.uint32)
        event = cl.enqueue_copy(queue, data, self.buffers[index], src_offset=begin * 4, wait_for=wait)
        np.testing.assert_array_equal(data, self.arrays[index][begin : begin + size])
        return event

    def copy(self, queue, index, other, wait):
        begin, size = self.words()
        to = self.random.randrange(0, WORDS - size + 1)
        self.arrays[other][to : to + size] = self.arrays[index][begin : begin + size]
        return cl.enqueue_copy(
            queue,
            self.buffers[other],
            self.buffers[index],
            byte_count=size * 4,
            src_offset=begin * 4,
            dst_offset=to * 4,
            wait_for=wait,
        )

    def fill(self, queue, index, other, wait):
        begin, size = self.words()
        value = np.uint32(self.random.getrandbits(32))
        self.arrays[index][begin : begin + size] = value
        return cl.enqueue_fill_buffer(queue, self.buffers[index], value, begin * 4, size * 4, wait_for=wait)

    def add(self, queue, index, other, wait):
        value = np.uint32(self.random.getrandbits(32))
        self.arrays[index] += value
        return self.add_kernel(queue, (WORDS,), None, self.buffers[index], value, wait_for=wait)

    def add_part(self, queue, index, other, wait):
        begin, size = self.part()
        value = np.uint32(self.random.getrandbits(32))
        self.arrays[index][begin : begin + size] += value
        part = self.buffers[index].get_sub_region(begin * 4, size * 4)
        return self.add_kernel(queue, (size,), None, part, value, wait_for=wait)

    def mix(self, queue, index, other, wait):
        self.arrays[other] ^= self.arrays[index] * np.uint32(3)
        return self.mix_kernel(queue, (WORDS,), None, self.buffers[index], self.buffers[other], wait_for=wait)

    def map(self, queue, index, other, wait):
        begin, size = self.words()
        mapped, event = cl.enqueue_map_buffer(
            queue,
            self.buffers[index],
            cl.map_flags.READ | cl.map_flags.WRITE,
            begin * 4,
            (size,),
            np.uint32,
            wait_for=wait,
            is_blocking=True,
        )
        np.testing.assert_array_equal(mapped, self.arrays[index][begin : begin + size])
        value = np.uint32(self.random.getrandbits(32))
        mapped[:] = value
        self.arrays[index][begin : begin + size] = value
        return mapped.base.release(queue, [event])

    def migrate(self, queue, index, other, wait):
        return cl.enqueue_migrate_mem_objects(queue, [self.buffers[index]], wait_for=wait)

    def check(self):
        for index in range(3):
            data = np.empty(WORDS, np.uint32)
            cl.enqueue_copy(self.random.choice(self.queues), data, self.buffers[index], wait_for=self.events[index])
            np.testing.assert_array_equal(data, self.arrays[index])


@pytest.fixture(scope="module")
def two_server_context(connection):
    return connection.context()


@pytest.mark.parametrize("round_", range(6))
def test_random_commands_give_the_bytes_of_the_sequential_model(two_server_context, round_):
    seed = int(os.environ.get("REMOTECL_TEST_SEED", "0")) or random.randrange(1, 2**31)
    print(f"seed {seed}: repeat with REMOTECL_TEST_SEED={seed}")
    model = Model(two_server_context, seed)
    for _ in range(120):
        model.step()
    model.check()
