"""The automatic device, with programs that know nothing of it."""

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
"""
    run_program(source, REMOTECL_SERVERS=addresses)


def test_an_unknown_policy_is_refused(connection):
    with pytest.raises(remotecl.RemoteCLError, match='no policy "fastest"'):
        remotecl.auto("fastest")
