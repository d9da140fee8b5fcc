"""Sockets inside kernels, from Python."""

from __future__ import annotations

import signal
import socket
import subprocess
import sys
import time

import pytest

import remotecl
from conftest import CLEAN_ENVIRONMENT, PROGRAM_TIMEOUT_S, SLOWNESS

# As in a notebook. The port is the second argument of each program.
ECHO = """
import socket, sys, time, pyopencl, remotecl
port = int(sys.argv[2])
connection = remotecl.connect(sys.argv[1])
context = connection.context()
device = connection.devices[0]
queue = pyopencl.CommandQueue(context)
program = pyopencl.Program(context, '''
    #include "remotecl/net.cl"
    __kernel void echo(__global rcl_net* net, __global const char* address, __global uchar* scratch) {
      RCL_GROUP(g, net);
      int s = rcl_accept(g, rcl_bind(g, address)), n;
      while ((n = rcl_recv(g, s, scratch, 4096)) > 0) if (rcl_send_all(g, s, scratch, n) < 0) break;
      rcl_close(g, s);
    }''').build()
flags = pyopencl.mem_flags
address = pyopencl.Buffer(context, flags.READ_ONLY | flags.COPY_HOST_PTR, hostbuf=b"tcp:127.0.0.1:%d\\0" % port)
scratch = pyopencl.Buffer(context, flags.READ_WRITE, 4096)
"""
TALK = """
with remotecl.Network(context, device, sockets=4) as network:
    program.echo(queue, (64,), (64,), network.memory, address, scratch)
    queue.flush()
    while True:
        try:
            client = socket.create_connection(("127.0.0.1", port))
            break
        except ConnectionRefusedError:
            time.sleep(0.01)  # until the kernel listens
    with client:
        client.sendall(b"hello")
        print(client.recv(5).decode())
    queue.finish()
assert remotecl.Network.groups(device) == device.max_compute_units
print(network)
"""
# Waits until a signal ends it.
WAIT = """
with remotecl.Network(context, device) as network:
    event = program.echo(queue, (64,), (64,), network.memory, address, scratch)
    queue.flush()
    try:
        print("ready", flush=True)
        event.wait()
    except KeyboardInterrupt:
        interrupted = time.monotonic()
        network.stop()
        event.wait()
        print("ended after", time.monotonic() - interrupted)
"""


def free_port() -> int:
    with socket.socket() as one:
        one.bind(("127.0.0.1", 0))
        port: int = one.getsockname()[1]
        return port


@pytest.fixture(params=[False, True], ids=["together", "isolated"])
def server(request):
    with remotecl.Server(kernel_bind=["127.0.0.1:*"], isolate=request.param) as server:
        yield server


def started(program: str, server: remotecl.Server, before: str = ECHO) -> subprocess.Popen[str]:
    command = [sys.executable, "-c", before + program, server.address, str(free_port())]
    return subprocess.Popen(command, env=CLEAN_ENVIRONMENT, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)


def has_ended(server: remotecl.Server, within_s: float) -> bool:
    """Whether the device is free."""
    end = time.monotonic() + within_s
    while time.monotonic() < end:
        (status,) = remotecl.overview(server.address).status
        if status.session_count == 0 and status.devices[0].queue_depth == 0:
            return True
        time.sleep(0.02)
    return False


def test_a_notebooks_kernel_answers(server):
    with started(TALK, server) as program:
        output, errors = program.communicate(timeout=PROGRAM_TIMEOUT_S)
    assert program.returncode == 0, errors
    assert output.startswith("hello\n<remotecl.Network of ")


def test_a_kernel_of_the_automatic_device_runs_where_its_network_is(server):
    automatic = "\ncontext = pyopencl.Context([remotecl.auto()])\n"
    source = ECHO.replace("\ncontext = connection.context()\n", automatic)
    with remotecl.Server() as other:
        source = source.replace("sys.argv[1]", f"sys.argv[1], {other.address!r}")
        with started(TALK, server, source) as program:
            output, errors = program.communicate(timeout=PROGRAM_TIMEOUT_S)
    assert program.returncode == 0, errors
    assert output.startswith("hello\n")


