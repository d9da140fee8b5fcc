"""What a session makes the daemon hold is bounded, whatever it says, and counted to its user."""

from __future__ import annotations

import contextlib
import itertools
import struct
import time
from collections.abc import Callable, Iterator

import pytest

from attacks.conftest import Start
from attacks.victim import MEMORY_FACTOR, MIB
from attacks.wire import (
    ALLOCATE_SVM,
    COMMAND_FAILED,
    CREATE_BUFFER,
    CREATE_COMMAND_BUFFER,
    CREATE_IMAGE,
    CREATE_KERNEL,
    CREATE_PROGRAM_WITH_SOURCE,
    CREATE_QUEUE,
    CREATE_SAMPLER,
    CREATE_SUB_BUFFER,
    ENQUEUE_COMMAND_BUFFER,
    ENQUEUE_MARKER,
    ENQUEUE_WRITE,
    EVENT_DONE,
    EXPECT_END,
    EXPECT_EVENT,
    FINISH,
    GET_IMAGE_FORMATS,
    OBSERVE_EVENT,
    PEER_NONE,
    PING,
    RELEASE_COMMAND_BUFFER,
    RELEASE_EVENT,
    SET_KERNEL_SVM,
    SIGNAL_EVENT,
    SVM_ALLOCATED,
    Client,
    array,
    build,
    kernel_argument,
    launch,
    marker,
    message,
    sequence,
    small_write,
    text,
    u16,
    u32,
    u64,
)

LIMIT = 32 * MIB
# What the allocator, the driver, a message on its way and an estimate that is too low may add.
SLACK = 96 * MIB * MEMORY_FACTOR
SENT_MAX = 600 * MIB
OUT_OF_HOST_MEMORY = -6
ADDRESS = 0x7E90_0000_0000  # which sanitizers leave to programs

Flood = Callable[[Client], Iterator[bytes]]
FLOODS: dict[str, Flood] = {}


def flood(function: Flood) -> Flood:
    FLOODS[function.__name__] = function
    return function


@flood
def kernel_names(client: Client) -> Iterator[bytes]:
    program = client.id()
    yield message(CREATE_PROGRAM_WITH_SOURCE, u64(program) + text(b"kernel void k() {}"))
    name = bytes(MIB)
    while True:
        yield message(CREATE_KERNEL, u64(client.id(), program) + text(name))


@flood
def kernels(client: Client) -> Iterator[bytes]:
    program = client.id()
    yield message(CREATE_PROGRAM_WITH_SOURCE, u64(program) + text(b"kernel void k() {}"))
    while True:
        yield message(CREATE_KERNEL, u64(client.id(), program) + text(b"k"))


@flood
def program_sources(client: Client) -> Iterator[bytes]:
    source = b" " * MIB
    while True:
        yield message(CREATE_PROGRAM_WITH_SOURCE, u64(client.id()) + text(source))


@flood
def queued_builds(client: Client) -> Iterator[bytes]:
    program = client.id()
    yield message(CREATE_PROGRAM_WITH_SOURCE, u64(program) + text(b"kernel void k() {}"))
    headers = [(b"/header.h", b" " * MIB)]
    while True:
        yield build(program, client.id(), headers=headers)


@flood
def expected_events(client: Client) -> Iterator[bytes]:
    while True:
        yield message(EXPECT_EVENT, u64(client.id()) + PEER_NONE)


@flood
def ends_that_are_released(client: Client) -> Iterator[bytes]:
    awaited = client.expected_event()
    while True:
        end = u64(client.id())
        signal = message(SIGNAL_EVENT, end + u32(0) + PEER_NONE)
        yield message(EXPECT_END, end + u64(awaited) + u32(0)) + signal + message(RELEASE_EVENT, end)


@flood
def events_of_commands(client: Client) -> Iterator[bytes]:
    queue = client.queue()
    while True:
        yield marker(queue, client.id(), [])


