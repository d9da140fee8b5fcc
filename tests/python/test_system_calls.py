"""System calls with which a kernel could reach beyond its process, on an older Linux, too.

What Landlock prevents on a new one, the filter has to prevent there by itself.
"""

import errno
import os
import platform
import re
import shutil
import socket
import struct
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path

import pyopencl as cl
import pytest

from client import Client
from conftest import BUILT
from daemon import Daemon
from intruder import SIZE, Calls, Intruder
from test_containment import NOBODY, REFUSED, secret
from test_isolation import GOES_ON, children

OLDER_KERNEL = BUILT / "lib" / "libremotecl_older_kernel.so"
PLACE = 0x2000_0000  # an address that a kernel can have

# System calls of x86-64.
WRITE, OPEN, MMAP, PREAD, IOCTL, SENDTO, SENDMSG, SOCKETPAIR, CLONE = 1, 2, 9, 17, 16, 44, 46, 53, 56
EXECVE, FCNTL, TRUNCATE, CHMOD, FCHMOD, CHOWN, UTIMES, SETXATTR, SET_AFFINITY = 59, 72, 76, 90, 91, 92, 235, 188, 203
FCHMODAT, UTIMENSAT, OPENAT, PRLIMIT, MEMFD_CREATE, EXECVEAT, FCHMODAT2 = 268, 280, 257, 302, 319, 322, 452

pytestmark = pytest.mark.skipif(platform.machine() != "x86_64", reason="the kernels make x86-64's system calls")


@pytest.fixture(scope="module", autouse=True)
def kernels_are_of_this_machine(connection):
    """Those of GPUs make no system calls."""
    if connection.devices[0].type != cl.device_type.CPU:
        pytest.skip("no CPU device")


def older(version: int) -> dict[str, str]:
    """The environment of a daemon that finds this version of Landlock; 0: none."""
    if not OLDER_KERNEL.exists():
        pytest.skip(f"{OLDER_KERNEL} has not been built")
    return {"LD_PRELOAD": str(OLDER_KERNEL), "REMOTECL_OLDER_LANDLOCK": str(version)}


class Machine:
    """A daemon of root or of somebody else, and a folder with its key."""

    def __init__(self, folder: Path, daemon: Daemon) -> None:
        self.folder, self.daemon = folder, daemon
        self.key = str(folder / "key.pem")

    def works(self) -> bool:
        with Client(GOES_ON, self.daemon.address) as client:
            return client.next_line() == "right\n" and self.daemon.process.poll() is None


def home(folder: Path, owner: int) -> dict[str, str]:
    """The environment of a daemon of that user."""
    place = folder / "home"
    place.mkdir()
    os.chown(place, owner, owner)
    return {"HOME": str(place)}


def owner_of(name: str) -> int:
    owner = os.getuid() if name == "this user" else NOBODY
    if owner != os.getuid() and os.getuid() != 0:
        pytest.skip("needs root")
    return owner


@pytest.fixture(
    scope="module", params=[f"{who}, {what}" for who in ("this user", "nobody") for what in ("newest", "5", "2")]
)
def machine(request) -> Iterator[Machine]:
    who, version = request.param.split(", ")
    owner = owner_of(who)
    folder = Path(tempfile.mkdtemp(prefix="remotecl-test-"))
    folder.chmod(0o755)
    secret(folder / "key.pem", "a private key\n", owner)
    environment = home(folder, owner) | (older(int(version)) if version != "newest" else {})
    with Daemon("--isolate", user=owner, environment=environment) as daemon:
        yield Machine(folder, daemon)
    shutil.rmtree(folder)


@pytest.fixture
def bob(machine) -> Iterator[Intruder]:
    with Intruder(machine.daemon.address) as intruder:
        yield intruder


def pair(bob: Intruder, kind: int) -> tuple[int, int]:
    """Two connected sockets."""
    calls = Calls()
    calls.add(SOCKETPAIR, socket.AF_UNIX, kind, 0, calls.text(b"\0" * 8))
    assert bob.make(calls) == [0]
    return struct.unpack("ii", bob.memory[:8])


def test_no_signal_for_the_daemon_by_what_happens_to_a_file(machine, bob):
    """A socket that becomes readable, a lease that is broken, a folder that changes: each sends a signal of choice."""
    one, other = pair(bob, socket.SOCK_STREAM)
    victim = machine.daemon.process.pid
    calls = Calls()
    who = calls.text(struct.pack("iI", 1, victim))  # F_OWNER_PID
    number = calls.text(struct.pack("i", victim))
    calls.add(FCNTL, one, 8, victim)  # F_SETOWN
    calls.add(FCNTL, one, 15, who)  # F_SETOWN_EX
    calls.add(IOCTL, one, 0x8901, number)  # FIOSETOWN
    calls.add(IOCTL, one, 0x8902, number)  # SIOCSPGRP
    calls.add(FCNTL, one, 10, 9)  # F_SETSIG, SIGKILL
    calls.add(IOCTL, one, 0x5452, number)  # FIOASYNC
    calls.add(FCNTL, one, 4, 0o20000)  # F_SETFL, O_ASYNC
    folder = calls.add(OPEN, ".", 0o200000)
    calls.add(FCNTL, folder, 1026, 4)  # F_NOTIFY
    file = calls.add(OPEN, "leased", os.O_RDWR | os.O_CREAT, 0o600)
    calls.add(FCNTL, file, 1024, 1)  # F_SETLEASE
    results = bob.make(calls)
    bob.call(WRITE, other, "x", 1)
    time.sleep(0.1)  # a signal needs no event of ours
    assert machine.daemon.process.poll() is None, "the kernel has killed the daemon"
    del results[7], results[8]
    assert set(results) == {-errno.EPERM}, results
    assert machine.works()


