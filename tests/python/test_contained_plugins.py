"""What the process of a plugin can do that somebody has taken over: no more than its rules name."""

import errno
import os
import socket
import struct
from pathlib import Path

import numpy as np
import pyopencl as cl
import pytest

import remotecl
from daemon import Daemon
from intruder import TEXT
from streams import END, Program, Streams, free_port
from test_plugins import PLUGIN, fake_devices

REFUSED = (-errno.EACCES, -errno.EPERM)
OPEN, KILL, EXECVE, SOCKET, CONNECT, BIND, CHMOD, FCNTL, UNLINK, SOCKETPAIR = 2, 62, 59, 41, 42, 49, 90, 72, 87, 53

pytestmark = pytest.mark.skipif(os.uname().machine != "x86_64", reason="the system calls are x86-64's")


class Plugin(Program):
    """A program whose plugin makes system calls."""

    def __init__(self, connection) -> None:
        super().__init__(fake_devices(connection)["fake plugin"], ["test.system_call"])

    def make(self, number: int, *arguments: int | str | bytes) -> int:
        """What the system says; a negative number is an error."""
        memory, words = bytearray(), []
        for each in arguments:
            if isinstance(each, int):
                words.append(each)
            else:
                words.append(TEXT + len(memory))
                memory += (each.encode() if isinstance(each, str) else each) + b"\0"
        words += [0] * (6 - len(words))
        result = self.buffer(8)
        given = self.buffer(0, np.array([number, *words], np.int64))
        self.call(
            "test.system_call", result, given, self.buffer(0, np.frombuffer(bytes(memory) or b"\0", np.uint8))
        ).wait()
        return int(self.read(result, np.int64)[0])


@pytest.fixture(scope="module")
def folder(tmp_path_factory) -> Path:
    folder = tmp_path_factory.mktemp("plugins")
    for name in ("in", "out", "secret"):
        (folder / name).mkdir()
        (folder / name / "file").write_bytes(b"words")
    return folder


def serve(*rules: str):
    if not PLUGIN.exists():
        pytest.skip(f"{PLUGIN} has not been built")
    options = [word for rule in rules for word in ("--plugin-allow", rule)]
    return Daemon("--plugin", str(PLUGIN), *options)


@pytest.fixture(scope="module")
def with_files(folder):
    with serve(f"read:{folder}/in", f"write:{folder}/out") as daemon:
        connection = remotecl.connect(daemon.address)
        connection.daemon = daemon
        yield connection
        connection.close()


def test_only_files_that_the_rules_name(with_files, folder):
    plugin, daemon = Plugin(with_files), with_files.daemon.process.pid
    assert plugin.make(OPEN, f"{folder}/in/file", os.O_RDONLY) >= 0
    assert plugin.make(OPEN, f"{folder}/in/file", os.O_WRONLY) in REFUSED
    assert plugin.make(OPEN, f"{folder}/out/new", os.O_WRONLY | os.O_CREAT, 0o600) >= 0
    for path in [
        f"{folder}/secret/file", "/etc/passwd", "/etc/shadow", f"/proc/{daemon}/environ", f"/proc/{daemon}/mem",
        __file__, "/tmp", "/dev/shm", "/dev/kmsg", "/etc/hosts",
    ]:  # fmt: skip
        assert plugin.make(OPEN, path, os.O_RDONLY) in REFUSED, path
    assert plugin.make(UNLINK, f"{folder}/in/file") in REFUSED
    assert plugin.make(CHMOD, f"{folder}/secret/file", 0o777) in REFUSED
    assert (folder / "secret" / "file").stat().st_mode & 0o777 != 0o777