@flood
def svm_pointers(client: Client) -> Iterator[bytes]:
    program, buffer, token = client.id(), client.id(), client.id()
    devices = u32(1, 0)
    client.send(message(ALLOCATE_SVM, u64(buffer, token) + devices + u64(1, 4096, 4096, ADDRESS)))
    error, address = struct.unpack("<iQ", client.wait(SVM_ALLOCATED, u64(token))[8:])
    assert error == 0
    yield message(CREATE_PROGRAM_WITH_SOURCE, u64(program) + text(b"kernel void k() {}"))
    pointers = u32(1 << 17) + u64(address) * (1 << 17)
    while True:
        kernel = client.id()
        yield message(CREATE_KERNEL, u64(kernel, program) + text(b"k"))
        yield message(SET_KERNEL_SVM, u64(kernel) + pointers)


@flood
def queues(client: Client) -> Iterator[bytes]:
    while True:
        yield message(CREATE_QUEUE, u64(client.id()) + u32(0) + u64(0))


@flood
def queues_with_small_writes(client: Client) -> Iterator[bytes]:
    buffer = client.buffer(64)
    while True:
        queue = client.id()
        yield message(CREATE_QUEUE, u64(queue) + u32(0) + u64(0))
        yield small_write(queue, 0, buffer, bytes(64), [])


@flood
def buffers(client: Client) -> Iterator[bytes]:
    while True:
        yield message(CREATE_BUFFER, u64(client.id(), 1, 64))


@flood
def sub_buffers(client: Client) -> Iterator[bytes]:
    parent = client.buffer(4096)
    while True:
        yield message(CREATE_SUB_BUFFER, u64(client.id(), parent, 1, 0, 64))


@flood
def images(client: Client) -> Iterator[bytes]:
    rgba, bytes_normalized, two_dimensions = 0x10B5, 0x10D2, 0x10F1
    kind = u32(rgba, bytes_normalized, two_dimensions)
    while True:
        yield message(CREATE_IMAGE, u64(client.id(), 0, 1) + kind + u64(16, 16, 0, 0, 0))


@flood
def samplers(client: Client) -> Iterator[bytes]:
    while True:
        yield message(CREATE_SAMPLER, u64(client.id()) + u32(0, 0x1130, 0x1140))


@flood
def pushed_writes_that_fail(client: Client) -> Iterator[bytes]:
    queue = client.queue()
    nothing = client.id()
    while True:
        yield message(ENQUEUE_WRITE, u64(queue, 0, nothing, 0, 1, client.id()) + text(b"") + array([]) + u32(1))


def up_to(size: int, messages: Iterator[bytes]) -> Iterator[bytes]:
    for each in messages:
        size -= len(each)
        if size < 0:
            return
        yield each


@pytest.mark.parametrize("name", FLOODS)
def test_a_session_that_would_hold_too_much_ends(start: Start, name: str):
    victim = start("--limit", f"session.host-memory={LIMIT}", "--metrics", "0")
    with Client(victim.address) as neighbour, Client(victim.address) as client:
        client.ping()
        neighbour.program(b"kernel void k() {}")  # the driver loads its compiler, and keeps it
        before = victim.forget_peak()
        words = client.flood(up_to(SENT_MAX, FLOODS[name](client)))
        assert victim.peak() - before < LIMIT + SLACK
        # Who does not keep up with reading does not get the last words.
        assert "host-memory" in (words or victim.log())
        neighbour.ping()
        while victim.held() > MIB:  # ends when the session is gone
            time.sleep(0.01)


# Commands that wait are refused one by one: the session goes on.


def held_wait_lists(client: Client, queue: int, event: int) -> Iterator[bytes]:
    waits = [event] * 4096
    while True:
        yield marker(queue, client.id(), waits)


def held_markers_behind_each_other(client: Client, queue: int, event: int) -> Iterator[bytes]:
    while True:
        yield marker(queue, client.id(), [event], waits_for_all=1)