def test_no_datagrams_to_sockets_that_have_a_name(machine, bob):
    path = machine.folder / "notify"
    with socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as victim:
        victim.bind(str(path))
        path.chmod(0o666)
        victim.settimeout(0.2)
        address = struct.pack("H", socket.AF_UNIX) + str(path).encode() + b"\0"
        calls = Calls()
        calls.add(SOCKETPAIR, socket.AF_UNIX, socket.SOCK_DGRAM, 0, calls.text(b"\0" * 8))
        calls.add(SOCKETPAIR, socket.AF_UNIX, socket.SOCK_RAW, 0, calls.text(b"\0" * 8))  # datagrams, too
        refused = bob.make(calls)
        found = struct.unpack("ii", bob.memory[:8])
        calls = Calls()
        to = calls.text(address)
        for one in (found[0], pair(bob, socket.SOCK_STREAM)[0], pair(bob, socket.SOCK_SEQPACKET)[0]):
            calls.add(SENDTO, one, calls.text("STOPPING=1"), 10, 0, to, len(address))
        sent = bob.make(calls)
        send_messages(bob, [pair(bob, kind)[0] for kind in (socket.SOCK_STREAM, socket.SOCK_SEQPACKET)], address)
        with pytest.raises(TimeoutError):
            victim.recv(100)
        path.unlink()
    assert refused == [-errno.EPERM, -errno.EPERM]
    assert set(sent) == {-errno.EPERM}


def send_messages(bob: Intruder, sockets: list[int], address: bytes) -> None:
    """By sendmsg(), whose address is where a filter cannot look."""
    name, words = PLACE + 1024, b"STOPPING=1"
    message = struct.pack("QQQQQQQ", name, len(address), PLACE + 512, 1, 0, 0, 0)
    content = message.ljust(512, b"\0") + struct.pack("QQ", PLACE + 600, len(words)).ljust(88, b"\0") + words
    content = content.ljust(1024, b"\0") + address
    calls = Calls()
    calls.add(MMAP, PLACE, SIZE, 3, 0x32, -1, 0)
    file = calls.add(OPEN, "message", os.O_RDWR | os.O_CREAT, 0o600)
    calls.add(WRITE, file, calls.text(content), len(content))
    calls.add(PREAD, file, PLACE, len(content), 0)
    for one in sockets:
        calls.add(SENDMSG, one, PLACE, 0)
    bob.make(calls)


def test_no_program_is_started_from_memory(request, bob):
    """One that is no program: the system says so if it would start it."""
    calls = Calls()
    nothing = calls.text("no program")
    memory = calls.add(MEMFD_CREATE, "program", 0)
    calls.add(WRITE, memory, nothing, 10)
    calls.add(EXECVEAT, memory, "", 0, 0, 0x1000)  # AT_EMPTY_PATH
    made, _, executed = bob.make(calls)
    assert executed == -errno.EPERM
    if ", 2" in request.node.name:
        return  # Linux 6.3 is the first one that makes memory without programs: see the log
    assert made == -errno.EPERM
    calls = Calls()
    memory = calls.add(MEMFD_CREATE, "program", 8)  # MFD_NOEXEC_SEAL
    calls.add(WRITE, memory, calls.text("no program"), 10)
    calls.add(FCHMOD, memory, 0o777)
    made, _, changed = bob.make(calls)
    assert made >= 0
    assert changed == -errno.EPERM
    assert bob.call(EXECVE, f"/proc/self/fd/{made}", 0, 0) in REFUSED


def test_files_of_the_daemon_keep_their_rights_and_times(machine, bob):
    """Landlock says nothing about these."""
    before = Path(machine.key).stat()
    calls = Calls()
    key, times = calls.text(machine.key), calls.text(b"\0" * 32)
    calls.add(CHMOD, key, 0o644)
    calls.add(FCHMODAT, -100, key, 0o644)
    calls.add(CHOWN, key, -1, -1)
    calls.add(UTIMES, key, times)
    calls.add(UTIMENSAT, -100, key, times, 0)
    calls.add(SETXATTR, key, "user.x", "y", 1, 0)
    calls.add(TRUNCATE, key, 0)
    calls.add(OPENAT, -100, key, os.O_TRUNC)
    results = bob.make(calls)
    assert set(results) <= {-errno.EPERM}, results
    assert bob.call(FCHMODAT2, -100, machine.key, 0o644, 0) == -errno.ENOSYS
    after = Path(machine.key).stat()
    assert (before.st_mode, before.st_mtime, before.st_size) == (after.st_mode, after.st_mtime, after.st_size)


