"""What a session does to itself, or to the machine, by what it asks for."""

from __future__ import annotations

import struct

import pytest

from attacks.conftest import Start
from attacks.victim import Victim
from attacks.wire import (
    ALLOCATE_SVM,
    BUILD_DONE,
    COMMAND_FAILED,
    CREATE_PROGRAM_WITH_SOURCE,
    SVM_ALLOCATED,
    Client,
    build,
    marker,
    message,
    text,
    u32,
    u64,
)

INVALID_EVENT_WAIT_LIST, OUT_OF_RESOURCES = -57, -5


@pytest.mark.parametrize("properties", [0, 1], ids=["in order", "out of order"])
@pytest.mark.parametrize("waits_for_all", [0, 1])
def test_a_command_that_waits_for_itself_fails(victim: Victim, properties: int, waits_for_all: int):
    with Client(victim.address) as client:
        queue, event = client.queue(properties), client.id()
        client.send(marker(queue, event, [event], waits_for_all=waits_for_all))
        failed = client.wait(COMMAND_FAILED, u64(queue, event))
        assert struct.unpack("<i", failed[16:20]) == (INVALID_EVENT_WAIT_LIST,)
        client.finish(queue)


@pytest.mark.parametrize("address", [0x1000, 0x10000, 0x10000000, 0x7FFFFFFFF000, 1 << 47, (1 << 64) - 4096])
def test_shared_memory_is_not_put_where_null_pointers_point(victim: Victim, address: int):
    with Client(victim.address) as client:
        devices = u32(1, 0)
        client.send(message(ALLOCATE_SVM, u64(client.id(), 1) + devices + u64(1, 8192, 4096, address)))
        (error,) = struct.unpack("<i", client.wait(SVM_ALLOCATED)[8:12])
        assert error != 0


def test_a_build_fails_where_headers_cannot_be_written(start: Start, tmp_path):
    victim = start(TMPDIR=str(tmp_path))
    (folder,) = tmp_path.iterdir()
    folder.rename(tmp_path / "away")
    with Client(victim.address) as client:
        program = client.id()
        client.send(message(CREATE_PROGRAM_WITH_SOURCE, u64(program) + text(b'#include "h.h"\nkernel void k() {}')))
        files = {"folders": [b"/include"], "headers": [(b"/include/h.h", b"\n")]}
        folder.write_text("no folder")
        client.send(build(program, 1, **files))
        done = client.wait(BUILD_DONE, u64(1))
        assert struct.unpack("<i", done[16:20]) == (OUT_OF_RESOURCES,)
        assert b"temporary folder (TMPDIR)" in done
        folder.unlink()
        (tmp_path / "away").rename(folder)
        client.send(build(program, 2, **files))
        assert struct.unpack("<i", client.wait(BUILD_DONE, u64(2))[16:20]) == (0,)
