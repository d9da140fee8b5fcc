"""The device "remotecl streams": what it reads and writes, at which rate, and what it may open."""

import mmap
import os
import socket
import struct
import threading
import time
from pathlib import Path

import numpy as np
import pyopencl as cl
import pytest

import remotecl
from daemon import Daemon
from streams import END, FRAME, Streams, free_port, records_of


@pytest.fixture(scope="module")
def ports():
    """One for each test: a stream's socket is closed some time after its program."""
    return {
        "tcp": free_port(socket.SOCK_STREAM),
        "silent": free_port(socket.SOCK_DGRAM),
        "udp": free_port(socket.SOCK_DGRAM),
    }


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    folder = tmp_path_factory.mktemp("streams")
    for name in ("in", "out", "secret"):
        (folder / name).mkdir()
    (folder / "secret" / "key").write_bytes(b"secret")
    (folder / "in" / "link").symlink_to("../secret/key")
    (folder / "in" / "records").write_bytes(records_of(100))
    return folder


@pytest.fixture(scope="module")
def server(folder, ports):
    rules = [f"read:{folder}/in", f"write:{folder}/out", "connect:127.0.0.0/8", "memory:remotecl-test"]
    rules += [f"listen:{port}" for port in ports.values()]
    options = [word for rule in rules for word in ("--plugin-allow", rule)]
    with Daemon("--streams", *options) as daemon:
        connection = remotecl.connect(daemon.address)
        yield connection
        connection.close()


@pytest.fixture
def streams(server):
    return Streams(server)


def test_a_failure_is_known_after_finish(server, folder):
    """Although nobody has waited for the event."""
    streams = Streams(server)
    frame = streams.buffer(FRAME)
    for file, fails in (("in/records", False), ("secret/key", True), ("in/none", True)):
        event = streams.start_read(f"file:{folder}/{file}?records=100", frame)
        streams.queue.finish()
        assert (event.command_execution_status < 0) == fails, file


def test_a_server_that_python_starts(folder):
    with remotecl.Server(streams=[f"read:{folder}/in"]) as server, remotecl.connect(server.address) as connection:
        streams = Streams(connection)
        assert streams.read_frame(f"file:{folder}/in/records?records=100")[0] == bytes(100)
        why = streams.fails(f"file:{folder}/secret/key", cl.status_code.INVALID_OPERATION)
        assert "--plugin-allow read:FOLDER" in why


def test_records_of_a_file(streams, folder):
    name = f"file:{folder}/in/records?records=100"
    for number in range(50):
        data, info = streams.read_frame(name)
        assert data == bytes([number]) * 100
        assert info == [number, 0, 0, 100, 0, 0, 0, 0]
    data, info = streams.read_frame(name)
    assert (data, info[0], info[7]) == (b"", 50, END)


def test_each_program_begins_anew(server, folder):
    name = f"file:{folder}/in/records?records=100"
    for _ in range(2):
        assert Streams(server).read_frame(name)[0][0] == 0


def test_a_whole_file_and_a_loop(streams, folder):
    name = f"file:{folder}/in/records?loop=1"
    whole = (folder / "in" / "records").read_bytes()
    for number in range(3):
        data, info = streams.read_frame(name, room=8192)
        assert (data, info[0]) == (whole, number)


def test_a_part_of_a_file_and_its_size(server, folder):
    streams = Streams(server, kernels=("remotecl.read", "remotecl.size"))
    name, size = f"file:{folder}/in/records?offset=250&bytes=100&records=60", streams.buffer(8)
    streams.call("remotecl.size", streams.text(name), size).wait()
    assert streams.read(size, np.uint64)[0] == 100
    assert [streams.read_frame(name)[0] for _ in range(3)] == [b"\2" * 50 + b"\3" * 10, b"\3" * 40, b""]
    call = streams.call("remotecl.size", streams.text(f"dir:{folder}/in"), size)
    with pytest.raises(cl.Error):
        call.wait()
    assert "only file: has" in streams.error()


def test_a_frame_that_does_not_fit_stays(streams, folder):
    name = f"file:{folder}/in/records?records=100"
    why = streams.fails(name, cl.status_code.INVALID_BUFFER_SIZE, room=64)
    assert why == "the frame has 100 bytes, and the buffer 64"
    assert streams.read_frame(name)[0] == bytes(100)


