"""Builds of one program for equal devices of several servers: who compiles, and what other users get of that."""

from __future__ import annotations

import time
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path

import pytest

from conftest import BUILT, RunProgram
from daemon import WITHIN_S, Daemon

# Drivers that have a binary of a program at once; PoCL has none.
FAKE_DRIVER = BUILT / "lib" / "libremotecl_fake_driver.so"

# Builds one program for two servers, runs it on both, and prints the results and the links.
PROGRAM = """
import numpy, pyopencl, remotecl

context = remotecl.connect(*{addresses!r}, token_file={token!r}).context()
source = "kernel void add_mv(global int* to, int value) {{ to[get_global_id(0)] += value; }} // shared"
program = pyopencl.Program(context, source).build()
for device in context.devices:
    queue = pyopencl.CommandQueue(context, device)
    numbers = numpy.full(16, 100, dtype=numpy.int32)
    buffer = pyopencl.Buffer(context, pyopencl.mem_flags.READ_WRITE, numbers.nbytes)
    pyopencl.enqueue_copy(queue, buffer, numbers)
    program.add_mv(queue, numbers.shape, None, buffer, numpy.int32(7))
    pyopencl.enqueue_copy(queue, numbers, buffer)
    print(numbers[0], end=" ")
print(*(link.state for link in remotecl.links()))
"""


@contextmanager
def fake_daemons(folder: Path, *options: str, kinds: tuple[str, ...] = ("gpu=1",) * 2) -> Iterator[list[Daemon]]:
    """With users `alice` and `bob`, whose tokens are files in the folder, and a store each."""
    if not FAKE_DRIVER.exists():
        pytest.skip(f"{FAKE_DRIVER} has not been built")
    names = ("alice", "bob")
    for name in names:
        token = folder / f"{name}.token"
        token.write_text(f"what only {name} knows, and nobody else\n")
        token.chmod(0o600)
    limits = folder / "limits.toml"
    limits.write_text("".join(f'[users.{name}]\ntoken-file = "{name}.token"\n' for name in names))
    options = ("--metrics", "0", "--limits", str(limits), *options)
    with ExitStack() as daemons:
        yield [
            daemons.enter_context(
                Daemon(
                    *("--store", str(folder / f"store-{number}"), *options),
                    environment={"OCL_ICD_VENDORS": str(FAKE_DRIVER), "REMOTECL_FAKE_DRIVER": kind},
                )
            )
            for number, kind in enumerate(kinds)
        ]


def build(run_program: RunProgram, daemons: list[Daemon], token: Path | None = None) -> str:
    addresses = [daemon.address for daemon in daemons]
    source = PROGRAM.format(addresses=addresses, token=token and str(token))
    return run_program(source, PYOPENCL_NO_CACHE="1").stdout.strip()


def count(daemons: list[Daemon], what: str) -> list[int]:
    return [int(daemon.metrics()[f"remotecl_store_{what}",]) for daemon in daemons]


def await_entries(daemons: list[Daemon], wanted: list[int]) -> None:
    end = time.monotonic() + WITHIN_S
    while count(daemons, "entries") != wanted:
        assert time.monotonic() < end, (count(daemons, "entries"), wanted)
        time.sleep(0.02)


@pytest.mark.parametrize("isolation", ["--no-isolate", "--isolate"])
@pytest.mark.parametrize("trust", [False, True], ids=["apart", "trusting"])
def test_what_a_user_has_built_is_found_by_that_user(
    run_program: RunProgram, tmp_path: Path, isolation: str, trust: bool
) -> None:
    options = (isolation, *(("--store-trust-users",) if trust else ()))
    # The first server compiles, and only it stores: what a peer says is not kept.
    with fake_daemons(tmp_path, *options) as daemons:
        assert build(run_program, daemons, tmp_path / "alice.token") == "107 107 connected"
        await_entries(daemons, [1, 0])
        assert count(daemons, "hits_total") == [0, 0]
    with fake_daemons(tmp_path, *options) as daemons:
        assert build(run_program, daemons, tmp_path / "bob.token") == "107 107 connected"
        assert count(daemons, "hits_total") == [int(trust), 0]
        await_entries(daemons, [1 if trust else 2, 0])
    with fake_daemons(tmp_path, *options) as daemons:
        assert build(run_program, daemons, tmp_path / "alice.token") == "107 107 connected"
        assert count(daemons, "hits_total") == [1, 0]


# Users of the same servers at the same time, in any order, whose sessions have processes of their own.
def test_contained_users_find_nothing_of_each_other_while_both_are_there(
    run_program: RunProgram, tmp_path: Path
) -> None:
    with fake_daemons(tmp_path, "--isolate") as daemons:
        for number, name in enumerate(("alice", "bob", "alice", "bob")):
            assert build(run_program, daemons, tmp_path / f"{name}.token") == "107 107 connected"
            assert count(daemons, "hits_total") == [max(0, number - 1), 0], name
            await_entries(daemons, [min(number + 1, 2), 0])


# The second server asks the first one, so it is not the one that the third could ask.
def test_servers_that_overlap_in_their_kinds_of_device_ask_only_one_that_compiles(
    run_program: RunProgram, tmp_path: Path
) -> None:
    one, other = "platform=one,gpu=1", "platform=other,gpu=1"
    with fake_daemons(tmp_path, kinds=(one, f"{one};{other}", other, other)) as daemons:
        results = build(run_program, daemons, tmp_path / "alice.token")
        assert results == "107 107 107 107 107 connected connected"
        await_entries(daemons, [1, 1, 1, 0])


def test_servers_of_drivers_that_share_no_builds_are_not_linked_for_them(run_program: RunProgram) -> None:
    with Daemon() as first, Daemon() as second:
        assert build(run_program, [first, second]) == "107 107"
