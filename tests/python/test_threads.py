"""Python's threads and its global lock: calls that wait let other threads run, and callbacks never block a wait."""

from __future__ import annotations

import threading
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pyopencl as cl
import pyopencl.array
import pytest

import remotecl

THREADS = 8
WAIT_S = 30.0

# A program that dies with every thread's stack when it hangs, long before the test suite would notice.
PROLOGUE = """
import faulthandler, threading, time
faulthandler.dump_traceback_later(60, exit=True)
import ctypes, pathlib, numpy as np, pyopencl as cl, remotecl
context = cl.Context(remotecl.overview().devices)
queue = cl.CommandQueue(context)
buffer = cl.Buffer(context, cl.mem_flags.READ_WRITE, 1 << 20)
data = np.zeros(1 << 20, np.uint8)
COMPLETE = cl.command_execution_status.COMPLETE
"""

# Calls OpenCL with the global lock held, which PyOpenCL avoids and other bindings may not.
HOLDING = """
loaded = {line.split()[-1] for line in open("/proc/self/maps") if "libOpenCL" in line}
assert len(loaded) == 1, loaded
holding = ctypes.PyDLL(loaded.pop())
holding.clFinish.argtypes = [ctypes.c_void_p]
Callback = ctypes.CFUNCTYPE(None, ctypes.c_void_p, ctypes.c_int, ctypes.c_void_p)
holding.clSetEventCallback.argtypes = [ctypes.c_void_p, ctypes.c_int, Callback, ctypes.c_void_p]
seen = []
callback = Callback(lambda event, status, data: seen.append(status))
"""


@pytest.fixture
def run(run_program, addresses):
    return lambda source: run_program(PROLOGUE + source, REMOTECL_SERVERS=addresses)


@pytest.fixture
def context(connection) -> cl.Context:
    return connection.context()


def test_threads_with_queues_of_their_own(context):
    def work(number: int) -> int:
        queue = cl.CommandQueue(context, context.devices[number % len(context.devices)])
        array = cl.array.zeros(queue, 1000, np.int32)
        for _ in range(50):
            array += number
        return int(array.get().sum())

    with ThreadPoolExecutor(THREADS) as pool:
        assert list(pool.map(work, range(THREADS))) == [50_000 * number for number in range(THREADS)]


def test_threads_that_share_queues(context):
    queues = [cl.CommandQueue(context, device) for device in context.devices]
    program = cl.Program(context, "kernel void add(global int* x, int n) { x[get_global_id(0)] += n; }").build()

    def work(number: int) -> bool:
        add = cl.Kernel(program, "add")  # a kernel's arguments are not for several threads
        values = np.full(4096, number, np.int32)
        buffer = cl.Buffer(context, cl.mem_flags.READ_WRITE, values.nbytes)
        for step in range(20):
            queue = queues[(number + step) % len(queues)]
            cl.enqueue_copy(queue, buffer, values)
            done = add(queue, values.shape, None, buffer, np.int32(step))
            cl.enqueue_copy(queue, values, buffer, wait_for=[done])
        return bool((values == number + sum(range(20))).all())

    with ThreadPoolExecutor(THREADS) as pool:
        assert all(pool.map(work, range(THREADS)))


def test_looking_inside_while_others_work(context):
    stop = threading.Event()

    def work() -> None:
        queue = cl.CommandQueue(context)
        while not stop.is_set():
            cl.array.zeros(queue, 100, np.int32).get()

    workers = [threading.Thread(target=work) for _ in range(3)]
    for worker in workers:
        worker.start()
    try:
        for _ in range(200):
            remotecl.residency()
            _ = remotecl.overview().stats
            _ = remotecl.overview().servers
    finally:
        stop.set()
        for worker in workers:
            worker.join(WAIT_S)
    assert not any(worker.is_alive() for worker in workers)


