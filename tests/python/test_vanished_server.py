"""A server's machine that vanishes without closing its connections, and one that is only slow."""

from __future__ import annotations

import subprocess
import sys
import time
from collections.abc import Iterator

import pytest

from conftest import CLEAN_ENVIRONMENT
from namespaces import PORT, Namespaces, namespaces_or_skip, run

pytestmark = pytest.mark.namespaces

HEARTBEAT_S = 1
NOTICED_S = 3 * HEARTBEAT_S + 2  # three heartbeats, and a loaded machine

# Says "ready" and does what its argument says until that fails; then says how long the server had been gone for.
PROGRAM = """
import sys, time
import numpy as np
import pyopencl as cl
import remotecl

context = cl.Context(remotecl.overview().devices)
queue = cl.CommandQueue(context)
buffer = cl.Buffer(context, cl.mem_flags.READ_WRITE, 256 << 20)
host = np.ones(256 << 20, np.uint8)
program = cl.Program(context, "kernel void spin(global uint* x, ulong n) {"
                              " uint a = x[0]; for (ulong i = 0; i < n; ++i) a = a * 1664525u + (uint)i; x[0] = a; }")
spin = cl.Kernel(program.build(), "spin")
cl.enqueue_copy(queue, buffer, host[:4])
queue.finish()

def idle():
    while remotecl.overview().servers[0].status == "connected":
        time.sleep(0.05)
    raise RuntimeError(remotecl.overview().servers[0].error)

def wait():
    gate = cl.UserEvent(context)
    cl.enqueue_marker(queue, [gate]).wait()

def write():
    while True:
        cl.enqueue_copy(queue, buffer, host)

def compute():
    start, rounds = time.monotonic(), 1 << 28
    while time.monotonic() - start < 5:  # one kernel that takes longer than five heartbeats
        start = time.monotonic()
        spin(queue, (1,), None, buffer, np.uint64(rounds))
        queue.finish()
        rounds *= 2
    print("done", flush=True)
    sys.exit()

def check():
    end, read = time.monotonic() + 12, np.empty(4 << 20, np.uint8)
    while time.monotonic() < end:
        some = np.random.randint(0, 256, 4 << 20, np.uint8)
        cl.enqueue_copy(queue, buffer, some)
        cl.enqueue_copy(queue, read, buffer)
        assert (read == some).all()
    print("done", flush=True)
    sys.exit()

job = globals()[sys.argv[1]]
print("ready", flush=True)
try:
    job()
except Exception as error:
    print(type(error).__name__, error, flush=True)
"""


class Pair(Namespaces):
    def __init__(self) -> None:
        super().__init__("client", "server")
        self.client, self.server = self.names
        self.link(self.client, "to-server", "10.92.1.1", self.server, "to-client", "10.92.1.2")


@pytest.fixture
def pair() -> Iterator[Pair]:
    with namespaces_or_skip(Pair) as pair:
        pair.start_server(pair.server, {"REMOTECL_HEARTBEAT": str(HEARTBEAT_S)})
        yield pair


def start(pair: Pair, job: str, reconnect_s: int, memory: str = "off") -> subprocess.Popen[str]:
    process = subprocess.Popen(
        ["ip", "netns", "exec", pair.client, sys.executable, "-c", PROGRAM, job],
        env={
            **CLEAN_ENVIRONMENT,
            "REMOTECL_SERVERS": f"10.92.1.2:{PORT}",
            "REMOTECL_HEARTBEAT": str(HEARTBEAT_S),
            "REMOTECL_RECONNECT": str(reconnect_s),
            "REMOTECL_SHARED_MEMORY": memory,
        },
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )
    assert process.stdout is not None
    assert process.stdout.readline() == "ready\n"
    return process


@pytest.mark.parametrize("job", ["idle", "wait", "write"])
def test_is_noticed_within_three_heartbeats(pair, job):
    process = start(pair, job, reconnect_s=0)
    time.sleep(1.5)  # it is in the middle of it
    assert process.poll() is None
    run("ip", "-n", pair.server, "link", "set", "to-client", "down")
    gone = time.monotonic()
    out, err = process.communicate(timeout=60)
    assert time.monotonic() - gone < NOTICED_S
    assert "Error" in out
    assert "does not answer any more" in err


