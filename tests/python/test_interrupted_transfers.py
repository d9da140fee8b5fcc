"""Ctrl-C while a read or a write waits: bytes that come later change nothing, and memory is kept for as long."""

from __future__ import annotations

import pytest

from gated_program import GATED

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
