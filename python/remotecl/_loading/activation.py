"""Making remotecl visible to whatever OpenCL loader this process uses."""

from __future__ import annotations

import json
import os
import warnings
from collections.abc import Iterable
from pathlib import Path

from ..errors import ActivationError, RemoteCLError
from . import config, vendors

# The result of activate(), which later calls repeat. Once remotecl._core has mapped our library, it is no longer
# possible to find out whether a loader has.
_done = False
_failure: str | None = None

# Daemons must look for drivers where the user said, not where activate() has put remotecl. The variable has a JSON
# object: what activate() has changed, as [the value before, or null; its own]. Processes inherit it with the changes.
_CHANGES = "REMOTECL_ACTIVATED"


def icd_path() -> str:
    """Path of the ICD, libremotecl.so.

    For programs in any language: ``OCL_ICD_FILENAMES=$(remotecl icd-path) program`` with the Khronos loader and CUDA's,
    ``OCL_ICD_VENDORS=$(remotecl icd-path) program`` with ocl-icd.

    Raises:
        RemoteCLError: the library is not where the wheel puts it.

    Example::

        environment = {**os.environ, "OCL_ICD_VENDORS": remotecl.icd_path(), "REMOTECL_SERVERS": "gpu1"}
        subprocess.run(["clinfo"], env=environment)
    """
    if not vendors.ICD_LIBRARY.is_file():
        raise RemoteCLError(
            f"{vendors.ICD_LIBRARY} is missing: remotecl was not built or not installed completely; "
            "install it with pip (pip install .)"
        )
    return str(vendors.ICD_LIBRARY)


def activate() -> None:
    """Makes remotecl visible to the first OpenCL call of this process; existing drivers stay visible.

    `import remotecl` does this. It sets ``OCL_ICD_VENDORS`` in this process's environment to a directory that has
    remotecl and the drivers that the loader would have found. It also adds remotecl to ``OCL_ICD_FILENAMES``, because
    CUDA's loader looks at nothing else. The loader in PyOpenCL's own wheel finds remotecl without that. Calling it
    again has no further effect.

    Short names and groups of the configuration file in ``REMOTECL_SERVERS`` become the servers that they stand for. If
    that names servers, it also sets ``PYOPENCL_CTX=remotecl`` unless you have set that or ``PYOPENCL_TEST``, so that
    ``pyopencl.create_some_context()`` takes a remote device and not the first local one.

    Raises:
        ActivationError: an OpenCL loader in this process has looked for its drivers already, and remotecl was
            not among them. Import remotecl before the first OpenCL call, or register it for the process by
            ``OCL_ICD_VENDORS=$(remotecl icd-path --vendors)``.

    Example::

        import remotecl  # calls activate()
        import pyopencl
        pyopencl.get_platforms()
    """
    global _done, _failure
    if not _done:
        _failure = _activate_once()
        _resolve_servers()
        _prefer_remote_devices()
        # If a build fails for a reason other than its source, such as a lost server, PyOpenCL's cache reads this
        # variable as if it were always set, and its KeyError would hide the error.
        if "PYOPENCL_CACHE_FAILURE_FATAL" not in os.environ:
            _change("PYOPENCL_CACHE_FAILURE_FATAL", "")
        _done = True
    if _failure:
        raise ActivationError(_failure)


def original_environment() -> dict[str, str]:
    """The environment without the changes of activate(), in this process and in those that have started it."""
    environment = dict(os.environ)
    environment.pop(_CHANGES, None)
    for name, (before, ours) in _changes().items():
        if environment.get(name) != ours:
            continue  # changed since
        if before is None:
            del environment[name]
        else:
            environment[name] = before
    return environment


def _changes() -> dict[str, tuple[str | None, str]]:
    try:
        changes: dict[str, tuple[str | None, str]] = json.loads(os.environ.get(_CHANGES, ""))
    except ValueError:  # not set, or cleared by a script
        return {}
    return changes if isinstance(changes, dict) else {}


def _resolve_servers() -> None:
    """Replaces short names and groups in ``REMOTECL_SERVERS`` by what the client library takes."""
    named = os.environ.get("REMOTECL_SERVERS", "")
    try:
        resolved = ",".join(config.resolve_all([named]))
    except RemoteCLError as error:
        warnings.warn(str(error), RuntimeWarning, stacklevel=4)
        return
    if resolved != ",".join(name.strip() for name in named.split(",") if name.strip()):
        _change("REMOTECL_SERVERS", resolved)


def _prefer_remote_devices() -> None:
    """Makes PyOpenCL choose remotecl if servers are named; its own choice is the platform with the most devices."""
    if os.environ.get("REMOTECL_SERVERS") and not {"PYOPENCL_CTX", "PYOPENCL_TEST"} & os.environ.keys():
        _change("PYOPENCL_CTX", "remotecl")


def _activate_once() -> str | None:
    setting = vendors.vendors_setting(os.environ)
    drivers = vendors.drivers_in(setting)
    mapped = _mapped_files()
    if _loader_has_run(mapped, drivers):
        if any(map(vendors.is_remotecl, mapped)) or _registered_inside_pyopencl():
            return None
        return (
            f"remotecl was activated too late: the OpenCL loader of this process has looked for drivers already (in "
            f"{setting}) and remotecl was not among them. Import remotecl before the first OpenCL call"
        )
    if not any(map(vendors.is_remotecl, drivers)):
        _change("OCL_ICD_VENDORS", vendors.directory_with([*drivers, icd_path()]))
    # A loader that looks at both still opens the library only once.
    files = list(filter(None, os.environ.get("OCL_ICD_FILENAMES", "").split(":")))
    if not any(map(vendors.is_remotecl, files)):
        _change("OCL_ICD_FILENAMES", ":".join([*files, icd_path()]))
    return None


def _change(name: str, value: str) -> None:
    changes = _changes()
    before, ours = changes.get(name, (None, None))
    current = os.environ.get(name)
    changes[name] = (before if current == ours else current, value)
    os.environ[name] = value
    os.environ[_CHANGES] = json.dumps(changes)


def _registered_inside_pyopencl() -> bool:
    """Whether the loader in PyOpenCL's wheel finds remotecl itself, whatever other loaders have done."""
    bundled = vendors.bundled_vendors()
    if bundled is None or not (bundled / "remotecl.icd").is_file():
        return False
    # It reads its own directory too, unless OCL_ICD_VENDORS names one library.
    chosen = os.environ.get("OCL_ICD_VENDORS")
    return not chosen or Path(chosen).is_dir()


def _mapped_files() -> set[str]:
    """Every file that is mapped into this process."""
    with Path("/proc/self/maps").open(errors="surrogateescape") as maps:
        fields = (line.rstrip("\n").split(None, 5) for line in maps)
        return {parts[5] for parts in fields if len(parts) == 6 and parts[5].startswith("/")}


def _loader_has_run(mapped: set[str], drivers: Iterable[str]) -> bool:
    """Whether a loader in this process has opened its drivers.

    A loader opens them at the first OpenCL call and keeps them open, so a mapped driver shows it. A loader that found
    none at all looks like one that has not run; `connect` notices that case.
    """
    if not any(Path(file).name.startswith("libOpenCL") for file in mapped):
        return False
    names = {Path(file).name for file in mapped}
    for driver in drivers:
        if Path(driver).name in names or str(Path(driver).resolve()) in mapped:
            return True
        # "libpocl.so.2" in the .icd file is "libpocl.so.2.10.0" in the map.
        if any(name.startswith(Path(driver).name + ".") for name in names):
            return True
    return False
