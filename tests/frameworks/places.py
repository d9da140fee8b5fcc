"""Runs programs that know nothing of remotecl, natively and on servers."""

from __future__ import annotations

import importlib.util
import json
import os
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest

import remotecl

FOLDER = Path(__file__).parent
TIMEOUT_S = float(os.environ.get("REMOTECL_TEST_PROGRAM_TIMEOUT_S", "600"))
CLEAN_ENVIRONMENT = remotecl._loading.activation.original_environment()


def need(module: str, package: str) -> None:
    if importlib.util.find_spec(module) is None:
        pytest.skip(f"{package} is not installed: pip install -r tests/frameworks/requirements.txt")


def run(
    program: str, *arguments: str, servers: str = "", cache: Path, environment: Mapping[str, str] | None = None
) -> Any:
    """What a program of this folder prints, run natively or on servers. `cache` is its own, so that it compiles."""
    command = [sys.executable, str(FOLDER / program), *arguments]
    settings = {**CLEAN_ENVIRONMENT, "XDG_CACHE_HOME": str(cache), **(environment or {})}
    if servers:
        command = [sys.executable, "-m", "remotecl", "run", "--servers", servers, *command]
    else:
        drivers = remotecl._daemon.launcher.native_drivers(CLEAN_ENVIRONMENT)
        settings["OCL_ICD_VENDORS"] = remotecl._loading.vendors.directory_with(drivers)
    done = subprocess.run(command, env=settings, capture_output=True, text=True, timeout=TIMEOUT_S, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
    return json.loads(done.stdout.splitlines()[-1])


def commands_of(address: str) -> int:
    """How many commands the server has carried out."""
    return remotecl.status(address)[0].commands
