"""Programs for frameworks that know nothing of remotecl compute on servers what they compute natively."""

import pytest
from places import commands_of, need, run

import remotecl


@pytest.fixture
def servers():
    with remotecl.LocalCluster(servers=2) as cluster:
        yield cluster.addresses


def test_tinygrad_trains_on_one_server_and_on_two(servers, tmp_path):
    need("tinygrad", "tinygrad")
    settings = {"DEV": "CL"}
    native = run("tinygrad_training.py", "1", cache=tmp_path / "native", environment=settings)
    assert len(native) > 2
    assert native[-1] < native[0]
    for count in (1, 2):
        before = [commands_of(address) for address in servers]
        losses = run(
            "tinygrad_training.py", str(count), servers=",".join(servers[:count]), cache=tmp_path / str(count),
            environment=settings,
        )  # fmt: skip
        # On two devices sums are in another order.
        assert losses == pytest.approx(native, rel=1e-6 if count == 1 else 1e-4)
        grown = [commands_of(address) > former for address, former in zip(servers, before, strict=True)]
        assert grown == [True, count == 2]


def test_lightgbm_trains_on_a_server(servers, tmp_path):
    need("lightgbm", "lightgbm")
    native = run("lightgbm_training.py", cache=tmp_path / "native")
    assert native[-1] < 0.8 * native[0]
    losses = run("lightgbm_training.py", servers=servers[0], cache=tmp_path / "remote")
    # Work-items add to histograms in any order.
    assert losses == pytest.approx(native, rel=1e-6)
    assert commands_of(servers[0]) > 10 * len(losses)
    assert commands_of(servers[1]) == 0


def test_opencv_runs_a_network_on_a_server(servers, tmp_path):
    need("cv2", "opencv-python-headless")
    # OpenCV takes GPUs alone if it is not told otherwise, and for networks those of Intel.
    settings = {"OPENCV_OPENCL_DEVICE": ":CPU:", "OPENCV_DNN_OPENCL_ALLOW_ALL_DEVICES": "1"}
    native = run("opencv_inference.py", cache=tmp_path / "native", environment=settings)
    remote = run("opencv_inference.py", servers=servers[0], cache=tmp_path / "remote", environment=settings)
    assert remote["device"] == native["device"]
    assert remote["opencl"] == pytest.approx(native["opencl"], abs=1e-6)
    assert remote["opencl"] == pytest.approx(remote["processor"], abs=1e-5)
    assert commands_of(servers[0]) > 10
    assert commands_of(servers[1]) == 0
