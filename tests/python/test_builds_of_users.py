"""Builds of one program on several servers that store them: what each user finds of that."""

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

# Builds one program for two servers, runs it on both, and prints the results.
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
"""


@contextmanager
def fake_daemons(folder: Path, *options: str) -> Iterator[list[Daemon]]:
    """Two, with users `alice` and `bob`, whose tokens are files in the folder, and a store each."""
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
                    environment={"OCL_ICD_VENDORS": str(FAKE_DRIVER), "REMOTECL_FAKE_DRIVER": "gpu=1"},
                )
            )
            for number in range(2)
        ]


def build(run_program: RunProgram, daemons: list[Daemon], token: Path) -> str:
    addresses = [daemon.address for daemon in daemons]
    source = PROGRAM.format(addresses=addresses, token=str(token))
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
    with fake_daemons(tmp_path, *options) as daemons:
        assert build(run_program, daemons, tmp_path / "alice.token") == "107 107"
        await_entries(daemons, [1, 1])
        assert count(daemons, "hits_total") == [0, 0]
    with fake_daemons(tmp_path, *options) as daemons:
        assert build(run_program, daemons, tmp_path / "bob.token") == "107 107"
        assert count(daemons, "hits_total") == [int(trust)] * 2
        await_entries(daemons, [1 if trust else 2] * 2)
    with fake_daemons(tmp_path, *options) as daemons:
        assert build(run_program, daemons, tmp_path / "alice.token") == "107 107"
        assert count(daemons, "hits_total") == [1, 1]


# Users of the same servers at the same time, in any order, whose sessions have processes of their own.
def test_contained_users_find_nothing_of_each_other_while_both_are_there(
    run_program: RunProgram, tmp_path: Path
) -> None:
    with fake_daemons(tmp_path, "--isolate") as daemons:
        for number, name in enumerate(("alice", "bob", "alice", "bob")):
            assert build(run_program, daemons, tmp_path / f"{name}.token") == "107 107"
            assert count(daemons, "hits_total") == [max(0, number - 1)] * 2, name
            await_entries(daemons, [min(number + 1, 2)] * 2)
