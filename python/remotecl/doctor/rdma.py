"""Checks of RDMA on this machine: devices, ports, libraries, locked memory, and what ``REMOTECL_RDMA`` asks for."""

from __future__ import annotations

import ctypes
import ipaddress
import os
import resource
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path

from .finding import Finding, Status

DEVICES = Path("/sys/class/infiniband")
NODES = Path("/dev/infiniband")
PACKAGES = {"libibverbs.so.1": "libibverbs1 ibverbs-providers", "librdmacm.so.1": "librdmacm1"}
LOCKED_WANTED = 256 << 20  # a connection locks a few MiB, and the memory of each transfer as long as that lasts
CAP_IPC_LOCK = 1 << 14  # who has this may lock any amount
LOCKED_REMEDY = (
    "ulimit -l unlimited, memlock in /etc/security/limits.conf, or LimitMEMLOCK=infinity in the unit of a service"
)


@dataclass(frozen=True)
class Port:
    """A port of an RDMA device, as the kernel describes it."""

    name: str
    state: str
    link_layer: str
    addresses: tuple[str, ...]
    interfaces: tuple[str, ...]

    @property
    def is_active(self) -> bool:
        """Whether connections can be made over it."""
        return self.state == "ACTIVE"

    def words(self) -> str:
        """What it is, in one line."""
        kind = "RoCE" if self.link_layer == "Ethernet" else self.link_layer
        where = f" on {', '.join(self.interfaces)}" if self.interfaces else ""
        return f"{self.state}, {kind}{where}, {', '.join(self.addresses) or 'no address'}"


def findings(
    environment: Mapping[str, str],
    devices: Path = DEVICES,
    nodes: Path = NODES,
    load: Callable[[str], object] = ctypes.CDLL,
) -> Iterator[Finding]:
    """One quiet line where there is no RDMA; else all that it needs."""
    use = environment.get("REMOTECL_RDMA", "").lower() or "auto"
    ports = [port for device in _entries(devices) for port in _ports(device)]
    if not _entries(devices):
        text = "this machine has no RDMA device; TCP carries bulk data"
        if use == "require":
            remedy = "unset REMOTECL_RDMA, or load the device's driver: rdma link lists the devices"
            yield Finding("RDMA", "problem", f"REMOTECL_RDMA=require, and {text}", remedy)
        else:
            yield Finding("RDMA", "ok", text)
        return
    bad: Status = "problem" if use == "require" else "note"
    yield _use(use)
    is_any_active = any(port.is_active for port in ports)
    for port in ports:
        yield _port(port, "ok" if is_any_active else bad)
    yield from _libraries(load, bad)
    node = nodes / "rdma_cm"
    if not os.access(node, os.R_OK | os.W_OK):
        remedy = "modprobe rdma_ucm; in a container, pass /dev/infiniband on"
        yield Finding("RDMA connections", bad, f"{node} is missing, or this user may not use it", remedy)
    yield locked_memory(resource.getrlimit(resource.RLIMIT_MEMLOCK)[0], _may_lock_all())


def locked_memory(limit: int, may_lock_all: bool) -> Finding:
    """Memory that network cards use is locked."""
    check = "RDMA locked memory"
    if limit == resource.RLIM_INFINITY or may_lock_all:
        why = "" if limit == resource.RLIM_INFINITY else ": this user may lock more than ulimit -l says"
        return Finding(check, "ok", f"unlimited{why}")
    text = f"ulimit -l is {limit >> 10} KiB"
    if limit >= LOCKED_WANTED:
        return Finding(check, "ok", text)
    return Finding(check, "note", f"{text}; what cannot be locked is copied, or goes by TCP", LOCKED_REMEDY)


def _use(use: str) -> Finding:
    check = "RDMA use"
    if use == "auto":
        text = "auto, which is the default: used where the server has it too"
        return Finding(check, "ok", text)
    if use == "require":
        return Finding(check, "ok", "REMOTECL_RDMA=require: connecting fails where the server has no RDMA")
    return Finding(check, "note", "REMOTECL_RDMA=off: TCP carries bulk data", "to use it, unset REMOTECL_RDMA")


def _port(port: Port, status: Status) -> Finding:
    check = f"RDMA port {port.name}"
    if status == "ok":
        return Finding(check, "ok", port.words())
    remedy = f"ip link set {port.interfaces[0] if port.interfaces else 'INTERFACE'} up; rdma link shows the ports"
    return Finding(check, status, port.words(), remedy)


def _libraries(load: Callable[[str], object], bad: Status) -> Iterator[Finding]:
    check = "RDMA libraries"
    missing = 0
    for name, packages in PACKAGES.items():
        try:
            load(name)
        except OSError as error:
            missing += 1
            yield Finding(check, bad, f"{name} cannot be loaded: {error}", f"Debian: apt-get install {packages}")
    if not missing:
        yield Finding(check, "ok", f"{', '.join(PACKAGES)} can be loaded")


def _may_lock_all() -> bool:
    for line in _text(Path("/proc/self/status")).splitlines():
        if line.startswith("CapEff:"):
            return bool(int(line.split()[1], 16) & CAP_IPC_LOCK)
    return False


def _entries(folder: Path) -> list[Path]:
    return sorted(folder.iterdir()) if folder.is_dir() else []


def _ports(device: Path) -> Iterator[Port]:
    for port in _entries(device / "ports"):
        yield Port(
            name=f"{device.name}:{port.name}",
            state=_text(port / "state").rpartition(":")[2].strip() or "UNKNOWN",
            link_layer=_text(port / "link_layer"),
            addresses=_unique(_address(_text(gid)) for gid in _entries(port / "gids")),
            interfaces=_unique(_text(entry) for entry in _entries(port / "gid_attrs" / "ndevs")),
        )


def _unique(texts: Iterator[str]) -> tuple[str, ...]:
    return tuple(dict.fromkeys(text for text in texts if text))


def _address(gid: str) -> str:
    """The address of a table's entry; empty if the entry is not in use."""
    try:
        address = ipaddress.IPv6Address(gid)
    except ValueError:
        return ""
    if int(address) & (1 << 64) - 1 == 0:
        return ""
    return str(address.ipv4_mapped or address)


def _text(file: Path) -> str:
    """Empty if it cannot be read: the kernel refuses entries of tables that are not in use."""
    try:
        return file.read_text().strip()
    except (OSError, ValueError):
        return ""
