"""`remotecl-server --advertise NAME`: runs the daemon and announces it on the local network."""

from __future__ import annotations

import os
import signal
import socket
import subprocess
import threading
from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING

from .._connect import discovery
from .._version import __version__
from ..errors import RemoteCLError

if TYPE_CHECKING:
    import zeroconf

_READY = "listening on "
_DEVICE = "device "
# A multicast answer is not repeated within a second.
_ANSWERED_WITHIN_MS = 1300
# An announcement should fit into one packet.
_DEVICES_MAX = 8
_NAME_BYTES_MAX = 63
_TEXT_BYTES_MAX = 100
# Signals that are passed on to the daemon.
_PASSED_ON = (signal.SIGINT, signal.SIGTERM)


def split_option(arguments: Iterable[str]) -> tuple[str | None, list[str]]:
    """The value of ``--advertise`` in a command line, and the other arguments, which are the daemon's.

    Raises:
        RemoteCLError: the option has no usable value.
    """
    name: str | None = None
    others = []
    words = iter(arguments)
    for word in words:
        if word == "--advertise":
            name = next(words, "")
        elif word.startswith("--advertise="):
            name = word.partition("=")[2]
        else:
            others.append(word)
    if name is not None and not _is_usable(name):
        raise RemoteCLError(
            f"--advertise needs a name of 1 to {_NAME_BYTES_MAX} bytes of printable text to show to others, with no "
            'dot at its ends and no two in a row, for example --advertise "$(hostname)"'
        )
    return name, others


def _is_usable(name: str) -> bool:
    # Dots separate labels on the wire, and an empty label would end the name.
    return bool(name.strip()) and name.isprintable() and len(name.encode()) <= _NAME_BYTES_MAX and all(name.split("."))


def run(name: str, binary: str, arguments: list[str], environment: Mapping[str, str]) -> int:
    """Runs the daemon and announces it from the moment it listens until it ends; returns its exit code.

    Raises:
        RemoteCLError: it cannot be announced; the daemon has been stopped again.
    """
    discovery.import_zeroconf()  # before anything is started
    # The daemon must end with this process, even if that is killed. As everywhere, the end of its stdin does that.
    keeps_stdin = "--exit-on-stdin-eof" in arguments
    if not keeps_stdin and "-" in arguments:
        raise RemoteCLError("--token-file - with --advertise takes --exit-on-stdin-eof, too; or name a file")
    # By default a daemon with --exit-on-stdin-eof has no store. This one lives as long as one that is not announced, so
    # it gets the default store.
    says_store = any(argument.split("=")[0] in ("--store", "--no-store") for argument in arguments)
    store = [] if keeps_stdin or says_store else ["--store", "default"]
    with subprocess.Popen(
        ["remotecl-server", *arguments, *store, *([] if keeps_stdin else ["--exit-on-stdin-eof"])],
        executable=binary,
        env=environment,
        stdin=None if keeps_stdin else subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
        errors="replace",
        start_new_session=True,  # Ctrl-C must reach it only once, through this process
    ) as daemon:
        # In a thread, because Python runs handlers in the main thread, which may be blocked in a read of the daemon's
        # output. Threads that are made from here on have the mask, too.
        signal.pthread_sigmask(signal.SIG_BLOCK, _PASSED_ON)
        threading.Thread(target=_pass_signals_on, args=(daemon,), daemon=True).start()
        try:
            _announce_while_it_runs(name, daemon)
        except BaseException:
            daemon.terminate()
            raise
        code = daemon.wait()
    return 128 - code if code < 0 else code


def _pass_signals_on(daemon: subprocess.Popen[str]) -> None:
    while True:
        daemon.send_signal(signal.sigwait(_PASSED_ON))


def _announce_while_it_runs(name: str, daemon: subprocess.Popen[str]) -> None:
    assert daemon.stdout is not None
    network: zeroconf.Zeroconf | None = None
    devices: list[str] = []
    try:
        for line in daemon.stdout:
            print(line, end="", flush=True)
            if network is None and line.startswith(_DEVICE):
                devices.append(line.partition(": ")[2].rpartition(" (")[0])
            elif network is None and line.startswith(_READY):
                network = _announce(name, line[len(_READY) :].strip(), devices)
                _tell_service_manager()
    finally:
        if network is not None:
            network.close()  # withdraws the announcement, so that nobody finds a server that is gone


def _announce(name: str, address: str, devices: list[str]) -> zeroconf.Zeroconf:
    host, _, port = address.rpartition(":")
    host = host.strip("[]")
    addresses = _own_addresses(host)
    # A daemon on one address is announced on that interface only, because no other network can reach it.
    network = discovery.open_zeroconf(None if _is_any(host) else addresses)
    module = discovery.import_zeroconf()
    try:
        information = module.ServiceInfo(
            discovery.SERVICE_TYPE,
            _free_name(network, name),
            port=int(port),
            parsed_addresses=addresses,
            properties=_properties(devices),
            server=f"{socket.gethostname().partition('.')[0]}-{port}.local.",
        )
        network.register_service(information, allow_name_change=True)
    except BaseException as error:
        network.close()
        if isinstance(error, module.Error):
            raise RemoteCLError(f"{name!r} cannot be announced: {error or type(error).__name__}") from error
        raise
    announced = information.name.removesuffix("." + discovery.SERVICE_TYPE)
    print(f"announced as {announced} on {', '.join(addresses)}", flush=True)
    return network


def _tell_service_manager() -> None:
    """Notifies systemd as the daemon would (systemd_notify.h), because systemd listens to this process, its parent."""
    path = os.environ.get("NOTIFY_SOCKET", "")
    if path and os.environ.get("SYSTEMD_EXEC_PID") == str(os.getpid()):
        with socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as sender:
            sender.sendto(b"READY=1", path.replace("@", "\0", 1) if path.startswith("@") else path)


def _free_name(network: zeroconf.Zeroconf, name: str) -> str:
    """The full name, with a number if another server of this network has the name already."""
    full, number = f"{name}.{discovery.SERVICE_TYPE}", 1
    while discovery.service(network, full, _ANSWERED_WITHIN_MS):
        number += 1
        full = f"{name}-{number}.{discovery.SERVICE_TYPE}"
    return full


def _own_addresses(host: str) -> list[str]:
    if not _is_any(host):
        return [host]
    own = [interface.ip for interface in discovery.own_interfaces()]
    return [str(address) for address in own if not address.is_loopback] or [str(address) for address in own]


def _is_any(host: str) -> bool:
    return host in ("0.0.0.0", "::")


def _properties(devices: list[str]) -> dict[str, str]:
    texts = {"txtvers": "1", "version": __version__, "devices": str(len(devices))}
    for number, device in enumerate(devices[:_DEVICES_MAX]):
        texts[f"device{number}"] = device.encode()[:_TEXT_BYTES_MAX].decode(errors="ignore")
    return texts
