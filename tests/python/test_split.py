"""remotecl.split: one kernel on several devices."""

from __future__ import annotations

import threading

import numpy as np
import pyopencl as cl
import pyopencl.array
import pytest

import remotecl

SOURCE = """
kernel void blur(global const float* from, global float* to, int width, int height) {
  const int x = get_global_id(0), y = get_global_id(1);
  float sum = 0;
  for (int row = max(y - 1, 0); row <= min(y + 1, height - 1); ++row) sum += from[row * width + x];
  to[y * width + x] = sum;
}
kernel void count(global int* data, global int* total) { atomic_add(total, data[get_global_id(0)]); }
kernel void slow(global int* data) {
  volatile global int* cell = data + get_global_id(0);
  for (int i = 0; i < 1000000; ++i) *cell += 1;
}
"""
WIDTH, HEIGHT = 96, 500


@pytest.fixture
def program(queues) -> cl.Program:
    return cl.Program(queues[0].context, SOURCE).build()


def test_rows_with_neighbours_are_those_of_one_device(queues, program):
    image = np.random.default_rng(1).random((HEIGHT, WIDTH), np.float32)
    source = cl.array.to_device(queues[0], image)
    results = []
    blur = program.blur
    for run in (
        lambda to: blur(queues[0], (WIDTH, HEIGHT), None, source.data, to.data, np.int32(WIDTH), np.int32(HEIGHT)),
        lambda to: remotecl.split(
            blur,
            queues,
            (WIDTH, HEIGHT),
            None,
            source.data,
            to.data,
            np.int32(WIDTH),
            np.int32(HEIGHT),
            dimension=1,
            slices={0: remotecl.Slice(4 * WIDTH, before=1, after=1), 1: remotecl.Slice(4 * WIDTH, overwrites=True)},
        ),
    ):
        to = cl.array.zeros(queues[0], (HEIGHT, WIDTH), np.float32)
        run(to).wait()
        results.append(to.get(queues[-1]))
    np.testing.assert_array_equal(*results)


def test_it_waits_for_events(queues, program):
    data = cl.array.zeros(queues[0], 4096, np.int32)
    gate = cl.UserEvent(queues[0].context)
    opener = threading.Timer(0.2, gate.set_status, [cl.command_execution_status.COMPLETE])
    opener.start()
    remotecl.split(program.slow, queues, (64,), (8,), data.data, slices={0: 4}, wait_for=[gate]).wait()
    opener.join()
    assert data.get()[:65].tolist() == [1000000] * 64 + [0]


def test_what_cannot_be_divided_is_refused(queues, program):
    data = cl.array.zeros(queues[0], 64, np.int32)
    total = cl.array.zeros(queues[0], 1, np.int32)
    slow = program.slow

    def split(kernel, *args, dimension=0, to=queues, **slices):
        named = {int(name[1:]): part for name, part in slices.items()}
        return remotecl.split(kernel, to, (64,), None, *args, slices=named, dimension=dimension)

    with pytest.raises(ValueError, match="count may write a buffer that has no slice"):
        split(program.count, data.data, total.data, _0=4)
    with pytest.raises(ValueError, match="no queue"):
        split(slow, data.data, to=[], _0=4)
    with pytest.raises(ValueError, match="no dimension 1 to divide; the range has 1"):
        split(slow, data.data, dimension=1, _0=4)
    with pytest.raises(ValueError, match="it has 1, from 0 on"):
        split(slow, data.data, _0=4, _1=4)
    with pytest.raises(ValueError, match="at least 1 byte"):
        split(slow, data.data, _0=0)
    with pytest.raises(ValueError, match="neighbours"):
        split(slow, data.data, _0=remotecl.Slice(4, before=1))


def test_queues_of_another_platform_are_refused():
    found = [platform for platform in cl.get_platforms() if platform.name != "remotecl"]
    if not found:
        pytest.skip("no native platform is visible here")
    context = cl.Context(found[0].get_devices())
    queue = cl.CommandQueue(context)
    kernel = cl.Program(context, SOURCE).build().slow
    with pytest.raises(ValueError, match="works on devices of remotecl only"):
        remotecl.split(kernel, [queue], (64,), None, slices={0: 4})


def test_ctrl_c_interrupts_it(connection, run_program):
    """The handler runs while the pieces do, and the process ends."""
    source = f"""
import os, signal, threading, pyopencl as cl, remotecl
context = cl.create_some_context(answers=[])
queue = cl.CommandQueue(context)
program = cl.Program(context, '''{SOURCE}''').build()
data = cl.Buffer(context, cl.mem_flags.READ_WRITE, 4096)
gate = cl.UserEvent(context)
threading.Timer(0.5, os.kill, [os.getpid(), signal.SIGINT]).start()
try:
    remotecl.split(program.slow, [queue], (64,), (8,), data, slices={{0: 4}}, wait_for=[gate])
except KeyboardInterrupt:
    print("interrupted", flush=True)
gate.set_status(cl.command_execution_status.COMPLETE)
queue.finish()
"""
    addresses = ",".join(server.address for server in remotecl.overview().servers if server.status == "connected")
    result = run_program(source, REMOTECL_SERVERS=addresses, PYOPENCL_CTX="remotecl")
    assert "interrupted" in result.stdout