def test_lengths_and_truncated_files(streams, folder):
    frames = [os.urandom(count) for count in (1, 1000, 3)]
    for frame in frames:
        streams.write_frame(f"file:{folder}/out/lengths?lengths=1", frame)
    written = (folder / "out" / "lengths").read_bytes()
    assert written == b"".join(struct.pack("<I", len(frame)) + frame for frame in frames)
    (folder / "in" / "short").write_bytes(written[:-1])
    name = f"file:{folder}/in/short?lengths=1"
    assert [streams.read_frame(name)[0] for _ in range(2)] == frames[:2]
    why = streams.fails(name, cl.status_code.OUT_OF_RESOURCES)
    assert why == f"the file ends within a frame, at byte {len(written) - 1}"


def test_folders(streams, folder):
    for i in range(3):
        streams.write_frame(f"dir:{folder}/out?suffix=raw", bytes([i]) * 5)
    assert sorted(file.name for file in (folder / "out").glob("*.raw")) == [f"0000000{i}.raw" for i in range(3)]
    (folder / "in" / "images").mkdir()
    for i in range(3):
        (folder / "in" / "images" / f"{i}.raw").write_bytes(bytes([i]) * (i + 1))
    found = [streams.read_frame(f"dir:{folder}/in/images")[0] for _ in range(4)]
    assert found == [b"\0", b"\1\1", b"\2\2\2", b""]


def test_a_rate_paces(streams, folder):
    name = f"file:{folder}/in/records?records=100&rate=50"
    streams.read_frame(name)
    start = time.monotonic()
    infos = [streams.read_frame(name)[1] for _ in range(10)]
    assert time.monotonic() - start >= 9 / 50
    assert [info[:3] for info in infos] == [[i, 20_000_000 * i, 0] for i in range(1, 11)]


def test_a_slow_reader_of_newest_drops(streams, folder):
    name = f"file:{folder}/in/records?records=100&rate=100&policy=newest"
    streams.read_frame(name)
    time.sleep(0.1)
    data, info = streams.read_frame(name)
    assert info[0] >= 10
    assert info[2] == info[0] - 1
    assert data == bytes([info[0]]) * 100


@pytest.mark.parametrize(
    ("place", "why"),
    [
        ("secret/key", "does not allow"),
        ("in/link", "does not allow"),
        ("in/../secret/key", "does not allow"),
        ("in/none", "No such file"),
    ],
)
def test_only_what_is_allowed_is_opened(streams, folder, place, why):
    code = cl.status_code.INVALID_OPERATION if "allow" in why else cl.status_code.DEVICE_NOT_AVAILABLE
    assert why in streams.fails(f"file:{folder}/{place}", code)


@pytest.mark.parametrize("name", ["nothing", "http:x", "file:/x?records", "file:/x?nonsense=1", "file:/x?policy=old"])
def test_wrong_names(streams, name):
    assert streams.fails(name, cl.status_code.INVALID_VALUE)


def test_addresses_that_are_not_allowed(streams):
    why = streams.fails("tcp:192.0.2.1:80?records=1", cl.status_code.INVALID_OPERATION)
    assert "--plugin-allow connect:192.0.2.1:80" in why
    assert "--plugin-allow listen:1" in streams.fails("udp:1", cl.status_code.INVALID_OPERATION)
    why = streams.fails("memory:other", cl.status_code.INVALID_OPERATION)
    assert "--plugin-allow memory:other" in why


def test_a_connection(streams):
    frames = [os.urandom(1000 + i) for i in range(5)]
    with socket.create_server(("127.0.0.1", 0)) as listener:

        def serve():
            peer, _ = listener.accept()
            with peer:
                for frame in frames:
                    peer.sendall(struct.pack("<I", len(frame)) + frame)
                peer.sendall(struct.pack("<I", 1000) + b"too few")

        thread = threading.Thread(target=serve)
        thread.start()
        name = f"tcp:127.0.0.1:{listener.getsockname()[1]}?lengths=1"
        assert [streams.read_frame(name)[0] for _ in range(5)] == frames
        assert streams.fails(name, cl.status_code.OUT_OF_RESOURCES) == "the connection ended within a frame"
        thread.join()


def test_waiting_for_a_connection_and_a_length_that_lies(streams, ports):
    name = f"tcp-listen:{ports['tcp']}?lengths=1&wait=20000"
    event = streams.start_read(name, frame := streams.buffer(FRAME), size := streams.buffer(8))
    streams.queue.flush()
    for _ in range(200):
        try:
            peer = socket.create_connection(("127.0.0.1", ports["tcp"]))
            break
        except ConnectionRefusedError:
            time.sleep(0.02)
    with peer:
        peer.sendall(struct.pack("<I", 3) + b"abc" + struct.pack("<I", 0xFFFFFFFF))
        event.wait()
        assert bytes(streams.read(frame, np.uint8))[: streams.read(size, np.uint64)[0]] == b"abc"
        why = streams.fails(name, cl.status_code.OUT_OF_RESOURCES)
    assert why == "a frame of 4294967295 bytes came, and max=16777216"


