"""What a client's kernels can do on the machine of a server that others use too: system calls, from a CPU device."""

import errno
import os
import platform
import shutil
import socket
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path

import pyopencl as cl
import pytest

import remotecl
from client import Client
from conftest import CLEAN_ENVIRONMENT
from daemon import WITHIN_S, Daemon
from intruder import FORK, Calls, Intruder
from remotecl._connect.connection import server_name
from test_isolation import GOES_ON, all_gone, children

NOBODY = 65534
REFUSED = (-errno.EACCES, -errno.EPERM)

pytestmark = pytest.mark.skipif(platform.machine() != "x86_64", reason="the kernels make x86-64's system calls")


@pytest.fixture(scope="module", autouse=True)
def kernels_are_of_this_machine(connection):
    """Those of GPUs make no system calls."""
    if connection.devices[0].type != cl.device_type.CPU:
        pytest.skip("no CPU device")


class Shared:
    """A daemon for the users alice and bob, started by root or by somebody else."""

    def __init__(self, folder: Path, daemon: Daemon) -> None:
        self.folder, self.daemon = folder, daemon

    def name(self, user: str) -> str:
        return server_name(self.daemon.address, self.folder / f"{user}.token")

    def processes(self) -> list[int]:
        return children(self.daemon.process.pid)


def secret(file: Path, text: str, owner: int) -> None:
    file.write_text(text)
    file.chmod(0o600)
    os.chown(file, owner, owner)


@pytest.fixture(scope="module", params=["as this user", "as nobody"])
def shared(request) -> Iterator[Shared]:
    owner = os.getuid() if request.param == "as this user" else NOBODY
    if owner != os.getuid() and os.getuid() != 0:
        pytest.skip("needs root")
    folder = Path(tempfile.mkdtemp(prefix="remotecl-test-"))
    folder.chmod(0o755)
    for user in ("alice", "bob"):
        # For the clients, and for the daemon: both take it only from their own user.
        secret(folder / f"{user}.token", f"the secret of {user}\n", os.getuid())
        secret(folder / f"{user}.known", f"the secret of {user}\n", owner)
    secret(folder / "key.pem", "a private key\n", owner)
    (folder / "limits.toml").write_text(
        "".join(f'[users.{user}]\ntoken-file = "{user}.known"\n' for user in ("alice", "bob"))
    )
    home = folder / "home"
    home.mkdir()
    os.chown(home, owner, owner)
    options = ["--limits", str(folder / "limits.toml"), "--log-level", "info"]
    with Daemon(
        *options, user=owner, environment={"HOME": str(home), "SOME_TOKEN": "the secret of the daemon"}
    ) as daemon:
        yield Shared(folder, daemon)
    shutil.rmtree(folder)


@pytest.fixture
def bob(shared) -> Iterator[Intruder]:
    with Intruder(shared.name("bob")) as intruder:
        yield intruder


def test_kernels_make_system_calls_at_all(bob):
    assert bob.call(39) > 1  # getpid
    assert b"remotecl" in bob.read("/proc/self/status")
    assert b"ELF" in bob.read("/usr/bin/env")
    own = Calls()
    file = own.add(2, "made by a kernel", os.O_RDWR | os.O_CREAT, 0o600)
    own.add(1, file, own.text("words"), 5)
    assert bob.make(own)[1] == 5
    assert bob.read("made by a kernel") == b"words"


def test_no_file_of_the_daemons_user_can_be_read(shared, bob):
    folder, process = shared.folder, shared.daemon.process.pid
    for path in [
        *(folder / name for name in ("alice.token", "alice.known", "bob.known", "key.pem", "limits.toml")),
        "/etc/passwd", "/etc/shadow", "/etc/hostname", Path(__file__),
        f"/proc/{process}/environ", f"/proc/{process}/mem", f"/proc/{process}/maps", f"/proc/{process}/cmdline",
        "/proc/1/environ", "/dev/kmsg", "/dev/mem", "/dev/vda",
    ]:  # fmt: skip
        assert bob.read(str(path)) in (*REFUSED, -errno.ENOENT), path
    assert bob.list("/") in REFUSED
    assert bob.list(str(folder)) in REFUSED
    assert bob.list("/tmp") in REFUSED
    assert b"secret" not in bob.read("/proc/self/environ")


