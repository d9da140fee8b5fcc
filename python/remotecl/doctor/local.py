"""Checks of this machine: the ICD, the loaders, the drivers, and the daemon's program."""

from __future__ import annotations

import os
import subprocess
import tempfile
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import remotecl

from .._daemon import launcher
from .._loading import vendors
from ..errors import RemoteCLError
from .child import ProbeError, ask, opencl_probe, probe
from .finding import Finding

REINSTALL = "install the package again, from its wheel or its checkout: pip install --force-reinstall ..."
POCL_REMEDY = "this PoCL is older than this processor; install the system's (Debian: apt-get install pocl-opencl-icd)"
CONTAINMENT_REMEDY = (
    "only if others use a server here: docs/operating.md says what the kernel and the server need for it"
)
IMPORT_FIRST = (
    "import remotecl before the first OpenCL call, or set OCL_ICD_VENDORS=$(remotecl icd-path --vendors), for the "
    "loader of the CUDA toolkit OCL_ICD_FILENAMES=$(remotecl icd-path)"
)


class LocalChecks:
    """Checks without a server. `environment` is the user's, without the changes of importing remotecl."""

    def __init__(self, environment: Mapping[str, str], timeout_s: float) -> None:
        # Servers have checks of their own; here they would only take time.
        hidden = ("REMOTECL_SERVERS", "REMOTECL_DISABLE")
        self._environment = {name: value for name, value in environment.items() if name not in hidden}
        self._timeout_s = timeout_s

    def icd(self) -> Iterator[Finding]:
        """Whether the ICD is found, can be loaded, and has this package's version."""
        name, path = "ICD", vendors.ICD_LIBRARY
        if not path.is_file():
            yield Finding(name, "problem", f"{path} is missing", REINSTALL)
            return
        try:
            answer = ask(probe("icd"), self._environment, self._timeout_s)
        except ProbeError as error:
            yield Finding(name, "problem", f"{path} cannot be loaded: {error}", REINSTALL)
            return
        if answer["version"] != remotecl.__version__:
            text = f"{path} is version {answer['version']}, the Python package version {remotecl.__version__}"
            yield Finding(name, "problem", text, REINSTALL)
            return
        versions = f"version {answer['version']}, protocol version {answer['protocol']}, build {answer['build']}"
        yield Finding(name, "ok", f"{path}, {versions}")

    def pyopencl_loader(self) -> Iterator[Finding]:
        """Which loader PyOpenCL has, and whether that finds remotecl."""
        name = "loader of PyOpenCL"
        package = vendors.pyopencl_package()
        if package is None:
            return  # reported with the other packages
        try:
            answer = ask(probe("pyopencl"), self._environment, self._timeout_s)
        except ProbeError as error:
            yield Finding(name, "problem", f"PyOpenCL: {error}", _pyopencl_remedy(str(error)))
            return
        where = "PyOpenCL's own" if Path(answer["path"]).is_relative_to(package.parent) else "the system's"
        yield self._loader_finding(name, f"{answer['loader'] or 'unknown'}, {where}, {answer['path']}", answer)

    def system_loader(self) -> Iterator[Finding]:
        """Whether programs in other languages have a loader."""
        name = "loader of the system"
        try:
            answer = ask(probe("system"), self._environment, self._timeout_s)
        except ProbeError as error:
            yield Finding(name, "problem", f"libOpenCL.so.1: {error}", "a driver fails in it; see the drivers below")
            return
        if "error" in answer:
            remedy = "only programs in C and C++ need one (Debian: apt-get install ocl-icd-libopencl1)"
            yield Finding(name, "note", f"there is none ({answer['error']})", remedy)
            return
        yield self._loader_finding(name, f"{answer['loader'] or 'unknown'}, {answer['path']}", answer)

    @staticmethod
    def _loader_finding(name: str, text: str, answer: Mapping[str, Any]) -> Finding:
        platforms = ", ".join(answer["platforms"]) or "none"
        if answer["sees_remotecl"]:
            return Finding(name, "ok", f"{text}; it finds remotecl; local platforms: {platforms}")
        return Finding(name, "problem", f"{text}; it does not find remotecl; platforms: {platforms}", IMPORT_FIRST)

    def drivers(self) -> Iterator[Finding]:
        """Tries every driver that a daemon here would use, each in a process of its own."""
        try:
            launcher.daemon_environment(self._environment)
        except RemoteCLError:
            yield Finding("drivers", "problem", f"none can be used: {launcher.NO_LINKER}", launcher.LINKER_REMEDY)
            return
        place = vendors.vendors_setting(self._environment)
        yield from self._broken_files(vendors.vendors_setting(self._environment))
        drivers = launcher.native_drivers(self._environment)
        if not drivers:
            remedy = (
                "to serve this machine's devices, install a driver: the GPU maker's, or for a CPU device "
                "pocl-opencl-icd or pip install 'remotecl[local]'"
            )
            yield Finding("drivers", "note", f"none is registered in {place}", remedy)
        for driver in drivers:
            yield from self._driver(driver)

    @staticmethod
    def _broken_files(setting: str) -> Iterator[Finding]:
        place = Path(setting)
        for file in sorted(place.glob("*.icd")) if place.is_dir() else []:
            if not vendors.driver_named_by(file):
                text = f"{file} names no driver, or cannot be read"
                yield Finding(
                    "drivers", "problem", text, "its first line must be a library's name; correct or remove it"
                )

    def _driver(self, driver: str) -> Iterator[Finding]:
        name = f"driver {driver}"
        with tempfile.TemporaryDirectory() as folder:
            (Path(folder) / "one.icd").write_text(driver + "\n", errors="surrogateescape")
            settings = {**self._environment, "OCL_ICD_VENDORS": folder, "REMOTECL_DISABLE": "1"}
            settings.pop("OCL_ICD_FILENAMES", None)
            try:
                answer = ask(opencl_probe(str(vendors.LOADER), driver), settings, self._timeout_s)
            except ProbeError as error:
                remedy = "update or remove this driver: it takes every program down that lists platforms"
                yield Finding(name, "problem", str(error), remedy)
                return
        if "error" in answer:
            remedy = "install what it needs, or remove its .icd file"
            yield Finding(name, "problem", f"cannot be loaded: {answer['error']}", remedy)
            return
        if not any(platform["devices"] for platform in answer["platforms"]):
            remedy = (
                "is its hardware there, and may this user open it (/dev/dri, /dev/nvidia*: groups render and video)?"
            )
            yield Finding(name, "note", "offers no device", remedy)
        for platform in answer["platforms"]:
            for device in platform["devices"]:
                yield device_finding(name, f"{platform['name']}, {device['name']}", device["error"])

    def daemon(self) -> Iterator[Finding]:
        """Whether `remotecl-server` can be started, and has this package's version."""
        name = "remotecl-server"
        try:
            command = [launcher.binary_path(), "--version"]
            ended = subprocess.run(
                command, env=self._environment, capture_output=True, text=True, timeout=self._timeout_s, check=False
            )
        except (RemoteCLError, OSError, subprocess.TimeoutExpired) as error:
            yield Finding(name, "problem", f"cannot be started: {error}", REINSTALL)
            return
        version = ended.stdout.strip()
        if ended.returncode != 0 or version != remotecl.__version__:
            said = (version + " " + ended.stderr.strip()).strip() or f"exit code {ended.returncode}"
            yield Finding(name, "problem", f"is not of version {remotecl.__version__}; it says: {said}", REINSTALL)
            return
        yield Finding(name, "ok", f"{command[0]}, version {version}")
        yield from self._unserved_gpus(command[0])

    def _unserved_gpus(self, daemon: str) -> Iterator[Finding]:
        settings = launcher.daemon_environment(self._environment)
        try:
            ended = subprocess.run(
                [daemon, "--list-devices"],
                env=settings, capture_output=True, text=True, timeout=self._timeout_s, check=False,
            )  # fmt: skip
        except subprocess.TimeoutExpired:
            return  # the drivers' own checks report which one hangs
        for line in ended.stderr.splitlines():
            gpu, found, remedy = line.partition(" that no OpenCL driver serves: ")
            if found:
                yield Finding("GPUs", "problem", gpu.partition("warning: ")[2] + found.rstrip(": "), remedy)

    def containment(self) -> Iterator[Finding]:
        """What a daemon of this user on this machine could not protect from clients' kernels and compilers."""
        name = "containment of sessions"
        try:
            settings = launcher.daemon_environment(self._environment)
            command = [launcher.binary_path(), "--containment"]
            ended = subprocess.run(
                command, env=settings, capture_output=True, text=True, timeout=self._timeout_s, check=False
            )
        except (RemoteCLError, OSError, subprocess.TimeoutExpired):
            return  # reported for the program and the drivers
        failures = ended.stdout.splitlines()
        if ended.returncode != 0:
            failures.append("nothing of it can be tried here: " + (ended.stderr.strip() or "the program crashed"))
        for failure in failures:
            yield Finding(name, "note", f"processes that serve others' sessions: {failure}", CONTAINMENT_REMEDY)
        if not failures:
            user = "users of their own" if os.geteuid() == 0 else "this user"
            text = f"files, sockets and other processes are kept from processes of sessions; they are {user}'s"
            yield Finding(name, "ok", text)


def device_finding(name: str, device: str, error: str) -> Finding:
    """Whether a kernel ran on a device."""
    if not error:
        return Finding(name, "ok", f"{device}: a kernel ran")
    remedy = "the driver is broken or does not fit the hardware; update or reinstall it where the device is"
    if "unknown target CPU" in error:
        remedy = POCL_REMEDY
    return Finding(name, "problem", f"{device}: {error}", remedy)


def _pyopencl_remedy(error: str) -> str:
    if "libOpenCL" in error:
        return (
            "it has no OpenCL loader: pip install --force-reinstall pyopencl brings one, "
            "or install the system's (Debian: ocl-icd-libopencl1)"
        )
    if "crashed" in error:
        return "a driver brings PyOpenCL down; see the drivers below"
    return "does `python -c 'import pyopencl'` work? if not: pip install --force-reinstall pyopencl"
