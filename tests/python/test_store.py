"""The store of built programs and uploads: a daemon that is started anew, and `remotecl store`."""

from __future__ import annotations

import shutil
import time
from pathlib import Path

import pytest

from conftest import RunProgram
from daemon import WITHIN_S, Daemon
from remotecl._connect.connection import server_name
from remotecl._daemon.keygen import write_token
from test_tls import make_key, sign_client

PROGRAM = """
import numpy, pyopencl, remotecl

context = remotecl.connect({address!r}).context()
queue = pyopencl.CommandQueue(context, context.devices[0])
numbers = numpy.arange(16, dtype=numpy.int32)
buffer = pyopencl.Buffer(context, pyopencl.mem_flags.COPY_HOST_PTR, hostbuf=numbers)
program = pyopencl.Program(context, "kernel void twice(global int* data) {{ data[get_global_id(0)] *= 2; }}").build()
program.twice(queue, numbers.shape, None, buffer)
pyopencl.enqueue_copy(queue, numbers, buffer)
print(numbers.sum())
"""


def await_entries(daemon: Daemon, count: int) -> None:
    """Until so many are stored."""
    end = time.monotonic() + WITHIN_S
    while daemon.metrics()["remotecl_store_entries",] < count:
        assert time.monotonic() < end
        time.sleep(0.02)


def test_a_program_is_found_after_a_restart(run_program: RunProgram, tmp_path: Path) -> None:
    options = ("--store", str(tmp_path / "store"), "--metrics", "0")
    # With a process for each session, what the driver has cached is an entry, too.
    for isolation, entries, hits in ("--no-isolate", 1, 1), ("--isolate", 3, 2):
        with Daemon(*options, isolation) as daemon:
            assert run_program(PROGRAM.format(address=daemon.address), PYOPENCL_NO_CACHE="1").stdout == "240\n"
            await_entries(daemon, entries)
            assert daemon.metrics()["remotecl_store_hits_total",] == 0
        with Daemon(*options, isolation, "--listen", daemon.address) as daemon:
            assert run_program(PROGRAM.format(address=daemon.address), PYOPENCL_NO_CACHE="1").stdout == "240\n"
            assert daemon.metrics()["remotecl_store_hits_total",] == hits
            assert daemon.metrics()["remotecl_store_misses_total",] == 0


# Two objects, one with a header that is a program, and an executable.
LINKED = """
import numpy, pyopencl, remotecl

context = remotecl.connect({address!r}).context()
queue = pyopencl.CommandQueue(context, context.devices[0])
numbers = numpy.arange(16, dtype=numpy.int32)
buffer = pyopencl.Buffer(context, pyopencl.mem_flags.COPY_HOST_PTR, hostbuf=numbers)
header = pyopencl.Program(context, "#define FACTOR 2\\n")
source = '''#include "names/factor.h"
int scaled(int value, int factor);
kernel void twice(global int* data) {{ data[get_global_id(0)] = scaled(data[get_global_id(0)], FACTOR); }}'''
main = pyopencl.Program(context, source).compile(headers=[("names/factor.h", header)])
part = pyopencl.Program(context, "int scaled(int value, int factor) {{ return value * factor; }}").compile()
program = pyopencl.link_program(context, [main, part])
program.twice(queue, numbers.shape, None, buffer)
pyopencl.enqueue_copy(queue, numbers, buffer)
print(numbers.sum())
"""


@pytest.mark.parametrize("isolation, entries", [("--no-isolate", 3), ("--isolate", 4)])
def test_objects_and_what_is_linked_from_them_are_found_after_a_restart(
    run_program: RunProgram, tmp_path: Path, isolation: str, entries: int
) -> None:
    options = ("--store", str(tmp_path / "store"), "--metrics", "0", isolation)
    with Daemon(*options) as daemon:
        assert run_program(LINKED.format(address=daemon.address)).stdout == "240\n"
        await_entries(daemon, entries)
        assert daemon.metrics()["remotecl_store_hits_total",] == 0
    with Daemon(*options, "--listen", daemon.address) as daemon:
        assert run_program(LINKED.format(address=daemon.address)).stdout == "240\n"
        assert daemon.metrics()["remotecl_store_hits_total",] == entries
        assert daemon.metrics()["remotecl_store_misses_total",] == 0


