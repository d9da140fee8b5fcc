"""A fresh daemon to attack, and what it holds."""

from __future__ import annotations

import os
import re
import signal
import subprocess
import tempfile
import urllib.request
from pathlib import Path

from attacks.wire import WITHIN_S, Client

MIB = 1 << 20
# A sanitized daemon has several bytes for each, and keeps freed ones.
MEMORY_FACTOR = int(os.environ.get("REMOTECL_TEST_MEMORY_FACTOR", "1"))


def _command() -> tuple[list[str], dict[str, str]]:
    """REMOTECL_TEST_SERVER names a server that is not installed."""
    if server := os.environ.get("REMOTECL_TEST_SERVER"):
        return [server], dict(os.environ)
    import remotecl  # only to find the server and its driver

    environment = remotecl._daemon.launcher.daemon_environment(remotecl._loading.activation.original_environment())
    return [remotecl._daemon.launcher.binary_path()], environment


class Victim:
    """A daemon on loopback."""

    def __init__(self, *options: str, **environment: str) -> None:
        command, settings = _command()
        self._log = tempfile.TemporaryFile("w+")  # noqa: SIM115
        self._process = subprocess.Popen(
            [*command, "--listen", "127.0.0.1:0", *options],
            env={**settings, **environment},
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=self._log,
            text=True,
        )
        assert self._process.stdout is not None
        self._metrics = ""
        for line in self._process.stdout:
            if line.startswith("metrics on "):
                self._metrics = line.removeprefix("metrics on ").strip()
            if line.startswith("listening on "):
                host, port = line.removeprefix("listening on ").strip().rsplit(":", 1)
                self.address = (host, int(port))
                return
        raise AssertionError(self.log())

    @property
    def pid(self) -> int:
        return self._process.pid

    def log(self) -> str:
        self._log.seek(0)
        return self._log.read()

    def end(self, token: bytes | None = None) -> None:
        """Fails when it has crashed, or does not serve any more."""
        assert self._process.poll() is None, f"the daemon has ended:\n{self.log()}"
        with Client(self.address, token=token) as client:
            client.ping()
        self._process.send_signal(signal.SIGTERM)
        try:
            self._process.wait(WITHIN_S)
        finally:
            self._process.kill()
            self._process.wait()
        assert self._process.returncode == 0, self.log()

    def _status(self, name: str) -> int:
        found = re.search(rf"^{name}:\s+(\d+) kB$", Path(f"/proc/{self.pid}/status").read_text(), re.MULTILINE)
        assert found is not None
        return int(found[1]) * 1024

    def forget_peak(self) -> int:
        """From now on peak() counts; gives what the daemon has now."""
        Path(f"/proc/{self.pid}/clear_refs").write_text("5")
        return self._status("VmRSS")

    def peak(self) -> int:
        """The most memory that the daemon has had, in bytes."""
        return self._status("VmHWM")

    def metric(self, name: str) -> int:
        """As Prometheus is told, whatever the labels."""
        with urllib.request.urlopen(self._metrics, timeout=WITHIN_S) as answer:
            found = re.search(rf"^{name}(?:\{{[^}}]*\}})? (\d+)$", answer.read().decode(), re.MULTILINE)
        assert found is not None
        return int(found[1])

    def held(self) -> int:
        """Bytes that are counted as held for the user of everybody."""
        return self.metric("remotecl_user_host_memory_used_bytes")
