"""The remote half of `adaptive`: a thread that connects, prepares and runs one frame at a time."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Sequence
from queue import SimpleQueue
from typing import Generic, TypeVar

import pyopencl as cl

import remotecl
from remotecl._connect.interrupts import release_lock_in_transfers

Frame = TypeVar("Frame")
Result = TypeVar("Result")
Prepare = Callable[[cl.Context], Callable[[Frame], Result]]


class Attempt(Generic[Result]):
    """One frame on the remote side, and what became of it. Its fields may be read once `done` is set."""

    def __init__(self) -> None:
        self.done = threading.Event()
        self.result: Result | None = None
        self.error: Exception | None = None
        self.seconds = 0.0  # without connecting and preparing


class RemoteSide(Generic[Frame, Result]):
    """The thread of the remote side. It alone uses the side's connection, but `stop` may close that.

    It may block in a call for as long as the server says nothing, so nobody waits for it without a limit.
    """

    _STOP_S = 2.0  # after its connection was closed, a blocked call returns at once; only connecting takes longer

    def __init__(self, servers: str | Sequence[str], prepare: Prepare[Frame, Result]) -> None:
        self._servers = servers
        self._prepare = prepare
        self._attempts: SimpleQueue[tuple[Frame, Attempt[Result]] | None] = SimpleQueue()
        self._lock = threading.Lock()
        self._connection: remotecl.Connection | None = None  # guarded by _lock, as is _stopped
        self._stopped = False
        self._run_frame: Callable[[Frame], Result] | None = None
        # A daemon, because a call to a server that hangs must not keep the program from ending.
        self._thread = threading.Thread(target=self._work, name="adaptive", daemon=True)
        self._thread.start()

    def begin(self, frame: Frame) -> Attempt[Result]:
        """Hands a frame to the thread, which runs it after those that it has already."""
        attempt: Attempt[Result] = Attempt()
        self._attempts.put((frame, attempt))
        return attempt

    def stop(self, patience_s: float) -> None:
        """Ends the thread; a frame that is under way has `patience_s` before its connection is closed."""
        with self._lock:
            self._stopped = True
        self._attempts.put(None)
        self._thread.join(patience_s)
        self._close()
        self._thread.join(self._STOP_S)

    def _work(self) -> None:
        release_lock_in_transfers()  # not public: a server that hangs then stops this thread only
        while (task := self._attempts.get()) is not None:
            frame, attempt = task
            try:
                self._run(frame, attempt)
            except Exception as error:
                attempt.error = error
                self._discard(error)
            attempt.done.set()
            del task, frame, attempt  # they may be large, and the next frame may be long in coming
        self._run_frame = None
        self._close()

    def _run(self, frame: Frame, attempt: Attempt[Result]) -> None:
        if self._run_frame is None:
            self._run_frame = self._prepare(self._connect().context())
        began = time.monotonic()
        attempt.result = self._run_frame(frame)
        attempt.seconds = time.monotonic() - began

    def _connect(self) -> remotecl.Connection:
        connection = remotecl.connect(self._servers)
        with self._lock:
            if not self._stopped:
                self._connection = connection
                return connection
        connection.close()
        raise RuntimeError("stopped meanwhile")  # which nobody reads any more

    def _discard(self, error: Exception) -> None:
        """Gives up what the side has: a server that was lost returns with new devices, for a new context."""
        if is_loss(error):  # its traceback would keep buffers and queues, and nobody reads it
            error.__traceback__ = None
        self._run_frame = None
        self._close()

    def _close(self) -> None:
        with self._lock:
            connection, self._connection = self._connection, None
        if connection is not None:
            connection.close()


def is_loss(error: Exception) -> bool:
    """Whether a side that fails so is given up for a while; all else is an error in the caller's functions."""
    return isinstance(error, (remotecl.RemoteCLError, cl.Error))