def test_a_server_without_a_folder_goes_on(run_program: RunProgram, tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    with Daemon("--store", str(tmp_path / "file" / "store"), "--metrics", "0") as daemon:
        assert run_program(PROGRAM.format(address=daemon.address), PYOPENCL_NO_CACHE="1").stdout == "240\n"
        assert ("remotecl_store_entries",) not in daemon.metrics()
        _, log = daemon.end()
    assert log.count("built programs are not stored: cannot make the folder") == 1


def test_the_default_is_in_the_users_cache(tmp_path: Path) -> None:
    with Daemon("--store", "default", environment={"XDG_CACHE_HOME": str(tmp_path)}):
        folder = tmp_path / "remotecl" / "store"
        assert folder.is_dir()
        assert folder.stat().st_mode & 0o777 == 0o700


def test_ls_and_clear(run_remotecl: RunProgram, tmp_path: Path) -> None:
    folder = tmp_path / "remotecl" / "store"
    assert "0 entries" in run_remotecl("store", "ls", XDG_CACHE_HOME=str(tmp_path)).stdout
    folder.mkdir(parents=True)
    for owner, number in (("a", "1"), ("a", "2"), ("b", "3")):
        (folder / f"{owner * 16}-{number * 64}").write_bytes(bytes(1 << 20))
    (folder / f"u{'b' * 16}-{'4' * 64}").write_bytes(bytes(1 << 20))
    (folder / ".new-123-4").write_bytes(b"unfinished")
    (folder / "notes").write_text("somebody's")
    shown = run_remotecl("store", "ls", XDG_CACHE_HOME=str(tmp_path)).stdout.splitlines()
    assert shown[0].startswith(f"{'a' * 16}  builds   2 entries, 2.0 MiB")
    assert shown[1].startswith(f"{'b' * 16}  builds   1 entry, 1.0 MiB")
    assert shown[2].startswith(f"{'b' * 16}  uploads  1 entry, 1.0 MiB")
    assert shown[3].startswith(f"{folder}: 4 entries, 4.0 MiB")
    clear_uploads = ("store", "clear", "--kind", "uploads", "--store", str(folder))
    assert run_remotecl(*clear_uploads).stdout == f"{folder}: removed 1 entry\n"
    assert run_remotecl("store", "clear", "--store", str(folder)).stdout == f"{folder}: removed 4 entries\n"
    assert [path.name for path in folder.iterdir()] == ["notes"]


def test_a_store_of_somebody_elses_is_an_error(run_remotecl: RunProgram, tmp_path: Path) -> None:
    (tmp_path / "store").write_text("no folder")
    result = run_remotecl("store", "ls", "--store", str(tmp_path / "store"))
    assert result.returncode == 1
    assert "cannot read the store" in result.stderr


# A shared token, no token, and certificates tell nobody apart.
@pytest.mark.skipif(shutil.which("openssl") is None, reason="needs the program openssl to sign certificates")
@pytest.mark.parametrize("kept_out_by", ["token", "nothing", "certificates"])
def test_people_with_one_token_find_only_their_own(run_program: RunProgram, tmp_path: Path, kept_out_by: str) -> None:
    options = ["--store", str(tmp_path / "store"), "--metrics", "0", "--isolate", "--listen", "0.0.0.0:0"]
    token, server, (authority, client) = tmp_path / "token", make_key(tmp_path, "server"), sign_client(tmp_path)
    write_token(token)
    options += {
        "token": ["--token-file", str(token)],
        "nothing": ["--insecure"],
        "certificates": ["--tls", str(server.certificate), str(server.key), "--tls-client-ca", str(authority)],
    }[kept_out_by]

    def run(daemon: Daemon, person: str) -> tuple[float, float]:
        """How often the store had what this person's run asked for, and had not, since the daemon began."""
        address = daemon.address.replace("0.0.0.0", "127.0.0.1")
        name = {
            "token": server_name(address, token),
            "nothing": address,
            "certificates": f"{server_name(address, None, pin=server.pin)}&certificate={client}",
        }[kept_out_by]
        program = PROGRAM.format(address=name)
        assert run_program(program, PYOPENCL_NO_CACHE="1", XDG_CACHE_HOME=str(tmp_path / person)).stdout == "240\n"
        metrics = daemon.metrics()
        return metrics["remotecl_store_hits_total",], metrics["remotecl_store_misses_total",]

    (tmp_path / "nobody").write_text("no folder")
    with Daemon(*options) as daemon:
        # Each looks for the program, and for what the driver has cached.
        assert run(daemon, "alice") == (0, 2)
        await_entries(daemon, 2)
        assert run(daemon, "bob") == (0, 4)
        await_entries(daemon, 4)
        assert run(daemon, "alice") == (2, 4)
        assert run(daemon, "bob") == (4, 4)
        assert run(daemon, "nobody") == (4, 4), "who has no folder for a secret is not looked for"
