"""Sessions with processes of their own: a kernel that crashes its driver ends one of them, and nothing else."""

import json
import os
import signal
import subprocess
import time
from pathlib import Path

import pytest

import remotecl
from client import Client
from conftest import CLEAN_ENVIRONMENT
from daemon import WITHIN_S, Daemon

# Computes, says so, and when it is told to, runs a kernel that writes to where no memory is: on a device that is this
# machine's processor the driver's process gets a SIGSEGV. Then every call says how it ends.
CRASHES = """
import json, sys, threading
import numpy as np
import pyopencl as cl
import remotecl

SOURCE = '''
kernel void add(global int* data) { data[get_global_id(0)] += 1; }
kernel void stray(global int* data, ulong far) { data[far + get_global_id(0)] = 1; }'''
context = remotecl.connect(sys.argv[1]).context()
queue = cl.CommandQueue(context)
program = cl.Program(context, SOURCE).build()
data = cl.Buffer(context, cl.mem_flags.READ_WRITE | cl.mem_flags.COPY_HOST_PTR, hostbuf=np.zeros(1 << 20, np.int32))
cl.Kernel(program, "add")(queue, (64,), None, data)
queue.finish()
print("there", flush=True)
sys.stdin.readline()
event = cl.Kernel(program, "stray")(queue, (64,), None, data, np.uint64(1 << 44))
errors = {}

def call(name, function):
    try:
        function()
        errors[name] = 0
    except cl.Error as error:
        errors[name] = error.code

host = np.empty(1 << 20, np.int32)
calls = {"wait": event.wait, "finish": queue.finish, "read": lambda: cl.enqueue_copy(queue, host, data)}
threads = [threading.Thread(target=call, args=item) for item in calls.items()]
for thread in threads:
    thread.start()
for thread in threads:
    thread.join(30)
call("later", lambda: cl.enqueue_copy(queue, host, data))
errors["available"] = context.devices[0].available
print(json.dumps(errors))
"""

# Adds 1 to a buffer whenever it is told to, and checks the result.
GOES_ON = """
import sys
import numpy as np
import pyopencl.array
import remotecl

context = remotecl.connect(sys.argv[1]).context()
array = pyopencl.array.zeros(pyopencl.CommandQueue(context), 1 << 18, np.int32)
print("there", flush=True)
for rounds, _ in enumerate(sys.stdin, 1):
    array += 1
    assert (array.get() == rounds).all()
    print("right", flush=True)
"""


def children(process: int) -> list[int]:
    tasks = Path(f"/proc/{process}/task").iterdir()
    return [int(child) for task in tasks for child in (task / "children").read_text().split()]


def is_gone(process: int) -> bool:
    """Whether it has ended; who ended with its parent may wait to be taken from the list by somebody else."""
    try:
        return Path(f"/proc/{process}/stat").read_text().rpartition(")")[2].split()[0] == "Z"
    except (FileNotFoundError, ProcessLookupError):
        return True


def all_gone(processes: list[int]) -> bool:
    end = time.monotonic() + WITHIN_S
    while not all(map(is_gone, processes)):
        if time.monotonic() > end:
            return False
    return True


@pytest.fixture(autouse=True)
def crashes_are_crashes(monkeypatch):
    """A sanitizer would make something else of them."""
    for name in ("ASAN_OPTIONS", "TSAN_OPTIONS"):
        if name in CLEAN_ENVIRONMENT:
            monkeypatch.setitem(CLEAN_ENVIRONMENT, name, CLEAN_ENVIRONMENT[name] + ":handle_segv=0")


@pytest.fixture
def driver_that_crashes(connection):
    """Others, like NVIDIA's, survive a kernel that writes to where no memory is."""
    if remotecl.native_platform_of(connection.devices[0]) != "Portable Computing Language":
        pytest.skip("the driver does not crash")


