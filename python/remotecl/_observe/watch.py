"""Polls servers, each on a thread of its own, so that a silent one delays no other."""

from __future__ import annotations

import atexit
import threading
import weakref
from collections.abc import Sequence
from dataclasses import dataclass, replace

from .._connect.connection import full_address
from .._stoppable import Stoppable
from ..errors import RemoteCLError
from .status import Asker, ServerStatus, UserStatus


@dataclass(frozen=True)
class UserRate:
    """How much of one device one user had between the last two answers.

    `utilisation` is the part of the time, from 0 to 1, in which the driver had commands of the user. Several users may
    have commands at the same time, so the sum may be more than 1. `socket_sent_per_s` and `socket_received_per_s` are
    bytes per second through sockets of the user's kernels there. `placed_per_s` is kernels per second that automatic
    devices of the user's programs have placed there.
    """

    user: str
    device: int
    utilisation: float
    commands_per_s: float
    socket_sent_per_s: float = 0.0
    socket_received_per_s: float = 0.0
    placed_per_s: float = 0.0


@dataclass(frozen=True)
class WatchedServer:
    """The latest information on a server.

    `state` is ``"connecting"``, ``"connected"`` or ``"lost"``, and `error` says why it is lost. The rates, in bytes and
    commands per second, are those between the last two answers, seen from the server; None until there are two.
    `placed_per_s` has, for each of the status's devices, kernels per second that automatic devices have placed there;
    empty until then.
    """

    address: str
    state: str = "connecting"
    error: str = ""
    status: ServerStatus | None = None
    received_per_s: float | None = None
    sent_per_s: float | None = None
    peers_per_s: float | None = None
    commands_per_s: float | None = None
    user_rates: tuple[UserRate, ...] = ()
    placed_per_s: tuple[float, ...] = ()


class Watch(Stoppable):
    """Watches servers until it is stopped; lost ones are retried.

    Args:
        servers: ``"host[:port]"`` each.
        interval_s: seconds between two requests.
    """

    def __init__(self, servers: Sequence[str], interval_s: float = 1.0) -> None:
        if interval_s <= 0:
            raise ValueError(f"an interval is more than 0 seconds, not {interval_s}")
        self._servers = [_Watched(server, interval_s) for server in dict.fromkeys(servers)]

    def latest(self) -> list[WatchedServer]:
        """The latest information on each server; does not wait."""
        return [server.latest for server in self._servers]

    def wait(self, answers: int, timeout_s: float) -> None:
        """Waits until every server has answered this often, or is lost, but at most `timeout_s` seconds."""
        for server in self._servers:
            server.wait(answers, timeout_s)

    def stop(self) -> None:
        """Ends the threads. Calling it again does nothing."""
        for server in self._servers:
            server.stop()


class _Watched:
    """One server. Its thread replaces `latest` as a whole."""

    def __init__(self, server: str, interval_s: float) -> None:
        self.latest = WatchedServer(full_address(server))
        self._server = server
        self._interval_s = interval_s
        self._asker: Asker | None = None
        self._answers = 0
        self._stopped = threading.Event()
        self._changed = threading.Condition()
        self._thread = threading.Thread(target=self._run, name=f"remotecl watch {self.latest.address}", daemon=True)
        self._thread.start()
        _running.add(self)

    def wait(self, answers: int, timeout_s: float) -> None:
        with self._changed:
            self._changed.wait_for(lambda: self._answers >= answers or self.latest.state == "lost", timeout_s)

    def stop(self, timeout_s: float | None = None) -> None:
        self._stopped.set()
        if self._thread is not threading.current_thread():
            self._thread.join(timeout_s)

    def _run(self) -> None:
        while True:
            self._look()
            if self._stopped.wait(self._interval_s):
                break
        if self._asker is not None:
            self._asker.close()

    def _look(self) -> None:
        try:
            if self._asker is None:
                self._asker = Asker(self._server)
            found = _with_rates(self.latest, self._asker.ask())
        except RemoteCLError as error:
            if self._asker is not None:
                self._asker.close()
                self._asker = None
            found = WatchedServer(self.latest.address, "lost", str(error))
        with self._changed:
            self.latest = found
            self._answers += found.state == "connected"
            self._changed.notify_all()


_running: weakref.WeakSet[_Watched] = weakref.WeakSet()


def _stop_all() -> None:
    """Stops all threads: returning from the extension module while the interpreter ends would abort the process."""
    for watched in list(_running):
        watched.stop(timeout_s=1)


atexit.register(_stop_all)


def _with_rates(before: WatchedServer, now: ServerStatus) -> WatchedServer:
    found = WatchedServer(now.address, "connected", status=now)
    last = before.status
    if last is None or last.epoch != now.epoch or now.uptime_s <= last.uptime_s:
        return found
    passed_s = now.uptime_s - last.uptime_s
    return replace(
        found,
        received_per_s=(now.clients.bytes_received - last.clients.bytes_received) / passed_s,
        sent_per_s=(now.clients.bytes_sent - last.clients.bytes_sent) / passed_s,
        peers_per_s=(now.peers.bytes_received - last.peers.bytes_received) / passed_s,
        commands_per_s=(now.commands - last.commands) / passed_s,
        user_rates=_user_rates(last, now, passed_s),
        placed_per_s=_placed_per_s(last, now, passed_s),
    )


def _placed_per_s(last: ServerStatus, now: ServerStatus, passed_s: float) -> tuple[float, ...]:
    before = {device.index: device.placed for device in last.devices}
    return tuple(max(device.placed - before.get(device.index, 0), 0) / passed_s for device in now.devices)


def _user_rates(last: ServerStatus, now: ServerStatus, passed_s: float) -> tuple[UserRate, ...]:
    before = {(use.user, use.device): use for use in last.users}
    rates = []
    for use in now.users:
        old = before.get((use.user, use.device), UserStatus(use.user, use.device, 0.0, 0))
        # The server sums up what its processes say at different moments.
        busy = min(max((use.busy_s - old.busy_s) / passed_s, 0.0), 1.0)
        commands = max(use.commands - old.commands, 0) / passed_s
        sent = max(use.socket_bytes_sent - old.socket_bytes_sent, 0) / passed_s
        received = max(use.socket_bytes_received - old.socket_bytes_received, 0) / passed_s
        placed = max(use.placed - old.placed, 0) / passed_s
        rates.append(UserRate(use.user, use.device, busy, commands, sent, received, placed))
    return tuple(rates)
