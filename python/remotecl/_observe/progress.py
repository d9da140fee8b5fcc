"""Progress bars for long operations: transfers, builds, connecting, and others of this package."""

from __future__ import annotations

import atexit
import importlib
import importlib.util
import json
import os
import sys
import threading
import time
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from .._connect.connection import native
from .._loading import settings
from ..errors import RemoteCLError

_PERIOD_S = 0.1
# Shorter operations get no bar.
_PATIENCE_S = 0.5
_NAMES = {
    "upload": "to",
    "download": "from",
    "between_servers": "between servers,",
    "build": "building on",
    "connect": "connecting to",
}
_OF_BYTES = ("upload", "download", "between_servers")


def progress(enabled: bool | None = None) -> bool:
    """Returns whether long operations show a progress bar, and turns that on or off.

    Large uploads, downloads and transfers between servers, builds, connecting and starting clusters get a bar when they
    take longer than half a second. It is on in interactive sessions (notebooks, IPython, the Python prompt) and off in
    scripts, unless ``REMOTECL_PROGRESS`` is set to ``1`` or ``0``. The bars are tqdm's: without tqdm (``pip install
    'remotecl[progress]'``) there are none.

    Args:
        enabled: True or False; None leaves it as it is.

    Returns:
        Whether it is on now.

    Raises:
        RemoteCLError: `enabled` is True, and tqdm is not installed.

    Example::

        remotecl.progress(True)
        pyopencl.enqueue_copy(queue, buffer, large_array)  # shows a bar
    """
    if enabled and not _has_tqdm():
        raise RemoteCLError("progress bars need tqdm, which is not installed: pip install 'remotecl[progress]'")
    if enabled is not None:
        _state.set(enabled)
    return _state.enabled


@contextmanager
def bar(total: int, description: str, unit: str = "it") -> Iterator[Bar]:
    """A bar for an operation of this package, if progress is on and it takes long enough.

    Args:
        total: how many steps there are.
        description: what is being done, for people.
        unit: what the steps are.

    Example::

        with bar(len(hosts), "starting servers") as started:
            for host in hosts:
                start(host)
                started.advance()
    """
    shown = Bar(total, description, unit)
    if not _state.enabled:
        yield shown
        return
    _state.add(shown)
    try:
        yield shown
    finally:
        _state.remove(shown)


class Bar:
    """The progress of an operation. Any thread may advance it."""

    def __init__(self, total: int, description: str, unit: str) -> None:
        self.total = total
        self.description = description
        self.unit = unit
        self.done = 0
        self._lock = threading.Lock()

    def advance(self, steps: int = 1) -> None:
        """Counts more steps as done."""
        with self._lock:
            self.done += steps


class _Shown:
    """A bar on the screen, or one that will appear if the operation takes long. Used by the watching thread only."""

    def __init__(self, description: str, unit: str) -> None:
        self._description = description
        self._unit = unit
        self._began = time.monotonic()
        self._bar: Any = None

    def update(self, done: int, total: int) -> None:
        if self._bar is None:
            lasted = time.monotonic() - self._began
            if lasted < _PATIENCE_S:
                return
            self._bar = _make_bar(total, self._description, self._unit)
            self._bar.start_t -= lasted
        self._bar.total = total
        self._bar.n = done
        self._bar.refresh()

    def close(self, complete: bool) -> None:
        if self._bar is None:
            return
        if complete:
            self._bar.n = self._bar.total
            self._bar.refresh()
        self._bar.close()


class _Group:
    """All operations of one kind with the same servers, as one bar: large data is often sent in pieces."""

    def __init__(self, kind: str, where: str) -> None:
        self._shown = _Shown(f"{_NAMES[kind]} {where}", "B" if kind in _OF_BYTES else "server")
        self._totals: dict[int, int] = {}
        self._link = _Link(*where.split(" to ")) if kind == "between_servers" else None

    def update(self, running: list[dict[str, Any]]) -> None:
        for operation in running:
            self._totals[operation["id"]] = operation["total"]
        left = sum(operation["total"] - operation["done"] for operation in running)
        total = sum(self._totals.values())
        if self._link is not None:  # only the servers know what is left
            left = max(total - self._link.received(), 0)
        self._shown.update(total - left, total)

    def close(self) -> None:
        self._shown.close(complete=True)


class _Link:
    """The bytes that one server has received from another one, for this process, since the count began."""

    def __init__(self, sender: str, receiver: str) -> None:
        self._sender = sender
        self._receiver = receiver
        self._before = self._count()

    def received(self) -> int:
        now = self._count()
        return 0 if now is None or self._before is None else now - self._before

    def _count(self) -> int | None:
        """The present count; sends each server a request."""
        for entry in json.loads(native().status_json() or "[]"):
            if entry["address"] != self._receiver or entry["state"] != "connected":
                continue
            for link in entry["status"]["links"]:
                if link["is_own"] and link["server"] == self._sender:
                    return int(link["traffic"]["bulk"]["received"]["bytes"])
        return None


