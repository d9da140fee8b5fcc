"""Several daemons on this machine."""

from __future__ import annotations

from collections.abc import Sequence
from types import TracebackType

from .connection import Connection, connect
from .server import Server


class LocalCluster:
    """Starts daemons on loopback, each with a port of its own, and stops them together.

    Args:
        servers: how many daemons to start, at least 1.
        devices: which devices each of them serves; see `Server`.
        startup_timeout_s: seconds that it may take until all of them listen.

    Raises:
        ValueError: `servers` is less than 1.
        ServerStartError: a daemon did not start; the others have been stopped again.

    Example::

        with remotecl.LocalCluster(servers=2) as cluster:
            context = cluster.connect().context()
    """

    def __init__(
        self, servers: int = 2, devices: str | Sequence[str | int] = "all", *, startup_timeout_s: float = 60.0
    ) -> None:
        if servers < 1:
            raise ValueError(f"a cluster has at least 1 server, not {servers}")
        chosen = devices if isinstance(devices, str) else ",".join(map(str, devices))
        self._servers = Server._start_many(servers, "127.0.0.1:0", chosen, startup_timeout_s)

    @property
    def servers(self) -> list[Server]:
        """The daemons, in the order of their addresses."""
        return list(self._servers)

    @property
    def addresses(self) -> list[str]:
        """``host:port`` of every daemon."""
        return [server.address for server in self._servers]

    def connect(self) -> Connection:
        """Connects this process to all daemons; see `remotecl.connect`."""
        return connect(*self.addresses)

    def stop(self) -> None:
        """Stops all daemons. Calling it again does nothing."""
        for server in self._servers:
            server.stop()

    def __enter__(self) -> LocalCluster:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.stop()

    def __repr__(self) -> str:
        return f"<remotecl.LocalCluster {', '.join(self.addresses)}>"
