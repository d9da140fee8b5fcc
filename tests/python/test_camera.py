"""A V4L2 camera: the kernel's own test camera, vivid, which `make camera` loads in a virtual machine."""

import itertools
from pathlib import Path

import numpy as np
import pyopencl as cl
import pytest

import remotecl
from daemon import Daemon
from test_ffmpeg import Video

DRIVER = Path("/sys/bus/platform/drivers/vivid")
WIDTH, HEIGHT = 640, 360
SIZE = WIDTH * HEIGHT * 3 // 2
NV12 = 1
SECOND = 1_000_000_000

pytestmark = pytest.mark.camera


@pytest.fixture(scope="module")
def server():
    with Daemon("--streams", "--plugin-allow", "camera:/dev/video0") as daemon:
        connection = remotecl.connect(daemon.address)
        yield connection
        connection.close()


def camera(rest=""):
    return f"camera:/dev/video0?size={WIDTH}x{HEIGHT}&rate=15{rest}"


def test_pictures_of_a_camera(server):
    video = Video(server)
    frames = [video.read_frame(camera(), room=SIZE) for _ in range(4)]
    assert all(len(data) == SIZE and info[3:7] == [SIZE, WIDTH, HEIGHT, NV12] for data, info in frames)
    assert all(later[0] > earlier[0] for (_, earlier), (_, later) in itertools.pairwise(frames))
    assert all(0 < later[1] - earlier[1] < 60 * SECOND for (_, earlier), (_, later) in itertools.pairwise(frames))
    # vivid shows bars of colours with a running counter.
    luma = [np.frombuffer(data, np.uint8)[: WIDTH * HEIGHT] for data, _ in frames]
    assert all(np.ptp(picture) > 150 for picture in luma)
    assert any((luma[0] != picture).any() for picture in luma[1:])


def test_a_camera_that_is_unplugged_fails_its_command_and_comes_back(server):
    video, other = Video(server), Video(server)
    video.read_frame(camera(), room=SIZE)
    (DRIVER / "unbind").write_text("vivid.0")
    try:
        with pytest.raises(cl.Error):
            for _ in range(60):  # those that it has taken before
                video.read_frame(camera(), room=SIZE)
        assert "camera:/dev/video0 is lost" in video.error()
        assert "/dev/video0" in other.fails(camera(), cl.status_code.DEVICE_NOT_AVAILABLE)
    finally:
        (DRIVER / "bind").write_text("vivid.0")
    assert len(video.read_frame(camera(), room=SIZE)[0]) == SIZE
