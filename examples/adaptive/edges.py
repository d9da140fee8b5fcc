#!/usr/bin/env python3
"""Edges of moving pictures, found on a server, or on a local device while the server is lost or too slow.

python edges.py                  # with a server of its own, which is stopped, killed and started again meanwhile
python edges.py --servers gpu1   # on a running one: pull its cable
"""

from __future__ import annotations

import argparse
import contextlib
import os
import signal
import sys
import time
from collections.abc import Callable, Iterator, Sequence

import numpy as np
import pyopencl as cl

import remotecl
from adaptive import adaptive

SOURCE = """
kernel void edges(global const float* in, global float* out) {
  int x = get_global_id(0), y = get_global_id(1), width = get_global_size(0), at = y * width + x;
  int inside = x > 0 && y > 0 && x < width - 1 && y < (int)get_global_size(1) - 1;
  float dx = inside ? in[at + 1] - in[at - 1] : 0.0f, dy = inside ? in[at + width] - in[at - width] : 0.0f;
  out[at] = fabs(dx) + fabs(dy);
}"""
WIDTH, HEIGHT = 640, 360


class Edges:
    """Finds edges with the first device of a context; `adaptive` makes one for each side."""

    def __init__(self, context: cl.Context) -> None:
        self.queue = cl.CommandQueue(context)
        self.kernel = cl.Kernel(cl.Program(context, SOURCE).build(), "edges")
        flags = cl.mem_flags
        self.picture, self.found = (cl.Buffer(context, flags.READ_WRITE, 4 * WIDTH * HEIGHT) for _ in range(2))

    def __call__(self, picture: np.ndarray) -> np.ndarray:
        """Those of one picture."""
        found = np.empty_like(picture)
        cl.enqueue_copy(self.queue, self.picture, picture)
        self.kernel(self.queue, (WIDTH, HEIGHT), None, self.picture, self.found)
        cl.enqueue_copy(self.queue, found, self.found)
        return found


def picture(number: int) -> np.ndarray:
    """A disc that moves; each picture has memory of its own, because a late server may still read it."""
    y, x = np.ogrid[:HEIGHT, :WIDTH]
    centre = WIDTH / 2 + WIDTH / 3 * np.sin(number / 20)
    disc: np.ndarray = (x - centre) ** 2 + (y - HEIGHT / 2) ** 2 < (HEIGHT / 4) ** 2
    return disc.astype(np.float32)


def is_right(found: np.ndarray, of: np.ndarray) -> bool:
    """Whether NumPy finds the same."""
    expected = np.zeros_like(of)
    expected[1:-1, 1:-1] = abs(of[1:-1, 2:] - of[1:-1, :-2]) + abs(of[2:, 1:-1] - of[:-2, 1:-1])
    return bool((found == expected).all())


def local_device() -> cl.Device:
    """The first device of this machine that can be used."""
    for platform in cl.get_platforms():
        for device in platform.get_devices() if platform.name != "remotecl" else ():
            with contextlib.suppress(cl.Error):
                Edges(cl.Context([device]))
                return device
    raise SystemExit("this machine has no OpenCL device of its own; Debian: apt-get install pocl-opencl-icd")


class Mishaps:
    """What happens to a server of our own while frames go on: at these parts of the time since it has run the first."""

    def __init__(self, seconds: float) -> None:
        self.server = remotecl.Server()
        self.address = self.server.address
        self._began: float | None = None
        self._ahead: list[tuple[float, str, Callable[[], None]]] = [
            (0.1 * seconds, "the server is stopped", lambda: os.kill(self.server.pid, signal.SIGSTOP)),
            (0.25 * seconds, "the server goes on", lambda: os.kill(self.server.pid, signal.SIGCONT)),
            (0.4 * seconds, "the server is killed", lambda: os.kill(self.server.pid, signal.SIGKILL)),
            (0.55 * seconds, "the server is started again", self._restart),
        ]

    def happen(self, side: str) -> str | None:
        """Does what is due, and says what it was."""
        if self._began is None and side == "remote":
            self._began = time.monotonic()
        if self._began is None or not self._ahead or time.monotonic() - self._began < self._ahead[0][0]:
            return None
        _, what, action = self._ahead.pop(0)
        action()
        return what

    def _restart(self) -> None:
        self.server.stop()
        self.server = remotecl.Server(self.address)


@contextlib.contextmanager
def mishaps(servers: Sequence[str] | None, seconds: float) -> Iterator[Mishaps | None]:
    """With a server of our own, unless some are named."""
    ours = None if servers else Mishaps(seconds)
    yield ours
    if ours is not None:
        with contextlib.suppress(ProcessLookupError):
            os.kill(ours.server.pid, signal.SIGCONT)
        ours.server.stop()


def main() -> int:
    """Runs the example; 0 if all pictures were right."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--servers", nargs="+", metavar="HOST[:PORT]", help="default: one is started here")
    parser.add_argument("--seconds", type=float, default=20, help="how long frames go on (default: 20)")
    parser.add_argument("--deadline", type=float, default=0.2, metavar="SECONDS", help="of a frame (default: 0.2)")
    parser.add_argument("--rate", type=float, default=30, metavar="N", help="frames per second (default: 30)")
    options = parser.parse_args()
    counts = {"remote": 0, "local": 0}
    longest, side, right = 0.0, "", True
    with mishaps(options.servers, options.seconds) as ours:
        servers = options.servers or [ours.address] if ours else options.servers
        with adaptive(servers, local_device(), Edges, deadline_s=options.deadline) as frames:
            began = time.monotonic()
            while (now := time.monotonic() - began) < options.seconds:
                number = sum(counts.values())
                what = ours.happen(side) if ours else None
                if what:
                    print(f"{now:6.2f} s                {what}")
                shown = picture(number)
                frame = frames.run(shown)
                right = right and is_right(frame.result, shown)
                longest = max(longest, frame.seconds)
                counts[frame.side] += 1
                if frame.side != side:
                    side = frame.side
                    why = f" ({frames.reason})" if side == "local" else ""
                    print(f"{now:6.2f} s  frame {number:5}  {side}{why}", flush=True)
                time.sleep(max(0.0, (number + 1) / options.rate - (time.monotonic() - began)))
    print(
        f"{counts['remote']} pictures on the server and {counts['local']} here, the longest in {longest:.3f} s; "
        f"{'every picture is right' if right else 'PICTURES ARE WRONG'}"
    )
    return 0 if right else 1


if __name__ == "__main__":
    sys.exit(main())
