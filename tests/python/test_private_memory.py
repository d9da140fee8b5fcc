"""Kernels with much private memory, which PoCL keeps on the stacks of its threads."""

from __future__ import annotations

import pytest

from conftest import RunProgram
from daemon import Daemon

PROGRAM = """
import numpy, pyopencl, remotecl

SOURCE = '''
kernel void fills(global int* data) {{
  int own[INTS];
  for (int i = 0; i < INTS; i += 1024) own[i] = i + data[0];
  barrier(CLK_LOCAL_MEM_FENCE);
  int sum = 0;
  for (int i = 0; i < INTS; i += 1024) sum += own[i] / 1024;
  data[get_global_id(0)] = sum;
}}'''
context = remotecl.connect({address!r}).context()
queue = pyopencl.CommandQueue(context, context.devices[0])
numbers = numpy.zeros({items}, dtype=numpy.int32)
buffer = pyopencl.Buffer(context, pyopencl.mem_flags.COPY_HOST_PTR, hostbuf=numbers)
ints = {mib} << 18
kernel = pyopencl.Kernel(pyopencl.Program(context, SOURCE).build("-DINTS=" + str(ints)), "fills")
kernel(queue, numbers.shape, numbers.shape, buffer)
pyopencl.enqueue_copy(queue, numbers, buffer)
steps = ints // 1024
assert (numbers == steps * (steps - 1) // 2).all(), numbers
"""


@pytest.mark.parametrize("isolation", ["--no-isolate", "--isolate"])
# With a barrier each work-item of a group has its own there.
@pytest.mark.parametrize(("mib", "items"), [(16, 1), (1, 16)])
def test_a_kernel_with_much_private_memory_runs(run_program: RunProgram, isolation: str, mib: int, items: int) -> None:
    with Daemon(isolation) as daemon:
        run_program(PROGRAM.format(address=daemon.address, mib=mib, items=items))
        assert daemon.process.poll() is None
