"""Network namespaces, the links between them, and daemons in them."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from typing import TypeVar

import pytest

from conftest import CLEAN_ENVIRONMENT

PORT = 10990


def run(*command: str) -> str:
    return subprocess.run(command, check=True, capture_output=True, text=True, timeout=60).stdout


class Namespaces:
    """Namespaces without links; they end with close(), and their daemons with them."""

    def __init__(self, *names: str) -> None:
        self._stack = ExitStack()
        self.names = [f"remotecl-{os.getpid()}-{name}" for name in names]
        try:
            for name in self.names:
                run("ip", "netns", "add", name)
                self._stack.callback(run, "ip", "netns", "del", name)
                run("ip", "-n", name, "link", "set", "lo", "up")
        except BaseException:
            self.close()
            raise

    def link(self, one: str, one_name: str, one_ip: str, other: str, other_name: str, other_ip: str) -> None:
        run("ip", "link", "add", one_name, "netns", one, "type", "veth", "peer", "name", other_name, "netns", other)
        for namespace, name, address in ((one, one_name, one_ip), (other, other_name, other_ip)):
            run("ip", "-n", namespace, "address", "add", f"{address}/24", "dev", name)
            run("ip", "-n", namespace, "link", "set", name, "up")

    def start_server(self, namespace: str, environment: Mapping[str, str] = {}, options: Sequence[str] = ()) -> None:
        # `ip netns exec` becomes the daemon, which ends when its stdin does.
        command = [sys.executable, "-m", "remotecl._daemon", "--listen", f"0.0.0.0:{PORT}"]
        command += ["--insecure", "--exit-on-stdin-eof", *options]
        process = self._stack.enter_context(
            subprocess.Popen(
                ["ip", "netns", "exec", namespace, *command],
                env={**CLEAN_ENVIRONMENT, **environment},
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                text=True,
            )
        )
        self._stack.callback(process.terminate)
        assert process.stdout is not None
        assert any(line.startswith("listening on ") for line in process.stdout)

    def close(self) -> None:
        self._stack.close()


Some = TypeVar("Some", bound=Namespaces)


@contextmanager
def namespaces_or_skip(make: Callable[[], Some]) -> Iterator[Some]:
    """What `make` gives, closed at the end; skips the test where there are no namespaces to be had."""
    if os.geteuid() != 0:
        pytest.skip("network namespaces need root")
    for tool in ("ip", "tc"):
        if shutil.which(tool) is None:
            pytest.skip(f"{tool} is missing: apt-get install iproute2")
    try:
        made = make()
    except subprocess.CalledProcessError as error:
        pytest.skip(f"no network namespaces here: {' '.join(error.cmd)}: {error.stderr.strip()}")
    try:
        yield made
    finally:
        made.close()