def test_waiting_lets_other_threads_run(context):
    """Every PyOpenCL call that waits, and a thread that ends the wait."""
    queue = cl.CommandQueue(context)
    buffer = cl.Buffer(context, cl.mem_flags.READ_WRITE, 64)
    values = np.zeros(64, np.uint8)
    for wait in (
        lambda gate: cl.enqueue_copy(queue, values, buffer, wait_for=[gate]),
        lambda gate: cl.enqueue_copy(queue, buffer, values, wait_for=[gate], is_blocking=True),
        lambda gate: cl.enqueue_marker(queue, wait_for=[gate]).wait(),
        lambda gate: cl.wait_for_events([cl.enqueue_marker(queue, wait_for=[gate])]),
        lambda gate: (cl.enqueue_barrier(queue, wait_for=[gate]), queue.finish()),
        lambda gate: cl.enqueue_map_buffer(
            queue, buffer, cl.map_flags.READ, 0, (64,), np.uint8, wait_for=[gate], is_blocking=True
        ),
    ):
        gate = cl.UserEvent(context)
        threading.Timer(0.05, gate.set_status, [cl.command_execution_status.COMPLETE]).start()
        wait(gate)
        assert gate.command_execution_status == cl.command_execution_status.COMPLETE


@pytest.mark.parametrize("call", ["connect(address)", "devices()"])
def test_connecting_lets_other_threads_run(run_program, call):
    """The binding of what may wait for the network gives the lock away: a server that accepts and says nothing."""
    run_program(f"""
import faulthandler, os, socket, threading
faulthandler.dump_traceback_later(60, exit=True)
import remotecl
with socket.create_server(("127.0.0.1", 0)) as silent:
    address = f"127.0.0.1:{{silent.getsockname()[1]}}"
    if {"devices" in call}:
        os.environ["REMOTECL_SERVERS"] = address
    errors = []
    def connect():
        try:
            remotecl.{call}
        except Exception as error:
            errors.append(error)
    connecting = threading.Thread(target=connect)
    connecting.start()
    accepted, _ = silent.accept()
    accepted.close()  # not reached if connect() kept the lock
    connecting.join()
assert {"devices" in call} or isinstance(errors[0], remotecl.ServerUnreachable)
""")


def test_the_first_waits_of_two_threads_do_not_wait_for_each_other(run_program):
    run_program("""
import faulthandler, threading, time
faulthandler.dump_traceback_later(60, exit=True)
import remotecl._core as core
main_thread = threading.main_thread
def slow():
    time.sleep(0.1)  # the other thread has the lock meanwhile
    return main_thread()
threading.main_thread = slow
threads = [threading.Thread(target=core.wait, args=(lambda what: None, 1)) for _ in range(2)]
for thread in threads: thread.start()
for thread in threads: thread.join()
threading.main_thread = main_thread
""")


def test_closing_a_connection_leaves_one_alone_that_is_being_made(run_program, cluster):
    run_program(f"""
import threading
import pyopencl as cl
import remotecl
from remotecl._connect import connection
first = remotecl.connect({cluster.addresses[0]!r})
find_platform = connection.find_platform
def close_meanwhile(module):
    closing = threading.Thread(target=first.close)
    closing.start()
    closing.join()
    return find_platform(module)
connection.find_platform = close_meanwhile
second = remotecl.connect({cluster.addresses[0]!r})
assert second.devices[0].available
second.close()
assert remotecl.overview().servers == []
""")


def test_connecting_waits_until_the_former_connection_to_that_server_has_ended(run_program, cluster):
    run_program(f"""
import threading
from unittest import mock
import pyopencl as cl
import remotecl
from remotecl._connect import connection
core = connection.native()
begun, go_on = threading.Event(), threading.Event()
def disconnect_slowly(server):
    begun.set()
    go_on.wait(60)
    return core.disconnect(server)
first = remotecl.connect({cluster.addresses[0]!r})
found = []
with mock.patch.object(connection, "native", lambda: mock.Mock(wraps=core, disconnect=disconnect_slowly)):
    closing = threading.Thread(target=first.close)
    closing.start()
    begun.wait(60)
    connecting = threading.Thread(target=lambda: found.extend(remotecl.connect({cluster.addresses[0]!r}).devices))
    connecting.start()
    assert remotecl.connect({cluster.addresses[1]!r}).devices  # another server's does not wait
    connecting.join(0.2)
    go_on.set()
    closing.join()
    connecting.join()
assert found[0].available
""")


