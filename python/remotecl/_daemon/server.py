"""A daemon on this machine, owned by this process."""

from __future__ import annotations

import json
import time
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Protocol

from .._display.html import Markup, table
from .._loading import activation
from .._stoppable import Stoppable
from ..errors import ServerStartError
from . import launcher
from .process import DaemonProcess, Devices, devices_option, expect_shutdown


class ClusterServer(Protocol):
    """The interface of a cluster's servers: `Server`, `SSHServer` and `DaskServer` implement it."""

    @property
    def address(self) -> str:
        """``host:port`` at which this process reaches the daemon."""

    @property
    def pin(self) -> str:
        """``sha256:...``, the key that the daemon shows by TLS; empty without TLS."""

    @property
    def where(self) -> str:
        """Where the daemon runs, in words."""

    @property
    def running(self) -> bool:
        """Whether the daemon runs."""

    def stop(self) -> object:
        """Stops the daemon and waits for its end. Calling it again does nothing."""

    def _await_ready(self, deadline: float) -> None:
        """Waits until the daemon can be connected to. Raises ServerStartError or ServerUnreachable."""

    def _begin_stop(self) -> None:
        """Asks the daemon to end, without waiting for it."""


class Server(Stoppable):
    """Starts a `remotecl-server` on this machine and stops it again.

    The daemon ends with `stop()`, with the end of a ``with`` block, when the object is collected, and when this
    process ends in any way, including SIGKILL.

    Args:
        listen: ``host[:port]`` to listen on; port 0 lets the system choose. Beyond loopback it requires `token_file` or
        `tls_client_ca`.
        devices: ``"all"``, or a comma separated list (or a sequence) of device indices and parts of device names.
        environment: variables set for the daemon in addition to this process's, for example
            ``{"OCL_ICD_VENDORS": directory}`` to choose its drivers.
        token_file: file with the token that clients must know; see ``remotecl keygen``.
        tls: PEM files of a certificate and of its key, as ``remotecl keygen`` makes them: the daemon speaks TLS only,
            and clients name it with ``?pin=`` or ``?ca=``. True: with a new key of its own, whose pin is `pin`.
        tls_client_ca: PEM file; clients must present a certificate that is signed by one in it.
        isolate: whether each session has a contained process of its own, so that neither a driver that crashes nor a
            malicious kernel affects more than its session. None: if others than this user can use CPU devices, that is
            with a token, with `tls_client_ca`, or beyond loopback.
        kernel_connect: where kernels' sockets may be connected to (`Network`), as ``kernel-connect`` of the limits says
            it: ``["10.0.0.0/8:*", "db.example:11211"]``. None, with `kernel_bind`: kernels have no sockets.
        kernel_bind: what they may be bound to: ``["127.0.0.1:7000-7999"]``.
        streams: what sources, decoders and sinks may open, as ``--plugin-allow`` says it:
            ``["read:/data", "camera:/dev/video0"]``. None: the daemon has no such devices.
        startup_timeout_s: seconds that it may take until the daemon listens.

    Raises:
        ServerStartError: the daemon ended or did not listen in time; the message contains the daemon's own.

    Example::

        with remotecl.Server() as server:
            connection = remotecl.connect(server.address)
    """

    def __init__(
        self,
        listen: str = "127.0.0.1:0",
        devices: Devices = "all",
        *,
        environment: Mapping[str, str] | None = None,
        token_file: str | Path | None = None,
        tls: tuple[str | Path, str | Path] | bool | None = None,
        tls_client_ca: str | Path | None = None,
        isolate: bool | None = None,
        kernel_connect: Sequence[str] | None = None,
        kernel_bind: Sequence[str] | None = None,
        streams: Sequence[str] | None = None,
        startup_timeout_s: float = 30.0,
    ) -> None:
        options: list[str] = []
        if token_file is not None:
            options += ["--token-file", str(token_file)]
        if tls is True:
            options.append("--tls-new")
        elif tls:
            options += ["--tls", *map(str, tls)]
        if tls_client_ca is not None:
            options += ["--tls-client-ca", str(tls_client_ca)]
        if isolate is not None:
            options.append("--isolate" if isolate else "--no-isolate")
        if kernel_connect is not None or kernel_bind is not None:
            options += [
                "--kernel-sockets",
                "--limit",
                f"session.kernel-connect={json.dumps(list(kernel_connect or ()))}",
            ]
            options += ["--limit", f"session.kernel-bind={json.dumps(list(kernel_bind or ()))}"]
        if streams is not None:
            options += ["--streams", *(word for rule in streams for word in ("--plugin-allow", rule))]
        self._launch(listen, devices, environment, options)
        self._await_ready(time.monotonic() + startup_timeout_s)

    @classmethod
    def _launched(
        cls, listen: str, devices: Devices, *, token: str | None = None, tls: bool = False, drain_s: int = 0
    ) -> Server:
        """A server that may not listen yet: call `_await_ready`. For starting several at once, or with a token.

        Only this user has that token, so sessions need not be isolated. With `drain_s` it has `_drain`.
        """
        server = cls.__new__(cls)
        options = [] if token is None else ["--token-file", "-", "--no-isolate"]
        options += ["--drain", str(drain_s)] if drain_s else []
        server._launch(listen, devices, None, [*options, *["--tls-new"] * tls], token, terminate=not drain_s)
        return server

    @property
    def address(self) -> str:
        """``host:port`` that the daemon listens on."""
        return self._daemon.address

    @property
    def pin(self) -> str:
        """``sha256:...``, the key that the daemon shows by TLS; empty without TLS."""
        return self._daemon.pin

    @property
    def pid(self) -> int:
        """Process id of the daemon."""
        return self._daemon.pid

    @property
    def running(self) -> bool:
        """Whether the daemon's process is alive."""
        return self._daemon.exit_code is None

    @property
    def where(self) -> str:
        """Where the daemon runs: ``"this machine"``."""
        return "this machine"

    def stop(self) -> int:
        """Stops the daemon and waits for its end. Returns its exit code, 0 after a clean shutdown.

        A daemon that does not end within 10 seconds is killed (exit code -9). Calling it again returns the same.
        """
        if self.running:
            expect_shutdown(self.address)
        return self._daemon.stop()

    def __repr__(self) -> str:
        state = "running" if self.running else f"ended with exit code {self._daemon.exit_code}"
        return f"<remotecl.Server {self.address} pid {self.pid}, {state}>"

    def _repr_html_(self) -> str:
        return servers_table("remotecl.Server", [self])

    def _launch(
        self,
        listen: str,
        devices: Devices,
        environment: Mapping[str, str] | None,
        options: Sequence[str],
        token: str | None = None,
        *,
        terminate: bool = True,
    ) -> None:
        settings = launcher.daemon_environment({**activation.original_environment(), **(environment or {})})
        command = [launcher.binary_path(), "--listen", listen, "--devices", devices_option(devices), *options]
        self._daemon = DaemonProcess([*command, "--exit-on-stdin-eof"], settings, terminate=terminate, token=token)

    def _await_ready(self, deadline: float) -> None:
        failure = self._daemon.await_ready(deadline)
        if failure:
            raise ServerStartError(f"{' '.join(self._daemon.command)} {failure}: {self._daemon.words()}")

    def _begin_stop(self) -> None:
        if self.running:
            expect_shutdown(self.address)
        self._daemon.begin_stop()

    def _drain(self, timeout_s: float) -> None:
        self._daemon.drain(timeout_s)


def servers_table(caption: str, servers: Iterable[ClusterServer]) -> Markup:
    """Daemons, where they run and whether they do, as an HTML table."""
    rows = [(server.address, server.where, "running" if server.running else "stopped") for server in servers]
    return table(caption, ("address", "where", "state"), rows)
