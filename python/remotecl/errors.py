"""Errors outside of OpenCL itself. Every message names the cause and the remedy."""

from __future__ import annotations


class RemoteCLError(RuntimeError):
    """Base of all errors that remotecl raises. OpenCL's own errors stay PyOpenCL's."""


class ActivationError(RemoteCLError):
    """The OpenCL loader of this process cannot find remotecl any more: activation came too late."""


class ServerUnreachable(RemoteCLError):
    """Connecting to a server, or by ssh to its machine, failed: name, network, port, keys or protocol version."""


class ServerStartError(RemoteCLError):
    """A daemon did not start, or is not installed where it should be; the message has the machine's own output."""