def test_nothing_can_be_written_but_in_its_own_folder(shared, bob):
    for path in (shared.folder / "new", shared.folder / "home" / "new", "/tmp/new", "/dev/shm/new", "/var/tmp/new"):
        assert bob.call(2, str(path), os.O_WRONLY | os.O_CREAT, 0o600) in REFUSED, path
    assert bob.call(87, str(shared.folder / "key.pem")) in REFUSED  # unlink
    assert bob.call(82, str(shared.folder / "key.pem"), "key.pem") in (*REFUSED, -errno.EXDEV)  # rename
    assert (shared.folder / "key.pem").is_file()


def test_no_program_of_its_own_can_be_started(bob):
    calls = Calls()
    file = calls.add(2, "program", os.O_RDWR | os.O_CREAT, 0o700)
    calls.add(1, file, calls.text("#!/bin/sh\n"), 10)
    calls.add(3, file)
    calls.add(59, "program", 0, 0)
    assert bob.make(calls)[-1] in REFUSED


def test_no_new_sockets(bob):
    for family in (socket.AF_INET, socket.AF_INET6, socket.AF_UNIX, socket.AF_NETLINK, socket.AF_PACKET, 40):
        for kind in (socket.SOCK_STREAM, socket.SOCK_DGRAM, socket.SOCK_RAW):
            assert bob.call(41, family, kind, 0) == -errno.EPERM, (family, kind)
    calls = Calls()
    calls.add(425, 8, calls.text(b"\0" * 256))  # io_uring_setup
    assert bob.make(calls) == [-errno.EPERM]
    # Those that it has cannot be connected elsewhere.
    for number in (42, 49, 50):
        assert bob.call(number, 4, 0, 0) == -errno.EPERM


def test_a_socket_that_was_handed_over_leads_nowhere_else(bob):
    for number in (42, 49, 50, 43, 288):  # connect, bind, listen, accept, accept4 (no socket of a kernel listens here)
        assert bob.call(number, 4, 0, 0) == -errno.EPERM, number
    fast_open = socket.MSG_FASTOPEN  # connects by sending
    assert bob.call(44, 4, 0, 0, fast_open, 0, 0) == -errno.EPERM  # sendto
    assert bob.call(46, 4, 0, fast_open) == -errno.EPERM  # sendmsg
    assert bob.call(307, 4, 0, 0, fast_open) == -errno.EPERM  # sendmmsg


@pytest.mark.parametrize("whose", ["alice", "bob"])
def test_other_processes_are_out_of_reach(shared, bob, whose):
    before = set(shared.processes())
    with Client(GOES_ON, shared.name(whose)) as other:
        assert other.next_line() == "right\n"
        victims = [shared.daemon.process.pid, *(before | set(shared.processes())) - {bob.call(39)}]
        for victim in victims:
            calls = Calls()
            space = calls.text(b"\0" * 128)
            calls.add(62, victim, 0)  # kill, with no signal: it says only whether one may be sent
            calls.add(62, -victim, 0)
            calls.add(234, victim, victim, 0)  # tgkill
            calls.add(200, victim, 0)  # tkill
            calls.add(129, victim, 0, space)  # rt_sigqueueinfo
            calls.add(101, 0x4206, victim, 0, 0)  # ptrace: PTRACE_SEIZE
            calls.add(310, victim, space, 1, space, 1, 0)  # process_vm_readv
            calls.add(302, victim, 7, space, 0)  # prlimit64
            results = bob.make(calls)
            calls = Calls()
            handle = calls.add(434, victim, 0)  # pidfd_open
            calls.add(424, handle, 0, 0, 0)  # pidfd_send_signal
            calls.add(438, handle, 4, 0)  # pidfd_getfd
            assert set(results) <= {-errno.EPERM} and set(bob.make(calls)[1:]) == {-errno.EPERM}, (victim, results)
            for name in ("environ", "mem", "maps", "status", "fd", "root", "cwd/made by a kernel"):
                assert bob.read(f"/proc/{victim}/{name}") in REFUSED, name
        assert bob.call(62, -1, 0) == -errno.EPERM
        assert other.next_line() == "right\n"


