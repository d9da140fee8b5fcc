"""The environment variables that remotecl reads. ``docs/environment.md`` is checked against this table."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from .._loading import settings


@dataclass(frozen=True)
class Variable:
    """What a variable does, a description of its values, and a check of a value."""

    meaning: str
    values: str
    accepts: Callable[[str], bool]


def _switch(value: str) -> bool:
    return value.lower() in settings.ON + settings.OFF


def _off(value: str) -> bool:
    return value.lower() in settings.OFF


def _microseconds(value: str) -> bool:
    return _off(value) or (value.isdigit() and int(value) <= 1_000_000)


def _streams(value: str) -> bool:
    return value in tuple("12345678")


def _seconds(value: str) -> bool:
    return value.isdigit() and 1 <= int(value) <= 3600


def _window(value: str) -> bool:
    try:
        return _off(value) or 0 <= float(value) <= 86_400
    except ValueError:
        return False


def _coherent(value: str) -> bool:
    return _off(value) or value.lower() == "coherent"


def _rdma(value: str) -> bool:
    return value.lower() in ("auto", "off", "require")


def _uploads(value: str) -> bool:
    return value.lower() in ("auto", "off", "always")


def _compression(value: str) -> bool:
    return value.lower() in ("auto", "off", "zstd")


def _anything(_: str) -> bool:
    return True


VARIABLES = {
    "REMOTECL_SERVERS": Variable("servers that programs connect to", "host[:port],...", _anything),
    "REMOTECL_REQUIRED": Variable(
        "on: a program that cannot have its servers ends; off: it gets the others", "on or off", _switch
    ),
    "REMOTECL_CONFIG": Variable("the configuration file", "a file's name", _anything),
    "REMOTECL_LOG": Variable("off: no line on stderr when a server or a link is lost", "on or off", _switch),
    "REMOTECL_PEERS": Variable("off: data between servers goes through the client", "on or off", _switch),
    "REMOTECL_SHARED_MEMORY": Variable("off: no shared memory within a host", "on or off", _switch),
    "REMOTECL_BULK_CHANNELS": Variable(
        "channels that the bulk data of a server's devices is divided into, at most", "a number from 1 to 8", _streams
    ),
    "REMOTECL_BULK_STREAMS": Variable(
        "TCP connections that bulk data goes over, at most", "a number from 1 to 8", _streams
    ),
    "REMOTECL_RDMA": Variable("whether bulk data goes by RDMA", "auto, off or require", _rdma),
    "REMOTECL_UPLOADS": Variable(
        "whether large writes are offered before they are sent", "auto, off or always", _uploads
    ),
    "REMOTECL_COMPRESSION": Variable(
        "whether bulk data is compressed where the link is slow", "auto, off or zstd", _compression
    ),
    "REMOTECL_BUSY_POLL": Variable(
        "microseconds that who waits looks for a message before it sleeps", "a number from 0 to 1000000", _microseconds
    ),
    "REMOTECL_HEARTBEAT": Variable(
        "seconds after which a silent machine is asked whether it is there", "a number from 1 to 3600", _seconds
    ),
    "REMOTECL_RECONNECT": Variable(
        "seconds for which a lost connection is tried again", "a number from 0 to 86400", _window
    ),
    "REMOTECL_HOST_POINTERS": Variable(
        "coherent: memory of CL_MEM_USE_HOST_PTR buffers need not be mapped", "coherent or off", _coherent
    ),
    "REMOTECL_AUTO": Variable("on: the automatic device is listed", "on or off", _switch),
    "REMOTECL_SCHEDULE": Variable(
        "the policy of the automatic device", "a policy's name, or the path of a library with a slash", _anything
    ),
    "REMOTECL_PROGRESS": Variable("whether what lasts shows a progress bar", "on or off", _switch),
    "REMOTECL_DISABLE": Variable("on: the ICD offers no platform", "on or off", _switch),
}
