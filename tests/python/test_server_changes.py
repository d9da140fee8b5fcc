"""Servers that are added, exchanged and removed while a process goes on."""

from pathlib import Path

import pytest

import remotecl

# Prints nothing when all is well.
PRELUDE = """
import numpy as np
import pyopencl as cl
import remotecl

SOURCE = "kernel void add(global int *data, int value) { data[get_global_id(0)] += value; }"


def computes(devices):
    context = cl.Context(devices)
    buffer = cl.Buffer(context, cl.mem_flags.COPY_HOST_PTR, hostbuf=np.arange(64, dtype=np.int32))
    add = cl.Kernel(cl.Program(context, SOURCE).build(), "add")
    for device in devices:
        queue = cl.CommandQueue(context, device)
        add(queue, (64,), None, buffer, np.int32(1))
        queue.finish()
    result = np.empty(64, np.int32)
    cl.enqueue_copy(queue, result, buffer)
    return np.array_equal(result, np.arange(64) + len(devices))
"""


def test_the_first_block_of_a_notebook_runs_twice(run_program):
    block = """
cluster = remotecl.LocalCluster(servers=2)
connection = cluster.connect()
assert computes(connection.devices)
"""
    result = run_program(PRELUDE + block + block + "cluster.stop()")
    assert result.stdout == result.stderr == ""


def test_a_second_cluster_after_the_first_one_has_ended(run_program):
    result = run_program(f"""{PRELUDE}
for _ in range(3):
    with remotecl.LocalCluster(servers=2) as cluster:
        connection = cluster.connect()
        assert remotecl.overview().devices == connection.devices
        assert computes(connection.devices)
assert remotecl.overview().devices == []
""")
    assert result.stdout == result.stderr == ""


def test_a_restarted_server_is_a_new_device_under_the_old_name(run_program):
    run_program(f"""{PRELUDE}
server = remotecl.Server("127.0.0.1:0")
address = server.address
old = remotecl.connect(address).devices[0]
assert computes([old])
server.stop()
server = remotecl.Server(address)
new = remotecl.connect(address).devices[0]
assert new != old and remotecl.server_of(new) == remotecl.server_of(old) == address
assert computes([new])
assert new.available and not old.available
try:
    cl.Context([old])
    raise SystemExit("a lost device is in a new context")
except cl.Error as error:
    assert "DEVICE_NOT_AVAILABLE" in str(error)
server.stop()
""")


def test_a_closed_connection_lets_go_of_its_servers(run_program, cluster):
    first, second = cluster.addresses
    result = run_program(f"""{PRELUDE}
lasting = remotecl.connect({first!r})
with remotecl.connect({first!r}, {second!r}) as both:
    assert computes(both.devices)
    other = both.devices[-1]
assert remotecl.overview().devices == lasting.devices
assert computes(lasting.devices) and not other.available
both.close()
assert "closed" in repr(both)
again = remotecl.connect({second!r})
assert again.devices[0].available and again.devices[0] != other
lasting.close()
assert remotecl.overview().devices == again.devices
""")
    assert result.stdout == result.stderr == ""


def test_servers_of_the_environment_stay(run_program, cluster):
    run_program(
        f"""{PRELUDE}
with remotecl.connect({cluster.addresses[0]!r}) as connection:
    pass
assert computes(connection.devices)
""",
        REMOTECL_SERVERS=cluster.addresses[0],
    )


def test_a_cluster_scales_and_what_lives_on_a_server_is_moved(run_program):
    result = run_program(f"""{PRELUDE}
with remotecl.LocalCluster(servers=1) as cluster:
    cluster.scale(3)
    assert len(cluster) == 3
    connection = cluster.connect()
    context = connection.context()
    buffers = []
    for i, device in enumerate(context.devices):
        queue = cl.CommandQueue(context, device)
        buffers.append(cl.Buffer(context, 0, 4096))
        cl.enqueue_fill_buffer(queue, buffers[-1], np.int32(i), 0, 4096)
    cluster.scale(1)
    assert len(cluster) == 1
    assert remotecl.overview().devices == [device for device in connection.devices if device.available]
    queue = cl.CommandQueue(context, context.devices[0])
    for i, buffer in enumerate(buffers):
        result = np.empty(1024, np.int32)
        cl.enqueue_copy(queue, result, buffer)
        assert (result == i).all(), i
    cluster.scale(2)
    assert computes(cluster.connect().devices)
""")
    assert result.stdout == result.stderr == ""


def test_what_is_built_after_a_server_has_left_runs_on_those_that_stay(run_program, tmp_path):
    """Twice: the second program finds the first one's binaries in PyOpenCL's cache."""
    program = f"""{PRELUDE}
import warnings
import pyopencl.array
warnings.simplefilter("ignore", cl.CompilerWarning)  # the lost server's log
with remotecl.LocalCluster(servers=2) as cluster:
    context = cluster.connect().context()
    stays, leaves = context.devices
    cluster.scale(1)
    assert stays.available and not leaves.available
    queue = cl.CommandQueue(context, stays)
    numbers = np.arange(64, dtype=np.float32)
    a = cl.array.to_device(queue, numbers)
    assert np.array_equal((a * 4.25 + 1).get(), numbers * np.float32(4.25) + 1)
    built = cl.Program(context, SOURCE).build(cache_dir=False)
    assert built.get_build_info(stays, cl.program_build_info.STATUS) == 0
    assert built.get_build_info(leaves, cl.program_build_info.STATUS) == -2
    assert "no answer from" in built.get_build_info(leaves, cl.program_build_info.LOG)
"""
    for _ in range(2):
        run_program(program, XDG_CACHE_HOME=str(tmp_path))


