"""Connecting to servers and getting PyOpenCL objects for their devices."""

from __future__ import annotations

import contextlib
import importlib
import json
import os
import socket
import sys
import threading
from collections import Counter
from collections.abc import Sequence
from pathlib import Path
from types import ModuleType, TracebackType
from typing import TYPE_CHECKING, Any

from .._display.html import table
from .._display.table import count
from .._loading import activation, config, vendors
from ..errors import ActivationError, RemoteCLError, ServerUnreachable

if TYPE_CHECKING:
    import pyopencl

EXTENSION = "remotecl._core"
PLATFORM_NAME = "remotecl"
DEFAULT_PORT = 10990

_changed = threading.Condition()
_connections: Counter[str] = Counter()  # open ones and those that connect, by server; guarded by _changed
_ending: set[str] = set()  # servers that are being disconnected; likewise


class Connection:
    """The devices of the servers named in `remotecl.connect`, as PyOpenCL objects. A table in Jupyter.

    It is a context manager that closes itself at the end of the ``with`` block.

    Example::

        connection = remotecl.connect("gpu1", "gpu2")
        context = connection.context()  # over all devices
        one = connection.context(connection.devices[:1])
        connection.close()
    """

    def __init__(self, servers: Sequence[str]) -> None:
        self._servers = list(servers)
        self._platform: pyopencl.Platform  # set, like the devices, by `connect`
        self._devices: list[pyopencl.Device] = []
        self._closed = False
        with _changed:  # before it connects, so that no other one ends what it will use
            _changed.wait_for(lambda: _ending.isdisjoint(self._servers))
            _connections.update(self._servers)

    @property
    def servers(self) -> list[str]:
        """``host:port`` of every server of this connection."""
        return list(self._servers)

    @property
    def platform(self) -> pyopencl.Platform:
        """The platform ``remotecl``, which also has the devices of servers connected elsewhere in the process."""
        return self._platform

    @property
    def devices(self) -> list[pyopencl.Device]:
        """The devices of this connection's servers only."""
        return list(self._devices)

    def context(self, devices: Sequence[pyopencl.Device] | None = None) -> pyopencl.Context:
        """A new context over `devices`, or over all devices of this connection."""
        chosen = self._devices if devices is None else devices
        return import_pyopencl().Context(list(chosen))

    def close(self) -> None:
        """Ends the connection to those of its servers that neither another `Connection` nor ``REMOTECL_SERVERS`` names.

        Their devices are no longer available, commands that have not ended fail, and data that only they have is lost
        (see `remotecl.drain`). `remotecl.connect` to the same server gives new devices. Closing again does nothing.
        """
        named = {full_address(name.strip()) for name in os.environ.get("REMOTECL_SERVERS", "").split(",")}
        with _changed:
            if self._closed:
                return
            self._closed = True
            _connections.subtract(self._servers)
            unused = {server for server in self._servers if _connections[server] <= 0} - named
            _ending.update(unused)
        try:
            for server in unused:  # without the lock, because a server may be slow
                native().disconnect(server)  # if it is gone already, there is nothing to end
        finally:
            with _changed:
                _ending.difference_update(unused)
                _changed.notify_all()

    def __enter__(self) -> Connection:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        self.close()

    def __repr__(self) -> str:
        state = "closed" if self._closed else count(len(self._devices), "device")
        return f"<remotecl.Connection to {', '.join(self._servers)}: {state}>"

    def _repr_html_(self) -> str:
        rows = [(server_of_device(device), device.name.strip()) for device in self._devices]
        return table(f"connection to {count(len(self._servers), 'server')}", ("server", "device"), rows)


