"""remotecl.connect, and looking inside."""

import contextlib
import itertools
import socket
import sys
import threading

import numpy as np
import pyopencl as cl
import pytest

import remotecl
from daemon import WITHIN_S
from remotecl._connect.connection import full_address
from throttled_relay import ThrottledRelay


@pytest.mark.parametrize(
    "name, address",
    [
        ("gpu1", "gpu1:10990"),
        ("gpu1:7", "gpu1:7"),
        ("[::1]", "[::1]:10990"),
        ("[::1]:7", "[::1]:7"),
        ("::1", "[::1]:10990"),
        ("gpu1:0007", "gpu1:7"),
        ("[::1]:07", "[::1]:7"),
    ],
)
def test_addresses_are_completed(name, address):
    assert full_address(name) == address


def test_a_connection_has_its_servers_devices(connection, cluster):
    assert connection.servers == cluster.addresses
    assert connection.platform.name == "remotecl"
    assert connection.devices
    assert {remotecl.server_of(device) for device in connection.devices} == set(cluster.addresses)
    assert connection.context().devices == connection.devices
    assert connection.context(connection.devices[:1]).devices == connection.devices[:1]


def test_the_environment_and_connect_may_name_different_servers(run_program, cluster):
    program = f"""
import remotecl
connection = remotecl.connect({cluster.addresses[0]!r})
assert {{remotecl.server_of(device) for device in connection.devices}} == {{{cluster.addresses[0]!r}}}
assert {{remotecl.server_of(device) for device in remotecl.overview().devices}} == {set(cluster.addresses)!r}
"""
    run_program(program, REMOTECL_SERVERS=cluster.addresses[1])


def test_connecting_again_to_the_same_servers_is_allowed(run_program, cluster):
    run_program(f"""
import remotecl
first = remotecl.connect(*{cluster.addresses!r})
again = remotecl.connect(*{cluster.addresses!r})
assert first.devices == again.devices
""")


def test_another_server_is_added_after_the_first_use(run_program, cluster):
    run_program(f"""
import remotecl
first, second = (remotecl.connect(address) for address in {cluster.addresses!r})
assert remotecl.overview().devices == first.devices + second.devices
import pyopencl
context = pyopencl.Context(remotecl.overview().devices)
buffer = pyopencl.Buffer(context, 0, 64)
for device in context.devices:
    queue = pyopencl.CommandQueue(context, device)
    pyopencl.enqueue_fill_buffer(queue, buffer, b"1", 0, 64)
    queue.finish()
""")


@pytest.mark.parametrize(
    ("name", "remedy"),
    [
        ("127.0.0.1:1", "refused the connection; is remotecl-server running there"),
        ("no-such-host.invalid", "check the spelling"),
    ],
    ids=["refused", "unresolvable"],
)
def test_an_unreachable_server_is_named(run_program, name, remedy):
    program = f"""
import remotecl
try:
    remotecl.connect({name!r})
except remotecl.ServerUnreachable as error:
    print(error)
"""
    message = run_program(program).stdout
    assert name in message
    assert remedy in message


def test_a_tunnel_to_nowhere_is_told_from_a_server(run_program):
    """The near end of an ssh tunnel accepts connections, also when nothing listens at the far end."""
    with socket.create_server(("127.0.0.1", 0)) as near_end:

        def accept_and_close() -> None:
            with contextlib.suppress(OSError):
                while True:
                    near_end.accept()[0].close()

        thread = threading.Thread(target=accept_and_close)
        thread.start()
        result = run_program(f"import remotecl; remotecl.connect('127.0.0.1:{near_end.getsockname()[1]}')", check=False)
        near_end.shutdown(socket.SHUT_RDWR)
        thread.join()
    assert "ServerUnreachable" in result.stderr
    assert "If it is a tunnel: is the server still at its other end" in result.stderr


def test_one_unreachable_server_does_not_take_the_other_away(run_program, cluster):
    program = f"""
import remotecl
try:
    remotecl.connect("127.0.0.1:1")
except remotecl.ServerUnreachable:
    pass
assert remotecl.connect({cluster.addresses[0]!r}).devices
"""
    run_program(program)


def test_servers_are_connected_to_at_the_same_time(run_program, cluster):
    """Neither gets to see a word before there is one for the other."""
    both = threading.Barrier(2, timeout=WITHIN_S)
    for by_environment in (False, True):
        first_words = {address: itertools.count() for address in cluster.addresses}

        def hold(address: str, seen: dict[str, itertools.count] = first_words) -> None:
            if next(seen[address]) == 0:
                both.wait()

        one, other = (
            ThrottledRelay(address, see=lambda _, address=address: hold(address)) for address in cluster.addresses
        )
        with one, other:
            show = "print(*sorted({remotecl.server_of(device) for device in remotecl.overview().devices}))"
            if by_environment:
                result = run_program(f"import remotecl; {show}", REMOTECL_SERVERS=f"{one.address},{other.address}")
            else:
                result = run_program(f"import remotecl; remotecl.connect('{one.address}', '{other.address}'); {show}")
            assert result.stdout.split() == sorted([one.address, other.address])


