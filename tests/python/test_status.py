"""What servers tell of themselves, and what this process counts, checked against work that is known."""

import json
import os
import re

import numpy as np
import pyopencl as cl
import pytest

import remotecl

MIB = 1 << 20


@pytest.fixture
def queue(connection):
    return cl.CommandQueue(cl.Context(connection.devices[:1]))


def server_of(queue):
    return remotecl.server_of(queue.device)


def entry_of(stats, address):
    return next(entry for entry in stats if entry.address == address)


def test_a_server_tells_without_a_session(cluster):
    with remotecl.Server() as server:
        (status,) = remotecl.overview(server.address).status
        assert status.session_count == 0
        assert status.version == remotecl.__version__
        assert status.process == server.pid
        assert status.round_trip_us > 0
        assert all(device.memory_used == 0 and device.queue_depth == 0 for device in status.devices)
        assert "remotecl" in repr(status)
        assert "<table>" in status._repr_html_()


def test_a_server_that_is_not_there():
    with pytest.raises(remotecl.ServerUnreachable, match=re.escape("127.0.0.1:1")):
        _ = remotecl.overview("127.0.0.1:1").status


def test_memory_of_three_buffers(queue):
    before = entry_of(remotecl.overview().stats, server_of(queue)).memory[0]
    buffers = [cl.Buffer(queue.context, cl.mem_flags.READ_WRITE, size * MIB) for size in (1, 2, 4)]
    for buffer in buffers:
        cl.enqueue_fill_buffer(queue, buffer, np.int32(1), 0, 64)
    queue.finish()
    after = entry_of(remotecl.overview().stats, server_of(queue)).memory[0]
    assert after.own - before.own == 7 * MIB
    assert after.used - before.used == 7 * MIB
    assert after.total > 7 * MIB
    del buffer, buffers
    queue.finish()
    assert entry_of(remotecl.overview().stats, server_of(queue)).memory[0].own == before.own


def test_bytes_of_an_upload_and_a_download(queue):
    data = np.zeros(10 * MIB, np.uint8)
    buffer = cl.Buffer(queue.context, cl.mem_flags.READ_WRITE, data.nbytes)
    before = entry_of(remotecl.overview().stats, server_of(queue))
    cl.enqueue_copy(queue, buffer, data)
    queue.finish()
    between = entry_of(remotecl.overview().stats, server_of(queue))
    assert 10 * MIB <= between.bytes_sent - before.bytes_sent < 10 * MIB + 4096
    assert 10 * MIB <= between.traffic.bulk.sent.bytes - before.traffic.bulk.sent.bytes < 10 * MIB + 1024
    assert between.traffic.bulk.sent.messages - before.traffic.bulk.sent.messages == 1
    cl.enqueue_copy(queue, data, buffer)
    after = entry_of(remotecl.overview().stats, server_of(queue))
    assert after.traffic.bulk.received.bytes - between.traffic.bulk.received.bytes >= 10 * MIB
    assert after.traffic.bulk.received.messages - between.traffic.bulk.received.messages == 1
    assert after.traffic.bulk.sent == between.traffic.bulk.sent


def test_commands_are_counted_and_queued_ones_seen(queue):
    address = server_of(queue)
    (before,) = remotecl.overview(address).status
    gate = cl.UserEvent(queue.context)
    buffer = cl.Buffer(queue.context, cl.mem_flags.READ_WRITE, 64)
    for _ in range(5):
        cl.enqueue_fill_buffer(queue, buffer, np.int32(1), 0, 64, wait_for=[gate])
    queue.flush()
    _ = remotecl.overview().stats  # its answer comes after the commands
    (waiting,) = remotecl.overview(address).status
    assert waiting.devices[0].queue_depth - before.devices[0].queue_depth == 5
    assert waiting.commands - before.commands == 5
    gate.set_status(cl.command_execution_status.COMPLETE)
    queue.finish()
    (after,) = remotecl.overview(address).status
    assert after.devices[0].queue_depth == before.devices[0].queue_depth