def test_another_sessions_folder_is_closed(shared, bob):
    with Intruder(shared.name("alice")) as alice:
        process = alice.call(39)
        folder = str(Path(f"/proc/{process}/cwd").readlink())
        made = Calls()
        made.add(2, "made by a kernel", os.O_RDWR | os.O_CREAT, 0o666)
        assert alice.make(made)[0] >= 0
        assert alice.read(f"{folder}/made by a kernel") == b""
        assert bob.read(f"{folder}/made by a kernel") in REFUSED
        assert bob.list(folder) in REFUSED
        assert bob.list(str(Path(folder).parent)) in REFUSED
        alice.leave()
        assert all_gone([process])
    with Client(GOES_ON, shared.name("alice")) as later:
        assert later.next_line() == "right\n"
    assert not Path(folder).exists()


@pytest.mark.parametrize(
    "name", ["shmget", "msgget", "semget", "add_key", "keyctl", "unshare", "mount", "bpf", "setpgid"]
)
def test_what_a_user_shares_by_name_and_the_systems_doors_are_shut(bob, name):
    number = {"shmget": 29, "msgget": 68, "semget": 64, "add_key": 248, "keyctl": 250, "unshare": 272, "mount": 165,
              "bpf": 321, "setpgid": 109}[name]  # fmt: skip
    assert bob.call(number, 0, 0, 0) == -errno.EPERM


def test_what_a_kernel_starts_ends_with_its_session(shared):
    with Intruder(shared.name("bob")) as bob:
        process, child = bob.call(39), bob.call(FORK)
        assert child > 1
        assert child != process
        bob.leave()
        assert all_gone([process, child])


def test_processes_of_sessions_have_no_rights(shared, bob):
    process = bob.call(39)
    status = dict(line.split(":\t", 1) for line in Path(f"/proc/{process}/status").read_text().splitlines())
    assert status["CapEff"] == status["CapPrm"] == "0" * 16
    assert status["NoNewPrivs"].strip() == "1"
    daemons = Path(f"/proc/{shared.daemon.process.pid}").stat().st_uid
    if daemons == 0:
        assert status["Uid"].split() == [str(0x70000000 + process)] * 4
        with Intruder(shared.name("bob")) as other:
            assert Path(f"/proc/{other.call(39)}").stat().st_uid not in (0, Path(f"/proc/{process}").stat().st_uid)


def test_processes_of_sessions_are_of_the_user_that_is_named():
    if os.getuid() != 0:
        pytest.skip("needs root")
    with Daemon("--isolate", "--session-user", "nobody") as daemon, Intruder(daemon.address) as bob:
        assert Path(f"/proc/{bob.call(39)}").stat().st_uid == NOBODY


def test_the_log_says_once_what_could_not_be_done(tmp_path):
    if os.getuid() != 0:
        pytest.skip("needs root")
    driver = remotecl._loading.vendors.drivers_in(
        remotecl._daemon.launcher.daemon_environment(CLEAN_ENVIRONMENT).get(
            "OCL_ICD_VENDORS", remotecl._loading.vendors.SYSTEM_VENDORS
        )
    )
    (tmp_path / "one.icd").write_text(f"{driver[0]}\n")
    tmp_path.chmod(0o700)
    with Daemon("--isolate", environment={"OCL_ICD_VENDORS": str(tmp_path)}) as daemon:
        for _ in range(2):
            with Client(GOES_ON, daemon.address) as client:
                assert client.next_line() == "right\n"
        log = daemon.end()[1]
    assert log.count("not contained as they should be: they are the daemon's user: ") == 1, log
    assert f"another user than root could not read {tmp_path}" in log


TOKEN = "what only friends know\n"