def test_a_package_that_was_built_for_another_python_says_so(run_program):
    result = run_program(
        """
import sys
sys.modules["remotecl._core"] = None  # as if there were no such file
import remotecl
try:
    remotecl.overview().servers
except remotecl.RemoteCLError as error:
    print(error)
"""
    )
    assert f"remotecl was not built for this Python ({sys.implementation.cache_tag})" in result.stdout
    assert "for others: _core.cpython-3" in result.stdout


def test_no_server_is_a_mistake():
    with pytest.raises(ValueError, match="at least one server"):
        remotecl.connect()


def test_a_bad_address_is_quoted(run_program):
    result = run_program("import remotecl\nremotecl.connect('host:many')", check=False)
    assert result.returncode == 1
    assert '"host:many"' in result.stderr


COUNT_DEVICES = """
import pyopencl
print([len(p.get_devices()) for p in pyopencl.get_platforms() if p.name == "remotecl"])
"""


def test_servers_in_the_environment_are_there_all_or_none(run_program, cluster):
    servers = f"127.0.0.1:1,{cluster.addresses[0]}"
    result = run_program(COUNT_DEVICES, REMOTECL_SERVERS=servers)
    assert result.stdout.strip() == "[0]"
    (line,) = result.stderr.splitlines()
    assert "127.0.0.1:1 refused the connection; is remotecl-server running there" in line
    assert "this program gets none of them (REMOTECL_REQUIRED=0 would give it the others" in line


def test_a_program_may_take_the_servers_that_are_there(run_program, cluster):
    servers = f"127.0.0.1:1,{cluster.addresses[0]}"
    result = run_program(COUNT_DEVICES, REMOTECL_SERVERS=servers, REMOTECL_REQUIRED="0")
    assert int(result.stdout.strip().strip("[]")) >= 1
    assert result.stderr.startswith("remotecl: 127.0.0.1:1 refused")


def test_a_server_that_was_left_out_is_connected_when_it_is_named(run_program, cluster):
    program = f"""
import remotecl
import pyopencl
for platform in pyopencl.get_platforms():
    platform.get_devices()
states = {{server.address: server for server in remotecl.overview().servers}}
assert {{server.status for server in states.values()}} == {{"unreachable"}}
assert "left out" in states[{cluster.addresses[0]!r}].error
assert remotecl.connect({cluster.addresses[0]!r}).devices
"""
    run_program(program, REMOTECL_SERVERS=f"127.0.0.1:1,{cluster.addresses[0]}")


def test_servers_tell_their_state(connection, cluster):
    found = {server.address: server for server in remotecl.overview().servers}
    for address in cluster.addresses:
        assert found[address].status == "connected"
        assert found[address].error == ""
        assert found[address].devices
        assert 0 < found[address].round_trip_us < 1e6


def test_a_devices_native_platform_is_known(connection):
    assert remotecl.native_platform_of(connection.devices[0])


def test_only_remote_devices_have_a_server():
    native = [platform for platform in cl.get_platforms() if platform.name != "remotecl"]
    if not native:
        pytest.skip("no native platform is visible here")
    with pytest.raises(ValueError, match="only remotecl's devices"):
        remotecl.server_of(native[0].get_devices()[0])


def test_identity_of_a_device_is_the_native_one_through_remotecl(connection):
    """Caches of binaries are keyed on it: it must not depend on the server. Native drivers refuse our binaries."""
    local = [platform for platform in cl.get_platforms() if platform.name == "Portable Computing Language"]
    identities = {
        (device.name, device.vendor, device.version, f"{device.driver_version} remotecl {remotecl.__version__}")
        for platform in local
        for device in platform.get_devices()
    }
    for device in connection.devices:
        if remotecl.native_platform_of(device) == "Portable Computing Language":
            assert (device.name, device.vendor, device.version, device.driver_version) in identities


def test_servers_of_a_context_are_linked(connection):
    context = connection.context()
    queues = [cl.CommandQueue(context, device) for device in context.devices]
    data = np.arange(1 << 20, dtype=np.int32)
    buffer = cl.Buffer(context, cl.mem_flags.READ_WRITE, data.nbytes)
    cl.enqueue_copy(queues[0], buffer, data)
    before = sum(server.bytes_received for server in remotecl.overview().stats)
    cl.enqueue_migrate_mem_objects(queues[1], [buffer])
    queues[1].finish()
    assert sum(server.bytes_received for server in remotecl.overview().stats) - before < 4096
    assert {link.servers for link in remotecl.overview().links if link.state == "connected"} == {
        tuple(remotecl.server_of(device) for device in context.devices)
    }


