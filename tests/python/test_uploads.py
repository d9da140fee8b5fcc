"""Uploads that a server has already do not travel: in other processes, after a restart, from damaged stores."""

from __future__ import annotations

import contextlib
import os
import random
import socket
import time
from pathlib import Path

import pytest

import remotecl
from conftest import RunProgram
from daemon import WITHIN_S, Daemon
from throttled_relay import ThrottledRelay

MIB = 1 << 20

# Uploads a file, in one write or as a buffer's first content, reads it back, and prints how many bytes did not travel.
PROGRAM = """
import sys
import numpy, pyopencl, remotecl

context = remotecl.connect(*{addresses!r}, token_file={token!r}).context()
queue = pyopencl.CommandQueue(context, context.devices[0])
path, how = {path!r}, {how!r}
data = numpy.fromfile(path, dtype="u1")
flags = pyopencl.mem_flags
if how == "copied":
    buffer = pyopencl.Buffer(context, flags.READ_WRITE | flags.COPY_HOST_PTR, hostbuf=data)
    pyopencl.enqueue_migrate_mem_objects(queue, [buffer])
else:
    buffer = pyopencl.Buffer(context, flags.READ_WRITE, data.nbytes)
    written = pyopencl.enqueue_copy(queue, buffer, data, is_blocking=how != "later")
    written.wait()
there = numpy.empty(data.nbytes, dtype="u1")
pyopencl.enqueue_copy(queue, there, buffer)
assert (there == data).all()
print(remotecl.overview().stats.transfers.found.bytes)
"""


@pytest.fixture
def weights(tmp_path: Path) -> Path:
    """Not a whole number of chunks."""
    path = tmp_path / "weights"
    path.write_bytes(os.urandom(12 * MIB + 12345))
    return path


def found(
    run_program: RunProgram,
    daemon: Daemon | list[str],
    weights: Path,
    how: str = "read",
    uploads: str = "always",
    token: Path | None = None,
) -> int:
    """`daemon`: that one, or the addresses of several, of which the first one gets the bytes."""
    addresses = [daemon.address] if isinstance(daemon, Daemon) else daemon
    program = PROGRAM.format(addresses=addresses, path=str(weights), how=how, token=token and str(token))
    environment = {"REMOTECL_UPLOADS": uploads}
    environment["REMOTECL_SHARED_MEMORY"] = "off"  # as on a machine of its own
    return int(run_program(program, **environment).stdout)


def await_stored(daemon: Daemon, count: int) -> None:
    end = time.monotonic() + WITHIN_S
    while daemon.metrics()["remotecl_uploads_entries",] < count:
        assert time.monotonic() < end
        time.sleep(0.02)


@pytest.mark.parametrize("isolation", ["--no-isolate", "--isolate"])
def test_a_second_process_sends_nothing(run_program: RunProgram, tmp_path: Path, weights: Path, isolation: str) -> None:
    size = weights.stat().st_size
    options = ("--store", str(tmp_path / "store"), "--metrics", "0", isolation)
    with Daemon(*options) as daemon:
        assert found(run_program, daemon, weights) == 0
        await_stored(daemon, 13)
        for how in ("read", "later", "copied"):
            assert found(run_program, daemon, weights, how) == size, how
        assert daemon.metrics()["remotecl_uploads_found_bytes_total",] == 3 * size
        (status,) = remotecl.overview(daemon.address).status
        assert status.stores["uploads"].hit_bytes == 3 * size
        assert status.stores["uploads"].entries == 13
        assert "uploads" in str(status)
    with Daemon(*options, "--listen", daemon.address) as daemon:
        assert found(run_program, daemon, weights) == size
        assert found(run_program, daemon, weights, uploads="off") == 0
        changed = bytearray(weights.read_bytes())
        changed[5 * MIB] ^= 1
        weights.write_bytes(changed)
        assert found(run_program, daemon, weights) == size - MIB


def test_a_server_without_a_store_gets_everything(run_program: RunProgram, weights: Path) -> None:
    with Daemon("--no-store") as daemon:
        assert found(run_program, daemon, weights) == 0
        assert found(run_program, daemon, weights) == 0


# A daemon has verified its entries, and they are damaged while it runs.
def test_damaged_entries_never_arrive(run_program: RunProgram, tmp_path: Path, weights: Path) -> None:
    size, store = weights.stat().st_size, tmp_path / "store"
    with Daemon("--store", str(store), "--metrics", "0") as daemon:
        found(run_program, daemon, weights)
        await_stored(daemon, 13)
        for seed in range(6):
            choose = random.Random(seed)
            entries = sorted(store.glob("u*"))
            for entry in choose.sample(entries, 4):
                data = bytearray(entry.read_bytes())
                data[choose.randrange(len(data))] ^= 1 << choose.randrange(8)
                entry.write_bytes(data[: choose.choice([len(data), len(data) // 2])])
            assert 0 < found(run_program, daemon, weights) < size, f"seed {seed}"
            await_stored(daemon, 13)
        assert found(run_program, daemon, weights) == size


def test_over_a_slow_link_a_second_process_sends_little(run_program: RunProgram, tmp_path: Path, weights: Path) -> None:
    with (
        Daemon("--store", str(tmp_path / "store"), "--metrics", "0") as daemon,
        ThrottledRelay(daemon.address, 8 * MIB) as relay,
    ):
        behind = [relay.address]
        assert found(run_program, behind, weights, uploads="auto") == 0
        await_stored(daemon, 4)
        # What goes before the link is known was not offered, so it is not kept either.
        assert found(run_program, behind, weights, uploads="auto") >= 2 * MIB


# A busy machine may look like a slow link for a moment, so one process of a few is enough.
def test_over_a_fast_link_nothing_is_offered(run_program: RunProgram, tmp_path: Path, weights: Path) -> None:
    with Daemon("--store", str(tmp_path / "store")) as daemon:

        def offered() -> int:
            (status,) = remotecl.overview(daemon.address).status
            return status.stores["uploads"].misses + status.stores["uploads"].hits

        counts = [offered()]
        while len(counts) < 6 and (len(counts) == 1 or counts[-1] != counts[-2]):
            found(run_program, daemon, weights, uploads="auto")
            counts.append(offered())
        assert counts[-1] == counts[-2], counts


# Every second chunk is there, and the connections break again and again.
def test_a_lost_connection_repeats_nothing_and_loses_nothing(
    run_program: RunProgram, tmp_path: Path, weights: Path
) -> None:
    data, half = weights.read_bytes(), tmp_path / "half"
    half.write_bytes(b"".join(data[at : at + MIB] for at in range(0, 12 * MIB, 2 * MIB)))
    cuts = 0
    passed = 0

    def cut(piece: bytes) -> None:
        nonlocal cuts, passed
        passed += len(piece)
        if passed < (cuts + 1) * 2 * MIB:
            return
        cuts += 1
        for one in list(relay._sockets):
            with contextlib.suppress(OSError):
                one.shutdown(socket.SHUT_RDWR)

    options = ("--store", str(tmp_path / "store"), "--metrics", "0")
    with Daemon(*options) as daemon, ThrottledRelay(daemon.address, 200 * MIB, cut) as relay:
        assert found(run_program, daemon, half) == 0
        await_stored(daemon, 6)
        daemon.address = relay.address
        assert found(run_program, daemon, weights) == 6 * MIB
        assert cuts >= 2
        await_stored(daemon, 13)
        assert found(run_program, daemon, weights) == weights.stat().st_size