# Namespaces of one machine can share memory across the cut: only the connection beside it is lost.
@pytest.mark.parametrize("memory", ["off", "on"])
def test_goes_on_when_the_network_comes_back(pair, memory):
    process = start(pair, "check", reconnect_s=30, memory=memory)
    time.sleep(1.5)
    run("ip", "-n", pair.server, "link", "set", "to-client", "down")
    time.sleep(NOTICED_S + 1)
    run("ip", "-n", pair.server, "link", "set", "to-client", "up")
    out, err = process.communicate(timeout=60)
    assert out == "done\n", out + err
    assert "is lost; trying to connect again" in err and "again" in err.splitlines()[-1], err


# The program's own way to both servers stands; between these there is memory, and a connection beside it that is cut.
RELAYED = """
import time
import numpy as np
import pyopencl as cl
import remotecl

context = cl.Context(remotecl.overview().devices[:1] + remotecl.overview().devices[-1:])
queues = [cl.CommandQueue(context, device) for device in context.devices]
buffer = cl.Buffer(context, cl.mem_flags.READ_WRITE, 4 << 20)
program = cl.Program(context, "kernel void add(global uint* x) { x[get_global_id(0)] += 1; }").build()
add = cl.Kernel(program, "add")
cl.enqueue_copy(queues[0], buffer, np.zeros(1 << 20, np.uint32))
rounds = 0

def pass_on():
    global rounds
    for queue in queues:
        add(queue, (1 << 20,), None, buffer)
        queue.finish()
    rounds += 1

pass_on()
assert [link.state for link in remotecl.overview().links] == ["connected"], remotecl.overview().links
print("ready", flush=True)
end = time.monotonic() + 12
while time.monotonic() < end:
    pass_on()
read = np.empty(1 << 20, np.uint32)
cl.enqueue_copy(queues[0], read, buffer)
assert (read == 2 * rounds).all()
print("done", [link.state for link in remotecl.overview().links], flush=True)
"""


class Trio(Namespaces):
    """Two servers with a network between them that the client has no part in."""

    def __init__(self) -> None:
        super().__init__("client", "one", "two")
        self.client, self.one, self.two = self.names
        self.link(self.client, "to-one", "10.93.1.1", self.one, "to-client", "10.93.1.2")
        self.link(self.client, "to-two", "10.93.2.1", self.two, "to-client", "10.93.2.2")
        self.link(self.one, "to-two", "10.93.3.1", self.two, "to-one", "10.93.3.2")
        self.add_routes()

    def add_routes(self) -> None:
        """By the addresses that the client knows the servers by."""
        run("ip", "-n", self.one, "route", "replace", "10.93.2.2/32", "via", "10.93.3.2", "dev", "to-two")
        run("ip", "-n", self.two, "route", "replace", "10.93.1.2/32", "via", "10.93.3.1", "dev", "to-one")


def test_servers_that_share_memory_stay_linked_across_a_cut():
    with namespaces_or_skip(Trio) as trio:
        for server in (trio.one, trio.two):
            trio.start_server(server, {"REMOTECL_HEARTBEAT": str(HEARTBEAT_S)})
        process = subprocess.Popen(
            ["ip", "netns", "exec", trio.client, sys.executable, "-c", RELAYED],
            env={
                **CLEAN_ENVIRONMENT,
                "REMOTECL_SERVERS": f"10.93.1.2:{PORT},10.93.2.2:{PORT}",
                "REMOTECL_HEARTBEAT": str(HEARTBEAT_S),
            },
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        )
        assert process.stdout is not None
        assert process.stdout.readline() == "ready\n", process.communicate()
        run("ip", "-n", trio.one, "link", "set", "to-two", "down")
        time.sleep(NOTICED_S + 1)
        run("ip", "-n", trio.one, "link", "set", "to-two", "up")
        trio.add_routes()
        out, err = process.communicate(timeout=60)
        assert out == "done ['connected']\n", out + err
        assert "was lost" not in err, err


def test_long_kernel_is_no_failure(pair):
    out, err = start(pair, "compute", reconnect_s=0).communicate(timeout=120)
    assert out == "done\n", out + err
