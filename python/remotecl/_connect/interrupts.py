"""Ctrl-C while PyOpenCL waits for remotecl.

PyOpenCL waits in C, where Python runs no signal handlers. This module wraps its functions that may block, so that
handlers run some 20 times a second while the main thread waits for a device of remotecl. Waits of other threads, and
for other platforms, do not change.
"""

from __future__ import annotations

import atexit
import ctypes
import functools
import importlib.util
import sys
import threading
from collections import deque
from collections.abc import Callable, Sequence
from contextlib import suppress
from importlib.abc import Loader, MetaPathFinder
from importlib.machinery import ModuleSpec
from types import ModuleType
from typing import Any

from .connection import native

# PyOpenCL's functions, in its extension module or in the package, that return an event and may block.
_TRANSFERS = (
    "_enqueue_read_buffer",
    "_enqueue_read_buffer_rect",
    "_enqueue_read_image",
    "_enqueue_svm_map",
    "_enqueue_svm_memcpy",
    "_enqueue_write_buffer",
    "_enqueue_write_buffer_rect",
    "_enqueue_write_image",
    "enqueue_map_buffer",
    "enqueue_map_image",
)


def make_interruptible() -> None:
    """Wraps PyOpenCL's waits, now or when it is imported."""
    loaded = sys.modules.get("pyopencl")
    if hasattr(loaded, "CommandQueue"):
        _wrap_waits(loaded)
    else:
        sys.meta_path.insert(0, _Finder())