def held_writes(client: Client, queue: int, event: int) -> Iterator[bytes]:
    buffer = client.buffer(1 << 16)
    data = bytes(1 << 16)
    while True:
        yield small_write(queue, client.id(), buffer, data, [event])


def held_arguments(client: Client, queue: int, event: int) -> Iterator[bytes]:
    count = 64
    parameters = ", ".join(f"ulong16 a{index}" for index in range(count))
    kernel = client.kernel(client.program(f"kernel void k({parameters}) {{}}".encode()), b"k")
    arguments = [kernel_argument(index, 0, 0, bytes(128)) for index in range(count)]
    yield launch(queue, client.id(), kernel, arguments, [event])
    while True:
        yield launch(queue, client.id(), kernel, [], [event])


OUT_OF_ORDER = 1


@pytest.mark.parametrize(
    "hold",
    [held_wait_lists, held_markers_behind_each_other, held_writes, held_arguments],
    ids=lambda hold: hold.__name__,
)
def test_a_command_that_cannot_be_held_fails_and_the_session_goes_on(start: Start, hold):
    victim = start("--limit", f"session.host-memory={LIMIT // 4}")
    with Client(victim.address) as client:
        queue = client.queue(OUT_OF_ORDER)
        event = client.expected_event()
        client.ping()
        messages = hold(client, queue, event)
        client.send(next(messages))  # comes after what it needs, such as a build, whose memory is the compiler's
        client.ping()
        before = victim.forget_peak()
        sent = 0
        for each in messages:
            client.send(each)
            client.ping()
            sent += len(each)
            if client.has(COMMAND_FAILED):
                break
            assert sent < SENT_MAX
        failed = client.wait(COMMAND_FAILED, u64(queue))
        assert struct.unpack("<i", failed[16:20]) == (OUT_OF_HOST_MEMORY,)
        client.ping()
        assert victim.peak() - before < LIMIT + SLACK
        assert "host-memory" in victim.log()
        client.signal(event)
        other = client.queue()  # because PoCL takes minutes for ten thousand barriers behind each other
        client.finish(other)
        last = client.id()
        client.send(marker(other, last, []), message(OBSERVE_EVENT, u64(last)))
        client.wait(EVENT_DONE, u64(last))


def test_a_user_is_counted_as_a_whole(start: Start):
    victim = start("--limit", f"default.host-memory={LIMIT}")
    with Client(victim.address) as first, Client(victim.address) as second:
        name = bytes(MIB)
        for client in (first, second):
            program = client.id()
            client.send(message(CREATE_PROGRAM_WITH_SOURCE, u64(program) + text(b"")))
        assert first.flood(message(CREATE_PROGRAM_WITH_SOURCE, u64(first.id()) + text(name)) for _ in range(24)) == ""
        words = second.flood(message(CREATE_PROGRAM_WITH_SOURCE, u64(second.id()) + text(name)) for _ in range(24))
        assert "host-memory" in words and "32 MiB" in words
        first.ping()


@pytest.mark.parametrize(
    ("given", "words"), [("default", "this session (1024 MiB)"), ("session", "its user (4096 MiB)")]
)
def test_who_is_given_no_limit_has_one(start: Start, given: str, words: str):
    victim = start("--limit", f"{given}.host-memory={LIMIT}")
    with Client(victim.address) as client:
        assert words in client.flood(up_to(SENT_MAX, program_sources(client)))


