"""The automatic device."""

from __future__ import annotations

from typing import TYPE_CHECKING

from .._connect.connection import decoded, import_pyopencl, native
from ..errors import RemoteCLError

if TYPE_CHECKING:
    import pyopencl


def auto(policy: str | None = None) -> pyopencl.Device:
    """The automatic device, which stands for all devices of the connected servers.

    Each kernel on a queue of it runs on one of them, which a policy chooses; data follows. In-order queues keep their
    order; kernels of several queues, or of an out-of-order queue, run in parallel on several devices. From now on the
    platform lists it as its first device, as it does with ``REMOTECL_AUTO=1``.

    Servers that are connected later are not among its devices: call `auto` again, and make another context.

    Args:
        policy: for all queues of this process from now on: ``"earliest-finish"`` (the default), ``"least-loaded"``,
            ``"round-robin"``, ``"static"``, ``"least-energy"``, ``"cheapest"``, or the path of a shared library with a
            policy of your own (``remotecl/policy.h``); it must have a slash. None leaves the policy as it is, which
            ``REMOTECL_SCHEDULE`` sets at first.

    Raises:
        RemoteCLError: no server is connected, or the policy is unknown or cannot be loaded.

    Example::

        remotecl.connect("gpu1,gpu2")
        context = pyopencl.Context([remotecl.auto()])
    """
    handle, error = native().automatic_device(policy)
    if not handle:
        raise RemoteCLError(decoded(error))
    return import_pyopencl().Device.from_int_ptr(handle, retain=False)