@pytest.mark.parametrize("size", [1, 2])
def test_scaling_a_cluster_replaces_a_server_that_was_killed(run_program, size):
    run_program(f"""{PRELUDE}
import os, signal
with remotecl.LocalCluster(servers=2) as cluster:
    killed, kept = cluster.servers
    cluster.connect()
    os.kill(killed.pid, signal.SIGKILL)
    killed._daemon._process.wait()
    cluster.scale({size})
    assert len(cluster) == {size} and killed not in cluster.servers and kept in cluster.servers
    assert all(server.running for server in cluster.servers)
    assert computes(cluster.connect().devices)
    assert sorted(server.address for server in remotecl.overview().servers) == sorted(cluster.addresses)
""")


def test_nothing_is_stopped_that_has_what_cannot_be_moved(run_program):
    run_program(f"""{PRELUDE}
with remotecl.LocalCluster(servers=2) as cluster:
    last = cluster.connect().devices[-1]
    context = cl.Context([last])
    buffer = cl.Buffer(context, 0, 64)
    queue = cl.CommandQueue(context)
    cl.enqueue_fill_buffer(queue, buffer, b"1", 0, 64)
    stuck = remotecl.drain(cluster.addresses[1])
    assert [entry.buffer for entry in stuck] == [buffer.int_ptr]
    try:
        cluster.scale(1)
        raise SystemExit("it was stopped")
    except remotecl.RemoteCLError as error:
        assert "1 of the program's buffers" in str(error)
    assert len(cluster) == 2 and last.available
    buffer.release()
    cluster.scale(1)
    assert not last.available
""")


@pytest.mark.parametrize(
    "leave", ["cluster.scale(1)", "remotecl.drain(cluster.addresses[1]); cluster.servers[1].stop()"]
)
@pytest.mark.parametrize(
    "names",
    [
        '[last.replace("127.0.0.1", "localhost"), first.replace("127.0.0.1", "localhost")]',
        "[ThrottledRelay(last).address, first]",
        "[ThrottledRelay(last).address, last, first]",
    ],
    ids=["resolved", "relayed", "both"],
)
def test_data_is_moved_from_a_server_by_whatever_name(run_program, leave, names):
    run_program(f"""{PRELUDE}
import sys
sys.path.append({str(Path(__file__).parent)!r})
from throttled_relay import ThrottledRelay

with remotecl.LocalCluster(servers=2) as cluster:
    first, last = cluster.addresses
    context = remotecl.connect({names}).context()
    queues = [cl.CommandQueue(context, device) for device in context.devices]
    buffer = cl.Buffer(context, 0, 4096)
    cl.enqueue_fill_buffer(queues[0], buffer, np.int32(7), 0, 4096).wait()
    {leave}
    result = np.empty(1024, np.int32)
    cl.enqueue_copy(queues[-1], result, buffer)
    assert (result == 7).all()
""")


def test_a_server_that_nobody_has_connected_to_cannot_be_drained(connection):
    with pytest.raises(ValueError, match=r"not connected to 127\.0\.0\.1:1;"):
        remotecl.drain("127.0.0.1:1")


def test_wrong_numbers_are_refused(cluster):
    with pytest.raises(ValueError, match="at least 1 server"):
        cluster.scale(0)
    with pytest.raises(ValueError, match="name at least one server"):
        remotecl.drain()


def test_lost_servers_keep_no_descriptors_and_no_threads(run_program):
    result = run_program(f"""
import os
import time
{PRELUDE}
def count(kind):
    return len(os.listdir(f"/proc/self/{{kind}}"))


server = remotecl.Server("127.0.0.1:0")
address, kept, limits = server.address, [], {{}}
for i in range(10):
    connection = remotecl.connect(address)
    device = connection.devices[0]
    assert computes([device])
    context = cl.Context([device])
    kept.append((context, cl.CommandQueue(context), cl.Buffer(context, 0, 4096)))
    if i == 1:
        limits = {{kind: count(kind) + 5 for kind in ("fd", "task")}}
    server.stop()
    server = remotecl.Server(address)
    end = time.monotonic() + 30
    while device.available and time.monotonic() < end:
        time.sleep(0.01)
    for kind, limit in limits.items():
        while count(kind) > limit and time.monotonic() < end:
            time.sleep(0.01)
        assert count(kind) <= limit, (i, kind, limit, os.listdir("/proc/self/fd"))
for context, queue, buffer in kept:
    try:
        cl.enqueue_fill_buffer(queue, buffer, b"1", 0, 64)
        raise SystemExit("a lost server has computed")
    except cl.Error as error:
        assert "DEVICE_NOT_AVAILABLE" in str(error)
server.stop()
""")
    assert result.stdout == result.stderr == ""


def test_what_people_are_told_does_not_contradict_itself(run_program):
    result = run_program(f"""
import os
import signal
import time
{PRELUDE}
with remotecl.LocalCluster(servers=2) as cluster:
    connection = cluster.connect()
    assert computes(connection.devices)
    os.kill(cluster.servers[1].pid, signal.SIGKILL)
    while connection.devices[1].available:
        time.sleep(0.01)
    assert "stopped" in repr(cluster)
    server = remotecl.Server(cluster.addresses[1])
    connection = remotecl.connect(cluster.addresses)
    assert computes(connection.devices)
    assert [link.state for link in remotecl.overview().links] == ["connected"]
""")
    assert [line for line in result.stderr.splitlines() if "connect again" not in line][-1].startswith(
        "remotecl: lost "
    )
    assert "goes through this computer" not in result.stderr
