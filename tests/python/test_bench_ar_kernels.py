"""The point cloud of `benchmarks.ar`: its pictures, its video, and its kernels against NumPy."""

import shutil
import struct

import numpy as np
import pyopencl as cl
import pytest

import remotecl
from benchmarks.ar import cloud, reference, stages, video, viewer
from benchmarks.ar.stages import Draw, Reconstruct, Shape, Sort

PATCH, PIXELS, FRAMES = 32, 64, 6
SHAPE = Shape(PATCH, PIXELS)
needs_ffmpeg = pytest.mark.skipif(shutil.which("ffmpeg") is None, reason="the command ffmpeg is missing")


@pytest.fixture(scope="module")
def figure():
    return cloud.Figure(FRAMES, seed=1)


def test_pictures_follow_from_their_seed(figure):
    picture = figure.picture(2, PATCH)
    assert picture.nbytes == cloud.picture_bytes(PATCH)
    assert (picture == cloud.Figure(FRAMES, seed=1).picture(2, PATCH)).all()
    assert (picture != cloud.Figure(FRAMES, seed=2).picture(2, PATCH)).any()
    assert (picture == figure.picture(2 + FRAMES, PATCH)).all(), "a loop has no seam"
    assert (picture != figure.picture(3, PATCH)).any()


