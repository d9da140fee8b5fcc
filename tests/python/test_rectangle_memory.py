"""Rectangles and images with gaps between their rows, which pass through the client's memory in pieces."""

import pytest

from daemon import Daemon

MIB = 1 << 20

PROGRAM = """
import resource
import numpy as np
import pyopencl as cl
import remotecl

PITCH, WIDTH, HEIGHT, COUNT = 4096, 4032, {height}, 2
context = remotecl.connect({address!r}).context()
queue = cl.CommandQueue(context, properties={properties})
kind = {kind!r}
if kind == "image":
    form = cl.ImageFormat(cl.channel_order.RGBA, cl.channel_type.UNSIGNED_INT8)
    memories = [cl.Image(context, cl.mem_flags.READ_WRITE, form, shape=(WIDTH // 4, HEIGHT)) for i in range(COUNT)]
    shape = dict(origin=(0, 0), region=(WIDTH // 4, HEIGHT))
    gaps = dict(pitches=(PITCH,))
else:
    memories = [cl.Buffer(context, cl.mem_flags.READ_WRITE, WIDTH * HEIGHT) for i in range(COUNT)]
    shape = dict(buffer_origin=(0, 0, 0), host_origin=(0, 0, 0), region=(WIDTH, HEIGHT, 1), buffer_pitches=(WIDTH,))
    gaps = dict(host_pitches=(PITCH,))
random = np.random.default_rng({height})
there = [random.integers(0, 256, (HEIGHT, PITCH), dtype=np.uint8) for i in range(COUNT)]
back = [np.full((HEIGHT, PITCH), 7, np.uint8) for i in range(COUNT)]
before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
written = [
    cl.enqueue_copy(queue, memory, host, is_blocking=False, **shape, **gaps) for memory, host in zip(memories, there)
]
read = [
    cl.enqueue_copy(queue, host, memory, is_blocking=False, wait_for=[event], **shape, **gaps)
    for memory, host, event in zip(memories, back, written)
]
queue.finish()
grown = (resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before) * 1024
same = all(bool((a[:, :WIDTH] == b[:, :WIDTH]).all()) for a, b in zip(there, back))
kept = all(bool((b[:, WIDTH:] == 7).all()) for b in back)
print(int(same), int(kept), grown)
"""

IN_ORDER, OUT_OF_ORDER = "0", "cl.command_queue_properties.OUT_OF_ORDER_EXEC_MODE_ENABLE"


@pytest.fixture
def server():
    with Daemon() as daemon:
        yield daemon.address


@pytest.mark.parametrize("memory", ["on", "off"], ids=["shared memory", "tcp"])
@pytest.mark.parametrize("kind", ["buffer", "image"])
@pytest.mark.parametrize("properties", [IN_ORDER, OUT_OF_ORDER], ids=["in order", "out of order"])
def test_little_is_in_memory_at_a_time(run_program, server, kind, properties, memory):
    source = PROGRAM.format(address=server, kind=kind, properties=properties, height=16384 - 3)
    output = run_program(source, REMOTECL_SHARED_MEMORY=memory).stdout
    same, kept, grown = map(int, output.split())
    assert same and kept
    assert grown < 50 * MIB  # four times 63 MiB are moved
