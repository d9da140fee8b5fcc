"""The device "remotecl FFmpeg", where FFmpeg's libraries are: what it encodes, it decodes and reads.

``REMOTECL_TEST_FFMPEG=FOLDER`` names a folder that has them, if the system has none.
"""

import os
import socket
import subprocess
import threading
import time

import numpy as np
import pyopencl as cl
import pytest

import remotecl
from daemon import Daemon
from streams import END, Streams, free_port

WIDTH, HEIGHT, COUNT = 160, 120, 20
SIZE = WIDTH * HEIGHT * 3 // 2
KEY = 2


class Video(Streams):
    """A program on the device of FFmpeg."""

    def __init__(self, connection, context=None):
        kernels = ("remotecl.read", "remotecl.decode", "remotecl.encode")
        super().__init__(connection, "remotecl FFmpeg", kernels, context)

    def convert(self, kernel, codec, data, room):
        """The bytes that come of the data, and what is said of them."""
        bytes_in = self.buffer(0, np.frombuffer(data or b"\0", np.uint8))
        size_in = self.buffer(0, np.array([len(data)], np.uint64))
        to, size, info = self.buffer(room), self.buffer(8), self.buffer(64)
        self.call(kernel, self.text(codec), bytes_in, size_in, to, size, info).wait()
        count = int(self.read(size, np.uint64)[0])
        return bytes(self.read(to, np.uint8)[:count]), self.read(info, np.uint64).tolist()

    def encode(self, codec, picture):
        return self.convert("remotecl.encode", codec, picture, 1 << 20)

    def decode(self, codec, packet, room=SIZE):
        return self.convert("remotecl.decode", codec, packet, room)


def picture(number):
    """NV12: a bar that moves over a gradient."""
    luma = np.tile(np.linspace(32, 200, WIDTH).astype(np.uint8), (HEIGHT, 1))
    luma[:, 4 * number : 4 * number + 16] = 235
    return luma.tobytes() + b"\x80" * (SIZE - WIDTH * HEIGHT)


def is_like(found, number):
    """Whether a decoded picture's luma is that of the number, as far as codecs keep it."""
    wanted = np.frombuffer(picture(number), np.uint8)[: WIDTH * HEIGHT].astype(int)
    got = np.frombuffer(found, np.uint8)[: WIDTH * HEIGHT].astype(int)
    return np.abs(wanted - got).mean() < 6


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    return tmp_path_factory.mktemp("video")


@pytest.fixture(scope="module")
def port():
    return free_port(socket.SOCK_DGRAM)


@pytest.fixture(scope="module")
def server(folder, port):
    rules = [
        f"read:{folder}",
        "connect:127.0.0.1",
        f"listen:{port}",
        "camera:/dev/video-none",
        "url:rtsp://127.0.0.1:1/",
    ]
    options = [word for rule in rules for word in ("--plugin-allow", rule)]
    libraries = os.environ.get("REMOTECL_TEST_FFMPEG")
    with Daemon("--streams", *options, environment={"LD_LIBRARY_PATH": libraries} if libraries else {}) as daemon:
        connection = remotecl.connect(daemon.address)
        video = Video(connection)
        try:
            video.decode("mjpeg", b"\0")
        except cl.Error:
            if "lacks FFmpeg's libraries" in video.error():
                pytest.skip("no FFmpeg libraries (REMOTECL_TEST_FFMPEG)")
        yield connection
        connection.close()


@pytest.fixture
def video(server):
    return Video(server)


@pytest.fixture(scope="module")
def clip(server, folder):
    """An H.264 stream of COUNT pictures, as raw access units and as their file."""
    encoder = Video(server)
    packets = [encoder.encode(f"h264?size={WIDTH}x{HEIGHT}&gop=10", picture(i)) for i in range(COUNT)]
    assert all(data for data, _ in packets), "a packet for each picture"
    assert [info[7] for _, info in packets] == [KEY if i % 10 == 0 else 0 for i in range(COUNT)]
    (folder / "clip.h264").write_bytes(b"".join(data for data, _ in packets))
    return [data for data, _ in packets]


@pytest.mark.parametrize("codec", ["h264", "hevc", "vp9", "mjpeg"])
def test_what_is_encoded_is_decoded(server, codec):
    encoder, decoder = Video(server), Video(server)
    found, sent = [], 0
    for i in range(COUNT):
        packet, _ = encoder.encode(f"{codec}?size={WIDTH}x{HEIGHT}&bitrate=4000000", picture(i))
        if packet:
            sent += 1
            frame, info = decoder.decode(codec, packet)
            if frame:
                found.append(frame)
                assert info[3:7] == [SIZE, WIDTH, HEIGHT, 1]
    while sent < COUNT and (packet := encoder.encode(f"{codec}?size={WIDTH}x{HEIGHT}&bitrate=4000000", b"")[0]):
        sent += 1
        frame, _ = decoder.decode(codec, packet)
        found += [frame] if frame else []
    while len(found) < COUNT and (frame := decoder.decode(codec, b"")[0]):
        found.append(frame)
    assert len(found) == COUNT
    assert all(is_like(frame, i) for i, frame in enumerate(found))


