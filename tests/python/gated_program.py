"""Python source for programs whose main thread is interrupted while it waits."""

from __future__ import annotations

# interrupted(call) gives what KeyboardInterrupt took to come; nothing that the call waits for has ended by then.
PRELUDE = """
import os, signal, socket, sys, threading, time
import numpy as np
import pyopencl as cl
import pyopencl.array
import remotecl

SOURCE = '''
kernel void add(global int *data, int value) { data[get_global_id(0)] += value; }
kernel void spin(global uint *x, ulong n) {
  uint a = x[0];
  for (ulong i = 0; i < n; ++i) a = a * 1664525u + (uint)i;
  x[0] = a;
}'''
PROMPTLY_S = 1.0  # a loaded machine; it is some 50 ms


class NothingInterrupted(AssertionError):
    pass


def interrupted(call, *arguments, **options):
    sent = []

    def interrupt():
        sent.append(time.monotonic())
        os.kill(os.getpid(), signal.SIGINT)

    timer = threading.Timer(0.3, interrupt)
    timer.start()
    try:
        call(*arguments, **options)
    except KeyboardInterrupt:
        took = time.monotonic() - sent[0]
        assert took < PROMPTLY_S, f"the interrupt came after {took} s"
        return
    timer.cancel()
    raise NothingInterrupted("the call returned by itself")
"""

GATED = f"""{PRELUDE}
connection = remotecl.connect(*os.environ["SERVERS"].split(","))
context = connection.context()
queue = cl.CommandQueue(context, connection.devices[0])
program = cl.Program(context, SOURCE).build()
add, spin = cl.Kernel(program, "add"), cl.Kernel(program, "spin")
SIZE = 1 << 20
before = np.arange(SIZE, dtype=np.int32)
buffer = cl.Buffer(context, cl.mem_flags.COPY_HOST_PTR, hostbuf=before)
queue.finish()
gate = cl.UserEvent(context)
# Lets a test fail and not hang.
opener = threading.Timer(20, gate.set_status, [cl.command_execution_status.COMPLETE])
opener.daemon = True
opener.start()


def enqueue(value=1):
    return add(queue, (SIZE,), None, buffer, np.int32(value), wait_for=[gate])


def is_waiting(event):
    status = event.command_execution_status
    assert status >= cl.command_execution_status.COMPLETE, f"failed with {{status}}"
    return status > cl.command_execution_status.COMPLETE


def open_gate():
    assert is_waiting(gate)
    opener.cancel()
    gate.set_status(cl.command_execution_status.COMPLETE)


def check(value=1):
    result = np.empty_like(before)
    cl.enqueue_copy(queue, result, buffer)
    assert np.array_equal(result, before + value)
"""
