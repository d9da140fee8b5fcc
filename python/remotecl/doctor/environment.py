"""Checks of environment variables, limits, the configuration, and versions of Python packages."""

from __future__ import annotations

import difflib
import importlib.metadata
import multiprocessing
import os
import platform
import resource
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path

import remotecl

from .._connect.connection import configured_servers, named_servers
from .._daemon import launcher
from .._loading import config, settings, vendors
from ..errors import RemoteCLError
from .finding import Finding
from .variables import VARIABLES

PREFIX = "REMOTECL_"
FILES_WANTED = 256  # a server costs a client about 6, a client costs a server more
BESIDE_PYOPENCL = {
    "numpy": "PyOpenCL needs it: pip install numpy",
    "Mako": "pyopencl.array's scans, sorts and reductions need it: pip install Mako",
}


def variables(environment: Mapping[str, str]) -> Iterator[Finding]:
    """Variables that loaders, PyOpenCL and remotecl read. Unknown REMOTECL_... names are pointed out."""
    for name, value in sorted(environment.items()):
        if name.startswith(PREFIX) and not name.startswith("REMOTECL_TEST_"):
            yield _own_variable(name, value)
    for name in ("OCL_ICD_VENDORS", "OPENCL_VENDOR_PATH"):
        if environment.get(name):
            yield _vendors_variable(name, environment[name])
    if files := environment.get("OCL_ICD_FILENAMES"):
        yield _filenames_variable(files)
    if choice := environment.get("PYOPENCL_CTX"):
        yield _pyopencl_choice(choice)


class Configuration:
    """The configuration file, and the servers that names stand for; if it is wrong, names stand for themselves."""

    def __init__(self, servers: Sequence[str]) -> None:
        self._error = ""
        self._config: config.Config | None = None
        try:
            self._config = config.load()
            self.servers = named_servers(servers) or configured_servers()
        except RemoteCLError as error:
            self._error = str(error)
            self.servers = [name for name in servers if not name.startswith("@")]

    def findings(self) -> Iterator[Finding]:
        """The findings about the file; none if there is no file."""
        name = "configuration"
        if self._error:
            yield Finding(name, "problem", self._error, "correct it; docs/configuration.md has all keys")
        elif self._config is not None and self._config.file.is_file():
            known = [*self._config.servers, *(f"@{group}" for group in self._config.groups)]
            yield Finding(name, "ok", f"{self._config.file}: {', '.join(known) or 'no servers'}")


def _own_variable(name: str, value: str) -> Finding:
    check = f"variable {name}"
    variable = VARIABLES.get(name)
    if variable is None:
        known = [other.removeprefix(PREFIX) for other in VARIABLES]
        close = difflib.get_close_matches(name.removeprefix(PREFIX), known, n=1, cutoff=0.7)
        remedy = f"did you mean {PREFIX}{close[0]}?" if close else f"remotecl looks at {', '.join(VARIABLES)}"
        return Finding(check, "problem", "remotecl does not know this variable; it has no effect", remedy)
    if not value:
        return Finding(check, "note", "it is empty, which is as if it were not set", "unset it")
    if not variable.accepts(value):
        return Finding(check, "problem", f'"{value}" is not a value of it', f"set it to {variable.values}, or unset it")
    if name == "REMOTECL_DISABLE" and settings.on_or_off({name: value}, name):
        remedy = "unset it, unless that is what you want"
        return Finding(check, "note", "it is on, so programs see no remotecl", remedy)
    return Finding(check, "ok", f'"{value}": {variable.meaning}')


def _vendors_variable(name: str, value: str) -> Finding:
    check = f"variable {name}"
    remedy = "correct it or unset it: with it, no other driver is found"
    if ("/" in value or value.endswith(".icd")) and not (Path(value).exists() or not Path(value).is_absolute()):
        return Finding(check, "problem", f"{value} does not exist", remedy)
    drivers = vendors.drivers_in(value)
    if not drivers:
        return Finding(check, "note", f"{value} names no driver", remedy)
    return Finding(check, "ok", f"{value}, which names {', '.join(drivers)}")


