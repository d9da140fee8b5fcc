"""Ctrl-C while the main thread waits: KeyboardInterrupt at once, and everything goes on to be usable."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest
from jupyter_client.manager import start_new_kernel

from conftest import CLEAN_ENVIRONMENT

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


@pytest.mark.parametrize("wait", ["event.wait()", "cl.wait_for_events([event])", "queue.finish()"])
def test_a_wait_is_interrupted(run_program, addresses, wait):
    run_program(
        f"""{GATED}
event = enqueue()
for _ in range(2):
    interrupted(lambda: {wait})
    assert is_waiting(event)
open_gate()
{wait}
assert not is_waiting(event)
check()
""",
        SERVERS=addresses,
    )


READS = {
    "large read": "target = np.zeros_like(before); read = lambda: cl.enqueue_copy(queue, target, buffer)",
    "small read": "target = np.zeros(16, np.int32); read = lambda: cl.enqueue_copy(queue, target, buffer)",
    "read of a rectangle": """
target = np.zeros((64, 32), np.int32)
read = lambda: cl.enqueue_copy(queue, target, buffer, buffer_origin=(0, 0, 0), host_origin=(0, 0, 0),
                               region=(128, 64, 1), buffer_pitches=(4096, 0), host_pitches=(128, 0))""",
    "map": """
target = np.zeros(1)
read = lambda: cl.enqueue_map_buffer(queue, buffer, cl.map_flags.READ, 0, (SIZE,), np.int32)""",
    "map for writing": """
target = np.zeros(1)
flags = cl.map_flags.READ | cl.map_flags.WRITE
read = lambda: cl.enqueue_map_buffer(queue, buffer, flags, 0, (SIZE,), np.int32)""",
}


@pytest.mark.parametrize("kind", READS)
def test_a_blocking_read_is_interrupted(run_program, addresses, kind):
    run_program(
        f"""{GATED}
event = enqueue()
{READS[kind]}
for _ in range(2):
    interrupted(read)
    assert is_waiting(event)
assert not target.any()
open_gate()
queue.finish()
if target.size == 64 * 32:
    assert np.array_equal(target, (before.reshape(-1, 1024) + 1)[:64, :32])
elif target.size > 1:
    assert np.array_equal(target, (before + 1)[:target.size])
check()
""",
        SERVERS=addresses,
    )


def test_the_memory_of_an_interrupted_read_stays_as_long_as_bytes_may_come(run_program, addresses):
    run_program(
        f"""{GATED}
import gc, weakref
array = cl.array.Array(queue, (SIZE,), np.int32, data=buffer)
enqueue()
interrupted(array.get)
gc.collect()
others = [np.zeros_like(before) for _ in range(8)]  # where its memory was, if it was freed
open_gate()
queue.finish()
assert not any(other.any() for other in others)
assert np.array_equal(array.get(), before + 1)
target = np.zeros_like(before)
alive = weakref.ref(target)
del target
check()
assert alive() is None
""",
        SERVERS=addresses,
    )


WRITES = {"in the message": 1 << 8, "pushed": 1 << 17, "pulled": 1 << 20}


@pytest.mark.parametrize("open_user_events", [False, True])
@pytest.mark.parametrize("kind", WRITES)
def test_a_blocking_write_is_interrupted(run_program, addresses, kind, open_user_events):
    run_program(
        f"""{GATED}
source = np.full({WRITES[kind]}, 7, np.int32)
after = []

def write():
    after.clear()  # what the write waits for
    if {open_user_events}:
        after.append(enqueue())
    else:
        after.append(spin(queue, (1,), None, buffer, np.uint64(rounds)))
    cl.enqueue_copy(queue, buffer, source)
    queue.finish()

if {open_user_events}:
    interrupted(write)
else:
    open_gate()
    # A kernel that runs for long enough: the device's speed is not known, so short ones are tried first.
    rounds, ended = 1 << 28, True
    while ended:
        rounds *= 8
        try:
            interrupted(write)
        except NothingInterrupted:
            continue
        ended = not is_waiting(after[0])
assert is_waiting(after[0])
if {open_user_events}:
    open_gate()
queue.finish()
result = np.empty_like(source)
cl.enqueue_copy(queue, result, buffer)
assert np.array_equal(result, source)
""",
        SERVERS=addresses,
    )


def test_what_was_written_stays_within_bounds_and_is_let_go_of(run_program, addresses):
    run_program(
        f"""{GATED}
import weakref
open_gate()
sources = [np.full(1 << 10, i, np.int32) for i in range(1000)]
alive = [weakref.ref(source) for source in sources]
while sources:
    cl.enqueue_copy(queue, buffer, sources.pop(0))
assert sum(source() is not None for source in alive) < 100
queue.finish()
result = np.empty(1 << 10, np.int32)
cl.enqueue_copy(queue, result, buffer)
assert (result == 999).all()
assert all(source() is None for source in alive)
""",
        SERVERS=addresses,
    )


def test_what_never_ends_on_one_device_does_not_hold_up_writes_to_another(run_program, addresses):
    run_program(
        f"""{GATED}
other = cl.CommandQueue(context, connection.devices[1])
elsewhere = cl.Buffer(context, cl.mem_flags.READ_WRITE, 1 << 12)
event = enqueue()
interrupted(lambda: cl.enqueue_copy(queue, np.empty_like(before), buffer))
source = np.ones(1 << 10, np.int32)
for _ in range(200):
    cl.enqueue_copy(other, elsewhere, source)