def test_transfers_that_residency_saves(queue):
    program = cl.Program(queue.context, "kernel void peek(global const int* in, global int* out) { out[0] = in[0]; }")
    peek = cl.Kernel(program.build(), "peek")
    flags = cl.mem_flags
    host = np.arange(MIB, dtype=np.uint8)
    source = cl.Buffer(queue.context, flags.READ_ONLY | flags.COPY_HOST_PTR, hostbuf=host)
    target = cl.Buffer(queue.context, flags.WRITE_ONLY, 64)
    before = remotecl.overview().stats.transfers
    for _ in range(3):
        peek(queue, (1,), None, source, target)
    queue.finish()
    after = remotecl.overview().stats.transfers
    assert after.from_host.bytes - before.from_host.bytes == MIB
    assert after.from_host.count - before.from_host.count == 1
    assert after.saved.bytes - before.saved.bytes >= 2 * MIB


def test_what_servers_send_each_other(connection):
    by_server = {remotecl.server_of(device): device for device in connection.devices}
    context = cl.Context(list(by_server.values()))
    first, second = (cl.CommandQueue(context, device) for device in by_server.values())
    source, target = (cl.Buffer(context, cl.mem_flags.READ_WRITE, 10 * MIB) for _ in range(2))
    before = remotecl.overview().stats
    cl.enqueue_fill_buffer(first, source, np.int32(7), 0, 10 * MIB)
    cl.enqueue_copy(second, target, source)
    second.finish()
    after = remotecl.overview().stats

    def sent(stats, server):
        return sum(link.traffic.bulk.sent.bytes for link in stats.links if link.server == server)

    from_first, from_second = (sent(after, server) - sent(before, server) for server in by_server)
    assert from_first >= 10 * MIB
    assert from_second < MIB
    assert {link.other for link in after.links} == set(by_server)
    assert after.transfers.between_servers.bytes - before.transfers.between_servers.bytes == 10 * MIB


def test_cache_of_image_formats(queue):
    def ask():
        cl.get_supported_image_formats(queue.context, cl.mem_flags.READ_ONLY, cl.mem_object_type.IMAGE2D)
        return remotecl.overview().stats.caches["image_formats"]

    first = ask()
    second = ask()
    assert second.hits > first.hits
    assert second.misses == first.misses


def test_stats_are_shown_as_tables(connection):
    stats = remotecl.overview().stats
    assert len(stats) == len(stats.servers)
    assert stats[0] in list(stats)
    assert all(server.address in repr(stats) for server in stats)
    assert stats._repr_html_().count("<table>") == stats._repr_html_().count("</table>") >= 3


def test_the_client_says_who_it_is(connection, cluster):
    (status,) = remotecl.overview(cluster.addresses[0]).status
    assert os.getpid() in [session.process for session in status.sessions]
    own = [session for session in remotecl.overview().status[0].sessions if session.is_own]
    assert own == []  # asked without a session


def test_top_once_prints_tables(run_remotecl, addresses, cluster, connection):
    result = run_remotecl("top", "--once", "--interval", "0.2", "--servers", addresses)
    assert result.returncode == 0, result.stderr
    assert all(result.stdout.count(address) >= 3 for address in cluster.addresses)  # server, device, session
    assert "connected" in result.stdout


def test_top_once_as_json(run_remotecl, addresses, cluster):
    result = run_remotecl("top", "--once", "--json", "--interval", "0.2", REMOTECL_SERVERS=addresses)
    assert result.returncode == 0, result.stderr
    servers = json.loads(result.stdout)
    assert [server["address"] for server in servers] == cluster.addresses
    for server in servers:
        assert server["state"] == "connected"
        assert server["received_per_s"] >= 0
        assert server["status"]["devices"][0]["utilisation"] is not None
        assert server["status"]["round_trip_us"] > 0
        assert [use["user"] for use in server["status"]["users"]] == [rate["user"] for rate in server["user_rates"]]
        assert all(0 <= rate["utilisation"] <= 1 for rate in server["user_rates"])


def test_top_shows_a_server_that_is_not_there_as_lost(run_remotecl, cluster):
    result = run_remotecl("top", "--once", "--interval", "0.2", "--servers", f"127.0.0.1:1,{cluster.addresses[0]}")
    assert result.returncode == 1
    assert "lost" in result.stdout
    assert "connected" in result.stdout


@pytest.mark.parametrize("arguments", [["--interval", "0"], ["--interval", "nan"], ["--interval", "soon"]])
def test_top_refuses_a_bad_interval(run_remotecl, arguments):
    assert run_remotecl("top", "--once", "--servers", "127.0.0.1:1", *arguments).returncode == 2


def test_top_without_servers_says_what_to_do(run_remotecl):
    result = run_remotecl("top", "--once")
    assert result.returncode == 1
    assert "REMOTECL_SERVERS" in result.stderr