def test_a_connection_that_fails_does_not_count(run_program, cluster):
    run_program(f"""
import remotecl
with remotecl.connect({cluster.addresses[0]!r}):
    try:
        remotecl.connect({cluster.addresses[0]!r}, "127.0.0.1:1")
        raise SystemExit("it has connected")
    except remotecl.ServerUnreachable:
        pass
assert remotecl.overview().servers == []
""")


def test_a_callback_runs_while_another_thread_waits(run):
    run("""
gate = cl.UserEvent(context)
called = threading.Event()
waited = cl.enqueue_copy(queue, buffer, data, wait_for=[gate], is_blocking=False)
waited.set_callback(COMPLETE, lambda status: called.set())
waiter = threading.Thread(target=queue.finish)
waiter.start()
gate.set_status(COMPLETE)
assert called.wait(30)
waiter.join(30)
assert not waiter.is_alive()
""")


def test_a_callback_may_use_opencl(run):
    run("""
done = threading.Event()
def callback(status):
    other = cl.CommandQueue(context, context.devices[-1])
    cl.enqueue_copy(other, data, buffer)  # waits
    other.finish()
    done.set()
cl.enqueue_fill_buffer(queue, buffer, np.uint8(7), 0, 1 << 20).set_callback(COMPLETE, callback)
queue.finish()
assert done.wait(30)
assert (data == 7).all()
""")


def test_a_wait_that_keeps_the_lock_does_not_need_the_callback(run):
    run(
        HOLDING
        + """
gate = cl.UserEvent(context)
first = cl.enqueue_copy(queue, buffer, data, wait_for=[gate], is_blocking=False)
assert holding.clSetEventCallback(first.int_ptr, COMPLETE, callback, None) == 0
gate.set_status(COMPLETE)
later = [cl.enqueue_copy(queue, buffer, data, is_blocking=False) for _ in range(20)]
assert holding.clFinish(queue.int_ptr) == 0  # the callback waits for the lock that this thread holds
while not seen: time.sleep(0.001)
assert seen == [COMPLETE]
"""
    )


def test_work_of_the_client_does_not_wait_behind_a_callback(run):
    """Copies between two places of this process, and freeing shared memory, happen here: not on the thread that
    callbacks run on."""
    run(
        HOLDING
        + """
if not context.devices[0].svm_capabilities: raise SystemExit
source, target = np.arange(1000, dtype=np.int32), np.zeros(1000, np.int32)
gate = cl.UserEvent(context)
first = cl.enqueue_marker(queue, wait_for=[gate])
assert holding.clSetEventCallback(first.int_ptr, COMPLETE, callback, None) == 0
holding.clEnqueueSVMMemcpy.argtypes = [ctypes.c_void_p, ctypes.c_uint, ctypes.c_void_p, ctypes.c_void_p,
                                       ctypes.c_size_t, ctypes.c_uint, ctypes.c_void_p, ctypes.c_void_p]
assert holding.clEnqueueSVMMemcpy(queue.int_ptr, 0, target.ctypes.data, source.ctypes.data, source.nbytes,
                                  0, None, None) == 0
gate.set_status(COMPLETE)
assert holding.clFinish(queue.int_ptr) == 0
assert (target == source).all()
while not seen: time.sleep(0.001)
"""
    )


@pytest.mark.parametrize("ending", ["", "raise SystemExit(0)", "del queue, context, buffer"])
def test_a_process_may_end_with_callbacks_under_way(run, ending):
    """Those of PyOpenCL itself may not: its threads end such a process with any driver."""
    result = run(
        HOLDING
        + f"""
events = [cl.enqueue_copy(queue, buffer, data, is_blocking=False) for _ in range(50)]
for event in events:
    holding.clSetEventCallback(event.int_ptr, COMPLETE, callback, None)
never = cl.UserEvent(context)
cl.enqueue_marker(queue, wait_for=[never]).set_callback(COMPLETE, lambda status: print("never"))
queue.flush()
{ending}
"""
    )
    assert result.stdout == ""
    assert result.stderr == ""
