"""What PyOpenCL keeps of a program's first run must not cost the second one anything."""

from __future__ import annotations

import json

# What several kernels of two servers read: a kernel of its own and PyOpenCL's, which are written with `const`.
PROGRAM = '''
import json
import numpy as np, pyopencl as cl, pyopencl.array
from pyopencl.elementwise import ElementwiseKernel
from pyopencl.reduction import ReductionKernel
import remotecl

devices = {remotecl.server_of(device): device for device in remotecl.connect(*ADDRESSES).devices}
context = cl.Context(list(devices.values()))
queues = [cl.CommandQueue(context, device) for device in context.devices]
source = """kernel void twice(global const int* in, global int* out) {
  out[get_global_id(0)] = 2 * in[get_global_id(0)];
}"""
program = cl.Program(context, source).build()
twice = cl.Kernel(program, "twice")
scale = ElementwiseKernel(context, "const float *x, float *y", "y[i] = 3 * x[i]", "scale")
total = ReductionKernel(context, np.float32, neutral="0", reduce_expr="a+b", map_expr="x[i]",
                        arguments="__global const float *x")

numbers = cl.array.to_device(queues[0], np.arange(1 << 16, dtype=np.int32))
values = cl.array.to_device(queues[0], np.ones(1 << 16, dtype=np.float32))
for _ in range(3):
    for queue in queues:
        out = cl.array.empty(queue, numbers.shape, np.int32)
        twice(queue, numbers.shape, None, numbers.data, out.data).wait()
        scaled = cl.array.empty(queue, values.shape, np.float32)
        there = values.with_queue(queue)
        scale(there, scaled).wait()
        assert float(total(there).get()) == len(values)
        assert int(out.get(queue)[-1]) == 2 * (len(numbers) - 1) and float(scaled.get(queue)[0]) == 3
moved = {name: count.bytes for name, count in vars(remotecl.overview().stats.transfers).items() if name != "saved"}
from_source = bool(twice.get_info(cl.kernel_info.PROGRAM).get_info(cl.program_info.SOURCE))
print(json.dumps({"moved": moved, "from_source": from_source}))
'''


def test_a_second_run_moves_no_more_than_the_first(run_program, cluster, tmp_path):
    program = PROGRAM.replace("*ADDRESSES", ", ".join(map(repr, cluster.addresses)))
    first, second = (
        json.loads(run_program(program, XDG_CACHE_HOME=str(tmp_path), PYOPENCL_NO_CACHE=None).stdout) for _ in range(2)
    )
    assert [first["from_source"], second["from_source"]] == [True, False]
    assert second["moved"] == first["moved"]
    # Each of the two arrays once to the other server, besides what the results are made of.
    assert first["moved"]["between_servers"] >= 2 * (1 << 18)


ONE_SERVER = '''
import json
import numpy as np, pyopencl as cl, pyopencl.array
import remotecl

context = remotecl.connect(*ADDRESSES).context()
queue = cl.CommandQueue(context, context.devices[0])
source = """kernel void twice(global const int* in, global int* out) {
  out[get_global_id(0)] = 2 * in[get_global_id(0)];
}"""
program = cl.Program(context, source).build()
twice = cl.Kernel(program, "twice")
numbers = cl.array.to_device(queue, np.arange(64, dtype=np.int32))
out = cl.array.empty_like(numbers)


def sent():
    return {server.address: server.bytes_sent for server in remotecl.overview().stats}[idle]


def computed(queue):
    twice(queue, numbers.shape, None, numbers.data, out.data).wait()
    return out.get(queue).tolist() == [2 * number for number in range(64)]


idle = remotecl.server_of(context.devices[-1])
infos = [program.get_build_info(device, cl.program_build_info.STATUS) for device in context.devices]
ran = [computed(queue)]
before = sent()
binary = program.get_info(cl.program_info.BINARIES)[-1]
assert sent() - before < len(binary), "the binary is asked for, which costs nothing to send"
unused = sent()
other = cl.CommandQueue(context, context.devices[-1])
limit = twice.get_work_group_info(cl.kernel_work_group_info.WORK_GROUP_SIZE, context.devices[-1])
ran.append(computed(other))
print(json.dumps({"unused": unused, "used": sent(), "ran": ran, "binary": len(binary), "limit": limit,
                  "built": infos == [0] * len(infos)}))
'''


def test_a_server_that_is_not_used_gets_no_binaries_until_it_is(run_program, cluster, tmp_path):
    program = ONE_SERVER.replace("*ADDRESSES", ", ".join(map(repr, cluster.addresses)))
    first, second = (
        json.loads(run_program(program, XDG_CACHE_HOME=str(tmp_path), PYOPENCL_NO_CACHE=None).stdout) for _ in range(2)
    )
    for run in (first, second):
        assert run["ran"] == [True, True]
        assert run["built"]
        assert run["limit"] == first["limit"] > 0
    assert second["binary"] > 100
    assert second["unused"] < second["used"]


LOST = """
import os, signal, time, warnings
import numpy as np, pyopencl as cl, remotecl

warnings.simplefilter("ignore")
cluster = remotecl.LocalCluster(servers=2)
context = cluster.connect().context()
lost, living = sorted(context.devices, key=lambda device: cluster.addresses.index(remotecl.server_of(device)))
os.kill(cluster.servers[0].pid, signal.SIGKILL)
while all(server.status == "connected" for server in remotecl.overview().servers):
    time.sleep(0.01)
queue = cl.CommandQueue(context, living)
out = cl.array.zeros(queue, 16, np.int32)
for _ in range(2):  # the second time from the cache
    program = cl.Program(context, "kernel void five(global int* out) { out[get_global_id(0)] = 5; }")
    cl.Kernel(program.build(devices=[living]), "five")(queue, (16,), None, out.data).wait()
    assert (out.get() == 5).all()
program = cl.Program(context, "kernel void six(global int* out) { out[get_global_id(0)] = 6; }").build()
cl.Kernel(program, "six")(queue, (16,), None, out.data).wait()
assert (out.get() == 6).all()
print(program.get_build_info(lost, cl.program_build_info.LOG), cluster.addresses[0])
"""


def test_a_lost_server_breaks_no_build_for_the_others_and_is_told_by_its_own_log(run_program, tmp_path):
    program = LOST.replace("remotecl\n", "remotecl, pyopencl.array\n", 1)
    environment = {"XDG_CACHE_HOME": str(tmp_path), "PYOPENCL_NO_CACHE": None, "REMOTECL_RECONNECT": "0"}
    *log, address = run_program(program, **environment).stdout.split()
    assert any(address in word for word in log)
