"""Sockets inside kernels give nobody what the operator has not allowed, and networks what no session may have."""

from __future__ import annotations

import struct

import pytest

from attacks.conftest import Start
from attacks.victim import MIB, Victim
from attacks.wire import (
    BUILD_DONE,
    COMMAND_FAILED,
    CREATE_BUFFER,
    CREATE_IMAGE,
    CREATE_KERNEL,
    CREATE_NETWORK,
    CREATE_PROGRAM_WITH_SOURCE,
    CREATE_SUB_BUFFER,
    ENQUEUE_KERNEL,
    ENQUEUE_WRITE,
    NETWORK_CREATED,
    RELEASE_BUFFER,
    STOP_NETWORK,
    Client,
    build,
    message,
    sequence,
    text,
    u32,
    u64,
)

INVALID_OPERATION, INVALID_MEM_OBJECT, INVALID_VALUE, NO_MEMORY, NO_RESOURCES = -59, -38, -30, -4, -5
OPTIONS = ("--kernel-sockets", "--limit", "default.kernel-connect=['127.0.0.1:*']")


@pytest.fixture
def victim(start: Start) -> Victim:
    return start(*OPTIONS, "--limit", "default.device-memory=256MiB")


def create(client: Client, sockets: int = 4, ring: int = 4096, device: int = 0) -> tuple[int, int, int, str]:
    """The id, the error, the size, and why."""
    network, token = client.id(), client.id()
    client.send(message(CREATE_NETWORK, u64(network, token) + u32(device, sockets, ring)))
    answer = client.wait(NETWORK_CREATED, u64(token))
    error, size, length = struct.unpack("<iQI", answer[8:24])
    assert len(answer) == 24 + length
    return network, error, size, answer[24:].decode()


def test_nothing_without_the_option(start: Start):
    victim = start("--limit", "default.kernel-connect=['127.0.0.1:*']")
    with Client(victim.address) as client:
        _, error, _, why = create(client)
        assert error == INVALID_OPERATION
        assert "--kernel-sockets" in why


@pytest.mark.parametrize(
    ("sockets", "ring"),
    [(0, 4096), (4, 0), (4, 4097), (16385, 1024), (1, 1 << 31), (0xFFFFFFFF, 0xFFFFFFFF), (16384, 16 * MIB)],
)
def test_impossible_shapes(victim: Victim, sockets: int, ring: int):
    with Client(victim.address) as client:
        assert create(client, sockets, ring)[1] == INVALID_VALUE
        assert create(client)[1] == 0


def test_rings_count_as_memory_of_the_device(victim: Victim):
    with Client(victim.address) as client:
        before = victim.forget_peak()
        for _ in range(100):
            assert create(client, 1024, 1 * MIB)[1] == NO_MEMORY
        network, error, size, _ = create(client, 1024, 64 << 10)
        assert error == 0
        assert size >= 128 * MIB
        assert create(client, 1024, 64 << 10)[1] == NO_MEMORY
        client.send(message(RELEASE_BUFFER, u64(network)))
        client.ping()
        assert victim.peak() - before < 256 * MIB


def test_there_are_not_as_many_as_one_likes(victim: Victim):
    with Client(victim.address) as client:
        answers = [create(client, 1, 1024)[1] for _ in range(80)]
        assert answers == [0] * 64 + [NO_RESOURCES] * 16


def test_a_device_that_is_none(victim: Victim):
    with Client(victim.address) as client:
        client.send(message(CREATE_NETWORK, u64(1, 2) + u32(77, 1, 1024)))
        assert "77" in client.last_words()


def test_an_id_that_is_in_use(victim: Victim):
    for code, extra in ((CREATE_NETWORK, u64(9) + u32(0, 1, 1024)), (CREATE_BUFFER, u64(1, 64))):
        with Client(victim.address) as client:
            network = create(client)[0]
            client.send(message(code, u64(network) + extra))
            assert "in use" in client.last_words()
    with Client(victim.address) as client:
        buffer = client.buffer(64)
        client.send(message(CREATE_NETWORK, u64(buffer, 9) + u32(0, 1, 1024)))
        assert "in use" in client.last_words()


def test_another_sessions_network_is_nothing(victim: Victim):
    source = b'#include "remotecl/net.cl"\nkernel void k(global rcl_net* net) {}'
    with Client(victim.address) as owner, Client(victim.address) as other:
        for _ in range(50):
            network = owner.id()
            other.id()
        owner.send(message(CREATE_NETWORK, u64(network, 9) + u32(0, 1, 1024)))
        owner.wait(NETWORK_CREATED)
        other.send(message(STOP_NETWORK, u64(network)), message(RELEASE_BUFFER, u64(network)))
        program, kernel, queue = other.id(), other.id(), other.queue()
        other.send(message(CREATE_PROGRAM_WITH_SOURCE, u64(program) + text(source)))
        other.send(build(program, 5))
        other.wait(BUILD_DONE, u64(5))
        argument = u32(0, 1) + u64(network) + text(b"")
        other.send(
            message(CREATE_KERNEL, u64(kernel, program) + text(b"k")),
            message(
                ENQUEUE_KERNEL,
                u64(queue, 0, kernel) + u32(1, 0) + u64(0, 0, 0, 1, 1, 1, 1, 1, 1) + sequence([argument]) + u32(0),
            ),
        )
        (error,) = struct.unpack("<i", other.wait(COMMAND_FAILED)[16:20])
        assert error == INVALID_MEM_OBJECT
        owner.ping()


def test_no_other_command_finds_a_network(victim: Victim):
    with Client(victim.address) as client:
        queue, network = client.queue(), create(client)[0]
        # Neither is made.
        client.send(message(CREATE_SUB_BUFFER, u64(client.id(), network, 1, 0, 64)))
        image = u64(client.id(), network, 1) + u32(0x10B5, 0x10DA, 0x10F6) + u64(16, 0, 0, 0, 0)
        client.send(message(CREATE_IMAGE, image))
        client.send(message(ENQUEUE_WRITE, u64(queue, 0, network, 0, 4, 0) + text(b"abcd") + u32(0, 0)))
        (error,) = struct.unpack("<i", client.wait(COMMAND_FAILED)[16:20])
        assert error == INVALID_MEM_OBJECT
        client.ping()
