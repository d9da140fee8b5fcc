"""The records that remotecl's functions return, for annotations and documentation.

Nothing here is made by programs, except what a policy of one's own gets and returns.

Example::

    import remotecl
    from remotecl.types import ServerInfo

    def is_near(server: ServerInfo) -> bool:
        return server.round_trip_us is not None and server.round_trip_us < 500

    near = [server for server in remotecl.overview().servers if is_near(server)]
"""

from __future__ import annotations

from ._clusters.cluster import Cluster
from ._clusters.dask import DaskServer
from ._clusters.ssh import SSHServer
from ._connect.discovery import DiscoveredList, DiscoveredServer
from ._memory.residency import BufferResidency, ResidencyList, ResidentCopy, ResidentRange
from ._observe.inspect import DeviceList, LinkList, ServerInfo, ServerLink, ServerList
from ._observe.monitor import Monitor
from ._observe.overview import Overview
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
)
from ._observe.status import DeviceStatus, LinkStatus, ServerStatus, SessionStatus, StatusList, UserStatus
from ._observe.stores import StoreStatus
from ._observe.traffic import Amount, Compressed, Flow, Traffic
from ._schedule.explanation import Explanation
from ._schedule.python_policy import Candidate, PolicyTask
from ._tracing.event_graph import EventEdge, EventGraph, EventNode
from ._tracing.lanes import LaneList, LaneSummary
from ._tracing.records import TraceDevice, TraceRecord
from ._tracing.trace import Trace

__all__ = [
    "Amount",
    "BufferResidency",
    "CacheStats",
    "Candidate",
    "Cluster",
    "Compressed",
    "DaskServer",
    "DeviceList",
    "DeviceMemory",
    "DeviceStatus",
    "DiscoveredList",
    "DiscoveredServer",
    "EventEdge",
    "EventGraph",
    "EventNode",
    "Explanation",
    "Flow",
    "LaneList",
    "LaneSummary",
    "LinkList",
    "LinkStats",
    "LinkStatus",
    "Monitor",
    "Overview",
    "PlacementCount",
    "PolicyTask",
    "RdmaStats",
    "RdmaTotals",
    "ResidencyList",
    "ResidentCopy",
    "ResidentRange",
    "SSHServer",
    "ServerInfo",
    "ServerLink",
    "ServerList",
    "ServerStats",
    "ServerStatus",
    "SessionStatus",
    "Stats",
    "StatusList",
    "StoreStatus",
    "Trace",
    "TraceDevice",
    "TraceRecord",
    "Traffic",
    "TransferCount",
    "TransferStats",
    "UserStatus",
]
