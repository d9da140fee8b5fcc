"""A daemon on this machine, owned by this process."""

from __future__ import annotations

import os
import subprocess
import sys
import threading
import time
import weakref
from collections import deque
from collections.abc import Mapping, Sequence
from types import TracebackType
from typing import IO

from . import _daemon, _loader
from .errors import ServerStartError

_READY = "listening on "
_STOP_TIMEOUT_S = 10.0
_LINES_KEPT = 200


class Server:
    """Starts a `remotecl-server` on this machine and stops it again.

    The daemon ends with `stop()`, with the end of a ``with`` block, when the object is collected, and when this
    process ends in whatever way, SIGKILL included.

    Args:
        listen: ``host[:port]`` to listen on; port 0 lets the system choose. Until servers can authenticate their
            clients, listen on loopback or on a trusted network only.
        devices: ``"all"``, or a comma separated list (or a sequence) of device indices and parts of device names.
        environment: variables set for the daemon in addition to this process's, for example
            ``{"OCL_ICD_VENDORS": directory}`` to choose its drivers.
        startup_timeout_s: seconds that it may take until the daemon listens.

    Raises:
        ServerStartError: the daemon ended or did not listen in time; the message has its own words.

    Example::

        with remotecl.Server() as server:
            connection = remotecl.connect(server.address)
    """

    def __init__(
        self,
        listen: str = "127.0.0.1:0",
        devices: str | Sequence[str | int] = "all",
        *,
        environment: Mapping[str, str] | None = None,
        startup_timeout_s: float = 30.0,
    ) -> None:
        self._launch(listen, devices, environment)
        self._await_ready(time.monotonic() + startup_timeout_s)

    @classmethod
    def _start_many(cls, count: int, listen: str, devices: str, timeout_s: float) -> list[Server]:
        """Starts several at once, so that their start-up times overlap. All or none."""
        deadline = time.monotonic() + timeout_s
        servers: list[Server] = []
        try:
            for _ in range(count):
                server = cls.__new__(cls)
                server._launch(listen, devices, None)
                servers.append(server)
            for server in servers:
                server._await_ready(deadline)
        except BaseException:
            for server in servers:
                server.stop()
            raise
        return servers

    @property
    def address(self) -> str:
        """``host:port`` that the daemon listens on."""
        return self._output.address

    @property
    def pid(self) -> int:
        """Process id of the daemon."""
        return self._process.pid

    @property
    def running(self) -> bool:
        """Whether the daemon's process is alive."""
        return self._process.poll() is None

    def stop(self) -> int:
        """Stops the daemon and waits for its end. Returns its exit code, 0 after a clean shutdown.

        A daemon that does not end within 10 seconds is killed (exit code -9). Calling it again returns the same.
        """
        # Only where this process is connected already: importing the library here would be too late for anything else.
        core = sys.modules.get("remotecl._core")
        if core is not None and self.running and self.address:
            core.expect_shutdown(self.address)
        self._finalizer()
        return self._process.wait()

    def __enter__(self) -> Server:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.stop()

    def __repr__(self) -> str:
        state = "running" if self.running else f"ended with exit code {self._process.returncode}"
        return f"<remotecl.Server {self.address} pid {self.pid}, {state}>"

    def _launch(self, listen: str, devices: str | Sequence[str | int], environment: Mapping[str, str] | None) -> None:
        chosen = devices if isinstance(devices, str) else ",".join(map(str, devices))
        settings = {**_loader.original_environment(), **(environment or {})}
        command = [_daemon.binary_path(), "--listen", listen, "--devices", chosen, "--exit-on-stdin-eof"]
        # The daemon ends when its stdin reaches the end. Only this process holds the other end, and the kernel
        # closes it even after SIGKILL.
        self._process = subprocess.Popen(
            command,
            env=_daemon.daemon_environment(settings),
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
            errors="replace",
            start_new_session=True,  # Ctrl-C in the terminal is for this process, which stops its daemons in order
        )
        self._output = _Output(self._process)
        self._finalizer = weakref.finalize(self, _stop, self._process, os.getpid())
        _live.add(self)

    def _await_ready(self, deadline: float) -> None:
        ready = self._output.wait(deadline - time.monotonic())
        if ready and self._output.address:
            return
        if ready:
            try:
                reason = f"ended with exit code {self._process.wait(_STOP_TIMEOUT_S)}"
            except subprocess.TimeoutExpired:
                reason = "closed its output without listening"
        else:
            reason = "did not listen in time; raise startup_timeout_s if its driver is slow to start"
        self.stop()
        self._output.join()
        words = self._output.errors() or "(it said nothing)"
        raise ServerStartError(f"{' '.join(self._process.args)} {reason}: {words}")  # type: ignore[arg-type]


class _Output:
    """Reads both outputs of a daemon for as long as it lives, so that it never blocks on a full pipe.

    Owned by one Server; its two threads end with the daemon. `address` is written before `_decided` is set.
    """

    def __init__(self, process: subprocess.Popen[str]) -> None:
        assert process.stdout is not None
        assert process.stderr is not None
        self.address = ""
        self._decided = threading.Event()
        self._error_lines: deque[str] = deque(maxlen=_LINES_KEPT)
        self._threads = [
            threading.Thread(target=self._read_output, args=(process.stdout,), daemon=True),
            threading.Thread(target=self._read_errors, args=(process.stderr,), daemon=True),
        ]
        for thread in self._threads:
            thread.start()

    def wait(self, timeout_s: float) -> bool:
        """Waits until the daemon listens or has closed its output. False when neither happened in time."""
        return self._decided.wait(max(timeout_s, 0.0))

    def join(self) -> None:
        for thread in self._threads:
            thread.join(timeout=_STOP_TIMEOUT_S)

    def errors(self) -> str:
        return "\n".join(self._error_lines)

    def _read_output(self, stream: IO[str]) -> None:
        with stream:
            for line in stream:
                if not self.address and line.startswith(_READY):
                    self.address = line[len(_READY) :].strip()
                    self._decided.set()
        self._decided.set()

    def _read_errors(self, stream: IO[str]) -> None:
        with stream:
            for line in stream:
                self._error_lines.append(line.rstrip())


def _stop(process: subprocess.Popen[str], owner: int) -> None:
    if os.getpid() != owner:  # a forked child ends; the daemon is its parent's
        return
    if process.poll() is None:
        process.terminate()
        try:
            process.wait(_STOP_TIMEOUT_S)
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait()
    if process.stdin:
        process.stdin.close()


_live: weakref.WeakSet[Server] = weakref.WeakSet()


def _close_inherited_pipes() -> None:
    """A forked child must not keep its parent's daemons alive."""
    for server in list(_live):
        stdin = server._process.stdin
        if stdin and not stdin.closed:
            stdin.close()


os.register_at_fork(after_in_child=_close_inherited_pipes)
