"""The automatic device, with programs that know nothing of it."""

from pathlib import Path
from types import SimpleNamespace

import pytest

import remotecl

# What a program does that was written for one device.
PROGRAM = """
import numpy
import pyopencl
import pyopencl.array

platform = next(one for one in pyopencl.get_platforms() if one.name == "remotecl")
device = platform.get_devices()[0]
context = pyopencl.Context([device])
queue = pyopencl.CommandQueue(context)
program = pyopencl.Program(context, '''
    kernel void shifted(global const float* from, global float* to, int shift) {
      int i = get_global_id(0), n = get_global_size(0);
      to[i] = from[(i + shift) % n] + 1;
    }
''').build()
step = pyopencl.Kernel(program, "shifted")
one = pyopencl.array.arange(queue, 5000, dtype=numpy.float32)
other = pyopencl.array.zeros_like(one)
for shift in range(20):
    step(queue, one.shape, None, one.data, other.data, numpy.int32(shift))
    one, other = other, one
expected = numpy.arange(5000, dtype=numpy.float32)
for shift in range(20):
    expected = numpy.roll(expected, -shift) + 1
assert (one.get() == expected).all()
assert float(pyopencl.array.sum(one).get()) == float(expected.sum(dtype=numpy.float32))
print(device.name)
"""


@pytest.mark.parametrize("policy", [None, "round-robin", "least-loaded", "static"])
def test_an_unmodified_program_runs_on_all_devices(run_program, addresses, policy):
    result = run_program(
        "import remotecl\n" + PROGRAM, REMOTECL_SERVERS=addresses, REMOTECL_AUTO="1", REMOTECL_SCHEDULE=policy
    )
    assert result.stdout.startswith("remotecl automatic device (")


def test_it_is_not_listed_unless_wanted(run_program, addresses):
    result = run_program("import remotecl\n" + PROGRAM, REMOTECL_SERVERS=addresses)
    assert "automatic" not in result.stdout


def test_a_kernel_says_why_it_runs_where_it_does(run_program, addresses):
    source = """
import numpy, pyopencl, remotecl
device = remotecl.auto("round-robin")
context = pyopencl.Context([device])
queue = pyopencl.CommandQueue(context)
program = pyopencl.Program(context, "kernel void one(global int* to) { to[get_global_id(0)] = 1; }").build()
buffer = pyopencl.Buffer(context, pyopencl.mem_flags.READ_WRITE, 400)
kernel = pyopencl.Kernel(program, "one")
found = [remotecl.explain(kernel(queue, (100,), None, buffer)) for _ in range(4)]
assert len({one.server for one in found}) == 2, found
assert all(one.kernel == "one" and one.policy == "round-robin" for one in found)
assert "round-robin" in str(found[0])
read = pyopencl.enqueue_copy(queue, numpy.empty(100, numpy.int32), buffer, is_blocking=False)
assert remotecl.explain(read) is None
counted = remotecl.overview().stats
assert [one.kernels for one in counted.placements] == [2, 2], counted.placements
assert "automatic device's kernels" in str(counted)
"""
    run_program(source, REMOTECL_SERVERS=addresses)


def test_unknown_kernels_in_order_wait_for_no_measurement(run_program, addresses):
    source = """
import numpy, pyopencl, remotecl
context = pyopencl.Context([remotecl.auto("earliest-finish")])
queue = pyopencl.CommandQueue(context)
kernels = 40
source = "".join(f"kernel void k{i}(global int* to) {{ to[{i}] = {i} + to[{i} - 1]; }}" for i in range(1, kernels))
program = pyopencl.Program(context, source).build()
buffer = pyopencl.Buffer(context, pyopencl.mem_flags.READ_WRITE, 4 * kernels)
pyopencl.enqueue_fill_buffer(queue, buffer, numpy.int32(0), 0, 4 * kernels)
begin = pyopencl.UserEvent(context)
# Nothing can begin, so nothing can be measured: a decision that waited for that would wait for ever.
events = [
    pyopencl.Kernel(program, f"k{i}")(queue, (1,), None, buffer, wait_for=[begin] if i == 1 else None)
    for i in range(1, kernels)
]
assert all(remotecl.explain(event).server in servers for event in events)
assert not any(remotecl.explain(event).measured for event in events)
begin.set_status(pyopencl.command_execution_status.COMPLETE)
found = numpy.empty(kernels, numpy.int32)
pyopencl.enqueue_copy(queue, found, buffer)
assert (found == numpy.cumsum(numpy.arange(kernels))).all(), found
"""
    run_program(f"servers = {addresses.split(',')!r}\n" + source, REMOTECL_SERVERS=addresses)


def test_an_unknown_policy_is_refused(connection):
    with pytest.raises(remotecl.RemoteCLError, match='no policy "fastest"'):
        remotecl.auto("fastest")