def test_stats_count_the_bytes_of_a_write(connection):
    device = connection.devices[0]
    queue = cl.CommandQueue(connection.context([device]))
    data = np.arange(1 << 16, dtype=np.int32)
    buffer = cl.Buffer(queue.context, cl.mem_flags.READ_WRITE, data.nbytes)
    address = remotecl.server_of(device)
    before = {entry.address: entry for entry in remotecl.overview().stats}[address]
    cl.enqueue_copy(queue, buffer, data)
    queue.finish()
    after = {entry.address: entry for entry in remotecl.overview().stats}[address]
    assert data.nbytes <= after.bytes_sent - before.bytes_sent < data.nbytes + 4096
    back = np.empty_like(data)
    cl.enqueue_copy(queue, back, buffer)
    read = {entry.address: entry for entry in remotecl.overview().stats}[address]
    assert data.nbytes <= read.bytes_received - after.bytes_received < data.nbytes + 4096
    assert read.messages_sent > before.messages_sent
    assert read.messages_received > before.messages_received


def test_residency_follows_the_writes(connection):
    context = connection.context()
    first = next(d for d in connection.devices if remotecl.server_of(d) == connection.servers[0])
    second = next(d for d in connection.devices if remotecl.server_of(d) == connection.servers[1])
    buffer = cl.Buffer(context, cl.mem_flags.READ_WRITE, 1024)

    def holders() -> set[str]:
        (entry,) = remotecl.residency(buffer)
        assert entry.buffer == buffer.int_ptr
        assert entry.size == 1024
        assert sum(part.size for part in entry.ranges) == 1024
        return {holder for part in entry.ranges for holder in part.holders}

    for device in (first, second):
        queue = cl.CommandQueue(context, device)
        cl.enqueue_fill_buffer(queue, buffer, np.int32(7), 0, 1024).wait()
        assert len(holders()) == 1
        assert holders().pop().startswith(remotecl.server_of(device))
    assert buffer.int_ptr in {entry.buffer for entry in remotecl.residency()}


@pytest.mark.parametrize("setting, expected", [("on", True), ("off", False), ("0", False), ("False", False)])
def test_a_client_on_the_servers_host_shares_memory_with_it(run_program, cluster, setting, expected):
    program = f"""
import pathlib, numpy, pyopencl as cl, remotecl
context = remotecl.connect({cluster.addresses[0]!r}).context()
queue = cl.CommandQueue(context)
sent = numpy.arange(4 << 20, dtype=numpy.int32)
got = numpy.empty_like(sent)
buffer = cl.Buffer(context, cl.mem_flags.READ_WRITE, sent.nbytes)
cl.enqueue_copy(queue, buffer, sent)
cl.enqueue_copy(queue, got, buffer)
assert (got == sent).all()
assert ("memfd:remotecl" in pathlib.Path("/proc/self/maps").read_text()) is {expected}
"""
    run_program(program, REMOTECL_SHARED_MEMORY=setting)


def test_variables_that_mean_nothing_are_told_of_once(run_program, addresses):
    wrong = {
        "REMOTECL_SHARED_MEMORY": "banana",
        "REMOTECL_RECONNECT": "abc",
        "REMOTECL_BUSY_POLL": "x",
        "REMOTECL_PEERS": "maybe",
        "REMOTECL_DISABLE": "please",
    }
    # The variable about links is read when two servers need one.
    program = """
import pyopencl as cl, remotecl
(platform,) = (platform for platform in cl.get_platforms() if platform.name == "remotecl")
context = cl.Context(platform.get_devices())
buffer = cl.Buffer(context, cl.mem_flags.READ_WRITE, 4096)
for device in context.devices:
    queue = cl.CommandQueue(context, device)
    cl.enqueue_fill_buffer(queue, buffer, b"0", 0, 4096 if device == context.devices[0] else 64).wait()
    cl.enqueue_migrate_mem_objects(queue, [buffer]).wait()
print(len(remotecl.overview().servers))
"""
    result = run_program(program, REMOTECL_SERVERS=addresses, **wrong)
    assert result.stdout.strip() == "2"
    lines = result.stderr.splitlines()
    for name, value in wrong.items():
        begin = f"remotecl: {name}={value} means nothing and is ignored; it takes "
        told = [line for line in lines if line.startswith(begin)]
        assert len(told) == 1, result.stderr
    assert len(lines) == len(wrong), result.stderr
    assert run_program(program, REMOTECL_SERVERS=addresses, REMOTECL_LOG="off", **wrong).stderr == ""