def _filenames_variable(value: str) -> Finding:
    check = "variable OCL_ICD_FILENAMES"
    missing = [file for file in value.split(":") if "/" in file and not Path(file).is_file()]
    if missing:
        return Finding(check, "problem", f"{', '.join(missing)} does not exist", "correct it or unset it")
    remedy = "ocl-icd (Debian's loader, and that of PyOpenCL's wheel) may ignore it; OCL_ICD_VENDORS works for both"
    return Finding(check, "note", f"{value}; Khronos' loader looks at it", remedy)


def _pyopencl_choice(choice: str) -> Finding:
    check = "variable PYOPENCL_CTX"
    first = choice.split(":")[0]
    if first.strip().isdigit():
        remedy = "a name stays right when platforms come and go: PYOPENCL_CTX=remotecl"
        text = f'"{choice}": create_some_context() takes platform number {first.strip()}'
        return Finding(check, "note", text, remedy)
    return Finding(check, "ok", f'"{choice}": create_some_context() takes the platform with this in its name')


def limits() -> Iterator[Finding]:
    """Limits of this process that affect connections, threads and forks."""
    files, _ = resource.getrlimit(resource.RLIMIT_NOFILE)
    if files != resource.RLIM_INFINITY and files < FILES_WANTED:
        text = f"{files} files may be open; a client needs about 6 for each server, a server more for each client"
        yield Finding("limits", "note", text, "ulimit -n 4096, or LimitNOFILE= in the unit of a service")
    processes, _ = resource.getrlimit(resource.RLIMIT_NPROC)
    if processes != resource.RLIM_INFINITY and processes < FILES_WANTED:
        text = f"{processes} processes and threads are allowed; servers start several threads for each client"
        yield Finding("limits", "note", text, "ulimit -u 4096, or TasksMax= in the unit of a service")
    memory, _ = resource.getrlimit(resource.RLIMIT_MEMLOCK)
    locked = f"locked memory {_limit(memory)} (for RDMA only)"
    text = f"open files {_limit(files)}, processes {_limit(processes)}, {locked}"
    yield Finding("limits", "ok", text)
    # Uses a context of its own, because get_start_method() would fix the method for this process.
    method = multiprocessing.get_context().get_start_method()
    if method == "fork":
        text = 'multiprocessing forks here; connections stay with the parent: use multiprocessing.get_context("spawn")'
    else:
        text = f"multiprocessing starts children by {method}"
    yield Finding("fork", "ok", text)


def _limit(value: int) -> str:
    return "unlimited" if value == resource.RLIM_INFINITY else str(value)


def packages() -> Iterator[Finding]:
    """Versions, and what is missing for PyOpenCL."""
    yield Finding("package python", "ok", f"{platform.python_version()} on {platform.platform()}")
    installed = _version("remotecl")
    if installed not in (None, remotecl.__version__):
        text = f"pip knows version {installed}, but {remotecl.__file__} is version {remotecl.__version__}"
        yield Finding("package remotecl", "problem", text, "another copy comes first in sys.path; remove it")
    else:
        yield Finding("package remotecl", "ok", f"{remotecl.__version__} in {Path(remotecl.__file__).parent}")
    pyopencl = _version("pyopencl")
    if pyopencl is None:
        remedy = "to use servers from Python: pip install pyopencl"
        yield Finding("package pyopencl", "note", "not installed", remedy)
    else:
        yield Finding("package pyopencl", "ok", pyopencl)
        yield from _beside_pyopencl()
    if pocl := _version("pocl-binary-distribution"):
        name = "package pocl-binary-distribution"
        if launcher.wheel_pocl_can_link(os.environ):
            yield Finding(name, "ok", f"{pocl}: used unless the system has a PoCL")
        else:
            yield Finding(name, "note", f"{pocl}: not used: {launcher.NO_LINKER}", launcher.LINKER_REMEDY)


def _beside_pyopencl() -> Iterator[Finding]:
    for name, remedy in BESIDE_PYOPENCL.items():
        version = _version(name)
        if version is None:
            yield Finding(f"package {name}", "note", "not installed", remedy)
        else:
            yield Finding(f"package {name}", "ok", version)


def _version(name: str) -> str | None:
    try:
        return importlib.metadata.version(name)
    except importlib.metadata.PackageNotFoundError:
        return None