def connect(
    *servers: str | Sequence[str],
    token_file: str | Path | None = None,
    pin: str | None = None,
    ca_file: str | Path | None = None,
) -> Connection:
    """Connects this process to servers and returns their devices as PyOpenCL objects.

    Works at any time and any number of times; the platform's ``get_devices()`` grows. A server that is connected
    already keeps its devices. One that was lost and has returned has new devices under the old name. Servers named in
    ``REMOTECL_SERVERS`` are connected as well.

    Args:
        servers: one ``"host"``, ``"host:port"`` or ``"[ipv6]:port"`` each, or lists of these; the default port is
            10990. A server that asks for a token or speaks TLS is followed by ``"?token=FILE&pin=sha256:..."``, as in
            ``REMOTECL_SERVERS``. Short names and groups (``"@lab"``) are those of the configuration file.
        token_file: one for all of these servers. Each server must also prove that it knows the token.
        pin: ``"sha256:..."``, the key that all of these servers must present in TLS; ``remotecl keygen`` and
        ``remotecl-server`` print it.
        ca_file: PEM file with the authorities that signed these servers' certificates, which must be for their names.

    Raises:
        TypeError: the name of a server is not a text.
        ValueError: no server is named.
        ServerUnreachable: a server cannot be reached, speaks another version, does not know the same token, or has
            another key or certificate than it should.
        ActivationError: the OpenCL loader of this process has run already and cannot see remotecl.
        RemoteCLError: PyOpenCL is not installed, or the configuration file is wrong.

    Example::

        connection = remotecl.connect("gpu1", "gpu2:10991")
        queue = pyopencl.CommandQueue(connection.context(), connection.devices[0])
        connection = remotecl.connect("gpu3", token_file="/home/me/.config/remotecl/token", pin="sha256:...")
    """
    names = [server_name(name, token_file, pin=pin, ca_file=ca_file) for name in named_servers(*servers)]
    if not names:
        raise ValueError('name at least one server: remotecl.connect("host[:port]")')
    activation.activate()
    cl = import_pyopencl()
    connection = Connection([full_address(name) for name in names])
    try:
        connect_servers(names)
        connection._platform = find_platform(cl)
        devices = connection._platform.get_devices()
        connection._devices = [device for device in devices if server_of_device(device) in connection._servers]
    except BaseException:
        connection.close()
        raise
    return connection


def connect_servers(names: Sequence[str]) -> None:
    """Connects without PyOpenCL. Raises ServerUnreachable."""
    error = native().connect(",".join(names))
    if error:
        raise ServerUnreachable(error_text(error))


def configured_servers() -> list[str]:
    """The servers of ``REMOTECL_SERVERS``, else the ``default`` of the configuration file."""
    return config.resolve_all([os.environ.get("REMOTECL_SERVERS", "")]) or config.default_servers()


def named_servers(*servers: str | Sequence[str]) -> list[str]:
    """The names of servers, from what a user may write: texts, lists of them, short names, groups."""
    names: list[object] = []
    for server in servers:
        names += server if isinstance(server, (list, tuple, set)) else [server]
    for name in names:
        if not isinstance(name, str):
            raise TypeError(f'a server is named by a text, "host[:port]", not by {type(name).__name__}')
    return config.resolve_all([str(name) for name in names])


def known_as(name: str) -> set[str]:
    """Every ``host:port`` by which this process is connected to a server that the user names, or has lost it.

    Names are one server's if they are the same, resolve to the same address, as localhost and 127.0.0.1 do, or lead to
    the same run of a daemon, as its address and the end of a tunnel to it do.
    """
    address = full_address(name)
    resolved = _resolved(address)
    entries = [entry for entry in decoded(native().servers_json()) if entry["status"] != "unreachable"]
    if not entries:
        return set()
    alike = [e for e in entries if e["address"] == address or not resolved.isdisjoint(_resolved(e["address"]))]
    epochs = {entry["epoch"] for entry in alike if entry["status"] == "connected"} or {_epoch(name)}
    return {entry["address"] for entry in entries if entry in alike or entry["epoch"] in epochs}


def error_text(error: str) -> str:
    """The library's JSON error as text for people."""
    try:
        decoded = json.loads(error)
    except ValueError:
        return error
    if isinstance(decoded, dict):
        decoded = decoded.get("error") or decoded.get("message") or decoded
    return str(decoded)


def all_devices(cl: ModuleType) -> list[pyopencl.Device]:
    """The platform's devices, custom ones last, which OpenCL does not count among all. Raises ActivationError."""
    platform = find_platform(cl)
    return [*platform.get_devices(), *platform.get_devices(cl.device_type.CUSTOM)]