@pytest.mark.parametrize("code", [PING, GET_IMAGE_FORMATS])
def test_who_does_not_read_is_disconnected(start: Start, code: int):
    victim = start("--limit", f"session.host-memory={LIMIT}")
    with Client(victim.address, reads=False) as client:
        before = victim.forget_peak()
        payload = u64(1) if code == PING else u64(1) + u32(0) + u64(1) + u32(0x10F1)
        block = message(code, payload) * 4096
        with pytest.raises(OSError):
            for _ in range(SENT_MAX // len(block)):
                client.stream.sendall(block)
        assert victim.peak() - before < LIMIT + SLACK


def test_the_beginnings_of_long_messages_are_counted(start: Start):
    victim = start("--limit", f"default.host-memory={LIMIT - MIB}", "--metrics", "0")
    before = victim.forget_peak()
    beginning = message(CREATE_PROGRAM_WITH_SOURCE, bytes(7 * MIB), size=40 * MIB)
    with contextlib.ExitStack() as stack:
        first, *others = (stack.enter_context(Client(victim.address)) for _ in range(6))
        first.send(beginning)
        while victim.held() < LIMIT / 2:  # that much takes what it has sent
            time.sleep(0.01)
        for client in others:
            with contextlib.suppress(OSError):  # the server ends it before it has been said
                client.send(beginning)
            assert "host-memory" in client.last_words()
        assert not first.ended
        assert victim.peak() - before < LIMIT + SLACK


def point() -> bytes:
    return u16(ENQUEUE_MARKER) + text(u64(0, 0) + u32(0, 0) + array([]))


def test_a_recording_that_is_too_much_fails_when_it_is_replayed(start: Start):
    victim = start("--limit", f"session.host-memory={LIMIT}")
    with Client(victim.address) as client:
        queue = client.queue()
        client.ping()
        before = victim.forget_peak()
        commands = u32(0) + sequence([point()] * 4096)
        recordings = [client.id() for _ in range(100)]
        for recording in recordings:
            client.send(message(CREATE_COMMAND_BUFFER, u64(recording) + commands))
        client.ping()
        assert victim.peak() - before < LIMIT + SLACK
        client.send(message(ENQUEUE_COMMAND_BUFFER, u64(queue, 0, recordings[-1]) + array([])))
        failed = client.wait(COMMAND_FAILED, u64(queue))
        assert struct.unpack("<i", failed[16:20]) == (OUT_OF_HOST_MEMORY,)
        client.send(*(message(RELEASE_COMMAND_BUFFER, u64(recording)) for recording in recordings))
        recording, event = client.id(), client.id()
        client.send(message(CREATE_COMMAND_BUFFER, u64(recording) + commands))
        client.send(message(ENQUEUE_COMMAND_BUFFER, u64(queue, event, recording) + array([])))
        client.send(message(OBSERVE_EVENT, u64(event)))
        assert client.wait(EVENT_DONE, u64(event))[8:12] == bytes(4)


def test_replays_of_a_long_recording(start: Start):
    """Each would give the driver thousands of commands for forty bytes."""
    victim = start("--limit", f"session.host-memory={LIMIT}")
    with Client(victim.address) as client:
        queue = client.queue()
        event = client.expected_event()
        recording = client.id()
        client.send(message(CREATE_COMMAND_BUFFER, u64(recording) + u32(0) + sequence([point()] * 16384)))
        before = victim.forget_peak()
        replay = message(ENQUEUE_COMMAND_BUFFER, u64(queue, 0, recording) + array([event]))
        client.flood(itertools.repeat(replay, 4096))
        assert victim.peak() - before < LIMIT + SLACK
        client.signal(event)
        client.send(message(FINISH, u64(queue, client.id())))
        client.ping()


SLOW = b"""kernel void slow(global ulong *x) {
  ulong v = x[0];
  for (ulong i = 0; i < 1500000000; ++i) v = v * 6364136223846793005 + 1442695040888963407;
  x[0] = v;
}"""


def test_who_is_far_ahead_of_the_device_waits(start: Start):
    victim = start("--limit", f"session.host-memory={LIMIT}")
    with Client(victim.address) as client:
        queue, buffer = client.queue(), client.buffer(8)
        kernel = client.kernel(client.program(SLOW), b"slow")
        before = victim.forget_peak()
        client.send(launch(queue, 0, kernel, [kernel_argument(0, 1, buffer)]))
        assert client.flood(itertools.repeat(marker(queue, 0, []), 1 << 19)) == ""
        assert victim.peak() - before < LIMIT + SLACK
        client.finish(queue)
