"""What the process of a session can do to the daemon's books and to its log, when its kernels do as they like."""

import errno
import platform
import re
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pyopencl as cl
import pytest

from client import Client
from daemon import Daemon
from intruder import TEXT, Calls, Intruder
from test_isolation import GOES_ON

WRITE, LSEEK, READ, OPEN, MPROTECT, PIPE, NANOSLEEP, FTRUNCATE = 1, 8, 0, 2, 10, 22, 35, 77
PAGE = 4096

pytestmark = pytest.mark.skipif(platform.machine() != "x86_64", reason="the kernels make x86-64's system calls")


@pytest.fixture(scope="module", autouse=True)
def kernels_are_of_this_machine(connection):
    """Those of GPUs make no system calls."""
    if connection.devices[0].type != cl.device_type.CPU:
        pytest.skip("no CPU device")


@pytest.fixture
def log(tmp_path) -> Path:
    return tmp_path / "log"


@pytest.fixture
def daemon(log) -> Iterator[Daemon]:
    with log.open("w") as file, Daemon("--isolate", "--log-level", "info", "--metrics", "0", log=file) as daemon:
        yield daemon


def shared_pages(intruder: Intruder) -> list[tuple[int, str]]:
    """The address and the rights of each page with counters that the intruder's process shares with the daemon."""
    calls = Calls()
    pieces = 60
    space = calls.text(b"\0" * (PAGE * pieces))
    file = calls.add(OPEN, "/proc/self/maps", 0)
    for piece in range(pieces):
        calls.add(READ, file, space + PAGE * piece, PAGE)
    sizes = intruder.make(calls)[1:]
    assert all(size >= 0 for size in sizes)
    assert sizes[-1] == 0
    at = space - TEXT
    text = b"".join(intruder.memory[at + PAGE * i : at + PAGE * i + size] for i, size in enumerate(sizes)).decode()
    found = re.findall(r"^(\w+)-(\w+) (\S+) .*/memfd:remotecl (?:counters|claims|allowances)", text, re.MULTILINE)
    return [(int(begin, 16), rights) for begin, end, rights in found if int(end, 16) - int(begin, 16) == PAGE]


def overwrite_for_a_while(intruder: Intruder, addresses: list[int], byte: bytes, size: int = 64) -> None:
    """Gives the pages back what they had, because the intruder's own session needs it."""
    opened = Calls()
    ends = opened.text(b"\0" * 8)
    opened.add(PIPE, ends)
    intruder.make(opened)
    at = ends - TEXT
    read_end, write_end = (int.from_bytes(intruder.memory[at + i : at + i + 4], "little") for i in (0, 4))
    calls = Calls()
    data = calls.text(byte * size)
    for _ in addresses:
        calls.add(WRITE, write_end, data, size)
    for address in addresses:
        calls.add(WRITE, write_end, address, size)
    for address in addresses:
        calls.add(READ, read_end, address, size)
    calls.add(NANOSLEEP, calls.text((4).to_bytes(8, "little") + bytes(8)), 0)
    for address in addresses:
        calls.add(READ, read_end, address, size)
    assert intruder.make(calls).count(size) == 4 * len(addresses)


def goes_on(daemon: Daemon) -> None:
    with Client(GOES_ON, daemon.address) as other:
        assert other.next_line() == "right\n"


@pytest.mark.parametrize("byte", [b"\xff", b"\0"])
def test_a_process_that_writes_its_counters_locks_nobody_out(daemon, byte):
    with Intruder(daemon.address) as intruder:
        addresses = [address for address, rights in shared_pages(intruder) if rights == "rw-s"]
        assert addresses
        with ThreadPoolExecutor() as pool:
            written = pool.submit(overwrite_for_a_while, intruder, addresses, byte)
            goes_on(daemon)
            written.result()
        goes_on(daemon)
    goes_on(daemon)
    assert daemon.metrics()["remotecl_user_host_memory_used_bytes", "default"] < 1 << 30


def test_a_process_cannot_write_what_the_daemon_allows_it(daemon):
    with Intruder(daemon.address) as intruder:
        allowances = [address for address, rights in shared_pages(intruder) if rights == "r--s"]
        assert allowances
        for address in allowances:
            assert intruder.call(MPROTECT, address, PAGE, 3) == -errno.EACCES


def test_the_log_cannot_be_emptied(daemon, log):
    with Intruder(daemon.address) as intruder:
        before = log.read_text()
        assert before
        assert intruder.call(FTRUNCATE, 2, 0) < 0
        assert intruder.call(LSEEK, 2, 0, 0) < 0
        goes_on(daemon)
        assert log.read_text().startswith(before)


def say(intruder: Intruder, words: str, count: int = 1) -> None:
    calls = Calls()
    text = calls.text(words)
    for _ in range(count):
        calls.add(WRITE, 2, text, len(words))
    assert intruder.make(calls) == [len(words)] * count


def test_what_a_process_writes_is_marked_and_cannot_control_a_terminal(daemon, log):
    with Intruder(daemon.address) as intruder:
        process = intruder.call(39)
        say(intruder, "remotecl-server: error: session 0000000000000001: forged\n")
        say(intruder, "error: \x1b[2Jred\n")
        say(intruder, "without an end")
    daemon.end()
    text = log.read_text()
    assert f"its process {process}: remotecl-server: error: session 0000000000000001: forged\n" in text
    assert re.search(rf"remotecl-server: error: session \w+: its process {process}: \\x1b\[2Jred\n", text)
    assert f"its process {process}: without an end" in text
    assert "\x1b" not in text


def test_megabytes_of_words_do_not_fill_the_log(daemon, log):
    with Intruder(daemon.address) as intruder:
        for _ in range(4):
            say(intruder, "a line of a driver that says too much\n" * 200, 200)
        say(intruder, "x" * 7000, 200)
        say(intruder, "\n")
        goes_on(daemon)
    daemon.end()
    text = log.read_text()
    assert len(text) < 1 << 20
    assert max(map(len, text.splitlines())) < 1200
    assert "lines more, which are left out" in text
