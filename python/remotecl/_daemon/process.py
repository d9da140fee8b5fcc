"""A daemon's process, here or behind ssh: reading what it prints, and ending it with the process that started it."""

from __future__ import annotations

import atexit
import os
import subprocess
import sys
import threading
import time
import weakref
from collections import deque
from collections.abc import Mapping, Sequence
from contextlib import suppress
from types import ModuleType
from typing import IO

_READY = "listening on "
_PIN = "TLS with pin="
_LINES_KEPT = 200

STOP_TIMEOUT_S = 10.0

# "all", or a comma separated list (or a sequence) of device indices and parts of device names.
Devices = str | Sequence[str | int]


class DaemonProcess:
    """A command that runs a daemon with ``--exit-on-stdin-eof``, and owns the other end of its standard input.

    The daemon ends when its stdin reaches the end. Only this process holds the other end, and the kernel closes it
    even after SIGKILL; ssh and sshd pass the end on to a daemon on another machine.

    Args:
        command: the program and its arguments.
        environment: all of its environment, or None for this process's.
        terminate: whether SIGTERM to the command stops the daemon. If not (ssh would leave the daemon running), the end
        of stdin stops it.
        token: the first line of its stdin, for ``--token-file -``.
    """

    def __init__(
        self,
        command: Sequence[str],
        environment: Mapping[str, str] | None = None,
        *,
        terminate: bool = True,
        token: str | None = None,
    ) -> None:
        self.command = list(command)
        self._terminate = terminate
        self._process = subprocess.Popen(
            self.command,
            env=environment,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
            errors="replace",
            start_new_session=True,  # Ctrl-C in the terminal is for this process, which stops its daemons in order
        )
        if token is not None:
            _write_line(self._process, token)
        self._output = _Output(self._process)
        self._finalizer = weakref.finalize(self, _stop, self._process, self._output, os.getpid(), terminate)
        # At the end of this process, the daemon must outlive what still waits for its devices (_keep_until_the_end). A
        # daemon behind another command, such as ssh, ends in order.
        self._finalizer.atexit = not terminate
        _live.add(self)

    @property
    def address(self) -> str:
        """``host:port`` that the daemon listens on; empty until it does."""
        return self._output.address

    @property
    def pin(self) -> str:
        """``sha256:...``, the key that the daemon presents; empty without TLS, and until it listens."""
        return self._output.pin

    @property
    def pid(self) -> int:
        """Process id of the command."""
        return self._process.pid

    @property
    def exit_code(self) -> int | None:
        """Exit code of the command, None while it runs."""
        return self._process.poll()

    def await_ready(self, deadline: float) -> str | None:
        """Waits until the daemon listens and returns None. Otherwise stops the process and returns what went wrong.

        Args:
            deadline: on the clock of `time.monotonic`.
        """
        ready = self._output.wait(deadline - time.monotonic())
        if ready and self.address:
            return None
        if ready:
            try:
                reason = f"ended with exit code {self._process.wait(STOP_TIMEOUT_S)}"
            except subprocess.TimeoutExpired:
                reason = "closed its output without listening"
        else:
            reason = "did not listen in time; raise startup_timeout_s if its driver is slow to start"
        self.stop()
        self._output.join()
        return reason

    def words(self) -> str:
        """The last lines that the command wrote to its standard error."""
        return self._output.errors() or "(it said nothing)"

    def begin_stop(self) -> None:
        """Asks the daemon to end, without waiting for it."""
        if self.exit_code is None and self._finalizer.alive:
            _ask_to_end(self._process, self._terminate)

    def drain(self, timeout_s: float) -> None:
        """Waits until those who use a daemon with ``--drain`` have left, or until the end of the time, and stops it."""
        if self.exit_code is None:
            self._process.terminate()
            with suppress(subprocess.TimeoutExpired):
                self._process.wait(timeout_s)
        self.stop()

    def stop(self) -> int:
        """Stops the daemon and waits for its end; its exit code. One that does not end within 10 s is killed."""
        self._finalizer()
        return self._process.wait()