def test_rgba(video, clip):
    frame, info = video.decode("h264?format=rgba", clip[0], room=4 * WIDTH * HEIGHT)
    assert info[3:7] == [4 * WIDTH * HEIGHT, WIDTH, HEIGHT, 2]
    pixels = np.frombuffer(frame, np.uint8).reshape(HEIGHT, WIDTH, 4)
    assert (pixels[:, :, 3] == 255).all()
    assert pixels[:, 2:14, :3].mean() > pixels[:, 30:60, :3].mean() + 50


def test_a_video_file(video, clip, folder):
    name = f"file:{folder}/clip.h264"
    for number in range(COUNT):
        frame, info = video.read_frame(name, room=SIZE)
        assert is_like(frame, number)
        assert (info[0], info[3:7]) == (number, [SIZE, WIDTH, HEIGHT, 1])
    frame, info = video.read_frame(name, room=SIZE)
    assert (frame, info[0], info[7]) == (b"", COUNT, END)


def test_a_loop(video, clip, folder):
    for number in range(2 * COUNT + 3):
        frame, info = video.read_frame(f"file:{folder}/clip.h264?loop=1", room=SIZE)
        assert info[0] == number
        assert is_like(frame, number % COUNT)


def test_a_buffer_that_is_too_small(video, clip, folder):
    why = video.fails(f"file:{folder}/clip.h264", cl.status_code.INVALID_BUFFER_SIZE, room=100)
    assert why == f"the frame has {SIZE} bytes, and the buffer 100"
    assert is_like(video.read_frame(f"file:{folder}/clip.h264", room=SIZE)[0], 0)


def test_paced_video_drops_what_is_over(video, clip, folder):
    name = f"file:{folder}/clip.h264?paced=1&policy=newest"
    video.read_frame(name, room=SIZE)
    time.sleep(0.3)
    frame, info = video.read_frame(name, room=SIZE)
    assert info[2] >= 4
    assert is_like(frame, info[0])


