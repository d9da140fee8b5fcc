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
from typing import TYPE_CHECKING

from ._clusters.cluster import Cluster, LocalCluster
from ._clusters.dask import DaskCluster, DaskServer
from ._clusters.ssh import SSHCluster, SSHServer
from ._connect.connection import Connection, connect
from ._connect.discovery import DiscoveredList, DiscoveredServer, discover
from ._connect.interrupts import make_interruptible
from ._daemon.server import Server
from ._loading.activation import activate, icd_path
from ._memory.drain import drain
from ._memory.network import Network
from ._memory.operations import pinned_empty, prefetch, set_content_size
from ._memory.residency import BufferResidency, ResidencyList, ResidentCopy, ResidentRange, residency
from ._observe.inspect import (
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
from ._observe.monitor import Monitor, monitor
from ._observe.progress import progress, start_by_default
from ._observe.rdma import RdmaStats, RdmaTotals
from ._observe.stats import (
    CacheStats,
    DeviceMemory,
    LinkStats,
    PlacementCount,
    ServerStats,
    Stats,
    TransferCount,
    TransferStats,
    stats,
)
from ._observe.status import DeviceStatus, LinkStatus, ServerStatus, SessionStatus, StatusList, UserStatus, status
from ._observe.stores import StoreStatus
from ._observe.traffic import Amount, Compressed, Flow, Traffic
from ._schedule.automatic import auto
from ._schedule.explanation import Explanation, explain
from ._schedule.python_policy import Candidate, PolicyTask
from ._schedule.split import Slice, split
from ._tracing.event_graph import EventEdge, EventGraph, EventGraphError, EventNode, event_graph
from ._tracing.lanes import LaneList, LaneSummary
from ._tracing.records import TraceDevice, TraceRecord
from ._tracing.trace import Trace, TraceError, trace
from ._version import __version__
from .errors import ActivationError, RemoteCLError, ServerStartError, ServerUnreachable

__all__ = [
    "ActivationError",
    "Amount",
    "BufferResidency",
    "CacheStats",
    "Candidate",
    "Cluster",
    "Compressed",
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
    "Explanation",
    "Flow",
    "LaneList",
    "LaneSummary",
    "LinkList",
    "LinkStats",
    "LinkStatus",
    "LocalCluster",
    "Monitor",
    "Network",
    "PlacementCount",
    "PolicyTask",
    "RdmaStats",
    "RdmaTotals",
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
    "Slice",
    "Stats",
    "StatusList",
    "StoreStatus",
    "Trace",
    "TraceDevice",
    "TraceError",
    "TraceRecord",
    "Traffic",
    "TransferCount",
    "TransferStats",
    "UserStatus",
    "__version__",
    "activate",
    "auto",
    "connect",
    "devices",
    "discover",
    "drain",
    "event_graph",
    "explain",
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
    "split",
    "stats",
    "status",
    "trace",
]


if not TYPE_CHECKING:  # for a type checker, a module with this function has every name

    def __getattr__(name: str) -> object:
        """Says where a name that was public is now."""
        if name in ("Adaptive", "AdaptiveFrame", "adaptive"):
            raise AttributeError(f"remotecl.{name} is now an example: examples/adaptive/adaptive.py in the checkout")
        raise AttributeError(f"module 'remotecl' has no attribute {name!r}")


try:
    activate()
except RemoteCLError as error:
    # Much of the package works without a loader that finds remotecl, so the import must not fail.
    warnings.warn(str(error), RuntimeWarning, stacklevel=2)

make_interruptible()
start_by_default()