@pytest.fixture(params=["plain", "tls"])
def served(request, tmp_path):
    """A daemon that isolates sessions, and its name for clients."""
    options, suffix = [], ""
    if request.param == "tls":
        files = [str(tmp_path / "certificate.pem"), str(tmp_path / "key.pem")]
        made = subprocess.run(
            [remotecl._daemon.launcher.binary_path(), "--make-certificate", *files],
            check=True,
            capture_output=True,
            text=True,
        )
        options, suffix = ["--tls", *files], "?" + made.stdout.strip()
    with Daemon("--isolate", "--log-format", "json", "--metrics", "0", *options) as daemon:
        yield daemon, daemon.address + suffix


@pytest.mark.usefixtures("driver_that_crashes")
@pytest.mark.parametrize("route", ["shared memory", "network"])
def test_a_crash_ends_one_session_and_says_why(served, route):
    daemon, name = served
    environment = {} if route == "shared memory" else {"REMOTECL_SHARED_MEMORY": "off"}
    with Client(GOES_ON, name) as other, Client(CRASHES, name, **environment) as crashing:
        assert other.next_line() == "right\n"
        errors = json.loads(crashing.next_line())
        assert errors.pop("available") == 0
        # What is said of a failed event, and of everything that needs the device.
        assert errors.pop("wait") in (-2, -14)
        assert set(errors.values()) == {-2}, errors
        words = crashing.leave()[1]
        assert "signal 11 (Segmentation fault): the driver crashed" in words
        assert other.next_line() == "right\n"
        with Client(GOES_ON, name) as later:
            assert later.next_line() == "right\n"
        metrics = daemon.metrics()
        assert metrics["remotecl_sessions_crashed_total",] == 1
        assert metrics["remotecl_sessions_total",] == 3
    code, log = daemon.end()
    assert code == 0
    (line,) = [json.loads(line) for line in log.splitlines()]
    assert line["level"] == "error"
    assert len(line["session"]) == 16
    assert "of user default, was ended by signal 11" in line["message"]


@pytest.mark.usefixtures("driver_that_crashes")
def test_without_reconnection_the_connection_is_lost_as_ever():
    with Daemon("--isolate") as daemon, Client(CRASHES, daemon.address, REMOTECL_RECONNECT="0") as crashing:
        assert json.loads(crashing.next_line())["read"] == -2
        assert "the server closed the" in crashing.leave()[1]


@pytest.mark.parametrize("how", [signal.SIGTERM, signal.SIGINT, signal.SIGKILL])
def test_no_process_outlives_the_daemon(how):
    with Daemon("--isolate") as daemon, Client(GOES_ON, daemon.address) as client:
        assert client.next_line() == "right\n"
        processes = children(daemon.process.pid)
        assert len(processes) == 2, "the session's, and one for the next"
        code, _ = daemon.end(how)
        assert code == (0 if how != signal.SIGKILL else -signal.SIGKILL)
        assert all_gone(processes)


def test_a_daemon_that_drains_lets_processes_go_on():
    with Daemon("--isolate", "--drain", "60") as daemon, Client(GOES_ON, daemon.address) as client:
        for process in [daemon.process.pid, *children(daemon.process.pid)]:  # as a service manager does
            os.kill(process, signal.SIGTERM)
        while True:
            try:
                with Client(GOES_ON, daemon.address):
                    pass
            except AssertionError as refused:
                assert "takes no new sessions" in str(refused)
                break
        assert client.next_line() == "right\n"
        client.process.communicate(timeout=WITHIN_S)
        assert client.process.returncode == 0
        assert daemon.process.wait(WITHIN_S) == 0


def test_a_server_of_the_package_isolates_when_it_is_asked_to():
    with remotecl.Server(isolate=True) as server, Client(GOES_ON, server.address) as client:
        assert client.next_line() == "right\n"
        assert len(children(server.pid)) == 2
        (status,) = remotecl.overview(server.address).status
        assert [session.process for session in status.sessions] == [client.process.pid]
