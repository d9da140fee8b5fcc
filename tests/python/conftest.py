"""Fixtures: programs in processes of their own, one cluster for the whole run, and a connection to it."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

import remotecl

if TYPE_CHECKING:
    import pyopencl as cl

# Loader settings of the machine stay; what an importing process sets for itself must not leak into programs.
CLEAN_ENVIRONMENT = remotecl._loading.activation.original_environment()
CLEAN_ENVIRONMENT.pop("REMOTECL_SERVERS", None)
# A sanitized build is many times slower.
PROGRAM_TIMEOUT_S = float(os.environ.get("REMOTECL_TEST_PROGRAM_TIMEOUT_S", "120"))
SLOWNESS = PROGRAM_TIMEOUT_S / 120

CHECKOUT = Path(__file__).resolve().parents[2]
# Where the drivers and plugins of tests are built: instrumented like the daemon that loads them.
BUILT = Path(os.environ.get("REMOTECL_TEST_BUILD", CHECKOUT / "build"))

RunProgram = Callable[..., "subprocess.CompletedProcess[str]"]


def run_command(
    command: list[str],
    environment: Mapping[str, str | None] | None = None,
    timeout_s: float = PROGRAM_TIMEOUT_S,
    folder: Path | None = None,
) -> subprocess.CompletedProcess[str]:
    """Runs a command in the clean environment plus `environment`, where None removes a variable, and in `folder`."""
    settings = {**CLEAN_ENVIRONMENT, **(environment or {})}
    settings = {name: value for name, value in settings.items() if value is not None}
    return subprocess.run(
        command, cwd=folder, env=settings, capture_output=True, text=True, timeout=timeout_s, check=False
    )


@pytest.fixture
def run_program() -> RunProgram:
    """Runs Python source in a process of its own and gives what it printed; fails when it fails."""

    def run(source: str, /, *, check: bool = True, **environment: str | None) -> subprocess.CompletedProcess[str]:
        result = run_command([sys.executable, "-c", source], environment)
        if check:
            assert result.returncode == 0, result.stdout + result.stderr
        return result

    return run


@pytest.fixture
def run_in_checkout() -> RunProgram:
    """Runs Python with arguments in the checkout, where it finds `benchmarks`."""

    def run(*arguments: str) -> subprocess.CompletedProcess[str]:
        return run_command([sys.executable, *arguments], folder=CHECKOUT)

    return run


@pytest.fixture
def run_remotecl() -> RunProgram:
    """Runs the command `remotecl` with arguments."""

    def run(*arguments: str, **environment: str | None) -> subprocess.CompletedProcess[str]:
        return run_command([sys.executable, "-m", "remotecl", *arguments], environment)

    return run


@pytest.fixture(scope="session")
def cluster() -> Iterator[remotecl.LocalCluster]:
    """Two daemons for all tests that do not stop them."""
    with remotecl.LocalCluster(servers=2) as two:
        yield two


@pytest.fixture(scope="session")
def addresses(cluster: remotecl.LocalCluster) -> str:
    """The cluster's servers as REMOTECL_SERVERS takes them."""
    return ",".join(cluster.addresses)


@pytest.fixture(scope="session")
def connection(cluster: remotecl.LocalCluster) -> remotecl.Connection:
    """This process's connection to the cluster."""
    return cluster.connect()


@pytest.fixture
def queues(connection: remotecl.Connection) -> list[cl.CommandQueue]:
    """One per server, in one context."""
    import pyopencl as cl

    devices = {remotecl.server_of(device): device for device in connection.devices}
    context = connection.context(list(devices.values()))
    return [cl.CommandQueue(context, device) for device in devices.values()]
