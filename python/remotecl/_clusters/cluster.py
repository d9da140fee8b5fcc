"""Several daemons that are started and stopped together: the base of all clusters, and the one on this machine."""

from __future__ import annotations

import socket
import time
from abc import abstractmethod
from collections.abc import Callable, Sequence
from typing import Generic, TypeVar

from .._connect.connection import Connection, connect, known_as, server_name
from .._daemon.fresh_token import FreshToken
from .._daemon.process import Devices
from .._daemon.server import ClusterServer, Server, servers_table
from .._memory.drain import drain
from .._stoppable import Stoppable
from ..errors import RemoteCLError, ServerUnreachable

ServerT = TypeVar("ServerT", bound=ClusterServer)


class Cluster(Stoppable, Generic[ServerT]):
    """Daemons that are connected to and stopped together: a `LocalCluster`, `SSHCluster` or `DaskCluster`.

    A cluster is a context manager that stops its daemons at the end of the ``with`` block, and a table in Jupyter.

    Example::

        def first_device(cluster: remotecl.types.Cluster) -> pyopencl.Device:
            return cluster.connect().devices[0]
    """

    def __init__(self, servers: Sequence[ServerT], token: FreshToken | None = None) -> None:
        self._servers = list(servers)
        self._token = token

    @property
    def servers(self) -> list[ServerT]:
        """The daemons, in the order of their addresses."""
        return list(self._servers)

    @property
    def addresses(self) -> list[str]:
        """``host:port`` of every daemon, as this process reaches it."""
        return [server.address for server in self._servers]

    @property
    def names(self) -> list[str]:
        """What ``REMOTECL_SERVERS`` and `remotecl.connect` take for every daemon: its address, token file and pin.

        The token file exists as long as the cluster. Without a token and TLS these are the `addresses`.
        """
        file = None if self._token is None else self._token.file
        return [server_name(server.address, file, pin=server.pin or None) for server in self._servers]

    def connect(self) -> Connection:
        """Connects this process to all daemons; see `remotecl.connect`."""
        return connect(*self.names)

    def scale(self, servers: int, *, startup_timeout_s: float = 60.0) -> None:
        """Starts or stops daemons until there are this many. Call `connect` again for the devices of new ones.

        Daemons that have ended by themselves do not count, and leave the cluster. Of the others, the newest are stopped
        first. If this process is connected to them, `remotecl.drain` first moves the data that only they have. Nothing
        is stopped if some of it cannot be moved.

        Args:
            servers: how many, at least 1.
            startup_timeout_s: seconds that it may take until new ones listen.

        Raises:
            ValueError: `servers` is less than 1, or more than there are places for.
            ServerStartError: a daemon did not start; all new ones have been stopped again.
            RemoteCLError: data of a daemon to be stopped cannot be moved, because its context has no device elsewhere.

        Example::

            cluster.scale(4)
            context = cluster.connect().context()
        """
        if servers < 1:
            raise ValueError(f"a cluster has at least 1 server, not {servers}")
        ended = [server for server in self._servers if not server.running]
        _stop_many(ended)  # frees their tunnels, and takes their devices out of the platform's list
        self._servers = [server for server in self._servers if server not in ended]
        if servers >= len(self):
            self._servers += _start_many(self._launches(servers - len(self)), startup_timeout_s)
            return
        leaving = self._servers[servers:]
        connected = [name for name in self.names[servers:] if known_as(name)]
        stuck = drain(*connected) if connected else []
        if stuck:
            raise RemoteCLError(
                f"nothing was stopped: {len(stuck)} of the program's buffers are on these servers only, and their "
                "contexts have no device of another one. Release them first, or copy them to another context"
            )
        del self._servers[servers:]
        _stop_many(leaving)

    @abstractmethod
    def _launches(self, count: int) -> Sequence[Callable[[], ServerT]]:
        """Functions, each of which begins to start one more daemon. Raises ValueError if there are too few places."""

    def stop(self) -> None:
        """Stops all daemons. Calling it again does nothing."""
        _stop_many(self._servers)

    def __len__(self) -> int:
        return len(self._servers)

    def __repr__(self) -> str:
        servers = (server.address + ("" if server.running else " (stopped)") for server in self._servers)
        return f"<remotecl.{type(self).__name__} {', '.join(servers)}>"

    def _repr_html_(self) -> str:
        title = f"remotecl.{type(self).__name__}, {len(self)} server{'s' if len(self) != 1 else ''}"
        return servers_table(title, self._servers)


class LocalCluster(Cluster[Server]):
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

    def __init__(self, servers: int = 2, devices: Devices = "all", *, startup_timeout_s: float = 60.0) -> None:
        if servers < 1:
            raise ValueError(f"a cluster has at least 1 server, not {servers}")
        self._devices = devices
        super().__init__(_start_many(self._launches(servers), startup_timeout_s))

    def _launches(self, count: int) -> Sequence[Callable[[], Server]]:
        return [lambda: Server._launched("127.0.0.1:0", self._devices)] * count


def _start_many(launches: Sequence[Callable[[], ServerT]], timeout_s: float) -> list[ServerT]:
    """Starts several daemons at once, so that their start-up times overlap. Starts all of them or none.

    Args:
        launches: each begins to start one and returns it, without waiting until it listens.
        timeout_s: seconds that it may take until all of them listen.
    """
    deadline = time.monotonic() + timeout_s
    servers: list[ServerT] = []
    try:
        for launch in launches:
            servers.append(launch())
        for server in servers:  # one more daemon listens after every iteration
            server._await_ready(deadline)
    except BaseException:
        _stop_many(servers)
        raise
    return servers


def require_reachable(address: str, what: str, remedy: str) -> None:
    """Raises ServerUnreachable, with a remedy, if nothing accepts connections at an address."""
    host, _, port = address.rpartition(":")
    try:
        socket.create_connection((host.strip("[]"), int(port)), timeout=10).close()
    except OSError as error:
        raise ServerUnreachable(
            f"{what} listens on {address}, which cannot be reached from here ({error}). {remedy}"
        ) from error


def _stop_many(servers: Sequence[ClusterServer]) -> None:
    for server in servers:  # so that their shutdowns overlap too
        server._begin_stop()
    for server in servers:
        server.stop()
