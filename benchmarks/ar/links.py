"""Servers, and the link between them and the client: network namespaces where this user may make them."""

from __future__ import annotations

import contextlib
import os
import shutil
import subprocess
import sys
from collections.abc import Sequence
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path

from remotecl import RemoteCLError, ServerStartError
from remotecl._loading.activation import original_environment
from remotecl.bench.link import Link

SERVERS = 2
_PORT = 10990
# Of the servers' network among themselves.
_LAN_MBIT = 1000
_LINK_QUEUE_BYTES = 1_000_000


@dataclass(frozen=True)
class LinkKind:
    """The delay and the rate of a link.

    Attributes:
        name: short.
        mbit_per_s: in each direction.
        delay_ms: each way.
        late_part: how many packets come later by one more delay, from 0 to 1.
    """

    name: str
    mbit_per_s: float
    delay_ms: float
    late_part: float = 0.0

    def __str__(self) -> str:
        """In words."""
        rate = f"{self.mbit_per_s / 1000:g} Gbit/s" if self.mbit_per_s >= 1000 else f"{self.mbit_per_s:g} Mbit/s"
        late = f", {100 * self.late_part:g} % of packets later" if self.late_part else ""
        return f"{rate}, {self.delay_ms:g} ms each way{late}"


LINKS = {
    kind.name: kind
    for kind in (LinkKind("1g", 1000, 1), LinkKind("100m", 100, 5), LinkKind("20m", 20, 30, late_part=0.01))
}


class Servers:
    """Two servers with the streams' devices, and a link to them; without `kind`, loopback.

    Args:
        kind: the link.
        folder: that the servers may read.

    Attributes:
        addresses: where the client connects.
        inside: the command that runs it where the link is.
        how: what the link is made of, in words; empty for loopback.
        pids: the processes of the servers.

    Raises:
        ServerStartError: a daemon did not start.
    """

    def __init__(self, kind: LinkKind | None, folder: Path) -> None:
        self.inside: Sequence[str] = ()
        self.how = ""
        self.pids: list[int] = []
        self._folder = folder
        self._stack = ExitStack()
        try:
            if kind is None:
                self.addresses = [self._start("127.0.0.1:0") for _ in range(SERVERS)]
            elif missing := _why_no_namespaces():
                self._relay(kind, missing)
            else:
                self._namespaces(kind)
        except BaseException:
            self.close()
            raise

    def __enter__(self) -> Servers:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        """Ends the servers, and removes the link."""
        self._stack.close()

    def _relay(self, kind: LinkKind, why: str) -> None:
        """Makes a link of relays with limits of their own; the servers reach each other through them, too."""
        self.how = f"a relay's own limits ({why})"
        self.addresses = []
        for _ in range(SERVERS):
            server = self._start("127.0.0.1:0")
            link = Link(server, kind.delay_ms, kind.mbit_per_s / 1000, late_part=kind.late_part)
            self.addresses.append(self._stack.enter_context(link).address)

    def _namespaces(self, kind: LinkKind) -> None:
        """Makes namespaces: for the client, for a relay that delays, and for servers with a network among themselves.

        The relay listens at the servers' addresses in one namespace and connects to them in another one, so that the
        servers reach each other at the addresses that the client uses.
        """
        self.how = "network namespaces"
        names = [f"remotecl-{os.getpid()}-{name}" for name in ("client", "near", "far", "server1", "server2")]
        client, near, far, *servers = names
        for name in names:
            _run("ip", "netns", "add", name)
            self._stack.callback(_run, "ip", "netns", "del", name)
            _run("ip", "-n", name, "link", "set", "lo", "up")
        _connect(client, "eth0", "10.97.1.2", near, "eth0", "10.97.1.1")
        _run("ip", "-n", client, "route", "add", "default", "via", "10.97.1.1")
        _limit(client, "eth0", kind.mbit_per_s)
        _connect(servers[0], "lan", "10.97.2.11", servers[1], "lan", "10.97.2.12")
        for number, name in enumerate(servers, 1):
            _limit(name, "lan", _LAN_MBIT)
            _connect(name, "wan", f"10.97.1{number}.2", far, f"wan{number}", f"10.97.1{number}.1")
            # Where it is slow, the sender notices: the relay behind it has no queue to speak of.
            _limit(name, "wan", kind.mbit_per_s)
            address = f"10.97.2.1{number}"
            _run("ip", "-n", far, "route", "add", address, "via", f"10.97.1{number}.2")
            _run("ip", "-n", near, "address", "add", address, "dev", "lo")
        self.addresses = []
        for number, name in enumerate(servers, 1):
            self._start(f"0.0.0.0:{_PORT}", inside=_inside(name))
            address = f"10.97.2.1{number}:{_PORT}"
            link = Link(
                address, kind.delay_ms, 100, late_part=kind.late_part, listen=address, inside=_inside(near),
                namespace=far,
            )  # fmt: skip
            self.addresses.append(self._stack.enter_context(link).address)
        self.inside = _inside(client)

    def _start(self, listen: str, inside: Sequence[str] = ()) -> str:
        """A daemon whose data takes the network, though all is on one host. Returns its address."""
        command = [sys.executable, "-m", "remotecl._daemon", "--listen", listen, "--insecure", "--no-isolate"]
        command += ["--no-store", "--exit-on-stdin-eof", "--streams", "--plugin-allow", f"read:{self._folder}"]
        process = self._stack.enter_context(
            subprocess.Popen(
                [*inside, *command],
                env=original_environment() | {"REMOTECL_SHARED_MEMORY": "off"},
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                text=True,
            )
        )
        self._stack.callback(process.terminate)
        assert process.stdout is not None
        for line in process.stdout:
            if line.startswith("listening on "):
                self.pids.append(process.pid)
                return line.removeprefix("listening on ").strip()
        raise ServerStartError("a server for the benchmark did not start; its own message is above")


def _why_no_namespaces() -> str:
    """What keeps this user from making network namespaces; empty if nothing does."""
    if os.geteuid() != 0:
        return "network namespaces need root"
    for tool in ("ip", "tc"):
        if shutil.which(tool) is None:
            return f"the command {tool} is missing: apt-get install iproute2"
    probe = f"remotecl-{os.getpid()}-probe"
    try:
        _run("ip", "netns", "add", probe)
        with contextlib.ExitStack() as stack:
            stack.callback(_run, "ip", "netns", "del", probe)
            _limit(probe, "lo", 1)
    except RemoteCLError as error:
        return str(error)
    return ""


def _inside(namespace: str) -> tuple[str, ...]:
    return ("ip", "netns", "exec", namespace)


def _connect(one: str, one_name: str, one_ip: str, other: str, other_name: str, other_ip: str) -> None:
    _run("ip", "link", "add", one_name, "netns", one, "type", "veth", "peer", "name", other_name, "netns", other)
    for namespace, name, address in ((one, one_name, one_ip), (other, other_name, other_ip)):
        _run("ip", "-n", namespace, "address", "add", f"{address}/24", "dev", name)
        _run("ip", "-n", namespace, "link", "set", name, "up")


def _limit(namespace: str, device: str, mbit_per_s: float) -> None:
    burst = max(4000, int(mbit_per_s * 125))
    limit = ("tbf", "rate", f"{mbit_per_s:g}mbit", "burst", str(burst), "limit", str(_LINK_QUEUE_BYTES))
    _run("ip", "netns", "exec", namespace, "tc", "qdisc", "add", "dev", device, "root", *limit)


def _run(*command: str) -> None:
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    if done.returncode != 0:
        raise RemoteCLError(f"{' '.join(command)}: {done.stderr.strip()}")
