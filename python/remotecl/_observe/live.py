"""The contents of the live views: tables of watched servers, and the same as JSON."""

from __future__ import annotations

import dataclasses
import json
from collections.abc import Sequence

from .._display import table
from .._display.table import Table
from .decisions import DecisionRate, decision_table
from .status import bulk_rdma_table, device_table, session_table
from .stores import store_table
from .watch import WatchedServer


def tables(servers: Sequence[WatchedServer], decisions: Sequence[DecisionRate] = ()) -> list[Table]:
    """Servers, their devices, who uses them, what this process has placed there, sessions, sockets, stores, RDMA."""
    known = [server.status for server in servers if server.status is not None]
    placed = [server.placed_per_s for server in servers if server.status is not None]
    columns = (
        "server",
        "state",
        ">round trip",
        ">up",
        ">sessions",
        ">commands/s",
        ">received",
        ">sent",
        ">from servers",
    )
    rows = tuple(_server_row(server) for server in servers)
    return [
        Table("servers", columns, rows, optional=("from servers", "up", "round trip", "commands/s")),
        device_table("devices", known, placed),
        _user_table(servers),
        decision_table(decisions),
        session_table("sessions", known),
        _socket_table(servers),
        store_table((status.address, status.stores) for status in known),
        bulk_rdma_table(known),
    ]


def text(servers: Sequence[WatchedServer], width: int | None = None, decisions: Sequence[DecisionRate] = ()) -> str:
    """The tables as plain text, in lines of at most `width` characters."""
    return table.text_of(tables(servers, decisions), width)


def html(servers: Sequence[WatchedServer], decisions: Sequence[DecisionRate] = ()) -> str:
    """The tables as HTML."""
    return table.html_of(tables(servers, decisions))


def json_line(servers: Sequence[WatchedServer]) -> str:
    """One line: a list with an object for each server, with the fields of `WatchedServer`."""
    return json.dumps([dataclasses.asdict(server) for server in servers])


def _user_table(servers: Sequence[WatchedServer]) -> Table:
    columns = ("server", "user", "device", ">busy", ">commands/s", ">placed/s", ">commands")
    rows = []
    for server in servers:
        if server.status is None:
            continue
        names = {device.index: device.name for device in server.status.devices}
        rates = {(rate.user, rate.device): rate for rate in server.user_rates}
        for use in server.status.users:
            rate = rates.get((use.user, use.device))
            rows.append(
                (
                    server.address,
                    use.user,
                    f"{use.device}: {names.get(use.device, '')}",
                    table.share(rate.utilisation if rate else None),
                    f"{rate.commands_per_s:.0f}" if rate else "-",
                    f"{rate.placed_per_s:.0f}" if rate else "-",
                    str(use.commands),
                )
            )
    return Table("users", columns, tuple(rows), optional=("server", "commands"))


def _socket_table(servers: Sequence[WatchedServer]) -> Table:
    columns = ("server", "user", "device", ">open", ">so far", ">received", ">sent", ">in all")
    rows = []
    for server in servers:
        rates = {(rate.user, rate.device): rate for rate in server.user_rates}
        for use in server.status.users if server.status is not None else ():
            if use.sockets_opened == 0:
                continue
            rate = rates.get((use.user, use.device))
            rows.append(
                (
                    server.address,
                    use.user,
                    str(use.device),
                    str(use.sockets),
                    str(use.sockets_opened),
                    table.rate(rate.socket_received_per_s if rate else None),
                    table.rate(rate.socket_sent_per_s if rate else None),
                    table.size(use.socket_bytes_received + use.socket_bytes_sent),
                )
            )
    return Table("sockets of kernels", columns, tuple(rows), optional=("server", "so far", "in all"))


def _server_row(server: WatchedServer) -> tuple[str, ...]:
    if server.status is None:
        state = f"{server.state}: {server.error}" if server.error else server.state
        return (server.address, state, *[""] * 7)
    commands = "-" if server.commands_per_s is None else f"{server.commands_per_s:.0f}"
    return (
        server.address,
        server.state,
        table.microseconds(server.status.round_trip_us),
        table.duration(server.status.uptime_s),
        str(server.status.session_count),
        commands,
        table.rate(server.received_per_s),
        table.rate(server.sent_per_s),
        table.rate(server.peers_per_s),
    )
