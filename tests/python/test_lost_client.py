"""A client whose process or machine dies while its kernel waits for a socket."""

from __future__ import annotations

import subprocess
import sys
import time
from collections.abc import Iterator

import pytest

from conftest import CLEAN_ENVIRONMENT, PROGRAM_TIMEOUT_S
from namespaces import PORT, Namespaces, namespaces_or_skip, run

pytestmark = pytest.mark.namespaces

HEARTBEAT_S = 1
NOTICED_S = 3 * HEARTBEAT_S  # a machine that answers no more
ENDED_S = 1  # after that, the kernel's wait
SLACK_S = 1.5  # a loaded machine

# The kernel accepts one connection; the numbers that it leaves are printed.
PROGRAM = """
import numpy, pyopencl, remotecl

context = pyopencl.Context(remotecl.overview().devices)
device = context.devices[0]
queue = pyopencl.CommandQueue(context)
kernel = pyopencl.Kernel(pyopencl.Program(context, '''
    #include "remotecl/net.cl"
    __kernel void serve(__global rcl_net* net, __global int* result, int waits) {
      RCL_GROUP(g, net);
      int s = rcl_bind(g, "tcp:10.93.1.2:7000");
      if (waits) s = rcl_accept(g, s);
      if (get_local_id(0) == 0) *result = s;
    }''').build(), "serve")
result = pyopencl.Buffer(context, pyopencl.mem_flags.READ_WRITE, 4)
for waits in (1, 0):
    network = remotecl.Network(context, device, sockets=4)
    kernel(queue, (8,), (8,), network.memory, result, numpy.int32(waits))
    queue.flush()
    if waits:
        print("ready", flush=True)
    got = numpy.zeros(1, numpy.int32)
    pyopencl.enqueue_copy(queue, got, result)
    print(got[0], flush=True)
"""


class Pair(Namespaces):
    def __init__(self) -> None:
        super().__init__("client", "server")
        self.client, self.server = self.names
        self.link(self.client, "to-server", "10.93.1.1", self.server, "to-client", "10.93.1.2")

    def is_listening(self) -> bool:
        """Whether a kernel of the server has its port."""
        return ":7000" in run("ip", "netns", "exec", self.server, "ss", "-ltnH", "sport = :7000")

    def stops_listening(self, within_s: float) -> bool:
        end = time.monotonic() + within_s
        while self.is_listening():
            if time.monotonic() > end:
                return False
            time.sleep(0.02)
        return True

    def device_is_free(self) -> bool:
        ask = f"import remotecl; print(remotecl.overview('127.0.0.1:{PORT}').status[0].devices[0].queue_depth)"
        return run("ip", "netns", "exec", self.server, sys.executable, "-c", ask).strip() == "0"


@pytest.fixture(params=["--no-isolate", "--isolate"])
def pair(request) -> Iterator[Pair]:
    with namespaces_or_skip(Pair) as pair:
        rules = ("default.kernel-bind=['10.93.1.2:*']", "default.kernel-connect=['10.93.1.2:*']")
        options = ["--kernel-sockets", request.param, *(f"--limit={rule}" for rule in rules)]
        pair.start_server(pair.server, {"REMOTECL_HEARTBEAT": str(HEARTBEAT_S)}, options)
        yield pair


@pytest.fixture
def client(pair) -> Iterator[subprocess.Popen[str]]:
    """One whose kernel waits for a connection."""
    process = subprocess.Popen(
        ["ip", "netns", "exec", pair.client, sys.executable, "-c", PROGRAM],
        env={
            **CLEAN_ENVIRONMENT,
            "REMOTECL_SERVERS": f"10.93.1.2:{PORT}",
            "REMOTECL_HEARTBEAT": str(HEARTBEAT_S),
            "REMOTECL_SHARED_MEMORY": "off",
        },
        stdout=subprocess.PIPE,
        text=True,
    )
    assert process.stdout is not None
    assert process.stdout.readline() == "ready\n"
    end = time.monotonic() + PROGRAM_TIMEOUT_S
    while not pair.is_listening() and time.monotonic() < end:
        time.sleep(0.02)
    yield process
    process.kill()
    process.wait()


def test_a_killed_process_on_another_machine_leaves_the_device_free(pair, client):
    client.kill()
    assert pair.stops_listening(ENDED_S + SLACK_S)
    assert pair.device_is_free()


def test_a_machine_that_vanishes_leaves_the_device_free(pair, client):
    run("ip", "-n", pair.client, "link", "set", "to-server", "down")
    assert pair.stops_listening(NOTICED_S + ENDED_S + SLACK_S)
    assert pair.device_is_free()


def test_a_client_that_comes_back_finds_its_network_stopped_and_can_make_another(pair, client):
    run("ip", "-n", pair.client, "link", "set", "to-server", "down")
    assert pair.stops_listening(NOTICED_S + ENDED_S + SLACK_S)
    run("ip", "-n", pair.client, "link", "set", "to-server", "up")
    output, _ = client.communicate(timeout=PROGRAM_TIMEOUT_S)
    stopped, opened = map(int, output.split())
    assert stopped == -125  # RCL_ECANCELED
    assert opened >= 0
