"""Where programs run: natively, and on daemons as a user has them."""

from __future__ import annotations

import functools
import os
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from entry import Program, last_line, work_seconds

import remotecl

SOURCES = Path(__file__).resolve().parent / "sources"
INSTALLED = Path("/opt/programs")
BUILT = INSTALLED / "built"
# The drivers of the machine itself, where `programs.py` has brought them.
DRIVERS = Path("/etc/OpenCL/vendors")
REMOTECL = Path(sys.prefix) / "bin"
START_TIMEOUT_S = 30.0


@dataclass(frozen=True)
class Outcome:
    """What one run took and printed."""

    seconds: float
    output: str
    error: str

    @property
    def work_s(self) -> float:
        """The time of the work as the program says it, or else of everything."""
        work = work_seconds(self.output)
        return self.seconds if work is None else work


def settings_in(home: Path) -> dict[str, str]:
    """An environment with a home, and so caches, of its own, and nothing of this process's."""
    for folder in (home, home / "tmp"):
        folder.mkdir(parents=True, exist_ok=True)
        folder.chmod(0o777)
    return {
        "HOME": str(home),
        "TMPDIR": str(home / "tmp"),
        "LANG": "C.UTF-8",
        "PATH": "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin",
    }


@functools.cache
def device_type() -> str:
    """GPU or CPU, for programs that must be told."""
    with tempfile.TemporaryDirectory() as home:
        settings = settings_in(Path(home)) | {"OCL_ICD_VENDORS": str(DRIVERS)}
        listed = subprocess.run(["clinfo", "--raw"], env=settings, capture_output=True, text=True, check=True).stdout
    return "GPU" if "CL_DEVICE_TYPE_GPU" in listed else "CPU"


class Place:
    """Runs programs in one environment, with caches of its own."""

    def __init__(self, home: Path, settings: Mapping[str, str]) -> None:
        self._home = home
        self._settings = {**settings_in(home), **settings}

    def run(self, program: Program, command: str) -> Outcome:
        """One run, in an empty folder."""
        folder = self._home / "work"
        subprocess.run(["rm", "-rf", folder], check=True)
        folder.mkdir()
        settings = {**self._settings, **program.settings, "SOURCES": str(SOURCES), "BUILT": str(BUILT)}
        settings["DEVICE_TYPE"] = device_type()
        settings["PATH"] = f"{INSTALLED / program.venv / 'bin'}:{settings['PATH']}"
        begin = time.perf_counter()
        process = subprocess.Popen(
            ["bash", "-c", command], cwd=folder, env=settings, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
            stderr=subprocess.PIPE, text=True, errors="replace", start_new_session=True,
        )  # fmt: skip
        try:
            output, errors = process.communicate(timeout=program.limit_s)
        except subprocess.TimeoutExpired:
            os.killpg(process.pid, signal.SIGKILL)
            output, errors = process.communicate()
            return Outcome(time.perf_counter() - begin, output, f"no end after {program.limit_s:g} s")
        seconds = time.perf_counter() - begin
        if process.returncode == 0:
            return Outcome(seconds, output, "")
        code = process.returncode
        words = last_line(errors if errors.strip() else output)
        return Outcome(seconds, output, f"{signal.Signals(-code).name if code < 0 else f'exit code {code}'}: {words}")


class Daemon:
    """A daemon with a token, TLS and the processes for sessions that it has by default, and caches of its own."""

    def __init__(self, home: Path) -> None:
        settings = settings_in(home) | {"OCL_ICD_VENDORS": str(DRIVERS)}
        token = home / "token"
        token.write_text("a token that is long enough for everybody\n")
        token.chmod(0o600)
        with (home / "log").open("w") as log:
            self._process = subprocess.Popen(
                [REMOTECL / "remotecl-server", "--listen", "127.0.0.1:0", "--token-file", token, "--tls-new"],
                env=settings, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=log, text=True,
            )  # fmt: skip
        pin = ""
        for line in self._process.stdout or ():
            pin = line.partition("pin=")[2].strip() or pin
            if line.startswith("listening on "):
                self.name = f"{line.removeprefix('listening on ').strip()}?token={token}&pin={pin}"
                return
        raise SystemExit(f"the daemon does not start: {(home / 'log').read_text()}")

    def commands(self) -> int:
        """How many commands it has carried out."""
        return remotecl.overview(self.name).status[0].commands

    def devices(self) -> list[str]:
        """The names of its devices."""
        return [device.name for device in remotecl.overview(self.name).status[0].devices]

    def stop(self) -> None:
        """Ends it."""
        self._process.terminate()
        self._process.communicate()


def native(home: Path) -> Place:
    """The machine's own drivers."""
    return Place(home, {"OCL_ICD_VENDORS": str(DRIVERS)})


def remote(home: Path, daemons: list[Daemon], *, shared_memory: bool) -> Place:
    """What `remotecl run` gives a program, without the time that its own start takes."""
    clean = settings_in(home)
    command = [REMOTECL / "remotecl", "run", "--servers", ",".join(daemon.name for daemon in daemons), "env", "-0"]
    done = subprocess.run(command, env=clean, capture_output=True, text=True, check=False)
    if done.returncode:
        raise SystemExit(f"remotecl run: {done.stderr}")
    settings = dict(line.split("=", 1) for line in done.stdout.split("\0") if "=" in line)
    return Place(home, settings | ({} if shared_memory else {"REMOTECL_SHARED_MEMORY": "off"}))