assert is_waiting(event)
open_gate()
check()
""",
        SERVERS=addresses,
    )


@pytest.mark.parametrize(
    "wait",
    [
        "queue.finish()",
        "enqueue().wait()",
        "cl.enqueue_copy(queue, np.empty_like(before), buffer)",
        "cl.enqueue_copy(queue, buffer, before)",
        "[cl.enqueue_copy(queue, buffer, before[:1 << 17]) for _ in range(100)]",
        "remotecl.status()",
        "remotecl.servers()",
    ],
)
def test_waiting_for_a_server_that_is_stopped_is_interrupted(run_program, wait):
    run_program(f"""
import os, remotecl
cluster = remotecl.LocalCluster(servers=1)
os.environ["SERVERS"] = cluster.addresses[0]
{GATED}
open_gate()
queue.finish()
process = cluster.servers[0].pid
os.kill(process, signal.SIGSTOP)
os.waitid(os.P_PID, process, os.WSTOPPED | os.WNOWAIT)
try:
    interrupted(lambda: {wait})
finally:
    os.kill(process, signal.SIGCONT)
queue.finish()
cl.enqueue_copy(queue, buffer, before)
check(0)
cluster.stop()
""")


RELAY = """
import sys, time
from throttled_relay import ThrottledRelay
print(ThrottledRelay(sys.argv[1]).address, flush=True)
time.sleep(1000)
"""


@pytest.mark.parametrize("wait", ["queue.finish()", "check()", "cl.enqueue_copy(queue, buffer, before)"])
def test_waiting_while_a_lost_server_is_connected_again_is_interrupted(run_program, cluster, wait):
    relay = subprocess.Popen(
        [sys.executable, "-c", RELAY, cluster.addresses[0]],
        env={**CLEAN_ENVIRONMENT, "PYTHONPATH": str(Path(__file__).parent)},
        stdout=subprocess.PIPE,
        text=True,
    )
    try:
        address = relay.stdout.readline().strip()
        run_program(
            f"""{GATED}
open_gate()
queue.finish()
os.kill({relay.pid}, signal.SIGKILL)
while True:
    try:
        silent = socket.create_server(("127.0.0.1", {address.rpartition(":")[2]}))  # takes calls and says nothing
        break
    except OSError:
        time.sleep(0.01)
for _ in range(2):
    interrupted(lambda: {wait})
connection.close()
""",
            SERVERS=address,
        )
    finally:
        relay.kill()
        relay.communicate()


@pytest.mark.parametrize("ask", ["remotecl.connect(silent)", "remotecl.status(silent)"])
def test_asking_a_server_that_does_not_answer_is_interrupted(run_program, addresses, ask):
    run_program(
        f"""{PRELUDE}
listener = socket.create_server(("127.0.0.1", 0))
silent = f"127.0.0.1:{{listener.getsockname()[1]}}"
connection = remotecl.connect(os.environ["SERVERS"].split(",")[0])
interrupted(lambda: {ask})
begin = time.monotonic()
assert remotecl.devices() == connection.devices == connection.platform.get_devices()
assert time.monotonic() - begin < PROMPTLY_S
listener.close()
assert remotecl.connect(os.environ["SERVERS"]).devices
""",
        SERVERS=addresses,
    )


def test_the_end_of_the_program_does_not_wait_for_what_was_interrupted(run_program, addresses):
    result = run_program(
        f"""{GATED}
enqueue()
target = np.empty_like(before)
interrupted(lambda: cl.enqueue_copy(queue, target, buffer))
interrupted(lambda: cl.enqueue_copy(queue, buffer, target))
opener.cancel()
""",
        SERVERS=addresses,
    )
    assert result.stderr == ""


@pytest.mark.parametrize(
    "order", ["import pyopencl, remotecl", "import remotecl, pyopencl", "import remotecl._cli.main, pyopencl.array"]
)
def test_whichever_is_imported_first(run_program, addresses, order):
    run_program(f"{order}\n{GATED}\nenqueue()\ninterrupted(queue.finish)\nopen_gate()\ncheck()", SERVERS=addresses)


def test_other_threads_wait_and_other_signals_are_handled(run_program, addresses):
    run_program(
        f"""{GATED}
event = enqueue()
handled = []
signal.signal(signal.SIGUSR1, lambda number, frame: handled.append(number))
waited = []
others = [threading.Thread(target=lambda: (wait(), waited.append(1))) for wait in (event.wait, queue.finish)]
for other in others:
    other.start()
threading.Timer(0.1, os.kill, [os.getpid(), signal.SIGUSR1]).start()
interrupted(event.wait)
assert handled and not waited
open_gate()
for other in others:
    other.join()
check()
""",
        SERVERS=addresses,
    )


def test_a_cell_of_a_notebook_is_interrupted(addresses):
    manager, client = start_new_kernel(env={**CLEAN_ENVIRONMENT, "SERVERS": addresses})

    def run(source, see=lambda message: None):
        return client.execute_interactive(source, timeout=60, output_hook=see)["content"]

    def interrupt(message):
        if message["msg_type"] == "stream" and "waiting" in message["content"]["text"]:
            manager.interrupt_kernel()

    try:
        assert run(f"{GATED}\nevent = enqueue()")["status"] == "ok"
        interrupted = run("print('waiting', flush=True)\nqueue.finish()", interrupt)
        assert interrupted["ename"] == "KeyboardInterrupt"
        assert run("open_gate()\ncheck()")["status"] == "ok"
    finally:
        client.stop_channels()
        manager.shutdown_kernel(now=True)
