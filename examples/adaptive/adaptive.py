"""Frames on a server, and on a local device while the server is lost or too slow: `README.md` says when."""

from __future__ import annotations

import time
import weakref
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Generic, Literal

import pyopencl as cl

from remote_side import Attempt, Frame, Prepare, RemoteSide, Result, is_loss

_PROBES = 3  # how many in a row must keep the deadline before frames depend on the server
_MARGIN = 0.8  # of the deadline, for probes; else a server at its limit would be taken and left all the time
_LONGEST_PAUSE = 16  # in first pauses


@dataclass(frozen=True)
class AdaptiveFrame(Generic[Result]):
    """What `Adaptive.run` returns.

    Attributes:
        result: what the side's function has returned for the frame.
        side: ``"remote"`` or ``"local"``: which of them has run it.
        seconds: from the call to the result; for a frame that the server did not answer in time, with that wait.

    Example::

        frame = frames.run(picture)
        print(frame.side, frame.seconds)
    """

    result: Result
    side: Literal["remote", "local"]
    seconds: float


class Adaptive(Generic[Frame, Result]):
    """Runs frames on a server, or locally while that is lost or too slow; `adaptive` makes it.

    ``with`` stops it, too. One thread at a time may use it.

    Args:
        remote: servers, named as for `remotecl.connect`.
        local: a device or context of this machine.
        prepare: makes what runs a frame, from a context.
        prepare_local: the same for the local side, if it works in another way.
        deadline_s: how long a frame may take on the server.
        misses: so many frames in a row that miss the deadline make the server too slow.
        retry_s: the pause after a server was lost or too slow.

    Example::

        with adaptive("gpu1", device, Blur, deadline_s=0.05) as frames:
            blurred = frames.run(picture).result
    """

    def __init__(
        self,
        remote: str | Sequence[str],
        local: cl.Device | cl.Context,
        prepare: Prepare[Frame, Result],
        prepare_local: Prepare[Frame, Result],
        *,
        deadline_s: float,
        misses: int,
        retry_s: float,
    ) -> None:
        self._local: Callable[[Frame], Result] = prepare_local(
            cl.Context([local]) if isinstance(local, cl.Device) else local
        )
        self._deadline_s = deadline_s
        self._misses_allowed = misses
        self._retry_s = retry_s
        self._remote = RemoteSide(remote, prepare)
        self._attempt: Attempt[Result] | None = None
        self._side: Literal["remote", "local"] = "local"
        self._reason = "the server has not been tried yet"
        self._in_a_row = 0  # remote: missed deadlines; local: probes that have kept it
        self._pause_s = retry_s
        self._changed_at = self._next_probe = time.monotonic()
        self._stop = weakref.finalize(self, self._remote.stop, deadline_s)

    def __enter__(self) -> Adaptive[Frame, Result]:
        return self

    def __exit__(self, *_: object) -> None:
        self.stop()

    @property
    def side(self) -> Literal["remote", "local"]:
        """Where the next frame begins: ``"remote"`` or ``"local"``."""
        return self._side

    @property
    def reason(self) -> str:
        """Why the last frame that ran locally did so."""
        return self._reason

    def run(self, frame: Frame) -> AdaptiveFrame[Result]:
        """Runs one frame, on the server if it answers within the deadline, else locally: no frame is lost.

        It takes at most the deadline and the time that the local side takes. While frames run locally, now and then one
        is also given to the server, in the background, to see whether it is there again; nothing waits for that.

        Args:
            frame: handed to the side's function. The server may still read it after the call, so do not change it: give
                each frame memory of its own.

        Raises:
            RuntimeError: the object was stopped.
            Exception: what the local side's function raises; and what that of the remote side raises, for this frame or
                an earlier one, unless it is an error of OpenCL or remotecl.
        """
        if not self._stop.alive:
            raise RuntimeError("adaptive.run() after stop(): make another one with adaptive()")
        began = time.monotonic()
        if self._side == "local":
            self._look_at_probe()
        if self._side == "remote":
            attempt = self._attempt_in_time(frame)
            if attempt is not None:
                return AdaptiveFrame(attempt.result, "remote", time.monotonic() - began)  # type: ignore[arg-type]
        elif self._attempt is None and began >= self._next_probe:
            self._attempt = self._remote.begin(frame)
        return AdaptiveFrame(self._local(frame), "local", time.monotonic() - began)

    def stop(self) -> None:
        """Ends the connection to the server; a frame that is under way there fails. Calling it again does nothing."""
        self._stop()

    def __repr__(self) -> str:
        why = f": {self._reason}" if self._side == "local" else ""
        return f"<Adaptive, {self._side}{why}>" if self._stop.alive else "<Adaptive, stopped>"

    def _attempt_in_time(self, frame: Frame) -> Attempt[Result] | None:
        """The frame as the server has run it, or None if the local side must."""
        late = self._attempt
        if late is not None and not late.done.is_set():
            self._miss("the server is still busy with an earlier one")
            return None
        if late is not None and late.error is not None:
            self._attempt = None
            self._fail(late.error)
            return None
        attempt = self._attempt = self._remote.begin(frame)
        if not attempt.done.wait(self._deadline_s):
            self._miss("the server did not answer")
            return None
        self._attempt = None
        if attempt.error is not None:
            self._fail(attempt.error)
            return None
        self._in_a_row = 0
        return attempt

    def _look_at_probe(self) -> None:
        """Judges a probe that has ended, or a frame that ended after its deadline."""
        attempt = self._attempt
        if attempt is None or not attempt.done.is_set():
            return
        self._attempt = None
        if attempt.error is not None:
            self._fail(attempt.error)
        elif attempt.seconds > _MARGIN * self._deadline_s:
            self._go_local(f"a frame takes {attempt.seconds:.3g} s there, and the deadline is {self._deadline_s:.3g} s")
        else:
            self._in_a_row += 1
            if self._in_a_row >= _PROBES:
                self._in_a_row = 0
                self._side = "remote"
                self._changed_at = time.monotonic()

    def _miss(self, how: str) -> None:
        self._in_a_row += 1
        frames = "1 frame" if self._in_a_row == 1 else f"{self._in_a_row} frames in a row"
        self._reason = f"{frames} missed the deadline of {self._deadline_s:.3g} s: {how}"
        if self._in_a_row >= self._misses_allowed:
            self._go_local(self._reason)

    def _fail(self, error: Exception) -> None:
        if not is_loss(error):
            raise error
        self._go_local(f"{type(error).__name__}: {error}")

    def _go_local(self, reason: str) -> None:
        """Runs frames locally, and tries the server again after a pause, which grows while that is of no use."""
        now = time.monotonic()
        was_of_use = self._side == "remote" and now - self._changed_at > self._pause_s
        longest = _LONGEST_PAUSE * self._retry_s
        self._pause_s = self._retry_s if was_of_use else min(2 * self._pause_s, longest)
        self._next_probe = now + self._pause_s
        self._side = "local"
        self._changed_at = now
        self._in_a_row = 0
        self._reason = reason


