"""The command `remotecl-server`: the C++ daemon, started so that it finds PoCL's wheel too."""

from __future__ import annotations

import os
import shutil
import sys
from collections.abc import Mapping

from .._loading import vendors
from ..errors import RemoteCLError
from . import advertise

BINARY = vendors.PACKAGE / "bin" / "remotecl-server"
NO_LINKER = "PoCL's wheel links kernels with the program ld, which is not in the PATH"
LINKER_REMEDY = "install it (Debian: apt-get install binutils)"


def daemon_environment(environment: Mapping[str, str]) -> dict[str, str]:
    """The environment for a daemon, in which it finds `native_drivers` and no others.

    Raises:
        RemoteCLError: the only driver is PoCL's wheel, and it cannot be used.
    """
    drivers = native_drivers(environment)
    if not drivers and vendors.wheel_pocl():
        raise RemoteCLError(f"no OpenCL driver can be used: {NO_LINKER}; {LINKER_REMEDY}")
    result = dict(environment)
    # The daemon itself finds the drivers of the system, and those of GPUs without an .icd file.
    added = [driver for driver in drivers if driver not in vendors.drivers_in(vendors.vendors_setting(environment))]
    if added:
        result["OCL_ICD_FILENAMES"] = ":".join(added)
    return result


def native_drivers(environment: Mapping[str, str]) -> list[str]:
    """The drivers configured there, without remotecl itself, and PoCL's wheel unless a PoCL is among them."""
    configured = vendors.drivers_in(vendors.vendors_setting(environment))
    configured += filter(None, environment.get("OCL_ICD_FILENAMES", "").split(":"))
    drivers = [driver for driver in configured if not vendors.is_remotecl(driver)]
    pocl = vendors.wheel_pocl()
    if pocl and not any(map(vendors.is_pocl, drivers)) and wheel_pocl_can_link(environment):
        drivers.append(pocl)
    return drivers


def wheel_pocl_can_link(environment: Mapping[str, str]) -> bool:
    """Whether PoCL's wheel finds the linker that it runs for every kernel; without it, it ends the process."""
    return shutil.which("ld", path=environment.get("PATH", os.defpath)) is not None


def binary_path() -> str:
    """Path of the daemon's binary.

    Raises:
        RemoteCLError: it is not where the wheel puts it.
    """
    if not BINARY.is_file():
        raise RemoteCLError(
            f"{BINARY} is missing: remotecl was not built or not installed completely; install it with pip"
        )
    return str(BINARY)


def main() -> None:
    """Becomes the daemon: same process, so signals and exit code are the daemon's own.

    With ``--advertise`` it stays the daemon's parent instead, announces it, and passes signals and exit code on.
    """
    # Importing remotecl has activated it in this process's environment; a daemon needs the user's drivers.
    from .._loading.activation import original_environment

    try:
        name, arguments = advertise.split_option(sys.argv[1:])
        binary = binary_path()
        environment = daemon_environment(original_environment())
        if name is not None:
            sys.exit(advertise.run(name, binary, arguments, environment))
    except RemoteCLError as error:
        sys.exit(f"remotecl-server: {error}")
    os.execve(binary, ["remotecl-server", *arguments], environment)
