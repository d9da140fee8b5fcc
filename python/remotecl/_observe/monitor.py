"""A live view of servers in a notebook."""

from __future__ import annotations

import atexit
import importlib
import sys
import threading
import weakref
from collections.abc import Sequence
from typing import Any

from .._connect.connection import configured_servers, named_servers
from .._display.table import terminal_width
from .._stoppable import Stoppable
from ..errors import RemoteCLError
from . import live
from .decisions import Decisions
from .status import known_servers
from .watch import Watch

_REPLACED = "A later remotecl.monitor() has taken the place of this view."
_current: weakref.ref[Monitor] | None = None


def _replace(later: Monitor) -> None:
    """Replaces the former view; there is one at a time, so running a cell again replaces its view."""
    global _current
    former = _current() if _current is not None else None
    _current = weakref.ref(later)
    if former is not None and former.running:
        former._give_way()


def _end_with_the_process() -> None:
    """Ends the thread: returning from the extension module while the interpreter ends would abort the process."""
    view = _current() if _current is not None else None
    if view is not None:
        view._stopped.set()
        view._thread.join(timeout=1)


atexit.register(_end_with_the_process)


class Monitor(Stoppable):
    """A live view, as `remotecl.monitor` makes it. ``with`` stops it, too.

    Args:
        servers: ``"host:port"`` each.
        interval_s: seconds between two updates.

    Example::

        view = remotecl.monitor("gpu1")
        view.stop()
    """

    def __init__(self, servers: list[str], interval_s: float) -> None:
        _replace(self)
        self._is_replaced = False
        self._watch = Watch(servers, interval_s)
        self._decisions = Decisions()
        self._rates = self._decisions.look()
        self._interval_s = interval_s
        self._stopped = threading.Event()
        self._shell = _notebook()
        self._display: Any = None
        if self._shell is not None:
            self._display = importlib.import_module("IPython.display").display(_View(self), display_id=True)
            self._shell.events.register("post_run_cell", self._after_cell)
        self._thread = threading.Thread(target=self._run, name="remotecl monitor", daemon=True)
        self._thread.start()

    @property
    def running(self) -> bool:
        """Whether it is still refreshed."""
        return not self._stopped.is_set()

    def stop(self) -> None:
        """Ends the view; what it shows stays. Calling it again does nothing."""
        if self._stopped.is_set():
            return
        self._stopped.set()
        if self._shell is not None:
            self._shell.events.unregister("post_run_cell", self._after_cell)
        self._thread.join()
        self._watch.stop()
        if self._display is not None:
            self._display.update(_View(self))

    def _give_way(self) -> None:
        """Gives way to a later view, which shows the same and more."""
        self._is_replaced = True
        self.stop()

    def __repr__(self) -> str:
        return live.text(self._watch.latest(), terminal_width(), self._rates)

    def _ipython_display_(self) -> None:
        """The view is on display already."""

    def _run(self) -> None:
        while not self._stopped.wait(self._interval_s):
            self._rates = self._decisions.look()
            if self._display is not None:
                self._display.update(_View(self))
            else:
                print(self, flush=True)

    def _after_cell(self, result: Any) -> None:  # noqa: ANN401  IPython's
        # Interrupting the kernel ends the running cell, and with it the view.
        if isinstance(result.error_in_exec, KeyboardInterrupt):
            self.stop()


class _View:
    """What is on display now."""

    def __init__(self, monitor: Monitor) -> None:
        self._servers = monitor._watch.latest()
        self._rates = monitor._rates
        self._is_replaced = monitor._is_replaced

    def __repr__(self) -> str:
        return _REPLACED if self._is_replaced else live.text(self._servers, terminal_width(), self._rates)

    def _repr_html_(self) -> str:
        return _REPLACED if self._is_replaced else live.html(self._servers, self._rates)


def monitor(*servers: str | Sequence[str], interval_s: float = 1.0) -> Monitor:
    """Shows servers, their devices and their sessions below the cell, and refreshes that until it is stopped.

    There is one view at a time: a later one replaces it. It ends with ``.stop()``, or when a cell is interrupted
    (Kernel, Interrupt). Lost servers are shown as lost until they return. Outside of notebooks it prints plain text.
    If the program uses the automatic device (`auto`), a table says how many kernels a second were placed where.
    Does not use the servers' devices.

    Args:
        servers: named as for `connect`; none takes those of this process, else those in ``REMOTECL_SERVERS``.
        interval_s: seconds between two looks.

    Raises:
        RemoteCLError: no server is named or known.
        ValueError: `interval_s` is not more than 0.

    Example::

        view = remotecl.monitor()
        ...  # work
        view.stop()
    """
    names = named_servers(*servers) or known_servers() or configured_servers()
    if not names:
        raise RemoteCLError('no server is known: remotecl.monitor("host[:port]"), or connect to servers before')
    return Monitor(names, interval_s)


def _notebook() -> Any:  # noqa: ANN401  IPython's shell
    """The shell of the notebook that this runs in, or None."""
    ipython = sys.modules.get("IPython")
    shell = ipython.get_ipython() if ipython is not None else None
    return shell if getattr(shell, "kernel", None) is not None else None