def adaptive(
    remote: str | Sequence[str],
    local: cl.Device | cl.Context,
    prepare: Prepare[Frame, Result],
    *,
    deadline_s: float,
    prepare_local: Prepare[Frame, Result] | None = None,
    misses: int = 3,
    retry_s: float = 0.5,
) -> Adaptive[Frame, Result]:
    """Frames on a server, and on a local device while the server is lost or too slow.

    It begins with the local side, so that nothing waits for a server, and goes over to the server as soon as three
    frames in a row have been fast enough there, in the background. It goes back to the local side when the server is
    lost, when a command fails there, or when `misses` frames in a row miss the deadline, also if the server hangs; the
    frame that was under way is run locally. Then the server is tried again after `retry_s`, and after longer pauses
    (up to 16 times that) while it is of no use; one that was restarted is connected anew, with a new context.

    A frame's result must depend on the frame only, because the frames before it may have run on the other side.

    Args:
        remote: one server or several, named as for `remotecl.connect`, with ``?token=FILE&pin=...`` where needed.
        local: a device of this machine, or a context.
        prepare: called with a context over the servers' devices, and with the local one; makes queue, program and
            buffers, and returns a function that takes a frame and returns its result when that is there. A class whose
            objects are called does that. For the server both run on a thread of their own.
        deadline_s: how long a frame may take on the server, in seconds.
        prepare_local: in place of `prepare` for the local side, which may do less work or even none in OpenCL.
        misses: how many frames in a row may miss the deadline before the server is left.
        retry_s: the first pause before the server is tried again, in seconds.

    Raises:
        ValueError: `deadline_s` or `retry_s` is not more than 0, or `misses` is less than 1.
        Exception: what `prepare` or `prepare_local` raises for the local side.

    Example::

        class Blur:
            def __init__(self, context):
                self.queue = pyopencl.CommandQueue(context)
                self.program = pyopencl.Program(context, SOURCE).build()

            def __call__(self, picture):
                on_device = pyopencl.array.to_device(self.queue, picture)
                self.program.blur(self.queue, picture.shape, None, on_device.data)
                return on_device.get()

        local = pyopencl.get_platforms()[0].get_devices()[0]
        with adaptive("gpu1", local, Blur, deadline_s=0.05) as frames:
            for picture in camera:
                frame = frames.run(picture)
                show(frame.result, frame.side)
    """
    if not deadline_s > 0 or not retry_s > 0:
        raise ValueError(f"a deadline and a pause have more than 0 s, not {deadline_s} and {retry_s}")
    if misses < 1:
        raise ValueError(f"at least 1 frame must miss its deadline before the server is left, not {misses}")
    return Adaptive(
        remote,
        local,
        prepare,
        prepare_local or prepare,
        deadline_s=deadline_s,
        misses=misses,
        retry_s=retry_s,
    )