def test_a_silent_source(streams, ports):
    start = time.monotonic()
    why = streams.fails(f"udp:{ports['silent']}?wait=100", cl.status_code.DEVICE_NOT_AVAILABLE)
    assert why == "no frame came within 100 ms (wait=)"
    assert time.monotonic() - start < 4


def test_datagrams_and_the_newest_of_a_flood(server, ports):
    streams = Streams(server)
    name = f"udp:127.0.0.1:{ports['udp']}?policy=newest&wait=20000"
    event = streams.start_read(name, streams.buffer(FRAME))
    streams.queue.flush()
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as sender:
        while event.command_execution_status > 0:
            sender.sendto(struct.pack("<I", 0), ("127.0.0.1", ports["udp"]))
            time.sleep(0.01)
        for i in range(1, 2001):
            sender.sendto(struct.pack("<I", i), ("127.0.0.1", ports["udp"]))
            if i % 100 == 0:
                time.sleep(0.01)  # the system's own buffer is bounded, too
        time.sleep(0.2)
        data, info = streams.read_frame(name)
    assert struct.unpack("<I", data) == (2000,)
    assert info[2] >= 1000


def test_all_frames_of_a_fast_sender(streams):
    """A slow reader holds the sender up, and memory stays bounded."""
    sent = [0]
    with socket.create_server(("127.0.0.1", 0)) as listener:

        def serve():
            peer, _ = listener.accept()
            peer.settimeout(0.5)
            with peer:
                try:
                    for i in range(1000):
                        peer.sendall(bytes([i % 256]) * (1 << 20))
                        sent[0] = i
                except OSError:
                    pass

        thread = threading.Thread(target=serve)
        thread.start()
        name = f"tcp:127.0.0.1:{listener.getsockname()[1]}?records={1 << 20}&depth=4"
        assert streams.read_frame(name, room=1 << 20)[0][:1] == b"\0"
        thread.join()
    assert sent[0] < 50


def test_sinks_of_sockets(streams):
    with socket.create_server(("127.0.0.1", 0)) as listener:
        streams.write_frame(f"tcp:127.0.0.1:{listener.getsockname()[1]}?lengths=1", b"frame")
        peer, _ = listener.accept()
        with peer:
            assert peer.recv(100) == b"\5\0\0\0frame"
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as receiver:
        receiver.bind(("127.0.0.1", 0))
        streams.write_frame(f"udp:127.0.0.1:{receiver.getsockname()[1]}", b"datagram")
        assert receiver.recv(100) == b"datagram"


class Ring:
    """What docs/streams.md says of shared memory."""

    SLOTS, SIZE = 4, 64

    def __init__(self, path):
        self.file = path.open("w+b")
        self.file.truncate(32 + self.SLOTS * (24 + self.SIZE))
        self.memory = mmap.mmap(self.file.fileno(), 0)
        self.memory[:32] = b"RCLRING1" + struct.pack("<3Q", self.SLOTS, self.SIZE, 0)
        self.count = 0

    def write(self, data):
        at = 32 + self.count % self.SLOTS * (24 + self.SIZE)
        self.memory[at : at + 8] = struct.pack("<Q", 2 * self.count + 1)
        self.memory[at + 8 : at + 24 + len(data)] = struct.pack("<QQ", len(data), 1000 + self.count) + data
        self.memory[at : at + 8] = struct.pack("<Q", 2 * self.count + 2)
        self.count += 1
        self.memory[24:32] = struct.pack("<Q", self.count)


def test_memory_of_another_process(server, tmp_path):
    path = Path("/dev/shm/remotecl-test")
    try:
        ring = Ring(path)
        all_, newest = Streams(server), Streams(server)
        ring.write(b"first")
        assert all_.read_frame("memory:remotecl-test")[0] == b"first"
        newest.read_frame("memory:remotecl-test?policy=newest")
        for i in range(6):
            ring.write(b"frame %d" % i)
        data, info = all_.read_frame("memory:remotecl-test")
        assert (data, info[:3]) == (b"frame 3", [4, 1004, 3])  # four slots, one of which the writer may be in
        data, info = newest.read_frame("memory:remotecl-test?policy=newest")
        assert (data, info[:3]) == (b"frame 5", [6, 1006, 5])
        ring.memory[8:16] = struct.pack("<Q", 1 << 60)
        why = Streams(server).fails("memory:remotecl-test", cl.status_code.OUT_OF_RESOURCES)
        assert why == "the shared memory has no ring of frames"
    finally:
        path.unlink(missing_ok=True)