def test_an_interrupt_can_end_a_kernel(server):
    with started(WAIT, server) as program:
        assert program.stdout is not None
        assert program.stdout.readline() == "ready\n"
        program.send_signal(signal.SIGINT)
        output, errors = program.communicate(timeout=PROGRAM_TIMEOUT_S)
    assert program.returncode == 0, errors
    assert float(output.split()[-1]) < 5 * SLOWNESS  # less than 1, where nothing else keeps the machine busy
    assert has_ended(server, 5)


# Handles no signal.
WAIT_IN_BLOCK = """
with remotecl.Network(context, device) as network:
    program.echo(queue, (64,), (64,), network.memory, address, scratch)
    queue.flush()
    print("ready", flush=True)
    queue.finish()
"""
WAIT_WITHOUT_BLOCK = """
network = remotecl.Network(context, device)
program.echo(queue, (64,), (64,), network.memory, address, scratch)
queue.flush()
print("ready", flush=True)
queue.finish()
"""


@pytest.mark.parametrize("source", [WAIT_IN_BLOCK, WAIT_WITHOUT_BLOCK], ids=["block", "no block"])
def test_an_interrupt_ends_a_program_that_does_not_handle_it_and_its_kernel(server, source):
    with started(source, server) as program:
        assert program.stdout is not None
        assert program.stdout.readline() == "ready\n"
        program.send_signal(signal.SIGINT)
        interrupted = time.monotonic()
        _, errors = program.communicate(timeout=PROGRAM_TIMEOUT_S)
        assert program.returncode == -signal.SIGINT, errors
        assert errors.rstrip().endswith("KeyboardInterrupt"), errors
        assert has_ended(server, 5)
        assert time.monotonic() - interrupted < 5 * SLOWNESS  # about 1, where nothing else keeps the machine busy


def test_a_killed_program_leaves_the_device_free(server):
    with started(WAIT, server) as program:
        assert program.stdout is not None
        assert program.stdout.readline() == "ready\n"
        program.kill()
        assert has_ended(server, 3 * SLOWNESS)


def test_the_status_says_what_a_users_kernels_have(server):
    def of_user() -> remotecl.types.UserStatus:
        (status,) = remotecl.overview(server.address).status
        return next((use for use in status.users if use.sockets_opened), remotecl.types.UserStatus("", 0, 0.0, 0))

    with started(WAIT, server) as program:
        assert program.stdout is not None
        assert program.stdout.readline() == "ready\n"
        end = time.monotonic() + PROGRAM_TIMEOUT_S
        while of_user().sockets != 2 and time.monotonic() < end:  # the listener and the one that waits
            time.sleep(0.02)
        assert (of_user().user, of_user().device, of_user().sockets) == ("default", 0, 2)
        with socket.create_connection(("127.0.0.1", int(program.args[-1]))) as client:
            client.sendall(b"hello")
            assert client.recv(5) == b"hello"
        end = time.monotonic() + PROGRAM_TIMEOUT_S
        while of_user().socket_bytes_received != 5 and time.monotonic() < end:
            time.sleep(0.02)
        assert (of_user().socket_bytes_sent, of_user().socket_bytes_received) == (5, 5)
        program.kill()
    assert has_ended(server, 5)
    assert (of_user().sockets, of_user().sockets_opened, of_user().socket_bytes_sent) == (0, 2, 5)


def test_mistakes_have_words(server):
    connection = remotecl.connect(server.address)
    context = connection.context()
    device = context.devices[0]
    with pytest.raises(ValueError, match="sockets, not 0"):
        remotecl.Network(context, device, sockets=0)
    with pytest.raises(ValueError, match="power of two"):
        remotecl.Network(context, device, ring_bytes=5000)
    with pytest.raises(ValueError, match="4 GiB"):
        remotecl.Network(context, device, sockets=16384, ring_bytes=16 << 20)
    with pytest.raises(TypeError, match="device must be"):
        remotecl.Network(context, "device")
    connection.close()


def test_a_server_without_the_option_has_none(cluster):
    context = cluster.connect().context()
    with pytest.raises(remotecl.RemoteCLError, match="--kernel-sockets"):
        remotecl.Network(context, context.devices[0])