def test_no_other_processes_programs_and_sockets(with_files):
    plugin, daemon = Plugin(with_files), with_files.daemon.process.pid
    assert plugin.make(KILL, daemon, 0) in REFUSED
    assert plugin.make(EXECVE, "/bin/true", 0, 0) in REFUSED
    for family in (socket.AF_INET, socket.AF_INET6, socket.AF_UNIX, socket.AF_NETLINK):
        for kind in (socket.SOCK_STREAM, socket.SOCK_DGRAM):
            assert plugin.make(SOCKET, family, kind, 0) in REFUSED
    assert plugin.make(SOCKETPAIR, socket.AF_UNIX, socket.SOCK_DGRAM, 0, b"\0" * 8) in REFUSED
    assert plugin.make(FCNTL, 0, 8, daemon) in REFUSED  # F_SETOWN
    (host,) = [int(each) for each in children_of(daemon)]
    assert Path(f"/proc/{host}/status").read_text().split("Seccomp:\t")[1][0] == "2"


def test_an_audit_is_in_the_log():
    with Daemon("--plugin", str(PLUGIN), "--filter", "audit") as daemon:
        with remotecl.connect(daemon.address) as connection:
            assert Plugin(connection).make(36, 0, b"\0" * 32) == 0  # getitimer
        assert "remotecl-plugin-host: would be refused: system call getitimer (36)" in daemon.end()[1]


def children_of(process: int) -> list[str]:
    return [each for file in Path(f"/proc/{process}/task").glob("*/children") for each in file.read_text().split()]


def test_sockets_for_what_rules_name():
    port = free_port(socket.SOCK_STREAM)
    with serve(f"listen:{port}") as daemon, remotecl.connect(daemon.address) as connection:
        plugin = Plugin(connection)
        assert plugin.make(SOCKET, socket.AF_UNIX, socket.SOCK_DGRAM, 0) in REFUSED
        assert plugin.make(SOCKET, socket.AF_NETLINK, socket.SOCK_RAW, 0) in REFUSED
        one, other = (plugin.make(SOCKET, socket.AF_INET, socket.SOCK_STREAM, 0) for _ in range(2))
        assert plugin.make(OPEN, "/etc/hosts", os.O_RDONLY) >= 0  # with which names are looked up
        address = struct.pack("!4s", socket.inet_aton("127.0.0.1")) + bytes(8)

        def at(number: int) -> bytes:
            return struct.pack("H", socket.AF_INET) + struct.pack("!H", number) + address

        assert plugin.make(BIND, one, at(port), 16) == 0
        # As far as Landlock knows ports (Linux 6.7).
        assert plugin.make(BIND, other, at(free_port(socket.SOCK_STREAM)), 16) in REFUSED
        assert plugin.make(CONNECT, other, at(daemon_port(daemon)), 16) in REFUSED


def daemon_port(daemon: Daemon) -> int:
    return int(daemon.address.rsplit(":", 1)[1])


def test_a_process_of_roots_becomes_somebody_elses_where_it_opens_no_files():
    if os.getuid() != 0:
        pytest.skip("needs root")
    with serve("connect:127.0.0.1:9") as daemon, remotecl.connect(daemon.address) as connection:
        plugin = Plugin(connection)
        assert plugin.make(102) >= 0x70000000  # getuid
        status = Path(f"/proc/{plugin.make(39)}/status").read_text()
        assert "CapEff:\t0000000000000000" in status


def test_what_gets_a_name_of_a_rule_later_can_be_used(folder):
    """Landlock knows files, and not their names: a process that was started before has to be started again."""
    file = folder / "late"
    rules = ["--plugin-allow", f"read:{file}", "--plugin-allow", f"read:{folder}/in"]
    with (
        Daemon("--streams", *rules) as daemon,
        remotecl.connect(daemon.address) as connection,
        remotecl.connect(daemon.address) as again,
    ):
        streams = Streams(connection)
        assert streams.read_frame(f"file:{folder}/in/file")[0] == b"words"
        assert "does not allow" in streams.fails(f"file:{file}", cl.status_code.INVALID_OPERATION)
        file.write_bytes(b"later")
        assert streams.read_frame(f"file:{file}")[0] == b"later"
        (folder / "next").write_bytes(b"after that")
        (folder / "next").replace(file)
        other = Streams(again)
        assert other.read_frame(f"file:{file}")[0] == b"after that"
        assert streams.read_frame(f"file:{file}")[1][7] == END
