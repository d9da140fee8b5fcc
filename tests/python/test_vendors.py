"""Reading and writing vendor directories; no OpenCL involved."""

import shutil
from pathlib import Path

import pytest

import remotecl
from remotecl._daemon import launcher
from remotecl._loading import vendors


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
    folder = tmp_path / "vendors"
    write_icd(folder, "b.icd", "libb.so\nnot this")
    write_icd(folder, "a.icd", "/opt/liba.so")
    write_icd(folder, "readme.txt", "libnot.so")
    write_icd(folder, "empty.icd", "")
    assert vendors.drivers_in(str(folder)) == ["/opt/liba.so", "libb.so"]


@pytest.mark.parametrize("setting, drivers", [("libpocl.so.2", ["libpocl.so.2"]), ("/does/not/exist", [])])
def test_a_setting_may_name_a_library(setting, drivers):
    assert vendors.drivers_in(setting) == drivers


def test_a_setting_may_name_an_icd_file(tmp_path):
    assert vendors.drivers_in(str(write_icd(tmp_path, "one.icd", "libone.so"))) == ["libone.so"]


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
    assert vendors.vendors_setting(environment) == setting


def test_a_written_directory_reads_back_in_order(cache):
    drivers = ["/b/libz.so", "liba.so", "/a/libz.so"]
    directory = vendors.directory_with(drivers)
    assert vendors.drivers_in(directory) == drivers
    assert vendors.directory_with(drivers) == directory
    assert [entry.name for entry in (cache / "remotecl").iterdir()] == [Path(directory).name]


def test_another_content_gets_another_directory():
    assert vendors.directory_with(["liba.so"]) != vendors.directory_with(["libb.so"])


def test_a_damaged_cached_directory_is_not_used():
    directory = Path(vendors.directory_with(["liba.so"]))
    next(directory.iterdir()).write_text("libevil.so")
    assert vendors.drivers_in(vendors.directory_with(["liba.so"])) == ["liba.so"]


def test_a_cache_that_cannot_be_written_is_not_needed(tmp_path, monkeypatch):
    blocked = tmp_path / "file"
    blocked.touch()
    monkeypatch.setenv("XDG_CACHE_HOME", str(blocked))
    assert vendors.drivers_in(vendors.directory_with(["liba.so"])) == ["liba.so"]


def test_a_cached_directory_of_another_user_is_not_needed(monkeypatch):
    directory = Path(vendors.directory_with(["liba.so"]))
    listing = Path.iterdir

    def forbidden(path):  # by hand, as root may read everything
        if path == directory:
            raise PermissionError(13, "Permission denied", str(path))
        return listing(path)

    with monkeypatch.context() as patch:
        patch.setattr(Path, "iterdir", forbidden)
        other = vendors.directory_with(["liba.so"])
    assert vendors.drivers_in(other) == ["liba.so"]


def test_a_file_in_the_place_of_a_cached_directory_is_left_alone():
    directory = Path(vendors.directory_with(["liba.so"]))
    shutil.rmtree(directory)
    directory.touch()
    assert vendors.drivers_in(vendors.directory_with(["liba.so"])) == ["liba.so"]
    assert directory.is_file()


@pytest.fixture
def linker(tmp_path):
    """A PATH with an ld, which PoCL's wheel needs."""
    program = tmp_path / "bin" / "ld"
    program.parent.mkdir()
    program.touch(0o755)
    return str(program.parent)


def test_a_daemon_gets_the_wheels_pocl_once_beside_the_drivers_of_the_system(tmp_path, monkeypatch, linker):
    monkeypatch.setattr(vendors, "wheel_pocl", lambda: "/wheel/libpocl-1.so")
    folder = tmp_path / "vendors"
    write_icd(folder, "remotecl.icd", "/anywhere/libremotecl.so")
    write_icd(folder, "gpu.icd", "libgpu.so")

    given = {"OCL_ICD_VENDORS": str(folder), "OCL_ICD_FILENAMES": "/a/libfast.so", "KEPT": "1", "PATH": linker}
    added = {**given, "OCL_ICD_FILENAMES": "/a/libfast.so:/wheel/libpocl-1.so"}
    assert launcher.daemon_environment(given) == added
    assert launcher.native_drivers(given) == ["libgpu.so", "/a/libfast.so", "/wheel/libpocl-1.so"]
    write_icd(folder, "pocl.icd", "libpocl.so.2.10.0")
    assert launcher.daemon_environment(given) == given
    assert launcher.native_drivers(given) == ["libgpu.so", "libpocl.so.2.10.0", "/a/libfast.so"]


def test_a_server_finds_drivers_that_only_khronos_loader_would(tmp_path):
    """Containers of NVIDIA name theirs so."""
    drivers = launcher.native_drivers(remotecl._loading.activation.original_environment())
    empty = tmp_path / "vendors"
    empty.mkdir()
    with remotecl.Server(
        "127.0.0.1:0", environment={"OCL_ICD_VENDORS": str(empty), "OCL_ICD_FILENAMES": ":".join(drivers)}
    ) as server:
        assert remotecl.overview(server.address).status


def test_a_daemon_keeps_a_setting_that_needs_no_change(tmp_path, monkeypatch):
    monkeypatch.setattr(vendors, "wheel_pocl", lambda: "/wheel/libpocl-1.so")
    folder = tmp_path / "vendors"
    write_icd(folder, "pocl.icd", "libpocl.so.2")
    environment = {"OCL_ICD_VENDORS": str(folder)}
    assert launcher.daemon_environment(environment) == environment


def test_without_a_linker_the_wheels_pocl_is_left_out(tmp_path, monkeypatch):
    monkeypatch.setattr(vendors, "wheel_pocl", lambda: "/wheel/libpocl-1.so")
    folder = tmp_path / "vendors"
    folder.mkdir()
    environment = {"OCL_ICD_VENDORS": str(folder), "PATH": str(tmp_path)}
    with pytest.raises(remotecl.RemoteCLError, match="binutils"):
        launcher.daemon_environment(environment)
    write_icd(folder, "gpu.icd", "libgpu.so")
    assert launcher.daemon_environment(environment) == environment