def test_no_child_and_no_processor_of_the_daemons_is_touched(machine, bob):
    victim, parents = machine.daemon.process.pid, 0x8000  # CLONE_PARENT
    threads = 0x10000  # CLONE_THREAD, which the system refuses for itself without others
    assert bob.call(CLONE, parents | threads, 0, 0, 0, 0) == -errno.EPERM
    before = os.sched_getaffinity(victim)
    calls = Calls()
    calls.add(SET_AFFINITY, victim, 8, calls.text(struct.pack("Q", 1)))
    thread = calls.add(186)  # gettid: its own can be placed
    calls.add(SET_AFFINITY, thread, 8, calls.text(struct.pack("Q", 1)))
    results = bob.make(calls)
    assert (results[0], results[2]) == (-errno.EPERM, 0)
    assert os.sched_getaffinity(victim) == before


def test_limits_of_a_process(machine, bob):
    def limit(resource: int) -> int:
        calls = Calls()
        calls.add(PRLIMIT, 0, resource, 0, calls.text(b"\0" * 16))
        assert bob.make(calls) == [0]
        return struct.unpack("QQ", bob.memory[:16])[1]

    unlimited = (1 << 64) - 1
    assert limit(4) == 0  # RLIMIT_CORE
    assert limit(1) < unlimited  # RLIMIT_FSIZE
    assert limit(2) < unlimited  # RLIMIT_DATA
    assert limit(7) <= 65536  # RLIMIT_NOFILE
    if Path(f"/proc/{bob.call(39)}").stat().st_uid >= 0x70000000:
        assert limit(6) <= 4096  # RLIMIT_NPROC


LACKS = "not contained as they should be: "


def test_where_no_kernel_can_be_linked_the_log_says_why():
    with Daemon("--isolate", environment=older(1)) as daemon:
        with Client(GOES_ON, daemon.address) as client:
            assert client.next_line() != "right\n"
        assert f"{LACKS}they cannot move files between folders, without which PoCL links no" in daemon.end()[1]


@pytest.mark.parametrize("version", [0, 2, 4, 5, 6])
def test_programs_work_and_the_log_names_what_the_kernel_lacks(version):
    owner, folder = owner_of("nobody"), Path(tempfile.mkdtemp(prefix="remotecl-test-"))
    folder.chmod(0o755)
    with Daemon("--isolate", user=owner, environment=home(folder, owner) | older(version)) as daemon:
        with Intruder(daemon.address) as bob:  # builds, links and launches
            assert (bob.read("/etc/passwd") in REFUSED) == (version > 0)
        log = daemon.end()[1]
    shutil.rmtree(folder)
    assert (f"{LACKS}they can read and write what their user can, as there are no rules for files" in log) == (
        version == 0
    )
    assert (f"{LACKS}they can start programs of their own from memory" in log) == (version < 4)
    assert "refused: system call" not in log


def test_a_refused_call_is_in_the_log_by_name(machine):
    with Daemon("--isolate") as daemon:
        with Intruder(daemon.address) as bob:
            for _ in range(3):
                assert bob.call(165, 0, 0, 0) == -errno.EPERM  # mount
                assert bob.call(FCNTL, 0, 8, 1) == -errno.EPERM
            assert bob.call(462, 0) == -errno.ENOSYS  # of a later Linux
        log = daemon.end()[1]
    assert len(re.findall(r"a session's process: refused: system call mount \(165\) with 0, 0, 0", log)) == 1, log
    assert len(re.findall(r"refused: system call fcntl \(72\) with 0, 0x8, 0x1", log)) == 1, log


@pytest.mark.parametrize(("filter_name", "answer"), [("allow", -errno.EPERM), ("deny", 0), ("audit", 0)])
def test_filters(filter_name, answer):
    """Of a call that does no harm, and is not needed."""
    with Daemon("--isolate", "--filter", filter_name) as daemon:
        with Intruder(daemon.address) as bob:
            calls = Calls()
            calls.add(36, 0, calls.text(b"\0" * 32))  # getitimer
            assert bob.make(calls) == [answer]
            assert bob.call(165, 0, 0, 0) == -errno.EPERM
            assert bob.call(FCNTL, 0, 8, 1) == -errno.EPERM
            process = bob.call(39)
            watchers = children(process)
        log = daemon.end()[1]
    assert ("would be refused: system call getitimer (36)" in log) == (filter_name == "audit")
    assert ("refused: system call getitimer (36)" in log) == (filter_name != "deny")
    assert len(watchers) == (filter_name != "deny")