class _Unended:
    """Transfers that go on although nothing waits for them any more. Used by the main thread only.

    PyOpenCL's events of transfers wait in their destructors, where nothing can interrupt them. So they are kept here,
    together with the host's memory, until there is nothing to wait for.
    """

    _WRITES_MAX = 64
    _SIZE_MAX = 256 << 20

    def __init__(self) -> None:
        self._interrupted: list[tuple[Any, object]] = []
        self._writes: deque[tuple[Any, int]] = deque()
        self._size = 0

    def add_interrupted(self, event: object, memory: object = None) -> None:
        """Keeps `event`, and the `memory` that it needs, until it has ended."""
        self._interrupted.append((event, memory))

    def add_write(self, event: object) -> None:
        """Keeps the event of a write that no longer needs its memory, because its destructor would wait."""
        size = _size_of(event)
        self._writes.append((event, size))
        self._size += size

    def forget_ended(self) -> None:
        """Drops transfers that have ended; writes in order, because they nearly always end in order."""
        if self._interrupted:
            self._interrupted = [entry for entry in self._interrupted if not _has_ended(entry[0])]
        while self._writes and _has_ended(self._writes[0][0]):
            self._size -= self._writes.popleft()[1]

    def make_room(self, wait: Callable[[Any], None], failure: type[Exception]) -> None:
        """Drops writes until the rest, without the newest one, is not too large; waits for them if need be.

        Args:
            wait: PyOpenCL's own wait for an event.
            failure: what it raises for a failed event, which is ignored here, as in PyOpenCL's destructor.
        """
        while self._has_too_much():
            self._forget_held_by_others()
            if not self._has_too_much():
                return
            # In most queues, the writes before it have then ended too.
            for event in (self._writes[len(self._writes) // 2][0], self._writes[0][0]):
                with suppress(failure):
                    _core().wait(wait, event)
            self.forget_ended()

    def leave(self) -> None:
        """The process ends: does not wait for pending transfers, and keeps their memory until the end."""
        for kept in (*self._interrupted, *self._writes):
            ctypes.pythonapi.Py_IncRef(ctypes.py_object(kept))

    def _has_too_much(self) -> bool:
        return len(self._writes) > 1 and (len(self._writes) > self._WRITES_MAX or self._size > self._SIZE_MAX)

    def _forget_held_by_others(self) -> None:
        """Drops events that the program still holds, because only the others would wait in a destructor here."""
        writes, self._writes, self._size = self._writes, deque(), 0
        for event, size in writes:
            # Three of its references are ours: in the entry, here, and in the call.
            if sys.getrefcount(event) <= 3 and not _has_ended(event):
                self._writes.append((event, size))
                self._size += size


class _Finder(MetaPathFinder):
    """Wraps the waits once PyOpenCL has been imported."""

    def __init__(self) -> None:
        self._searching = False

    def find_spec(self, name: str, _path: Sequence[str] | None, _target: ModuleType | None = None) -> ModuleSpec | None:
        if name != "pyopencl" or self._searching:
            return None
        self._searching = True
        try:
            spec = importlib.util.find_spec(name)
        finally:
            self._searching = False
        if spec is not None and spec.loader is not None:
            spec.loader = _WrappingLoader(spec.loader)
        return spec


class _WrappingLoader(Loader):
    """Loads a module with another loader, which then becomes the module's own."""

    def __init__(self, loader: Loader) -> None:
        self._loader = loader

    def create_module(self, spec: ModuleSpec) -> ModuleType | None:
        return self._loader.create_module(spec)

    def exec_module(self, module: ModuleType) -> None:
        module.__loader__ = self._loader
        if module.__spec__ is not None:
            module.__spec__.loader = self._loader
        self._loader.exec_module(module)
        # If PyOpenCL is installed system-wide, our placeholder is found first, and puts that one in its place.
        _wrap_waits(sys.modules[module.__name__])


def _wrap_waits(cl: Any) -> None:  # noqa: ANN401  PyOpenCL
    atexit.register(_unended.leave)
    make_room = functools.partial(_unended.make_room, cl.Event.wait, cl.Error)
    cl.Event.wait = _of_event(cl.Event.wait, cl.NannyEvent)
    cl.CommandQueue.finish = _interruptible(cl.CommandQueue.finish)
    for module in (cl, cl._cl):
        module.wait_for_events = _interruptible(cl._cl.wait_for_events)
    for name in _TRANSFERS:
        function = getattr(cl._cl, name, None)  # not in every version
        if function is None:
            continue
        for module in (cl._cl, cl):
            if hasattr(module, name):
                setattr(module, name, _transfer(function, make_room, cl.Error))


def _interruptible(wait: Callable[[Any], None]) -> Callable[[Any], None]:
    @functools.wraps(wait)
    def interruptible(what: Any) -> None:  # noqa: ANN401
        _core().wait(wait, what)

    return interruptible


def _of_event(wait: Callable[[Any], None], of_transfers: type) -> Callable[[Any], None]:
    @functools.wraps(wait)
    def interruptible(self: Any) -> None:  # noqa: ANN401
        try:
            _core().wait(wait, self)
        except KeyboardInterrupt:
            if isinstance(self, of_transfers):
                _unended.add_interrupted(self)
            raise

    return interruptible


def _transfer(
    enqueue: Callable[..., Any], make_room: Callable[[], None], failure: type[Exception]
) -> Callable[..., Any]:
    @functools.wraps(enqueue)
    def interruptible(*arguments: Any, **options: Any) -> Any:  # noqa: ANN401
        core = _core()
        if threading.current_thread() is not threading.main_thread():
            result, goes_on = core.enqueue(enqueue, arguments, options)
            if _of_thread.transfers is not None:
                event = result[1] if isinstance(result, tuple) else result
                _hold(event, _of_thread.transfers, bool(goes_on), failure)
            return result
        _unended.forget_ended()
        result, left = core.enqueue(enqueue, arguments, options)
        if left:
            event = result[1] if isinstance(result, tuple) else result
            if left & core.WAIT_OVER:
                _finish(event, arguments)
            else:
                _unended.add_write(event)
                make_room()
        return result

    return interruptible


def release_lock_in_transfers() -> None:
    """From now on this thread, which is not the main one, does not wait for transfers with Python's lock held.

    Others do where an event of PyOpenCL's is dropped before its transfer has ended, and a server that hangs then stops
    all threads. A blocking write of this thread waits until its command has ended, which costs it a round trip.
    """
    _of_thread.transfers = []


def _hold(event: Any, transfers: list[Any], goes_on: bool, failure: type[Exception]) -> None:  # noqa: ANN401
    """Waits for a blocking write that goes on; keeps the event of any other transfer until that has ended."""
    if goes_on:
        with suppress(failure):  # a later command reports it, as in PyOpenCL's destructor
            event.wait()
    transfers.append(event)
    transfers[:] = [one for one in transfers if not _has_ended(one)]


def _finish(event: Any, memory: object) -> None:  # noqa: ANN401
    """Waits for a transfer on behalf of a blocking call. If interrupted, it goes on and its memory is kept."""
    try:
        event.wait()
    except KeyboardInterrupt:
        _unended.add_interrupted(event, memory)
        raise


@functools.cache
def _core() -> Any:  # noqa: ANN401  the extension module
    return native()


def _has_ended(event: Any) -> bool:  # noqa: ANN401
    """Whether it has ended, as far as this process knows."""
    ended: bool = _core().has_ended(event.int_ptr)
    return ended


def _size_of(event: Any) -> int:  # noqa: ANN401
    """The size of the host's memory that an event keeps."""
    memory = getattr(event, "get_ward", lambda: None)()
    return 0 if memory is None else memoryview(memory).nbytes


class _OfThread(threading.local):
    """What a thread other than the main one has."""

    transfers: list[Any] | None = None  # those that go on, after `release_lock_in_transfers`


_unended = _Unended()
_of_thread = _OfThread()
