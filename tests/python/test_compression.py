"""Bulk data that is compressed on its way arrives as it was, and less of it travels."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from conftest import RunProgram
from daemon import Daemon

MIB = 1 << 20

# Moves data of several kinds in every way, and prints what was compressed.
PROGRAM = """
import json, sys
import numpy, pyopencl, remotecl

context = remotecl.connect({address!r}).context()
queue = pyopencl.CommandQueue(context, context.devices[0])
random = numpy.random.default_rng(1)
kinds = {{
    "zeros": numpy.zeros(9 << 20, "u1"),
    "numbers": numpy.arange(9 << 18, dtype="u4").view("u1"),
    "random": random.integers(0, 256, 9 << 20, dtype="u1"),
    "both": numpy.concatenate([numpy.zeros(3 << 20, "u1"), random.integers(0, 256, 3 << 20, dtype="u1")] * 2),
}}
report = {{}}
def traffic():
    return remotecl.overview().stats.servers[0].traffic
for name in {names!r}:
    data = kinds[name]
    before = traffic()
    buffer = pyopencl.Buffer(context, pyopencl.mem_flags.READ_WRITE, data.nbytes)
    pyopencl.enqueue_copy(queue, buffer, data, is_blocking=False).wait()
    part = data[: 700_000]
    pyopencl.enqueue_copy(queue, buffer, part)  # pushed
    back = numpy.empty_like(data)
    pyopencl.enqueue_copy(queue, back, buffer)
    assert (back == data).all(), name
    rows = numpy.zeros((600, 2048), "u1")
    pyopencl.enqueue_copy(queue, rows, buffer, buffer_origin=(0, 0), host_origin=(0, 0), region=(1500, 600),
                          buffer_pitches=(2048,), host_pitches=(2048,))
    assert (rows[:, :1500] == data[: 600 * 2048].reshape(600, 2048)[:, :1500]).all(), name
    after = traffic()
    report[name] = {{
        "sent": [after.compressed_sent.before - before.compressed_sent.before,
                 after.compressed_sent.after - before.compressed_sent.after,
                 after.bulk.sent.bytes - before.bulk.sent.bytes],
        "received": [after.compressed_received.before - before.compressed_received.before,
                     after.compressed_received.after - before.compressed_received.after,
                     after.bulk.received.bytes - before.bulk.received.bytes],
    }}
(status,) = remotecl.overview().status
report["status"] = [status.clients.compressed_received.before, status.clients.compressed_sent.before]
print(json.dumps(report))
"""


# Saves a trace of two writes and a read of each kind.
TRACED = """
import numpy, pyopencl, remotecl

context = remotecl.connect({address!r}).context()
queue = pyopencl.CommandQueue(context, context.devices[0])
with remotecl.trace() as trace:
    for data in (numpy.zeros(9 << 20, "u1"), numpy.random.default_rng(1).integers(0, 256, 9 << 20, dtype="u1")):
        buffer = pyopencl.Buffer(context, pyopencl.mem_flags.READ_WRITE, data.nbytes)
        pyopencl.enqueue_copy(queue, buffer, data, is_blocking=False).wait()
        pyopencl.enqueue_copy(queue, buffer, data[: 700_000])  # pushed
        pyopencl.enqueue_copy(queue, numpy.empty_like(data), buffer)
trace.save({path!r})
"""


def move(run_program: RunProgram, address: str, names: list[str], **environment: str) -> dict[str, Any]:
    environment = {"REMOTECL_SHARED_MEMORY": "off", "REMOTECL_UPLOADS": "off", **environment}
    result: dict[str, Any] = json.loads(run_program(PROGRAM.format(address=address, names=names), **environment).stdout)
    return result


@pytest.fixture
def always() -> Iterator[Daemon]:
    with Daemon("--metrics", "0", environment={"REMOTECL_COMPRESSION": "zstd"}) as daemon:
        yield daemon


def test_whatever_is_compressed_arrives(run_program: RunProgram, always: Daemon) -> None:
    names = ["zeros", "numbers", "random", "both"]
    report = move(run_program, always.address, names, REMOTECL_COMPRESSION="zstd", REMOTECL_BULK_CHANNELS="2")
    for direction in ("sent", "received"):
        before, after, traveled = report["zeros"][direction]
        assert before >= 9 * MIB
        assert after < traveled < MIB // 10
        assert report["random"][direction][0] == 0, "what does not become smaller travels as it is"
        before, after, _ = report["both"][direction]
        assert 5 * MIB < before <= 8 * MIB
        assert after < MIB // 10
    metrics = always.metrics()
    received = metrics["remotecl_client_uncompressed_bytes_total", "received"]
    assert received == report["status"][0] > 20 * MIB
    assert metrics["remotecl_client_compressed_bytes_total", "received"] < received / 2


def test_traces_show_what_traveled(run_program: RunProgram, always: Daemon, tmp_path: Path) -> None:
    path = tmp_path / "trace.json"
    environment = {"REMOTECL_SHARED_MEMORY": "off", "REMOTECL_UPLOADS": "off", "REMOTECL_COMPRESSION": "zstd"}
    run_program(TRACED.format(address=always.address, path=str(path)), **environment)
    slices = [event for event in json.loads(path.read_text())["traceEvents"] if event["ph"] == "X"]
    assert [slice["name"] for slice in slices] == ["write", "write", "read"] * 2
    for slice in slices[:3]:
        assert 0 < slice["args"]["wire_bytes"] < slice["args"]["bytes"] // 100
    for slice in slices[3:]:
        assert "wire_bytes" not in slice["args"], "what does not become smaller travels as it is"


@pytest.mark.parametrize("streams", ["1", "3"])
def test_over_several_connections_and_with_offers(run_program: RunProgram, tmp_path: Path, streams: str) -> None:
    environment = {"REMOTECL_COMPRESSION": "zstd", "REMOTECL_BULK_STREAMS": streams}
    with Daemon("--store", str(tmp_path / "store"), environment=environment) as daemon:
        for _ in range(2):  # the second one sends what was not found
            report = move(run_program, daemon.address, ["both"], REMOTECL_UPLOADS="always", **environment)
            assert report["both"]["received"][0] > 5 * MIB


@pytest.mark.parametrize(("client", "server"), [("off", "zstd"), ("zstd", "off")])
def test_either_side_can_say_no(run_program: RunProgram, client: str, server: str) -> None:
    with Daemon(environment={"REMOTECL_COMPRESSION": server}) as daemon:
        report = move(run_program, daemon.address, ["zeros"], REMOTECL_COMPRESSION=client)
    for direction in ("sent", "received"):
        assert report["zeros"][direction][:2] == [0, 0]
        assert report["zeros"][direction][2] >= 9 * MIB


def test_a_wrong_word_is_ignored_with_a_line(run_program: RunProgram) -> None:
    with Daemon() as daemon:
        program = PROGRAM.format(address=daemon.address, names=[])
        result = run_program(program, REMOTECL_COMPRESSION="lzma", REMOTECL_SHARED_MEMORY="off")
    assert "REMOTECL_COMPRESSION=lzma means nothing and is ignored; it takes auto, off or zstd" in result.stderr
