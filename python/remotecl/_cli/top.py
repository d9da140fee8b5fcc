"""The command ``remotecl top``: a live view of servers in the terminal."""

from __future__ import annotations

import contextlib
import importlib.util
import sys
import time
from collections.abc import Callable, Iterator, Sequence
from typing import TYPE_CHECKING

from .._display.table import terminal_width
from .._observe import live
from .._observe.watch import Watch, WatchedServer

if TYPE_CHECKING:
    from rich.console import Group

# Long enough for a server to answer twice, or to be found lost.
_PATIENCE_S = 10.0


def run(servers: Sequence[str], *, interval_s: float = 1.0, once: bool = False, as_json: bool = False) -> int:
    """Shows the servers once, or until it is interrupted. Returns 1 if one of them is lost at the end."""
    with Watch(servers, interval_s) as watch:
        # Rates and utilisation refer to the time between two requests.
        watch.wait(answers=2 if once else 1, timeout_s=_PATIENCE_S + interval_s)
        if once:
            print(live.json_line(watch.latest()) if as_json else _text(watch.latest()), flush=True)
        else:
            with contextlib.suppress(KeyboardInterrupt):
                _show(watch, interval_s, as_json)
        return 1 if any(server.state == "lost" for server in watch.latest()) else 0


def _show(watch: Watch, interval_s: float, as_json: bool) -> None:
    if as_json:
        _print_each(_every(watch, interval_s), live.json_line)
    elif sys.stdout.isatty() and importlib.util.find_spec("rich") is not None:
        _show_live(watch, interval_s)
    else:
        _print_each(_every(watch, interval_s), lambda servers: _text(servers) + "\n")


def _text(servers: Sequence[WatchedServer]) -> str:
    return live.text(servers, terminal_width())


def _every(watch: Watch, interval_s: float) -> Iterator[list[WatchedServer]]:
    while True:
        yield watch.latest()
        time.sleep(interval_s)


def _print_each(views: Iterator[list[WatchedServer]], text: Callable[[Sequence[WatchedServer]], str]) -> None:
    for servers in views:
        print(text(servers), flush=True)


def _show_live(watch: Watch, interval_s: float) -> None:
    from rich.live import Live

    with Live(screen=True, auto_refresh=False) as screen:
        for servers in _every(watch, interval_s):
            screen.update(_drawn(servers, screen.console.width), refresh=True)


def _drawn(servers: Sequence[WatchedServer], width: int) -> Group:
    from rich import box
    from rich.console import Group
    from rich.table import Table
    from rich.text import Text

    drawn = []
    for source in (table.fitted(width - 2, gap=3) for table in live.tables(servers)):
        if not source.rows:
            continue
        table = Table(title=source.title, title_justify="left", box=box.SIMPLE_HEAD, expand=True, pad_edge=False)
        for column, name in enumerate(source.names):
            table.add_column(name, justify="right" if source.is_right(column) else "left", no_wrap=True)
        for row in source.rows:
            lost = any(cell.startswith("lost") for cell in row)
            table.add_row(*(Text(cell, style="red" if lost else "") for cell in row))
        drawn.append(table)
    return Group(*drawn)
