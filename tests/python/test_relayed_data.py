"""Data between servers that cannot reach each other, which go through the client's memory."""

import pytest

from daemon import Daemon

MIB = 1 << 20

RELAYED = """
import resource
import numpy as np
import pyopencl as cl
import remotecl

SIZE = {size}
context = remotecl.connect({first!r}, {second!r}).context()
one, other = (cl.CommandQueue(context, device) for device in (context.devices[0], context.devices[-1]))
program = cl.Program(context, '''
kernel void number(global uint *x, uint seed) {{ x[get_global_id(0)] = (uint)get_global_id(0) * 2654435761u + seed; }}
kernel void check(global const uint *x, uint seed, global uint *wrong) {{
  if (x[get_global_id(0)] != (uint)get_global_id(0) * 2654435761u + seed) atomic_inc(wrong);
}}''').build()
number, check = cl.Kernel(program, "number"), cl.Kernel(program, "check")
buffer = cl.Buffer(context, cl.mem_flags.READ_WRITE, SIZE)
wrong = cl.Buffer(context, cl.mem_flags.READ_WRITE, 4)
cl.enqueue_fill_buffer(other, wrong, np.uint32(0), 0, 4)
before = None
for seed in range(3):  # the second time is in place of what came the first time
    number(one, (SIZE // 4,), None, buffer, np.uint32(seed))
    one.finish()
    if before is None:
        before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    check(other, (SIZE // 4,), None, buffer, np.uint32(seed), wrong)
    other.finish()
grown = (resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before) * 1024
found = np.empty(1, np.uint32)
cl.enqueue_copy(other, found, wrong)
through = remotecl.overview().stats.transfers.through_client
print(found[0], grown, through.count, through.bytes)
"""


@pytest.fixture
def strangers():
    with Daemon("--peers", "none") as one, Daemon("--peers", "none") as other:
        yield one.address, other.address


@pytest.mark.parametrize("size", [4 * MIB, 40 * MIB + 12, 300 * MIB], ids=["a part", "some, and a rest", "many"])
def test_every_byte_comes_and_few_are_in_memory_at_a_time(run_program, strangers, size):
    first, second = strangers
    output = run_program(RELAYED.format(first=first, second=second, size=size)).stdout
    wrong, grown, count, through = map(int, output.split())
    assert wrong == 0
    assert (count, through) == (3, 3 * size)
    assert grown < 100 * MIB


RELEASED = """
import ctypes
import gc
import threading
import numpy as np
import pyopencl as cl
import remotecl

ended = threading.Event()
callback = ctypes.CFUNCTYPE(None, ctypes.c_void_p, ctypes.c_void_p)(lambda context, data: ended.set())

def move():
    context = remotecl.connect({first!r}, {second!r}).context()
    call = ctypes.CDLL("libOpenCL.so.1").clSetContextDestructorCallback
    call.argtypes = [ctypes.c_void_p, ctypes.c_void_p, ctypes.c_void_p]
    assert call(context.int_ptr, ctypes.cast(callback, ctypes.c_void_p), None) == 0
    one, other = (cl.CommandQueue(context, device) for device in (context.devices[0], context.devices[-1]))
    buffer = cl.Buffer(context, cl.mem_flags.READ_WRITE, {size})
    cl.enqueue_fill_buffer(one, buffer, np.uint8(3), 0, {size}).wait()
    last = np.empty(1, np.uint8)
    cl.enqueue_migrate_mem_objects(other, [buffer]).wait()
    cl.enqueue_copy(other, last, buffer, src_offset={size} - 1)
    return last[0]

print(move(), gc.collect() >= 0, ended.wait(10))
"""


@pytest.mark.parametrize("size", [MIB, 20 * MIB], ids=["one part", "several"])
def test_a_transfer_keeps_its_context_no_longer_than_it_takes(run_program, strangers, size):
    first, second = strangers
    assert run_program(RELEASED.format(first=first, second=second, size=size)).stdout.split() == ["3", "True", "True"]


RELAYED_IMAGE = """
import resource
import numpy as np
import pyopencl as cl
import remotecl

SHAPE = {shape}  # as OpenCL counts
context = remotecl.connect({first!r}, {second!r}).context()
one, other = (cl.CommandQueue(context, device) for device in (context.devices[0], context.devices[-1]))
form = cl.ImageFormat(cl.channel_order.RGBA, cl.channel_type.UNSIGNED_INT8)
image = cl.Image(context, cl.mem_flags.READ_WRITE, form, shape=SHAPE)
there = np.random.default_rng(5).integers(0, 256, (*reversed(SHAPE), 4), dtype=np.uint8)
back = np.full_like(there, 7)
whole = dict(origin=(0,) * len(SHAPE), region=SHAPE)
wrong = 0
for turn in range(3):
    there[..., 0] = turn
    cl.enqueue_copy(one, image, there, **whole)
    one.finish()
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    cl.enqueue_copy(other, back, image, **whole)
    if turn == 0:  # before anything is compared, which takes memory
        grown = (resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before) * 1024
    wrong += int(not np.array_equal(there, back))
through = remotecl.overview().stats.transfers.through_client
print(wrong, grown, through.count, through.bytes)
"""


@pytest.mark.parametrize("shape", [(1021, 3), (1021, 16001), (1021, 53, 303)], ids=["a part", "rows", "slices"])
def test_images_pass_in_parts_too(run_program, strangers, shape):
    first, second = strangers
    output = run_program(RELAYED_IMAGE.format(first=first, second=second, shape=shape)).stdout
    wrong, grown, count, through = map(int, output.split())
    assert wrong == 0
    size = 4
    for axis in shape:
        size *= axis
    assert (count, through) == (3, 3 * size)
    assert grown < 45 * MIB  # four parts; a whole image has 62 MiB