@pytest.mark.parametrize(
    ("options", "words", "isolates"),
    [
        ((), "sessions share one process: the server is on loopback and knows no users", False),
        (("--isolate",), "sessions have a process each, as --isolate says", True),
        (("--token-file", "TOKEN"), "sessions have a process each: others than this server's user may use it", True),
        (("--insecure", "--listen", "0.0.0.0:0"), "sessions have a process each: others than", True),
        (("--token-file", "TOKEN", "--no-isolate"), "kernels of all users can do there what this server's user", False),
    ],
)
def test_sessions_have_processes_where_others_use_the_server(tmp_path, options, words, isolates):
    token = tmp_path / "token"
    secret(token, TOKEN, os.getuid())
    with Daemon(*(str(token) if option == "TOKEN" else option for option in options), "--log-level", "info") as daemon:
        (line,) = [line for line in daemon.notices if line.startswith("sessions ")]
        assert words in line
        end = time.monotonic() + WITHIN_S
        while isolates and not children(daemon.process.pid):
            assert time.monotonic() < end
        assert bool(children(daemon.process.pid)) == isolates
        assert line in daemon.end()[1]


LINKED = """
import numpy as np
import pyopencl as cl
import remotecl

context = remotecl.connect({one!r}, {other!r}).context()
queues = [cl.CommandQueue(context, device) for device in (context.devices[0], context.devices[-1])]
values = np.arange(1 << 20, dtype=np.int32)
program = cl.Program(context, "kernel void next(global int* x) {{ x[get_global_id(0)] += 1; }}").build()
buffer = cl.Buffer(context, cl.mem_flags.READ_WRITE | cl.mem_flags.COPY_HOST_PTR, hostbuf=values)
done = cl.Kernel(program, "next")(queues[0], values.shape, None, buffer)
cl.Kernel(program, "next")(queues[1], values.shape, None, buffer, wait_for=[done])
result = np.empty_like(values)
cl.enqueue_copy(queues[1], result, buffer)
assert np.array_equal(result, values + 2)
(link,) = remotecl.overview().links
print(link.state)
"""


@pytest.mark.parametrize("tls", [(), ("--tls-new",)], ids=["plain", "tls"])
@pytest.mark.parametrize("memory", ["on", "off"], ids=["shared memory", "network"])
def test_isolated_servers_are_linked(run_program, tls, memory):
    """Their processes can connect to nobody: the daemons do that for them, and shake hands."""

    def name(daemon: Daemon) -> str:
        pins = [line.removeprefix("TLS with ") for line in daemon.notices if line.startswith("TLS with ")]
        return "?".join([daemon.address, *pins])

    environment = {"REMOTECL_SHARED_MEMORY": memory}
    daemons = [Daemon("--isolate", *tls, environment=environment) for _ in range(2)]
    with daemons[0] as one, daemons[1] as other:
        assert run_program(LINKED.format(one=name(one), other=name(other))).stdout == "connected\n"


# One step short of the root for the client, whose options name this folder: it must not find and send a file. It is the
# root for the server, whose folder is not as deep.
SERVERS_ROOT = "../" * (len((Path(cl.__file__).parent / "cl").parts) - 2)


@pytest.mark.parametrize(
    ("source", "options", "code", "words"),
    [
        ('#include "/etc/no-such-file"', "", -11, "absolute path"),
        ('#define NAME "/etc/no-such-file"\n#include NAME', "", -11, "absolute path"),
        (f'#include "{SERVERS_ROOT}etc/hostname"', "", -11, "that the client has not sent"),
        ("", "-include /etc/hostname", -43, '"-include" is refused: it names files of the server'),
        ("", "@/etc/hostname", -43, '"@/etc/hostname" is refused'),
        ("", "-Xclang -load -Xclang /tmp/x.so", -43, '"-Xclang" is refused'),
    ],
)
def test_builds_do_not_name_files_of_the_server(connection, source, options, code, words):
    context = connection.context()
    program = cl.Program(context, f"{source}\nkernel void f() {{}}")
    with pytest.raises(cl.RuntimeError) as refused:
        program.build(options.split(), cache_dir=False)
    assert refused.value.code == code
    assert words in str(refused.value)