# A program with a kernel on the automatic device, and what it needs to find out where it runs.
ASKS = """
import threading, time
import numpy, pyopencl, remotecl
context = pyopencl.Context([remotecl.auto("static")])
queue = pyopencl.CommandQueue(context)
program = pyopencl.Program(context, "kernel void one(global int* to) { to[get_global_id(0)] = 1; }").build()
buffer = pyopencl.Buffer(context, pyopencl.mem_flags.READ_WRITE, 400)
kernel = pyopencl.Kernel(program, "one")

def run():
    event = kernel(queue, (100,), None, buffer)
    event.wait()
    return remotecl.explain(event)

def eventually(holds):
    end = time.monotonic() + 30
    while not holds():
        assert time.monotonic() < end
        time.sleep(0.005)
"""


def test_a_function_is_a_policy(run_program, addresses):
    source = """
names = sorted(str(one) for one in servers)
def on_the_last(task, candidates):
    assert task.kernel == "one" and task.work_items == 100 and task.bytes == 400, task
    assert sorted(one.server for one in candidates) == names, candidates
    assert all(one.type == "cpu" and one.finish >= one.free and one.runs > 0 for one in candidates)
    return max(candidates, key=lambda one: one.server)

remotecl.auto(policy=on_the_last)
eventually(lambda: run().server == names[-1])
found = [run() for _ in range(20)]
assert {one.server for one in found} == {names[-1]}, found
assert found[0].policy == "on_the_last", found[0]

def in_turn(task, candidates):
    return sorted(candidates, key=lambda one: one.server)

remotecl.auto(policy=in_turn)
eventually(lambda: {run().server for _ in range(2)} == set(names))
remotecl.auto("static")
eventually(lambda: not any(one.name == "remotecl-policy" for one in threading.enumerate()))
"""
    run_program(f"servers = {addresses.split(',')!r}\n" + ASKS + source, REMOTECL_SERVERS=addresses)


def test_a_function_that_fails_leaves_kernels_where_they_end_first(run_program, addresses):
    source = """
asked = threading.Event()
def fails(task, candidates):
    asked.set()
    raise KeyError("nowhere")

remotecl.auto(policy=fails)
run()
assert asked.wait(30)
assert run() is not None

asked.clear()
def wrong(task, candidates):
    asked.set()
    return "gpu1"

remotecl.auto(policy=wrong)
eventually(lambda: run() and asked.is_set())
eventually(lambda: run() is not None)
"""
    result = run_program(ASKS + source, REMOTECL_SERVERS=addresses)
    assert "the policy function has failed" in result.stderr
    assert "KeyError: 'nowhere'" in result.stderr


def test_a_policy_that_is_neither_name_nor_function_is_refused(connection):
    with pytest.raises(TypeError, match="not 5"):
        remotecl.auto(policy=5)


def test_what_is_expected_follows_a_kernel_whose_arguments_say_how_much_it_does(run_program, addresses):
    source = """
text = '''
    kernel void work(global uint* data, int rounds) {
      uint value = data[get_global_id(0)];
      for (int i = 0; i < rounds; ++i) value = value * 1664525u + 1013904223u;
      data[get_global_id(0)] = value;
    }
'''
work = pyopencl.Kernel(pyopencl.Program(context, text).build(), "work")
remotecl.auto("earliest-finish")
for _ in range(30):
    short = work(queue, (100,), None, buffer, numpy.int32(1))
    short.wait()
for _ in range(30):
    long = work(queue, (100,), None, buffer, numpy.int32(1_000_000))
    long.wait()
assert remotecl.explain(long).runs > 3 * remotecl.explain(short).runs, (remotecl.explain(short), remotecl.explain(long))
"""
    run_program(ASKS + source, REMOTECL_SERVERS=addresses)


def test_the_example_goes_where_it_costs_least(run_program, addresses):
    source = """
import sys
sys.path.insert(0, EXAMPLES)
from least_cost import least_cost

cheap, dear = servers
remotecl.auto(policy=least_cost({cheap: 1, dear: 36000}, patience=1e6))
eventually(lambda: run().server == cheap)
found = [run() for _ in range(10)]
assert {one.server for one in found} == {cheap}, found
assert found[0].policy == "least-cost", found[0]
"""
    examples = Path(__file__).parents[2] / "examples/policies"
    source = source.replace("EXAMPLES", repr(str(examples)))
    run_program(f"servers = {addresses.split(',')!r}\n" + ASKS + source, REMOTECL_SERVERS=addresses)


def test_a_build_without_scheduling_says_so(monkeypatch):
    monkeypatch.setattr("remotecl._schedule.scheduling.native", object)
    for call in (remotecl.auto, lambda: remotecl.explain(SimpleNamespace(int_ptr=0))):
        with pytest.raises(remotecl.RemoteCLError, match="build it with REMOTECL_SCHEDULING=ON"):
            call()
