"""OpenCL devices of other machines, as if they were local.

Example::

    import remotecl

    with remotecl.LocalCluster(servers=2) as cluster:
        connection = cluster.connect()
        context = connection.context()  # a pyopencl.Context over the devices of both servers

Importing this package makes remotecl visible to the OpenCL loader of the process (see `activate`), so import it
before the first OpenCL call. Sizes are in bytes and times in seconds unless a name says otherwise.
"""

from __future__ import annotations

import warnings

from ._loader import activate, icd_path
from .buffers import BufferResidency, ResidencyList, ResidentCopy, ResidentRange, residency
from .cluster import Cluster, LocalCluster
from .connection import Connection, connect
from .dask_cluster import DaskCluster, DaskServer
from .discovery import DiscoveredServer, discover
from .errors import ActivationError, RemoteCLError, ServerStartError, ServerUnreachable
from .inspect import (
    DeviceList,
    ServerInfo,
    ServerLink,
    ServerList,
    ServerStats,
    devices,
    links,
    native_platform_of,
    server_of,
    servers,
    stats,
)
from .memory import pinned_empty, prefetch, set_content_size
from .server import Server
from .ssh_cluster import SSHCluster, SSHServer

__version__ = "0.1.0"

__all__ = [
    "ActivationError",
    "BufferResidency",
    "Cluster",
    "Connection",
    "DaskCluster",
    "DaskServer",
    "DeviceList",
    "DiscoveredServer",
    "LocalCluster",
    "RemoteCLError",
    "ResidencyList",
    "ResidentCopy",
    "ResidentRange",
    "SSHCluster",
    "SSHServer",
    "Server",
    "ServerInfo",
    "ServerLink",
    "ServerList",
    "ServerStartError",
    "ServerStats",
    "ServerUnreachable",
    "__version__",
    "activate",
    "connect",
    "devices",
    "discover",
    "icd_path",
    "links",
    "native_platform_of",
    "pinned_empty",
    "prefetch",
    "residency",
    "server_of",
    "servers",
    "set_content_size",
    "stats",
]

try:
    activate()
except RemoteCLError as error:
    # Much of the package works without a loader that sees remotecl, so the import must not fail.
    warnings.warn(str(error), RuntimeWarning, stacklevel=2)