def find_platform(cl: ModuleType) -> pyopencl.Platform:
    """The platform ``remotecl`` of this process. Raises ActivationError if no server is known.

    A loader asks its drivers for platforms once, and before a server is known there is none. Its calls go through the
    objects' own handles, so a platform that it does not list can be used all the same.
    """
    handle = native().connect_configured()  # lets other threads run meanwhile
    try:
        platforms = cl.get_platforms()
    except cl.Error:  # no platform at all is an error in OpenCL
        platforms = []
    for platform in platforms:
        if platform.name == PLATFORM_NAME:
            return platform
    if handle:
        return cl.Platform.from_int_ptr(handle, retain=False)
    raise ActivationError(
        "this process has no platform remotecl, because it knows no server: call remotecl.connect(), or set "
        "REMOTECL_SERVERS before the program starts"
    )


def server_name(
    address: str, token_file: str | Path | None, *, pin: str | None = None, ca_file: str | Path | None = None
) -> str:
    """The name of a server for ``REMOTECL_SERVERS`` and `connect`: its address, and how both sides authenticate."""
    options = {"token": token_file, "pin": pin, "ca": ca_file}
    return config.with_options(
        address,
        "&".join(f"{option}={config.escaped(str(value))}" for option, value in options.items() if value is not None),
    )


def full_address(name: str) -> str:
    """The ``host:port`` of an address that a user wrote, as the client library writes it."""
    name = name.partition("?")[0]
    host, port = name, str(DEFAULT_PORT)
    if name.startswith("["):
        host, _, rest = name[1:].partition("]")
        port = rest.lstrip(":") or port
    elif name.count(":") == 1:
        host, _, port = name.partition(":")
    if port.isdecimal():
        port = str(int(port))
    return f"[{host}]:{port}" if ":" in host else f"{host}:{port}"


def _epoch(name: str) -> int | None:
    """What differs between two runs of a daemon; None if the server cannot be asked."""
    try:
        with contextlib.closing(native().Monitor(name)) as monitor:
            epoch: int = json.loads(monitor.status_json())["epoch"]
    except RuntimeError:
        return None
    return epoch


def _resolved(address: str) -> set[tuple[Any, ...]]:
    """The addresses that a ``host:port`` resolves to; none if it does not."""
    host, _, port = address.rpartition(":")
    try:
        return {found[4][:2] for found in socket.getaddrinfo(host.strip("[]"), port, type=socket.SOCK_STREAM)}
    except (OSError, UnicodeError):
        return set()


def server_of_device(device: pyopencl.Device) -> str:
    """``host:port`` of the server that a device of the platform ``remotecl`` is on."""
    address: str = native().device_server(device_handle(device))
    return address


def device_handle(device: pyopencl.Device) -> int:
    """The device's handle in C. Raises TypeError if it is not a device."""
    if not isinstance(device, import_pyopencl().Device):
        raise TypeError(f"device must be a pyopencl.Device, not {type(device).__name__}")
    handle: int = device.int_ptr
    return handle


def import_pyopencl() -> ModuleType:
    """PyOpenCL, imported only when something needs it."""
    if vendors.pyopencl_package() is None:
        raise RemoteCLError("this needs PyOpenCL, which is not installed: pip install pyopencl")
    return importlib.import_module("pyopencl")


def decoded(answer: str) -> Any:  # noqa: ANN401  JSON
    """The extension module's JSON answer, decoded. It has none in a forked child and without memory."""
    if not answer:
        raise RemoteCLError(
            "libremotecl does not answer: this process was forked off one that uses remotecl, or has no memory left; "
            'start it as a new program (in Python: multiprocessing with "spawn"), or fork before the first OpenCL call'
        )
    return json.loads(answer)


def native() -> Any:  # noqa: ANN401  the extension module
    """The extension module; loaded after activate() has checked which libraries the process has loaded."""
    activation.icd_path()
    try:
        return importlib.import_module(EXTENSION)
    except ModuleNotFoundError as error:
        if error.name != EXTENSION:
            raise
        others = ", ".join(sorted(file.name for file in vendors.PACKAGE.glob("_core.*.so"))) or "none"
        raise RemoteCLError(
            f"remotecl was not built for this Python ({sys.implementation.cache_tag}): its extension module is missing "
            f"(for others: {others}); install a wheel of this Python's (make wheel PYTHON={sys.executable})"
        ) from error
