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

from ._interrupts import make_interruptible
from ._loader import activate, icd_path
from ._progress import progress, start_by_default
from .buffers import BufferResidency, ResidencyList, ResidentCopy, ResidentRange, residency
from .cluster import Cluster, LocalCluster
from .connection import Connection, connect
from .dask_cluster import DaskCluster, DaskServer
from .discovery import DiscoveredList, DiscoveredServer, discover
from .drain import drain
from .errors import ActivationError, RemoteCLError, ServerStartError, ServerUnreachable
from .event_graph import EventEdge, EventGraph, EventGraphError, EventNode, event_graph
from .inspect import (
    DeviceList,
    LinkList,
    ServerInfo,
    ServerLink,
    ServerList,
    devices,
    links,
    native_platform_of,
    server_of,
    servers,
)
from .memory import pinned_empty, prefetch, set_content_size
from .monitor import Monitor, monitor
from .server import Server
from .ssh_cluster import SSHCluster, SSHServer
from .stats import CacheStats, DeviceMemory, LinkStats, ServerStats, Stats, TransferCount, TransferStats, stats
from .status import DeviceStatus, LinkStatus, ServerStatus, SessionStatus, StatusList, status
from .trace import LaneList, LaneSummary, Trace, TraceDevice, TraceError, TraceRecord, trace
from .traffic import Amount, Flow, Traffic

__version__ = "0.1.0"

__all__ = [
    "ActivationError",
    "Amount",
    "BufferResidency",
    "CacheStats",
    "Cluster",
    "Connection",
    "DaskCluster",
    "DaskServer",
    "DeviceList",
    "DeviceMemory",
    "DeviceStatus",
    "DiscoveredList",
    "DiscoveredServer",
    "EventEdge",
    "EventGraph",
    "EventGraphError",
    "EventNode",
    "Flow",
    "LaneList",
    "LaneSummary",
    "LinkList",
    "LinkStats",
    "LinkStatus",
    "LocalCluster",
    "Monitor",
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
    "ServerStatus",
    "ServerUnreachable",
    "SessionStatus",
    "Stats",
    "StatusList",
    "Trace",
    "TraceDevice",
    "TraceError",
    "TraceRecord",
    "Traffic",
    "TransferCount",
    "TransferStats",
    "__version__",
    "activate",
    "connect",
    "devices",
    "discover",
    "drain",
    "event_graph",
    "icd_path",
    "links",
    "monitor",
    "native_platform_of",
    "pinned_empty",
    "prefetch",
    "progress",
    "residency",
    "server_of",
    "servers",
    "set_content_size",
    "stats",
    "status",
    "trace",
]

try:
    activate()
except RemoteCLError as error:
    # Much of the package works without a loader that sees remotecl, so the import must not fail.
    warnings.warn(str(error), RuntimeWarning, stacklevel=2)

make_interruptible()
start_by_default()
