"""Reading and writing vendor directories; no OpenCL involved."""

import shutil
from pathlib import Path

import pytest

import remotecl
from remotecl import _daemon, _vendors


@pytest.fixture(autouse=True)
def cache(tmp_path, monkeypatch):
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    return tmp_path / "cache"


def write_icd(directory: Path, name: str, driver: str) -> Path:
    directory.mkdir(exist_ok=True)
    file = directory / name
    file.write_text(driver + "\n")
    return file


def test_a_directory_lists_the_first_line_of_every_icd_file(tmp_path):
    vendors = tmp_path / "vendors"
    write_icd(vendors, "b.icd", "libb.so\nnot this")
    write_icd(vendors, "a.icd", "/opt/liba.so")
    write_icd(vendors, "readme.txt", "libnot.so")
    write_icd(vendors, "empty.icd", "")
    assert _vendors.drivers_in(str(vendors)) == ["/opt/liba.so", "libb.so"]


@pytest.mark.parametrize("setting, drivers", [("libpocl.so.2", ["libpocl.so.2"]), ("/does/not/exist", [])])
def test_a_setting_may_name_a_library(setting, drivers):
    assert _vendors.drivers_in(setting) == drivers


def test_a_setting_may_name_an_icd_file(tmp_path):
    assert _vendors.drivers_in(str(write_icd(tmp_path, "one.icd", "libone.so"))) == ["libone.so"]


@pytest.mark.parametrize(
    "environment, setting",
    [
        ({}, "/etc/OpenCL/vendors"),
        ({"OCL_ICD_VENDORS": "", "OPENCL_VENDOR_PATH": ""}, "/etc/OpenCL/vendors"),
        ({"OPENCL_VENDOR_PATH": "/p"}, "/p"),
        ({"OCL_ICD_VENDORS": "/v", "OPENCL_VENDOR_PATH": "/p"}, "/v"),
    ],
)
def test_the_setting_follows_the_loaders_order(environment, setting):
    assert _vendors.vendors_setting(environment) == setting


def test_a_written_directory_reads_back_in_order(cache):
    drivers = ["/b/libz.so", "liba.so", "/a/libz.so"]
    directory = _vendors.directory_with(drivers)
    assert _vendors.drivers_in(directory) == drivers
    assert _vendors.directory_with(drivers) == directory
    assert [entry.name for entry in (cache / "remotecl").iterdir()] == [Path(directory).name]


def test_another_content_gets_another_directory():
    assert _vendors.directory_with(["liba.so"]) != _vendors.directory_with(["libb.so"])


def test_a_damaged_cached_directory_is_not_used():
    directory = Path(_vendors.directory_with(["liba.so"]))
    next(directory.iterdir()).write_text("libevil.so")
    assert _vendors.drivers_in(_vendors.directory_with(["liba.so"])) == ["liba.so"]


def test_a_cache_that_cannot_be_written_is_not_needed(tmp_path, monkeypatch):
    blocked = tmp_path / "file"
    blocked.touch()
    monkeypatch.setenv("XDG_CACHE_HOME", str(blocked))
    assert _vendors.drivers_in(_vendors.directory_with(["liba.so"])) == ["liba.so"]


def test_a_cached_directory_of_another_user_is_not_needed(monkeypatch):
    directory = Path(_vendors.directory_with(["liba.so"]))
    listing = Path.iterdir

    def forbidden(path):  # by hand, as root may read everything
        if path == directory:
            raise PermissionError(13, "Permission denied", str(path))
        return listing(path)

    with monkeypatch.context() as patch:
        patch.setattr(Path, "iterdir", forbidden)
        other = _vendors.directory_with(["liba.so"])
    assert _vendors.drivers_in(other) == ["liba.so"]


def test_a_file_in_the_place_of_a_cached_directory_is_left_alone():
    directory = Path(_vendors.directory_with(["liba.so"]))
    shutil.rmtree(directory)
    directory.touch()
    assert _vendors.drivers_in(_vendors.directory_with(["liba.so"])) == ["liba.so"]
    assert directory.is_file()


@pytest.fixture
def linker(tmp_path):
    """A PATH with an ld, which PoCL's wheel needs."""
    program = tmp_path / "bin" / "ld"
    program.parent.mkdir()
    program.touch(0o755)
    return str(program.parent)


def test_a_daemon_gets_the_wheels_pocl_once_beside_the_drivers_of_the_system(tmp_path, monkeypatch, linker):
    monkeypatch.setattr(_vendors, "wheel_pocl", lambda: "/wheel/libpocl-1.so")
    vendors = tmp_path / "vendors"
    write_icd(vendors, "remotecl.icd", "/anywhere/libremotecl.so")
    write_icd(vendors, "gpu.icd", "libgpu.so")

    given = {"OCL_ICD_VENDORS": str(vendors), "OCL_ICD_FILENAMES": "/a/libfast.so", "KEPT": "1", "PATH": linker}
    added = {**given, "OCL_ICD_FILENAMES": "/a/libfast.so:/wheel/libpocl-1.so"}
    assert _daemon.daemon_environment(given) == added
    assert _daemon.native_drivers(given) == ["libgpu.so", "/a/libfast.so", "/wheel/libpocl-1.so"]
    write_icd(vendors, "pocl.icd", "libpocl.so.2.10.0")
    assert _daemon.daemon_environment(given) == given
    assert _daemon.native_drivers(given) == ["libgpu.so", "libpocl.so.2.10.0", "/a/libfast.so"]


def test_a_server_finds_drivers_that_only_khronos_loader_would(tmp_path):
    """Containers of NVIDIA name theirs so."""
    drivers = _daemon.native_drivers(remotecl._loader.original_environment())
    empty = tmp_path / "vendors"
    empty.mkdir()
    with remotecl.Server(
        "127.0.0.1:0", environment={"OCL_ICD_VENDORS": str(empty), "OCL_ICD_FILENAMES": ":".join(drivers)}
    ) as server:
        assert remotecl.status(server.address)


def test_a_daemon_keeps_a_setting_that_needs_no_change(tmp_path, monkeypatch):
    monkeypatch.setattr(_vendors, "wheel_pocl", lambda: "/wheel/libpocl-1.so")
    vendors = tmp_path / "vendors"
    write_icd(vendors, "pocl.icd", "libpocl.so.2")
    environment = {"OCL_ICD_VENDORS": str(vendors)}
    assert _daemon.daemon_environment(environment) == environment


def test_without_a_linker_the_wheels_pocl_is_left_out(tmp_path, monkeypatch):
    monkeypatch.setattr(_vendors, "wheel_pocl", lambda: "/wheel/libpocl-1.so")
    vendors = tmp_path / "vendors"
    vendors.mkdir()
    environment = {"OCL_ICD_VENDORS": str(vendors), "PATH": str(tmp_path)}
    with pytest.raises(remotecl.RemoteCLError, match="binutils"):
        _daemon.daemon_environment(environment)
    write_icd(vendors, "gpu.icd", "libgpu.so")
    assert _daemon.daemon_environment(environment) == environment
