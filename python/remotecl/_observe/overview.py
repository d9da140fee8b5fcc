"""What there is, and what it does, in one place."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cached_property

from .._display.table import Shown, Table
from .inspect import DeviceList, LinkList, ServerList, devices, links, servers
from .stats import Stats, stats
from .status import StatusList, status


class Overview(Shown):
    """What `overview` returns: it shows servers, devices and links as tables.

    Each part is read when it is first used, and stays as it was then.

    Example::

        remotecl.overview()  # the last line of a cell
    """

    def __init__(self, *names: str | Sequence[str]) -> None:
        self._names = names

    @cached_property
    def servers(self) -> ServerList:
        """Every server that this process has connected to or tried to, and its state. Asks nobody.

        Example::

            for server in remotecl.overview().servers:
                print(server.address, server.status, server.round_trip_us)
        """
        return servers()

    @cached_property
    def devices(self) -> DeviceList:
        """All devices of all connected servers, as PyOpenCL objects. Asks nobody.

        Custom devices come last. They have no compiler; PyOpenCL's own ``get_devices()`` leaves them out.

        Raises:
            ActivationError: the loader of this process does not list remotecl, for example because no server is
                connected and ``REMOTECL_SERVERS`` is not set.

        Example::

            for device in remotecl.overview().devices:
                print(remotecl.server_of(device), device.name)
        """
        return devices()

    @cached_property
    def links(self) -> LinkList:
        """The links between servers, which are made when a context spans several of them. Asks nobody.

        Example::

            for link in remotecl.overview().links:
                print(*link.servers, link.state, link.reason)
        """
        return links()

    @cached_property
    def status(self) -> StatusList:
        """How the servers are: their devices, sessions, users and links, whoever uses them.

        Asks each server, without a session: its devices are not used, nor this process's platform.

        Raises:
            ServerUnreachable: one of them cannot be asked.

        Example::

            for device in remotecl.overview("gpu1").status[0].devices:
                print(device.name, device.queue_depth, device.memory_used)
        """
        return status(*self._names)

    @cached_property
    def stats(self) -> Stats:
        """What this process has exchanged with its servers, what it saved, and the memory that it uses on them.

        Asks every server, which takes one round trip each; the other numbers do not include that.

        Example::

            stats = remotecl.overview().stats
            print(stats.servers[0].bytes_sent, stats.transfers.saved.bytes)
        """
        return stats()

    def _tables(self) -> list[Table]:
        is_connected = any(server.status == "connected" for server in self.servers)
        parts: list[Shown] = [self.servers, *([self.devices] if is_connected else []), self.links]
        return [table for part in parts for table in part._tables()]


def overview(*servers: str | Sequence[str]) -> Overview:
    """What this process is connected to, and how that is, at this moment.

    Args:
        servers: whose ``status`` to ask for, named as for `connect`; they need not be connected. None of them takes
            those that this process has connected to or tried to.

    Raises:
        ServerUnreachable: when ``status`` is read, if one of them cannot be asked.

    Example::

        remotecl.overview()  # servers, devices and links, as tables
        remotecl.overview().stats.servers[0].bytes_sent
        remotecl.overview("gpu1").status  # of a server that need not be connected
    """
    return Overview(*servers)