def _write_line(process: subprocess.Popen[str], line: str) -> None:
    # Bypasses the stream's buffer: it would keep bytes that an ended process did not read, and fail when it is closed.
    assert process.stdin is not None
    with suppress(BrokenPipeError):  # why a process has ended is reported elsewhere
        os.write(process.stdin.fileno(), f"{line}\n".encode())


def devices_option(devices: Devices) -> str:
    """The value for the daemon's option ``--devices``."""
    return devices if isinstance(devices, str) else ",".join(map(str, devices))


def expect_shutdown(address: str) -> None:
    """Makes the client library expect the server's end, if this process is connected to it."""
    core = _loaded_core()
    if core is not None and address:
        core.expect_shutdown(address)


def disconnect(address: str) -> None:
    """Removes the devices of a stopped server from the platform's list, if this process has them."""
    core = _loaded_core()
    if core is not None and address:
        core.disconnect(address)


def _loaded_core() -> ModuleType | None:
    # Importing the library only now would be of no use.
    return sys.modules.get("remotecl._core")


class _Output:
    """Reads both outputs of a daemon for as long as it lives, so that it never blocks on a full pipe.

    Owned by one DaemonProcess; its two threads end with the daemon. `address` and `pin` are written before `_decided`
    is set.
    """

    def __init__(self, process: subprocess.Popen[str]) -> None:
        assert process.stdout is not None
        assert process.stderr is not None
        self.address = ""
        self.pin = ""
        self._decided = threading.Event()
        self._error_lines: deque[str] = deque(maxlen=_LINES_KEPT)
        self._threads = [
            threading.Thread(target=self._read_output, args=(process.stdout,), daemon=True),
            threading.Thread(target=self._read_errors, args=(process.stderr,), daemon=True),
        ]
        for thread in self._threads:
            thread.start()

    def wait(self, timeout_s: float) -> bool:
        """Waits until the daemon listens or has closed its output. Returns False if neither happens in time."""
        return self._decided.wait(max(timeout_s, 0.0))

    def join(self) -> None:
        for thread in self._threads:
            thread.join(timeout=STOP_TIMEOUT_S)

    def errors(self) -> str:
        return "\n".join(self._error_lines)

    def _read_output(self, stream: IO[str]) -> None:
        with stream:
            for line in stream:
                if not self.address and line.startswith(_PIN):
                    self.pin = line[len(_PIN) :].strip()
                if not self.address and line.startswith(_READY):
                    self.address = line[len(_READY) :].strip()
                    self._decided.set()
        self._decided.set()

    def _read_errors(self, stream: IO[str]) -> None:
        with stream:
            for line in stream:
                self._error_lines.append(line.rstrip())


def _ask_to_end(process: subprocess.Popen[str], terminate: bool) -> None:
    if terminate:
        process.terminate()
    elif process.stdin:
        process.stdin.close()


def _stop(process: subprocess.Popen[str], output: _Output, owner: int, terminate: bool) -> None:
    if os.getpid() != owner:  # a forked child ends; the daemon is its parent's
        return
    if process.poll() is None:
        expect_shutdown(output.address)
        _ask_to_end(process, terminate)
        try:
            process.wait(STOP_TIMEOUT_S)
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait()
    if process.stdin:
        process.stdin.close()
    disconnect(output.address)


_live: weakref.WeakSet[DaemonProcess] = weakref.WeakSet()


def _close_inherited_pipes() -> None:
    """A forked child must not keep its parent's daemons alive."""
    for daemon in list(_live):
        stdin = daemon._process.stdin
        if stdin and not stdin.closed:
            stdin.close()


os.register_at_fork(after_in_child=_close_inherited_pipes)


def _keep_until_the_end() -> None:
    """Leaves the end of daemons to the kernel, which closes their stdin after everything else of this process.

    PyOpenCL waits for pending transfers when the interpreter clears its modules, so the servers must still be there.
    """
    for daemon in list(_live):
        stdin = daemon._process.stdin
        if daemon._terminate and daemon._finalizer.alive and stdin and not stdin.closed:
            os.dup(stdin.fileno())


atexit.register(_keep_until_the_end)
