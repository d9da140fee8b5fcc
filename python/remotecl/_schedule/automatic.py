"""The automatic device."""

from __future__ import annotations

from typing import TYPE_CHECKING

from .._connect.connection import decoded, import_pyopencl
from ..errors import RemoteCLError
from .python_policy import PolicyFunction, use_function
from .scheduling import scheduling

if TYPE_CHECKING:
    import pyopencl


def auto(policy: str | PolicyFunction | None = None) -> pyopencl.Device:
    """The automatic device, which stands for all devices of the connected servers.

    Each kernel on a queue of it runs on one of them, which a policy chooses; data follows. In-order queues keep their
    order; kernels of several queues, or of an out-of-order queue, run in parallel on several devices. From now on the
    platform lists it as its first device, as it does with ``REMOTECL_AUTO=1``.

    Servers that are connected later are not among its devices: call `auto` again, and make another context.

    Args:
        policy: for all queues of this process from now on: ``"earliest-finish"`` (the default), ``"least-loaded"``,
            ``"round-robin"``, ``"static"``, or the path of a shared library with a policy of your own
            (``remotecl/policy.h``); it must have a slash. Or a function, which gets a `PolicyTask`
            and a list of `Candidate`, and returns one of these, several, which kernels take in turn, or None: then they
            run where they are expected to end first. It is asked on a thread of its own, once for each kernel and each
            power of two of work items, and again for the first task after 10 ms; its answer serves the tasks that
            follow. None leaves the policy as it is, which ``REMOTECL_SCHEDULE`` sets at first.

    Raises:
        RemoteCLError: no server is connected, or the policy is unknown or cannot be loaded.
        TypeError: the policy is neither text nor a function.

    Example::

        remotecl.connect("gpu1,gpu2")
        context = pyopencl.Context([remotecl.auto()])

        def least_data(task, candidates):
            return min(candidates, key=lambda one: (one.missing, one.finish))

        remotecl.auto(policy=least_data)
    """
    if not (policy is None or isinstance(policy, str) or callable(policy)):
        raise TypeError(f"a policy is a name, a path or a function, not {policy!r}")
    name = policy if isinstance(policy, str) else None
    handle, error = scheduling().automatic_device(name)
    if not handle:
        raise RemoteCLError(decoded(error))
    if callable(policy):
        use_function(policy)
    return import_pyopencl().Device.from_int_ptr(handle, retain=False)