def test_truncated_video(video, clip, folder):
    whole = b"".join(clip)
    (folder / "short.h264").write_bytes(whole[: len(whole) // 2])
    name, seen = f"file:{folder}/short.h264", 0
    for _ in range(COUNT):
        try:
            frame, info = video.read_frame(name, room=SIZE)
        except cl.Error:
            assert "decoding" in video.error()
            continue
        if info[7] == END:
            break
        assert frame
        seen += 1
    assert 1 <= seen < COUNT


def test_corrupted_packets_fail_by_themselves(video, clip):
    """The decoder goes on with the next key frame, and no process is lost."""
    broken = bytearray(clip[1])
    broken[8:] = os.urandom(len(broken) - 8)
    failed = 0
    for _ in range(20):
        assert is_like(video.decode("h264", clip[0])[0], 0)
        broken[8:] = os.urandom(len(broken) - 8)
        try:
            video.decode("h264", bytes(broken))
        except cl.Error:
            failed += 1
            assert video.error().startswith("decoding: ")
    assert failed > 10
    assert is_like(video.decode("h264", clip[0])[0], 0)


def test_what_is_no_video(video, folder):
    (folder / "noise").write_bytes(os.urandom(100_000))
    assert video.fails(f"file:{folder}/noise", cl.status_code.OUT_OF_RESOURCES)
    # A playlist must not make the decoder open what it names.
    (folder / "list.m3u8").write_text(f"#EXTM3U\n#EXTINF:1,\nfile://{folder}/clip.h264\n#EXT-X-ENDLIST\n")
    assert video.fails(f"file:{folder}/list.m3u8", cl.status_code.OUT_OF_RESOURCES)


def test_a_stream_over_a_connection(video, clip):
    with socket.create_server(("127.0.0.1", 0)) as listener:

        def serve():
            peer, _ = listener.accept()
            with peer:
                for packet in clip:
                    peer.sendall(packet)

        thread = threading.Thread(target=serve)
        thread.start()
        name = f"tcp:127.0.0.1:{listener.getsockname()[1]}"
        found = [video.read_frame(name, room=SIZE)[0] for _ in range(COUNT)]
        thread.join()
    assert all(is_like(frame, i) for i, frame in enumerate(found))
    assert video.read_frame(name, room=SIZE)[1][7] == END


def test_a_live_stream_goes_on_after_a_damaged_picture(video, clip):
    """The pictures up to the next key frame may be lost, but not the connection."""
    damage = np.random.default_rng(1)
    packets = [one[:8] + damage.bytes(len(one) - 8) if 2 <= i < 8 else one for i, one in enumerate(clip)]
    with socket.create_server(("127.0.0.1", 0)) as listener:

        def serve():
            peer, _ = listener.accept()
            with peer:
                peer.sendall(b"".join(packets))

        thread = threading.Thread(target=serve)
        thread.start()
        name, found = f"tcp:127.0.0.1:{listener.getsockname()[1]}", []
        while (read := video.read_frame(name, room=SIZE))[1][7] != END:
            found.append(read[0])
        thread.join()
    assert 12 <= len(found) < COUNT
    assert all(is_like(frame, number) for frame, number in zip(found[-10:], range(10, COUNT), strict=True))


@pytest.mark.parametrize(
    ("name", "code", "why"),
    [
        ("camera:/dev/video-none", cl.status_code.DEVICE_NOT_AVAILABLE, "No such file or directory"),
        ("camera:/dev/video9", cl.status_code.INVALID_OPERATION, "--plugin-allow camera:/dev/video9"),
        ("rtsp://127.0.0.1:1/live", cl.status_code.DEVICE_NOT_AVAILABLE, "Connection refused"),
        ("rtsp://127.0.0.1:2/live", cl.status_code.INVALID_OPERATION, "--plugin-allow url:rtsp://127.0.0.1:2/live"),
        ("concat:/etc/passwd", cl.status_code.INVALID_VALUE, "is no source of video"),
        ("file:/etc/passwd", cl.status_code.INVALID_OPERATION, "--plugin-allow read:FOLDER"),
    ],
)
def test_what_is_not_there_or_not_allowed(video, name, code, why):
    assert why in video.fails(name, code)


@pytest.mark.parametrize("codec", ["h265", "h264?format=bgr", "h264?preset=slow"])
def test_wrong_codecs(video, codec):
    with pytest.raises(cl.Error):
        video.decode(codec, b"x")
    assert video.error()


def test_a_camera_that_goes_away(video, clip):
    """What a lost connection is to a stream, an unplugged camera is to its own: an error of that command.

    With a real one, ``make camera`` shows it.
    """
    with socket.create_server(("127.0.0.1", 0)) as listener:

        def serve():
            peer, _ = listener.accept()
            with peer:
                peer.sendall(b"".join(clip[:15]))
                peer.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, b"\1\0\0\0\0\0\0\0")  # a reset
                time.sleep(0.3)

        thread = threading.Thread(target=serve)
        thread.start()
        name = f"tcp:127.0.0.1:{listener.getsockname()[1]}"
        seen = 0
        with pytest.raises(cl.Error):
            for _ in range(COUNT):
                assert video.read_frame(name, room=SIZE)[1][7] != END
                seen += 1
        thread.join()
        assert seen >= 1
        assert f"{name} is lost: Connection reset" in video.error()
        # The next call connects again.
        thread = threading.Thread(target=serve)
        thread.start()
        assert len(video.read_frame(name, room=SIZE)[0]) == SIZE
        thread.join()


def test_a_decoded_frame_goes_to_a_compiling_device(server, clip, folder):
    """The client sees only what a kernel beside the decoder has made of it."""
    compiling = server.devices[0]
    decoding = next(
        one
        for one in remotecl.overview().devices
        if one.name == "remotecl FFmpeg" and remotecl.server_of(one) in server.servers
    )
    video = Video(server, cl.Context([decoding, compiling]))
    queue = cl.CommandQueue(video.context, compiling)
    program = cl.Program(
        video.context,
        "kernel void darkest(global const uchar* frame, global uint* least, uint count) {"
        " uint value = 255; for (uint i = 0; i < count; ++i) value = min(value, (uint)frame[i]); *least = value; }",
    ).build(devices=[compiling])
    darkest = cl.Kernel(program, "darkest")
    frame, size, info, least = video.buffer(1 << 20), video.buffer(8), video.buffer(64), video.buffer(4)
    remotecl.set_content_size(frame, size)
    for _ in range(COUNT):
        event = video.start_read(f"file:{folder}/clip.h264", frame, size, info)
        darkest.set_args(frame, least, np.uint32(WIDTH * HEIGHT))
        done = cl.enqueue_nd_range_kernel(queue, darkest, (1,), None, wait_for=[event])
        found = np.zeros(1, np.uint32)
        cl.enqueue_copy(queue, found, least, wait_for=[done])
        assert 20 <= found[0] <= 70


def test_without_the_libraries_the_device_says_so(server, folder):
    """On a machine that has none; a chroot of the test would be no wheel's."""
    if os.environ.get("REMOTECL_TEST_FFMPEG") is None:
        pytest.skip("the system's own libraries are always found")
    if b"libavcodec.so" in subprocess.run(["/sbin/ldconfig", "-p"], capture_output=True, check=True).stdout:
        pytest.skip("the system's own libraries are always found")
    with Daemon("--streams", "--plugin-allow", f"read:{folder}") as daemon:
        connection = remotecl.connect(daemon.address)
        why = Video(connection).fails(f"file:{folder}/clip.h264", cl.status_code.DEVICE_NOT_AVAILABLE)
        connection.close()
    assert "lacks FFmpeg's libraries" in why
    assert "apt install ffmpeg" in why
