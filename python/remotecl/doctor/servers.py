"""Checks of servers: name, port, protocol, devices, round trip, shared memory, and the links between them."""

from __future__ import annotations

import re
import socket
import struct
from collections.abc import Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from functools import cached_property

from .._connect.connection import full_address
from .._loading import settings
from .child import ProbeError, ask, probe
from .finding import Finding, findings_of
from .local import device_finding

MAGIC = b"remotecl"
HELLO = struct.Struct("<8sIIQQ16s")
WELCOME = struct.Struct("<8sIIQQ16sQII")
NO_VERSION = 0  # never used by a release, so a server answers with its version and makes no session
ANSWER_TIMEOUT_S = 5.0  # how long a server waits for a handshake
SLOW_US = 5000.0
SAME_RELEASE = "install the same remotecl release on both machines"


class ServerChecks:
    """Checks of the servers with these names, as a user writes them."""

    def __init__(self, names: Sequence[str], environment: Mapping[str, str], timeout_s: float) -> None:
        self._names = names
        self._environment = environment
        self._timeout_s = timeout_s
        self._answer_timeout_s = min(timeout_s, ANSWER_TIMEOUT_S)
        self._usable: list[str] = []

    def all(self) -> Iterator[Finding]:
        """All servers in parallel, because lost ones take long, then the links between those that work."""
        if not self._names:
            yield Finding(
                "servers", "note", "no server is named", "use --servers host[:port],... or set REMOTECL_SERVERS"
            )
            return
        with ThreadPoolExecutor(max_workers=16) as threads:
            each = threads.map(
                lambda name: list(findings_of(f"server {name}", lambda: self._server(name))), self._names
            )
            for findings in each:
                yield from findings
        usable = [name for name in map(_full_name, self._names) if name in self._usable]
        if len(set(usable)) > 1:
            yield from findings_of("links", lambda: self._links(usable))

    @cached_property
    def _own_protocol(self) -> int:
        version: int = ask(probe("icd"), self._environment, self._timeout_s)["protocol"]
        return version

    def _server(self, name: str) -> Iterator[Finding]:
        check = f"server {name.partition('?')[0]}"
        address = _split(name)
        if address is None:
            yield Finding(check, "problem", "this is no server address", "write host, host:port or [ipv6]:port")
            return
        host, port = address
        try:
            found = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM)
        except OSError as error:
            remedy = "check the spelling, or use the server's IP address"
            yield Finding(f"{check}: name", "problem", f'"{host}" cannot be resolved ({error.strerror})', remedy)
            return
        numbers = list(dict.fromkeys(entry[4][0] for entry in found))
        if numbers != [host]:
            yield Finding(f"{check}: name", "ok", f"{host} is {', '.join(map(str, numbers))}")
        try:
            connection = socket.create_connection((host, port), timeout=self._answer_timeout_s)
        except OSError as error:
            yield Finding(f"{check}: port", "problem", str(error.strerror or error), _port_remedy(error, host, port))
            return
        with connection:
            same_host = connection.getsockname()[0] == connection.getpeername()[0]
            yield Finding(f"{check}: port", "ok", f"{port} can be reached")
            protocol = self._protocol(f"{check}: protocol", connection)
        yield protocol
        if protocol.status == "ok":
            yield from self._connected(check, _full_name(name), same_host)

    def _protocol(self, check: str, connection: socket.socket) -> Finding:
        other = "another program is on this port, or a tunnel whose far end is not there; check the port"
        connection.settimeout(self._answer_timeout_s)
        try:
            connection.sendall(HELLO.pack(MAGIC, NO_VERSION, 0, 0, 0, bytes(16)))
            answer = _receive(connection, WELCOME.size)
            if len(answer) == WELCOME.size and answer.startswith(MAGIC):
                answer += _receive(connection, min(WELCOME.unpack(answer)[7], 1024))
        except TimeoutError:
            return Finding(
                check, "problem", f"whoever listens there said nothing for {self._answer_timeout_s:g} s", other
            )
        except OSError as error:
            return Finding(check, "problem", f"the connection ended: {error.strerror}", other)
        if len(answer) < WELCOME.size or not answer.startswith(MAGIC):
            said = f"answers {answer[:16]!r}" if answer else "ends the connection without an answer"
            return Finding(check, "problem", f"no remotecl-server: it {said}", other)
        version = WELCOME.unpack(answer[: WELCOME.size])[1]
        release = re.search(rb"\(remotecl ([^)]{1,40})\)", answer[WELCOME.size :])
        text = f"version {version}" + (f" (remotecl {release[1].decode(errors='replace')})" if release else "")
        if version != self._own_protocol:
            text = f"the server speaks {text}, this side version {self._own_protocol}"
            return Finding(check, "problem", text, SAME_RELEASE)
        return Finding(check, "ok", text)

    def _connected(self, check: str, address: str, same_host: bool) -> Iterator[Finding]:
        try:
            answer = ask(probe("server", address), self._environment, self._timeout_s)
        except ProbeError as error:
            remedy = "look at the server's log; run remotecl doctor on its machine"
            yield Finding(f"{check}: devices", "problem", f"a client there {error}", remedy)
            return
        if "error" in answer:
            cause, _, remedy = answer["error"].partition("; ")
            yield Finding(f"{check}: devices", "problem", cause, remedy)
            return
        self._usable.append(address)
        for device in answer["devices"]:
            yield device_finding(f"{check}: device", device["name"], device["error"])
        trip = answer["round_trip_us"]
        if trip is None:
            yield Finding(f"{check}: round trip", "problem", "the connection was lost", "look at the server's log")
        elif trip > SLOW_US:
            remedy = "every wait for a result costs this; see where-and-why-slow in the documentation"
            yield Finding(f"{check}: round trip", "note", f"{trip / 1000:.1f} ms", remedy)
        else:
            yield Finding(f"{check}: round trip", "ok", f"{trip:.0f} us")
        yield self._shared_memory(f"{check}: shared memory", answer["shared_memory"], same_host)
        if answer["rdma"] != "off":
            yield self._rdma(f"{check}: RDMA", answer["rdma"], answer["shared_memory"])

    def _shared_memory(self, check: str, shared: bool, same_host: bool) -> Finding:
        if shared:
            return Finding(check, "ok", "used for bulk data: the server is on this machine")
        if not same_host:
            return Finding(check, "ok", "not used: the server is on another machine")
        if settings.on_or_off(self._environment, "REMOTECL_SHARED_MEMORY") is False:
            return Finding(check, "note", "not used: REMOTECL_SHARED_MEMORY=off", "unset it for faster bulk data")
        remedy = "run the server as the same user, in the same container, without REMOTECL_SHARED_MEMORY=off"
        text = "not used, though the address is this machine's: another user or container, switched off, or a tunnel"
        return Finding(check, "note", text, remedy)

    def _rdma(self, check: str, words: str, shared: bool) -> Finding:
        if words.startswith(("in use", "connecting")) or shared:
            return Finding(check, "ok", words)
        return Finding(check, "note", f"{words}; TCP carries bulk data", "docs/operating.md says what RDMA needs")

    def _links(self, addresses: Sequence[str]) -> Iterator[Finding]:
        if settings.on_or_off(self._environment, "REMOTECL_PEERS") is False:
            text = "none: REMOTECL_PEERS=off, so what moves between servers goes through this machine"
            yield Finding("links", "note", text, "unset it")
            return
        try:
            answer = ask(probe("links", ",".join(addresses)), self._environment, self._timeout_s)
        except ProbeError as error:
            yield Finding("links", "problem", f"a client of all servers {error}", "look at the servers' logs")
            return
        if "error" in answer:
            yield Finding("links", "problem", answer["error"], "look at the servers' logs")
            return
        for link in answer["links"]:
            check = f"link {' - '.join(link['servers'])}"
            if link["state"] == "connected":
                yield Finding(check, "ok", "connected: what moves between them does not pass this machine")
                continue
            text = f"{link['state']}: {link['reason']}; what moves between them goes through this machine"
            remedy = "let one of the two reach the other's port; servers on loopback are reached by their own host only"
            yield Finding(check, "note", text, remedy)


def _full_name(name: str) -> str:
    """The full address with its options."""
    _, mark, options = name.partition("?")
    return full_address(name) + mark + options


def _split(name: str) -> tuple[str, int] | None:
    host, _, port = full_address(name).rpartition(":")
    host = host.removeprefix("[").removesuffix("]")
    if not host or not port.isdigit() or int(port) > 65535:
        return None
    return host, int(port)


def _receive(connection: socket.socket, size: int) -> bytes:
    """The bytes that arrive, at most `size`."""
    received = b""
    with suppress(ConnectionError):
        while len(received) < size and (part := connection.recv(size - len(received))):
            received += part
    return received


def _port_remedy(error: OSError, host: str, port: int) -> str:
    if isinstance(error, ConnectionRefusedError):
        return (
            f"start it there: remotecl-server --listen {host}:{port}; one that runs already may listen on "
            "loopback only, which is the default, or on another port"
        )
    if isinstance(error, TimeoutError):
        return "is the machine up, and does a firewall let this port through?"
    return "is this machine's network up, and is there a route to the server?"
