"""The client of one configuration, as a process of its own: what is pinned, throttled and measured is all of it.

Reads a `Task` as JSON from its standard input. When it is ready to measure, it prints the numbers of its processes, and
waits for a line: they may have to be throttled, and it cannot do that itself, because a network namespace comes with a
/sys of its own. Then it prints what it has measured, as JSON.
"""

from __future__ import annotations

import contextlib
import json
import os
import statistics
import sys
import time
from collections import deque
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pyopencl as cl

from remotecl import RemoteCLError, connect, overview

from ..dnn.report import described
from .pipelines import (
    COMPLETE,
    LOCAL,
    REMOTE_SORT,
    TWO_SERVERS,
    Client,
    Local,
    Pipeline,
    Remote,
    RemoteImage,
    RemoteOrder,
    RemoteSort,
)
from .stages import Shape
from .viewer import pose

# Frames that are checked before any is measured.
CHECKED_FRAMES = 8
_SETTLING_FRAMES = 3
_FRAMES_ALONE = 8
# The fewest frames that give a meaningful figure.
_FRAMES_MIN = 6


@dataclass(frozen=True)
class Task:
    """What a client does.

    Attributes:
        configuration: of `CONFIGURATIONS`.
        patch, pixels: see `Shape`.
        in_flight: frames that are on their way at once.
        seconds: how long to measure.
        addresses: of the servers.
        server_pids: the processes of the servers.
        file: the video.
        source: the video for `remotecl.read`.
        codec: for `remotecl.decode`.
        images: where to put the image of the last frame that is checked.
    """

    configuration: str
    patch: int
    pixels: int
    in_flight: int
    seconds: float
    addresses: list[str]
    server_pids: list[int]
    file: str
    source: str
    codec: str
    images: str

    def as_json(self) -> str:
        """The text that the client's process reads."""
        return json.dumps(asdict(self))


def processor_s(pid: int) -> float:
    """Seconds that a process and its children have run; 0 if it has ended."""
    total = 0.0
    with contextlib.suppress(OSError):
        # Python lacks clock_getcpuclockid(); this is the id that it returns for a process.
        total = time.clock_gettime((~pid << 3) | 2)
        for thread in Path(f"/proc/{pid}/task").iterdir():
            total += sum(processor_s(int(child)) for child in (thread / "children").read_text().split())
    return total


def energy_j() -> float | None:
    """Joules that this machine's processors have used since some time; None if it does not tell."""
    try:
        # Names of packages have one number. Parts, whose energy their package includes, have two numbers.
        counters = [path.read_text() for path in Path("/sys/class/powercap").glob("intel-rapl:?/energy_uj")]
    except OSError:
        return None
    return sum(map(int, counters)) / 1e6 if counters else None


def make(task: Task) -> Pipeline:
    """Makes the configuration's pipeline."""
    shape, name = Shape(task.patch, task.pixels), task.configuration
    connection = connect(*task.addresses) if task.addresses else None
    client = None if name == COMPLETE else Client(native_processor(), shape, Path(task.file), task.in_flight)
    if name == LOCAL:
        assert client is not None
        return Local(client)
    assert connection is not None
    if name == REMOTE_SORT:
        assert client is not None
        return RemoteSort(client, connection)
    has_content_size = name != TWO_SERVERS
    arguments = (connection, shape, task.source, task.codec, task.in_flight)
    remote = Remote(*arguments, has_content_size=has_content_size, draws=name == COMPLETE)
    return RemoteImage(remote) if client is None else RemoteOrder(client, remote)


def native_processor() -> cl.Device:
    """A native CPU device of this machine."""
    for platform in cl.get_platforms():
        if platform.name != "remotecl":
            for device in platform.get_devices():
                if device.type & cl.device_type.CPU:
                    return device
    raise RemoteCLError("the client needs a native OpenCL driver for its processor: pip install 'remotecl[local]'")


@dataclass
class _Counts:
    """What has been used so far."""

    processor_s: float
    servers_s: float
    client_bytes: int
    peer_bytes: int
    energy_j: float | None


def _counts(task: Task, pipeline: Pipeline) -> _Counts:
    own = time.process_time() + (pipeline.decoder.processor_s if pipeline.decoder else 0)
    servers = sum(map(processor_s, task.server_pids))
    if not task.addresses:
        return _Counts(own, servers, 0, 0, energy_j())
    found = overview().stats
    between = sum(link.traffic.bytes_sent for link in found.links)
    with_client = sum(one.bytes_sent + one.bytes_received for one in found.servers)
    return _Counts(own, servers, with_client, between, energy_j())


class _Player:
    """Plays frames, several of which may be in flight."""

    def __init__(self, pipeline: Pipeline) -> None:
        self._pipeline = pipeline
        self._begun: deque[float] = deque()
        self._number = 0
        self.latencies: list[float] = []

    def begin(self) -> None:
        """Starts the next frame, with the pose of this moment."""
        self._begun.append(time.perf_counter())
        self._pipeline.begin(pose(self._number))
        self._number += 1

    def end(self) -> Any:  # noqa: ANN401  an array
        """Waits for the oldest frame and returns its image."""
        image = self._pipeline.end()
        self.latencies.append(time.perf_counter() - self._begun.popleft())
        return image

    def alone(self, frames: int) -> list[float]:
        """The latencies of so many frames, each of which begins when the one before has ended."""
        for _ in range(frames):
            self.begin()
            self.end()
        return self.latencies[-frames:]

    def play(self, in_flight: int, seconds: float) -> tuple[list[float], float]:
        """The latencies of frames that end in that time, and the time; some may be in flight before and after."""
        start, first = time.perf_counter(), len(self.latencies)
        while True:
            while len(self._begun) < in_flight:
                self.begin()
            self.end()
            found, passed = len(self.latencies) - first, time.perf_counter() - start
            if passed >= seconds and found >= _FRAMES_MIN:
                return self.latencies[first:], passed

    def drain(self) -> None:
        """Ends all frames that are in flight."""
        while self._begun:
            self.end()


def measure(task: Task) -> dict[str, Any]:
    """Runs the configuration and returns what it has measured."""
    pipeline = make(task)
    try:
        player = _Player(pipeline)
        for _ in range(CHECKED_FRAMES):
            player.begin()
            image = player.end()
        np.save(task.images, image)
        print(*[os.getpid(), *([pipeline.decoder.pid] if pipeline.decoder else [])], flush=True)
        sys.stdin.readline()
        alone = player.alone(_SETTLING_FRAMES + _FRAMES_ALONE)[_SETTLING_FRAMES:]
        player.play(task.in_flight, 0)
        before = _counts(task, pipeline)
        latencies, passed = player.play(task.in_flight, task.seconds)
        after = _counts(task, pipeline)
        player.drain()
    finally:
        pipeline.close()
    count = len(latencies)
    used = {name: None if old is None else (getattr(after, name) - old) / count for name, old in vars(before).items()}
    return {
        "device": described(pipeline.device),
        "frames": count,
        "frames_per_s": count / passed,
        "alone_s": statistics.median(alone),
        "latency_p50_s": statistics.median(latencies),
        "latency_p99_s": sorted(latencies)[min(count - 1, int(0.99 * count))],
        **used,
    }


def main() -> None:
    """The main function of the process."""
    try:
        print(json.dumps(measure(Task(**json.loads(sys.stdin.readline())))))
    except RemoteCLError as error:
        sys.exit(str(error))
