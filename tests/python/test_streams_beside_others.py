"""The device "remotecl streams" together with other devices, of its server and of others."""

import numpy as np
import pyopencl as cl
import pytest

import remotecl
from daemon import Daemon
from streams import Streams, records_of


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    folder = tmp_path_factory.mktemp("streams")
    (folder / "in").mkdir()
    (folder / "in" / "records").write_bytes(records_of(100))
    return folder


@pytest.fixture(scope="module")
def server(folder):
    with Daemon("--streams", "--plugin-allow", f"read:{folder}/in") as daemon:
        connection = remotecl.connect(daemon.address)
        yield connection
        connection.close()


def test_a_kernel_of_another_device_works_on_a_frame(server, folder):
    """Only the content travels; the source's device and the compiling one share a context."""
    compiling = server.devices[0]
    source = next(
        d
        for d in remotecl.overview().devices
        if d.name == "remotecl streams" and remotecl.server_of(d) in server.servers
    )
    streams = Streams(server, context=cl.Context([source, compiling]))
    room = 1 << 20
    frame, size = streams.buffer(room), streams.buffer(8)
    remotecl.set_content_size(frame, size)
    queue = cl.CommandQueue(streams.context, compiling)
    program = cl.Program(
        streams.context,
        "kernel void brighten(global uchar* frame, global const ulong* size) {"
        " for (ulong i = get_global_id(0); i < *size; i += get_global_size(0)) frame[i] += 1; }",
    ).build(devices=[compiling])
    brighten = cl.Kernel(program, "brighten")
    name = f"file:{folder}/in/records?records=100"
    for number in range(5):
        event = streams.start_read(name, frame, size, streams.buffer(64))
        brighten.set_args(frame, size)
        done = cl.enqueue_nd_range_kernel(queue, brighten, (16,), None, wait_for=[event])
        found = np.empty(100, np.uint8)
        cl.enqueue_copy(queue, found, frame, wait_for=[done])
        assert (found == number + 1).all()


def test_frames_go_from_server_to_server_and_only_their_content(server, folder):
    """A source on one server, a kernel on another: the client sees neither frame."""
    with Daemon() as daemon:
        other = remotecl.connect(daemon.address)
        compiling = other.devices[0]
        source = next(
            one
            for one in remotecl.overview().devices
            if one.name == "remotecl streams" and remotecl.server_of(one) in server.servers
        )
        streams = Streams(server, context=cl.Context([source, compiling]))
        room, record = 16 << 20, 100_000
        (folder / "in" / "large").write_bytes(records_of(record, 10))
        frame, size, least = streams.buffer(room), streams.buffer(8), streams.buffer(4)
        remotecl.set_content_size(frame, size)
        queue = cl.CommandQueue(streams.context, compiling)
        program = cl.Program(
            streams.context,
            "kernel void add(global const uchar* frame, global uint* sum, uint count) {"
            " uint all = 0; for (uint i = 0; i < count; ++i) all += frame[i]; *sum = all; }",
        ).build(devices=[compiling])
        add = cl.Kernel(program, "add")
        before = remotecl.overview().stats
        for number in range(10):
            event = streams.start_read(f"file:{folder}/in/large?records={record}", frame, size, streams.buffer(64))
            add.set_args(frame, least, np.uint32(record))
            done = cl.enqueue_nd_range_kernel(queue, add, (1,), None, wait_for=[event])
            found = np.zeros(1, np.uint32)
            cl.enqueue_copy(queue, found, least, wait_for=[done])
            assert found[0] == number * record
        after = remotecl.overview().stats
        assert received(after) - received(before) < record  # all frames have ten times that
        assert sent(after) - sent(before) < record
        other.close()


def received(stats):
    return sum(server.bytes_received for server in stats.servers)


def sent(stats):
    return sum(server.bytes_sent for server in stats.servers)


def test_a_daemon_of_streams_beside_one_with_contained_sessions(folder):
    """What the documents say to those who want both."""
    rules = ("--plugin-allow", f"read:{folder}/in")
    with (
        Daemon("--streams", "--no-isolate", "--devices", "remotecl", *rules) as of_streams,
        Daemon("--isolate") as contained,
    ):
        connection = remotecl.connect(of_streams.address, contained.address)
        own = [one for one in remotecl.overview().devices if remotecl.server_of(one) == of_streams.address]
        assert {one.type for one in own} == {cl.device_type.CUSTOM}
        gpu = next(one for one in connection.devices if remotecl.server_of(one) == contained.address)
        context = cl.Context([next(one for one in own if one.name == "remotecl streams"), gpu])
        streams = Streams(connection, context=context)
        queue = cl.CommandQueue(context, gpu)
        source = "kernel void twice(global uchar* x) { x[get_global_id(0)] *= 2; }"
        twice = cl.Kernel(cl.Program(context, source).build(devices=[gpu]), "twice")
        for number in range(5):
            frame = streams.buffer(100)
            event = streams.start_read(f"file:{folder}/in/records?records=100", frame)
            twice.set_args(frame)
            done = cl.enqueue_nd_range_kernel(queue, twice, (100,), None, wait_for=[event])
            found = np.empty(100, np.uint8)
            cl.enqueue_copy(queue, found, frame, wait_for=[done])
            assert found.tolist() == [2 * number] * 100
        connection.close()
