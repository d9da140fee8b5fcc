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
from .cluster import LocalCluster
from .connection import Connection, connect
from .errors import ActivationError, RemoteCLError, ServerStartError, ServerUnreachable
from .event_graph import EventEdge, EventGraph, EventGraphError, EventNode, event_graph
from .inspect import (
    BufferResidency,
    ResidentRange,
    ServerInfo,
    ServerLink,
    ServerStats,
    devices,
    links,
    native_platform_of,
    residency,
    server_of,
    servers,
    stats,
)
from .server import Server
from .trace import LaneSummary, Trace, TraceDevice, TraceError, TraceRecord, trace

__version__ = "0.1.0"

__all__ = [
    "ActivationError",
    "BufferResidency",
    "Connection",
    "EventEdge",
    "EventGraph",
    "EventGraphError",
    "EventNode",
    "LaneSummary",
    "LocalCluster",
    "RemoteCLError",
    "ResidentRange",
    "Server",
    "ServerInfo",
    "ServerLink",
    "ServerStartError",
    "ServerStats",
    "ServerUnreachable",
    "Trace",
    "TraceDevice",
    "TraceError",
    "TraceRecord",
    "__version__",
    "activate",
    "connect",
    "devices",
    "event_graph",
    "icd_path",
    "links",
    "native_platform_of",
    "residency",
    "server_of",
    "servers",
    "stats",
    "trace",
]

try:
    activate()
except RemoteCLError as error:
    # Much of the package works without a loader that sees remotecl, so the import must not fail.
    warnings.warn(str(error), RuntimeWarning, stacklevel=2)
