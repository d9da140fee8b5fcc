"""What can go wrong outside of OpenCL itself. Every message names the cause and the remedy."""

from __future__ import annotations


class RemoteCLError(RuntimeError):
    """Base of all errors that remotecl raises. OpenCL's own errors stay PyOpenCL's."""


class ActivationError(RemoteCLError):
    """The OpenCL loader of this process cannot see remotecl any more: activation came too late."""


class ServerUnreachable(RemoteCLError):
    """A server could not be connected to: name, network, port or protocol version."""


class ServerStartError(RemoteCLError):
    """A daemon did not start; the message has the daemon's own words."""