class _Watcher:
    """Watches operations in progress, on a thread that lives while progress is on."""

    def __init__(self) -> None:
        self._stopped = threading.Event()
        self._groups: dict[tuple[str, str], _Group] = {}
        self._own: dict[Bar, _Shown] = {}
        self._lock = threading.Lock()
        self._thread = threading.Thread(target=self._run, name="remotecl progress", daemon=True)
        self._thread.start()
        # A thread that returns from the extension module while the interpreter ends would abort the process.
        atexit.register(self.stop)

    def stop(self) -> None:
        self._stopped.set()
        if self._thread is not threading.current_thread():
            self._thread.join()

    def add(self, shown: Bar) -> None:
        with self._lock:
            self._own[shown] = _Shown(shown.description, shown.unit)

    def remove(self, shown: Bar) -> None:
        with self._lock:
            entry = self._own.pop(shown, None)
            if entry is not None:
                entry.close(complete=shown.done >= shown.total)

    def _run(self) -> None:
        while not self._stopped.wait(_PERIOD_S):
            try:
                self._look()
            except (RemoteCLError, ImportError):
                return  # the library cannot be loaded: its users report that, not this thread
        for group in self._groups.values():
            group.close()

    def _look(self) -> None:
        with self._lock:
            for shown, entry in self._own.items():
                entry.update(shown.done, shown.total)
        running: dict[tuple[str, str], list[dict[str, Any]]] = {}
        for operation in json.loads(native().operations_json() or "[]"):
            running.setdefault((operation["kind"], operation["where"]), []).append(operation)
        for key in self._groups.keys() - running.keys():
            self._groups.pop(key).close()
        for key, operations in running.items():
            if key not in self._groups:
                self._groups[key] = _Group(*key)
            self._groups[key].update(operations)


class _State:
    """Whether progress is on, and the watcher. Any thread."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._watcher: _Watcher | None = None

    @property
    def enabled(self) -> bool:
        return self._watcher is not None

    def set(self, enabled: bool) -> None:
        with self._lock:
            if enabled and self._watcher is None:
                self._watcher = _Watcher()
            elif not enabled and self._watcher is not None:
                self._watcher.stop()
                self._watcher = None

    def add(self, shown: Bar) -> None:
        if self._watcher is not None:
            self._watcher.add(shown)

    def remove(self, shown: Bar) -> None:
        if self._watcher is not None:
            self._watcher.remove(shown)

    def forget(self) -> None:
        """Called in a forked child, where the thread does not exist."""
        self._lock = threading.Lock()
        self._watcher = None


def _make_bar(total: int, description: str, unit: str) -> Any:  # noqa: ANN401  tqdm's
    with warnings.catch_warnings():
        # Without widgets, the notebook gets a bar of text.
        warnings.simplefilter("ignore")
        return importlib.import_module("tqdm.auto").tqdm(
            total=total,
            desc=description,
            unit=unit,
            unit_scale=unit == "B",
            unit_divisor=1024,
            leave=False,
            file=_Cell() if _needs_cell() else None,
        )


class _Cell:
    """Shows a bar in an output of its own, in a notebook without widgets. On stderr it would leave a red line."""

    def __init__(self) -> None:
        self._text = ""
        self._display = importlib.import_module("IPython.display").display({}, raw=True, display_id=True)

    def write(self, text: str) -> None:
        """Replaces what tqdm has written before."""
        text = text.strip()
        if text != self._text:
            self._text = text
            self._display.update({"text/plain": text} if text else {}, raw=True)

    def flush(self) -> None:
        """Does nothing: everything is written at once."""


def _needs_cell() -> bool:
    ipython = sys.modules.get("IPython")
    shell = ipython.get_ipython() if ipython is not None else None
    return getattr(shell, "kernel", None) is not None and importlib.util.find_spec("ipywidgets") is None


def _has_tqdm() -> bool:
    return importlib.util.find_spec("tqdm") is not None


def _is_interactive() -> bool:
    if hasattr(sys, "ps1") or sys.flags.interactive:
        return True
    ipython = sys.modules.get("IPython")
    return ipython is not None and ipython.get_ipython() is not None


def start_by_default() -> None:
    """Turns progress on where it is wanted, when the package is imported."""
    wanted = settings.on_or_off(os.environ, "REMOTECL_PROGRESS")
    if wanted is None:
        settings.report_invalid(os.environ, "REMOTECL_PROGRESS")
        wanted = _is_interactive()
    if wanted and _has_tqdm():
        _state.set(True)


_state = _State()
os.register_at_fork(after_in_child=_state.forget)