def test_points_are_on_the_figure(figure):
    """Seen from six sides, and each point from one of them."""
    points = cloud.points_of(figure.picture(0, PATCH), PATCH)
    assert 0.05 * SHAPE.capacity < len(points.positions) < 0.3 * SHAPE.capacity
    assert (points.positions.min(0) < [-0.3, -0.85, -0.25]).all()
    assert (points.positions.max(0) > [0.3, 0.8, 0.25]).all()
    assert len(np.unique(points.positions, axis=0)) == len(points.positions)
    assert len(np.unique(points.colours // 32, axis=0)) > 10


@needs_ffmpeg
@pytest.mark.parametrize("codec", video.CODECS)
def test_the_video_keeps_the_points(figure, tmp_path, codec):
    pictures = [figure.picture(frame, PATCH) for frame in range(FRAMES)]
    try:
        file, packets = video.encode(pictures, cloud.picture_size(PATCH), codec, tmp_path, 1_000_000)
    except remotecl.RemoteCLError as error:
        pytest.skip(str(error))
    data, count = packets.read_bytes(), 0
    while data:
        (length,) = struct.unpack_from("<I", data)
        assert data[4:8] == b"\0\0\0\1"
        data, count = data[4 + length :], count + 1
    assert count == FRAMES
    decoder = video.Decoder(file, cloud.picture_bytes(PATCH))
    try:
        for frame in range(2 * FRAMES + 1):
            found = np.frombuffer(decoder.picture(), np.uint8).reshape(pictures[0].shape)
            wanted, got = (cloud.points_of(one, PATCH) for one in (pictures[frame % FRAMES], found))
            assert len(got.positions) == pytest.approx(len(wanted.positions), rel=0.05)
            if len(got.positions) == len(wanted.positions):
                assert np.abs(got.positions - wanted.positions).mean() < 0.01
                assert np.abs(got.colours.astype(int) - wanted.colours).mean() < 8
        assert decoder.processor_s > 0
        decoder._process.kill()
        with pytest.raises(remotecl.RemoteCLError, match="ffmpeg has ended"):
            for _ in range(100):  # what the pipe still has comes first
                decoder.picture()
    finally:
        decoder.close()


def test_without_ffmpeg_the_message_says_so(monkeypatch):
    monkeypatch.setenv("PATH", "/nowhere")
    with pytest.raises(remotecl.RemoteCLError, match="apt-get install ffmpeg"):
        video.ffmpeg_path()


class Kernels:
    """All stages on one device, in one in-order queue."""

    def __init__(self, device):
        self.context = cl.Context([device])
        self.queue = cl.CommandQueue(self.context, device)
        sizes = (
            cloud.picture_bytes(PATCH),
            SHAPE.points_bytes,
            8,
            SHAPE.pose_bytes,
            SHAPE.order_bytes,
            SHAPE.image_bytes,
        )
        self.buffers = [cl.Buffer(self.context, cl.mem_flags.READ_WRITE, size) for size in sizes]
        self.picture, self.points, self.content, self.pose, self.order, self.packed = self.buffers
        of = (self.context, device, SHAPE)
        self.reconstruct = Reconstruct(*of).prepare(self.picture, self.points, self.content)
        self.sort = Sort(*of).prepare(self.points, self.content, self.pose, self.order)
        self.draw = Draw(*of).prepare(self.points, self.order, self.pose, self.packed)

    def write(self, buffer, array):
        cl.enqueue_copy(self.queue, buffer, np.ascontiguousarray(array))

    def read(self, buffer, count, dtype):
        array = np.empty(count, dtype)
        cl.enqueue_copy(self.queue, array, buffer)
        return array

    def set_points(self, positions):
        points = np.zeros((len(positions), 4), np.float32)
        points[:, :3] = positions
        if len(points):
            self.write(self.points, points)
        self.write(self.content, np.array([points.nbytes], np.uint64))

    def sorted(self, pose):
        self.write(self.pose, pose)
        stages.enqueue(self.queue, self.sort)
        count = self.read(self.order, 1, np.uint32)[0]
        return self.read(self.order, 1 + count, np.uint32)[1:]


@pytest.fixture(scope="module")
def kernels(connection):
    return Kernels(connection.devices[0])


def test_points_and_their_image_are_those_of_numpy(kernels, figure):
    for frame in range(2):
        picture = figure.picture(frame, PATCH)
        expected, pose = cloud.points_of(picture, PATCH), viewer.pose(40 * frame)
        kernels.write(kernels.picture, picture)
        stages.enqueue(kernels.queue, kernels.reconstruct)
        content = int(kernels.read(kernels.content, 1, np.uint64)[0])
        assert content == stages.POINT_BYTES * len(expected.positions)
        found = kernels.read(kernels.points, content // 4, np.float32).reshape(-1, 4)
        assert found[:, :3] == pytest.approx(expected.positions, abs=1e-6)
        colours = found[:, 3].copy().view(np.uint8).reshape(-1, 4)[:, :3]
        assert np.abs(colours.astype(int) - expected.colours).max() <= 1
        assert kernels.sorted(pose).tolist() == reference.order_of(expected, pose).tolist()
        stages.enqueue(kernels.queue, kernels.draw)
        image = reference.unpacked(kernels.read(kernels.packed, PIXELS * PIXELS, np.uint16).reshape(PIXELS, PIXELS))
        drawn = reference.draw(expected, pose, PIXELS)
        assert len(np.unique(drawn.reshape(-1, 3), axis=0)) > 50
        assert reference.different_part(image, drawn) < 0.01


@pytest.mark.parametrize("count", [0, 1, 2, 31, 1000, SHAPE.capacity])
def test_any_points_are_sorted(kernels, count):
    """Those of one distance in their own order, as many of them as there are."""
    random = np.random.default_rng(count)
    positions = random.integers(-3, 4, (count, 3)).astype(np.float32) / 4
    positions[: count // 2] = random.uniform(-1, 1, (count // 2, 3))
    kernels.set_points(positions)
    pose = viewer.pose(count)
    expected = reference.order_of(cloud.Points(positions, None), pose)
    assert kernels.sorted(pose).tolist() == expected.tolist()


def test_what_is_behind_the_viewer_is_not_drawn(kernels):
    pose = viewer.pose(0)
    kernels.set_points(np.concatenate([[2 * pose[:3]], [pose[:3]], [[0.0, 0.0, 0.0]]]))
    kernels.sorted(pose)
    stages.enqueue(kernels.queue, kernels.draw)
    image = kernels.read(kernels.packed, PIXELS * PIXELS, np.uint16).reshape(PIXELS, PIXELS)
    rows, columns = np.nonzero(image != image[0, 0])
    assert 1 <= len(rows) <= 9
    assert np.abs(np.stack([rows, columns]) - PIXELS / 2).max() < 3


def test_a_viewer_sees_the_origin_in_the_middle():
    for frame in (0, 17, 60):
        x, y, _, w = viewer.pose(frame)[4:].reshape(4, 4) @ [0, 0, 0, 1]
        assert (abs(x / w), abs(y / w)) < (1e-6, 1e-6)
        assert w > 0
