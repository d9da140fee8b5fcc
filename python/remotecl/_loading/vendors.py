"""OpenCL vendor directories: which drivers a loader would find, and directories with a chosen list of drivers."""

from __future__ import annotations

import atexit
import hashlib
import os
import shutil
import sys
import tempfile
from collections.abc import Iterable, Mapping
from importlib.machinery import PathFinder
from importlib.util import find_spec
from pathlib import Path

from .own_files import make_folders, open_own

SYSTEM_VENDORS = "/etc/OpenCL/vendors"

PACKAGE = Path(__file__).resolve().parent.parent
ICD_LIBRARY = PACKAGE / "lib" / "libremotecl.so"
# For the daemon and other programs of ours, on machines that have no loader.
LOADER = PACKAGE / "lib" / "libOpenCL.so.1"
# The placeholder for PyOpenCL if it is not installed next to us.
PYOPENCL_STUB = PACKAGE.parent / "pyopencl.py"
REGISTRATION_NAME = "libremotecl-icd.so"


def vendors_setting(environment: Mapping[str, str]) -> str:
    """The place where ocl-icd looks for drivers: a directory, an .icd file or a library."""
    return environment.get("OCL_ICD_VENDORS") or environment.get("OPENCL_VENDOR_PATH") or SYSTEM_VENDORS


def drivers_in(setting: str) -> list[str]:
    """The driver libraries that a loader would open for this setting, as written in the .icd files."""
    place = Path(setting)
    if place.is_dir():
        files = sorted(file for file in place.iterdir() if file.name.endswith(".icd"))
        return [driver for driver in map(driver_named_by, files) if driver]
    if setting.endswith(".icd"):
        file = place if "/" in setting else Path(SYSTEM_VENDORS) / setting
        driver = driver_named_by(file)
        return [driver] if driver else []
    # ocl-icd takes any other value for the name of a library; a missing directory must not become one.
    return [setting] if place.is_file() or "/" not in setting else []


def driver_named_by(file: Path) -> str | None:
    """The library that an .icd file names; nothing if it is empty or cannot be read."""
    try:
        lines = file.read_text(errors="surrogateescape").splitlines()
    except OSError:
        return None
    return lines[0].strip() if lines else None


def is_remotecl(driver: str) -> bool:
    """Whether a driver is remotecl itself, under either of its names."""
    return Path(driver).name in (ICD_LIBRARY.name, REGISTRATION_NAME)


def is_pocl(driver: str) -> bool:
    """Whether a driver is PoCL, from the system or from a wheel."""
    return Path(driver).name.startswith("libpocl")


def bundled_vendors() -> Path | None:
    """The directory inside PyOpenCL's own wheel that its bundled loader reads in addition to the vendors directory."""
    package = pyopencl_package()
    if package is None or not any((package / ".libs").glob("libOpenCL*")):
        return None
    return package / ".libs"


def pyopencl_package() -> Path | None:
    """The folder of the installed PyOpenCL, found without importing it; None if it is not installed."""
    spec = find_spec("pyopencl")
    if spec is not None and spec.origin and Path(spec.origin).resolve() == PYOPENCL_STUB:
        elsewhere = [entry for entry in sys.path if Path(entry).resolve() != PYOPENCL_STUB.parent]
        spec = PathFinder.find_spec("pyopencl", elsewhere)
    if spec is None or spec.origin is None:
        return None
    return Path(spec.origin).resolve().parent


def wheel_pocl() -> str | None:
    """Absolute path of the driver in PoCL's wheel, or None if that is not installed."""
    vendors = bundled_vendors()
    for driver in drivers_in(str(vendors)) if vendors else []:
        if is_pocl(driver):
            return str(vendors / driver) if vendors and "/" not in driver else driver
    return None


def directory_with(drivers: Iterable[str]) -> str:
    """A vendors directory with exactly these drivers.

    It is named after its content and kept in the user's cache, because a program that is started now may read it after
    this process has ended. If the cache cannot be used, it is temporary.
    """
    wanted = list(drivers)
    digest = hashlib.sha256("\n".join(wanted).encode(errors="surrogateescape")).hexdigest()[:16]
    cache = Path(os.environ.get("XDG_CACHE_HOME") or Path("~/.cache").expanduser()) / "remotecl"
    directory = cache / f"vendors-{digest}"
    if _holds(directory, wanted):
        return str(directory)
    try:
        make_folders(cache)
        filled = _filled_directory(wanted, str(cache))
    except OSError:
        return _until_exit(_filled_directory(wanted, None))
    if _is_renamed(filled, directory):
        return str(directory)
    # There is one already: another process was first, or it is damaged, or it is another user's.
    if _holds(directory, wanted):
        shutil.rmtree(filled, ignore_errors=True)
        return str(directory)
    shutil.rmtree(directory, ignore_errors=True)
    return str(directory) if _is_renamed(filled, directory) else _until_exit(filled)


def _holds(directory: Path, drivers: list[str]) -> bool:
    try:
        return directory.is_dir() and drivers_in(str(directory)) == drivers
    except OSError:  # with another user's HOME, as after `sudo -E`
        return False


def _is_renamed(source: str, target: Path) -> bool:
    try:
        Path(source).rename(target)
    except OSError:
        return False
    return True


def _until_exit(directory: str) -> str:
    atexit.register(shutil.rmtree, directory, ignore_errors=True)
    return directory


def _filled_directory(drivers: list[str], parent: str | None) -> str:
    directory = tempfile.mkdtemp(prefix="remotecl-vendors-", dir=parent)
    for number, driver in enumerate(drivers):
        # The number keeps two libraries of the same name apart, and their order for loaders that sort. Our own file
        # has the name by which the registration inside PyOpenCL notices it (python/icd/registration.c).
        name = "remotecl" if is_remotecl(driver) else f"{number:03}-{Path(driver).name}"
        file = Path(directory) / f"{name}.icd"
        with open_own(file, os.O_EXCL, 0o644) as stream:
            stream.write(driver + "\n")
    return directory
