"""A daemon with any options, as whoever runs one would start it."""

import signal
import subprocess
import urllib.request
from collections.abc import Mapping
from typing import IO

from prometheus_client.parser import text_string_to_metric_families

import remotecl
from conftest import CLEAN_ENVIRONMENT

WITHIN_S = 60.0


class Daemon:
    """A daemon with options, until the end of the block."""

    def __init__(
        self,
        *options: str,
        user: int | None = None,
        environment: Mapping[str, str] | None = None,
        log: IO[str] | int = subprocess.PIPE,
    ) -> None:
        settings = remotecl._daemon.launcher.daemon_environment(CLEAN_ENVIRONMENT) | dict(environment or {})
        listen = () if "--listen" in options else ("--listen", "127.0.0.1:0")
        store = () if "--store" in options else ("--no-store",)
        command = [remotecl._daemon.launcher.binary_path(), *listen, *store, *options]
        self.process = subprocess.Popen(
            command,
            env=settings,
            user=user,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=log,
            text=True,
        )
        self.metrics_url = ""
        self.notices: list[str] = []  # before it listens
        for line in self.process.stdout:
            self.notices.append(line.rstrip("\n"))
            if line.startswith("metrics on "):
                self.metrics_url = line.removeprefix("metrics on ").strip()
            if line.startswith("listening on "):
                self.address = line.removeprefix("listening on ").strip()
                return
        raise AssertionError(self.process.stderr.read())

    def __enter__(self) -> "Daemon":
        return self

    def __exit__(self, *_) -> None:
        self.process.kill()
        self.process.communicate()

    def end(self, number: int = signal.SIGTERM) -> tuple[int, str]:
        """Its exit code and its log."""
        self.process.send_signal(number)
        log = self.process.communicate(timeout=WITHIN_S)[1]
        return self.process.returncode, log

    def metrics(self) -> dict[tuple[str, ...], float]:
        """Values by name and labels, as Prometheus' own parser reads them."""
        with urllib.request.urlopen(self.metrics_url, timeout=WITHIN_S) as answer:
            assert answer.headers["Content-Type"].startswith("text/plain; version=0.0.4")
            families = list(text_string_to_metric_families(answer.read().decode()))
        assert all(family.documentation and family.type in ("counter", "gauge") for family in families)
        return {
            (sample.name, *sample.labels.values()): sample.value for family in families for sample in family.samples
        }
