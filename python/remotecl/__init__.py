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

from . import types
from ._clusters.cluster import LocalCluster
from ._clusters.dask import DaskCluster
from ._clusters.ssh import SSHCluster
from ._connect.connection import Connection, connect
from ._connect.discovery import discover
from ._connect.interrupts import make_interruptible
from ._daemon.server import Server
from ._loading.activation import activate, icd_path
from ._memory.drain import drain
from ._memory.network import Network
from ._memory.operations import pinned_empty, prefetch, set_content_size
from ._memory.residency import residency
from ._observe.inspect import native_platform_of, server_of
from ._observe.monitor import monitor
from ._observe.overview import overview
from ._observe.progress import progress, start_by_default
from ._schedule.automatic import auto
from ._schedule.explanation import explain
from ._schedule.split import Slice, split
from ._tracing.event_graph import EventGraphError, event_graph
from ._tracing.trace import TraceError, trace
from ._version import __version__
from .errors import ActivationError, RemoteCLError, ServerStartError, ServerUnreachable

__all__ = [
    "ActivationError",
    "Connection",
    "DaskCluster",
    "EventGraphError",
    "LocalCluster",
    "Network",
    "RemoteCLError",
    "SSHCluster",
    "Server",
    "ServerStartError",
    "ServerUnreachable",
    "Slice",
    "TraceError",
    "__version__",
    "activate",
    "auto",
    "connect",
    "discover",
    "drain",
    "event_graph",
    "explain",
    "icd_path",
    "monitor",
    "native_platform_of",
    "overview",
    "pinned_empty",
    "prefetch",
    "progress",
    "residency",
    "server_of",
    "set_content_size",
    "split",
    "trace",
    "types",
]


if not TYPE_CHECKING:  # for a type checker, a module with this function has every name

    def __getattr__(name: str) -> object:
        """Names that moved: they work in this release, and warn."""
        from ._observe import inspect, stats, status

        parts = {each.__name__: each for each in (inspect.devices, inspect.links, inspect.servers)}
        parts |= {"stats": stats.stats, "status": status.status}
        if name in types.__all__:
            place, found = f"remotecl.types.{name}", getattr(types, name)
        elif name in parts:
            place, found = f"remotecl.overview().{name}", parts[name]
        elif name in ("Adaptive", "AdaptiveFrame", "adaptive"):
            raise AttributeError(f"remotecl.{name} is now an example: examples/adaptive/adaptive.py in the checkout")
        else:
            raise AttributeError(f"module 'remotecl' has no attribute {name!r}")
        words = f"remotecl.{name} is {place} now; the old name goes with the next release"
        warnings.warn(words, DeprecationWarning, stacklevel=2)
        return found


try:
    activate()
except RemoteCLError as error:
    # Much of the package works without a loader that finds remotecl, so the import must not fail.
    warnings.warn(str(error), RuntimeWarning, stacklevel=2)

make_interruptible()
start_by_default()
