"""`remotecl run`: runs a program in any language with the devices of servers and no others."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from pathlib import Path

from .._clusters.cluster import LocalCluster
from .._connect.connection import configured_servers, full_address, server_name
from .._connect.discovery import discover
from .._loading import activation, config, vendors
from .._observe.status import Asker
from ..errors import RemoteCLError

# The exit codes of shells for a program that does not exist or cannot be executed.
_NOT_FOUND = 127
_NOT_EXECUTABLE = 126
_FORWARDED = (signal.SIGTERM, signal.SIGHUP)


def run(program: Sequence[str], servers: Sequence[str], *, with_local: bool) -> int:
    """Becomes the program, if all servers can be used. Returns only if it cannot be started."""
    return _become(program, environment_for(_usable(servers), with_local=with_local))


def run_locally(program: Sequence[str], count: int, *, with_local: bool) -> int:
    """Runs the program with daemons of its own on this machine; returns its exit code, or 128 + the signal."""
    with LocalCluster(servers=count) as cluster:
        return _run_beside(program, environment_for(cluster.names, with_local=with_local))


def found_servers(timeout_s: float = 2.0) -> list[str]:
    """The configured servers, else those that announce themselves on the local network and let us in.

    Raises:
        RemoteCLError: there are none.
    """
    configured = configured_servers()
    if configured:
        return configured
    refused = []
    usable = []
    found = [_with_secrets(server.address) for server in discover(timeout_s)]
    for name, error in zip(found, _errors(found), strict=True):
        if error:
            refused.append(error)
        else:
            usable.append(name)
    for error in refused:
        print(f"remotecl: left out: {error}", file=sys.stderr)
    if not usable:
        raise RemoteCLError(
            "--auto finds no server: none is configured, and none that lets this program in announces itself on the "
            "local network; name them (--servers host[:port],...), or start some here (--local 2)"
        )
    return usable


def environment_for(servers: Sequence[str], *, with_local: bool) -> dict[str, str]:
    """The environment in which every loader shows a program the devices of these servers.

    Args:
        servers: as ``REMOTECL_SERVERS`` takes them.
        with_local: whether this machine's drivers are shown, too.
    """
    environment = activation.original_environment()
    environment.pop("REMOTECL_DISABLE", None)
    environment["REMOTECL_SERVERS"] = ",".join(servers)
    environment["REMOTECL_REQUIRED"] = "1"
    if not {"PYOPENCL_CTX", "PYOPENCL_TEST"} & environment.keys():
        environment["PYOPENCL_CTX"] = "remotecl"
    ours = activation.icd_path()
    if with_local:
        others = [driver for driver in _local_drivers(environment) if not vendors.is_remotecl(driver)]
        files = [file for file in environment.get("OCL_ICD_FILENAMES", "").split(":") if file]
        environment["OCL_ICD_VENDORS"] = vendors.directory_with([*others, ours])
        environment["OCL_ICD_FILENAMES"] = ":".join([*(file for file in files if not vendors.is_remotecl(file)), ours])
    else:
        # ocl-icd uses only the library that this names, and so leaves out the drivers in PyOpenCL's wheel. For Khronos'
        # loader it is an empty folder, so only the file names count.
        environment["OCL_ICD_VENDORS"] = environment["OCL_ICD_FILENAMES"] = ours
    return environment


def _local_drivers(environment: Mapping[str, str]) -> list[str]:
    drivers = vendors.drivers_in(vendors.vendors_setting(environment))
    conda = environment.get("CONDA_PREFIX")
    if conda and not environment.get("OCL_ICD_VENDORS"):  # where conda's own loader looks
        drivers += vendors.drivers_in(str(Path(conda) / "etc" / "OpenCL" / "vendors"))
    return list(dict.fromkeys(drivers))


def _with_secrets(address: str) -> str:
    """The name of a found server with its secrets: from the configuration, else with the token of `remotecl keygen`."""
    for name in config.load().servers.values():
        if full_address(name) == full_address(address):
            return name
    token = config.default_folder() / "token"
    return server_name(address, token if token.is_file() else None)


def _usable(servers: Sequence[str]) -> list[str]:
    errors = [error for error in _errors(servers) if error]
    if errors:
        raise RemoteCLError("the program was not started: " + "; ".join(errors))
    return list(servers)


def _errors(servers: Sequence[str]) -> list[str]:
    """For each server, why it cannot be used, or nothing. All are asked in parallel, because lost ones take long."""

    def error_of(name: str) -> str:
        try:
            Asker(name).close()
        except RemoteCLError as error:
            return str(error)
        return ""

    if not servers:
        return []
    with ThreadPoolExecutor(max_workers=min(16, len(servers))) as threads:
        return list(threads.map(error_of, servers))


def _become(program: Sequence[str], environment: dict[str, str]) -> int:
    sys.stdout.flush()
    sys.stderr.flush()

    def start() -> int:
        os.execvpe(program[0], list(program), environment)

    return _started(program[0], start)


def _run_beside(program: Sequence[str], environment: Mapping[str, str]) -> int:
    def start() -> int:
        # Searches the caller's PATH, as execvpe does.
        with subprocess.Popen(program, env=environment) as process, _signals_of(process):
            return process.wait()

    code = _started(program[0], start)
    return 128 - code if code < 0 else code


def _started(name: str, start: Callable[[], int]) -> int:
    try:
        return start()
    except FileNotFoundError:
        print(f"remotecl: cannot start {name}: it was not found", file=sys.stderr)
        return _NOT_FOUND
    except OSError as error:
        print(f"remotecl: cannot start {name}: {error.strerror}", file=sys.stderr)
        return _NOT_EXECUTABLE


@contextmanager
def _signals_of(process: subprocess.Popen[bytes]) -> Iterator[None]:
    """Passes signals that ask us to end on to the program. It gets Ctrl-C from the terminal itself."""
    handlers = {number: signal.signal(number, lambda got, _: process.send_signal(got)) for number in _FORWARDED}
    handlers[signal.SIGINT] = signal.signal(signal.SIGINT, lambda *_: None)
    try:
        yield
    finally:
        for number, handler in handlers.items():
            signal.signal(number, handler)
