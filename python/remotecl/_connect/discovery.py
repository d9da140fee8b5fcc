"""Servers on the local network, found by DNS-SD (multicast DNS). `remotecl-server --advertise NAME` announces one."""

from __future__ import annotations

import importlib
import importlib.util
import ipaddress
import time
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from types import ModuleType
from typing import TYPE_CHECKING

from .._display import table
from .._display.table import Shown, Table
from ..errors import RemoteCLError

if TYPE_CHECKING:
    import zeroconf

SERVICE_TYPE = "_remotecl._tcp.local."
_DETAILS_TIMEOUT_MS = 3000


@dataclass(frozen=True)
class DiscoveredServer:
    """One server that announces itself.

    Attributes:
        name: given by ``--advertise``.
        address: ``host:port`` for `remotecl.connect`, with the host's IP address.
        version: of the server's remotecl, which should be the same as here.
        device_count: how many devices it serves.
        devices: their names; if there are many, not all are announced.

    Example::

        connection = remotecl.connect(*(server.address for server in remotecl.discover()))
    """

    name: str
    address: str
    version: str
    device_count: int
    devices: tuple[str, ...]


class DiscoveredList(Shown, list[DiscoveredServer]):
    """What `discover` returns: a list of `DiscoveredServer` that shows itself as a table.

    Example::

        remotecl.discover()  # the last line of a cell
    """

    def _tables(self) -> list[Table]:
        rows = tuple((server.name, server.address, server.version, ", ".join(server.devices)) for server in self)
        title = f"{table.count(len(self), 'server')} found"
        return [Table(title, ("name", "address", "version", "devices"), rows)]


def discover(timeout_s: float = 2.0, *, interfaces: Sequence[str] | None = None) -> DiscoveredList:
    """Servers on the local network that were started with ``remotecl-server --advertise NAME``, sorted by name.

    Anybody on the network can announce anything; connect to servers of networks that you trust.

    Args:
        timeout_s: seconds to wait for answers; servers usually answer within one.
        interfaces: IP addresses of this machine's interfaces to ask on; None asks on all.

    Raises:
        ValueError: `timeout_s` is not positive.
        RemoteCLError: python-zeroconf is not installed, or this machine has no network interface for multicast.

    Example::

        found = remotecl.discover()
        connection = remotecl.connect(*[server.address for server in found])
    """
    if timeout_s <= 0:
        raise ValueError(f"timeout_s must be positive, not {timeout_s}")
    with open_zeroconf(interfaces) as network:
        names = _names(network, timeout_s)
        details = [service(network, name) for name in names]
    found = [_server(information) for information in details if information and information.parsed_addresses()]
    return DiscoveredList(sorted(found, key=lambda server: (server.name, server.address)))


def open_zeroconf(interfaces: Sequence[str] | None) -> zeroconf.Zeroconf:
    """Multicast DNS on interfaces, given by their IP addresses, or on all. Raises RemoteCLError."""
    module = import_zeroconf()
    try:
        network: zeroconf.Zeroconf = module.Zeroconf(interfaces=list(interfaces or []) or module.InterfaceChoice.All)
    except (OSError, RuntimeError) as error:
        raise RemoteCLError(
            f"no multicast DNS on {', '.join(interfaces or ['this machine'])}: {error}. Is the network up, and may "
            "programs use UDP port 5353 here?"
        ) from error
    return network


def import_zeroconf() -> ModuleType:
    """python-zeroconf, imported only when something needs it."""
    if importlib.util.find_spec("zeroconf") is None:
        raise RemoteCLError(
            "finding and announcing servers needs python-zeroconf, which is not installed: "
            "pip install 'remotecl[discovery]'"
        )
    return importlib.import_module("zeroconf")


def service(
    network: zeroconf.Zeroconf, name: str, timeout_ms: int = _DETAILS_TIMEOUT_MS
) -> zeroconf.ServiceInfo | None:
    """The announcement under a full name, or None.

    Answers are multicast (``QM``), here and in `_names`: the system would deliver one to this address alone to any
    program on this machine that has the port of multicast DNS open.
    """
    question = import_zeroconf().DNSQuestionType.QM
    return network.get_service_info(SERVICE_TYPE, name, timeout_ms, question_type=question)


def _names(network: zeroconf.Zeroconf, timeout_s: float) -> list[str]:
    """Full names of the services that are announced now."""
    module = import_zeroconf()
    names: dict[str, None] = {}

    def changed(zeroconf: zeroconf.Zeroconf, service_type: str, name: str, state_change: object) -> None:
        if state_change is module.ServiceStateChange.Removed:
            names.pop(name, None)
        else:
            names[name] = None

    browser = module.ServiceBrowser(network, SERVICE_TYPE, handlers=[changed], question_type=module.DNSQuestionType.QM)
    time.sleep(timeout_s)  # there is no sign that no more will come
    browser.cancel()
    return list(names)


def _server(information: zeroconf.ServiceInfo) -> DiscoveredServer:
    texts = {_text(key): _text(value or b"") for key, value in information.properties.items()}
    devices = sorted((int(key[6:]), text) for key, text in texts.items() if key[:6] == "device" and key[6:].isdecimal())
    count = texts.get("devices", "")
    host = nearest(information.parsed_addresses())
    return DiscoveredServer(
        name=_text(information.name.removesuffix("." + SERVICE_TYPE).encode()),
        address=f"[{host}]:{information.port}" if ":" in host else f"{host}:{information.port}",
        version=texts.get("version", ""),
        device_count=int(count) if count.isdecimal() else len(devices),
        devices=tuple(text for _, text in devices),
    )


def _text(announced: bytes) -> str:
    """A stranger's text, made safe for a terminal."""
    return "".join(filter(str.isprintable, announced.decode(errors="replace")))


def nearest(addresses: Iterable[str]) -> str:
    """Of a server's addresses, one that this machine shares a network with, if there is one.

    A server announces the addresses of all of its interfaces, including bridges that have the same address on every
    machine (Docker's 172.17.0.1). So addresses that this machine has too come last.
    """
    own = [interface for interface in own_interfaces() if not interface.ip.is_link_local]

    def rank(text: str) -> int:
        address = ipaddress.ip_address(text.partition("%")[0])
        if any(address == interface.ip for interface in own):
            return 2
        return 0 if any(address in interface.network for interface in own) else 1

    return min(addresses, key=rank)


def own_interfaces() -> list[ipaddress.IPv4Interface]:
    """IPv4 addresses of this machine, with their networks."""
    ifaddr = importlib.import_module("ifaddr")  # python-zeroconf brings it
    addresses = [address for adapter in ifaddr.get_adapters() for address in adapter.ips if address.is_IPv4]
    return [ipaddress.IPv4Interface(f"{address.ip}/{address.network_prefix}") for address in addresses]
