"""Runs the configurations over links, each with a client process of its own, and compares them."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tempfile
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np

from remotecl import RemoteCLError
from remotecl._loading.activation import original_environment

from ..dnn.report import described
from . import cloud, reference, video, viewer
from .client import CHECKED_FRAMES, Task, native_processor
from .links import LINKS, Servers
from .pipelines import CONFIGURATIONS, LOCAL, TWO_SERVERS, TWO_SERVERS_CONTENT, ordered
from .report import Measurement, Report
from .stages import Shape
from .throttle import throttled

LOOPBACK = "loopback"
_CHECKOUT = Path(__file__).resolve().parents[2]
# The share of pixels that may differ from NumPy's image, because NumPy rounds the places of squares in another order.
_DIFFERENT_PART = 0.01
# The bit rate of the video, for each pixel of a picture.
_BITS_PER_PIXEL = 0.6


def main(
    links: Sequence[str] = (),
    *,
    configurations: Sequence[str] = CONFIGURATIONS,
    patch: int = 256,
    pixels: int = 256,
    frames: int = 30,
    in_flight: int = 4,
    seconds: float = 8.0,
    client_part: float = 0.1,
    codec: str = "h264",
    seed: int = 0,
    json_file: str | None = None,
) -> int:
    """Prints what frames take. Returns 0, or 1 if a picture is wrong.

    Args:
        links: of `LINKS`; none is loopback.
        configurations: of `CONFIGURATIONS`.
        patch: rows of a patch of the video's atlases, a power of two.
        pixels: rows and columns of the drawn image.
        frames: of the video, which is played in a loop.
        in_flight: frames that are on their way at once.
        seconds: how long each configuration is measured.
        client_part: of a core, for the client.
        codec: ``"h264"`` or ``"hevc"``.
        seed: of the video.
        json_file: where to write the results too.

    Raises:
        RemoteCLError: ffmpeg is missing, there is no native driver, or a client failed; the message has its output.
        ServerStartError: a server did not start.
    """
    device, shape = native_processor(), Shape(patch, pixels)
    with tempfile.TemporaryDirectory() as folder_name, throttled(client_part) as (group, words):
        folder = Path(folder_name)
        figure = cloud.Figure(frames, seed)
        pictures = [figure.picture(frame, patch) for frame in range(frames)]
        width, height = cloud.picture_size(patch)
        bitrate = int(_BITS_PER_PIXEL * width * height * video.RATE)
        file, packets = video.encode(pictures, (width, height), codec, folder, bitrate)
        points, expected = _expected(file, shape)
        report = Report(
            described(device), codec, packets.stat().st_size / frames * video.RATE * 8 / 1e6, points, shape.capacity,
            pixels, in_flight, words,
        )  # fmt: skip
        print(report.heading(), flush=True)
        task = Task(
            "", patch, pixels, in_flight, seconds, [], [], str(file), f"file:{packets}?lengths=1&loop=1", codec,
            str(folder / "image.npy"),
        )  # fmt: skip
        for link in links or (LOOPBACK,):
            with Servers(LINKS.get(link), folder) as servers:
                report.hows[link] = servers.how
                for name in ordered(configurations):
                    report.rows.append(
                        _measured(report, replace(task, configuration=name), link, servers, expected, group)
                    )
            print(f"\n{report.table(link)}", flush=True)
    if json_file:
        report.write(json_file)
    print("\nEverything is right." if report.right else "\nWRONG RESULTS, see above.")
    return 0 if report.right else 1


def _measured(
    report: Report, task: Task, link: str, servers: Servers, expected: cloud.Bytes, group: str
) -> Measurement:
    """Measures one row; the local configuration is measured once, because links do not matter to it."""
    if task.configuration == LOCAL:
        known = next((row for row in report.rows if row.configuration == LOCAL), None)
        if known is not None:
            return replace(known, link=link)
        result = _run(replace(task, in_flight=1), (), group)
    else:
        count = 2 if task.configuration in (TWO_SERVERS, TWO_SERVERS_CONTENT) else 1
        of_servers = replace(task, addresses=servers.addresses[:count], server_pids=servers.pids[:count])
        result = _run(of_servers, servers.inside, group)
    image = reference.unpacked(np.load(task.images))
    part = reference.different_part(image, expected)
    problem = f"{100 * part:.2g} % of its pixels differ" if part > _DIFFERENT_PART else ""
    return Measurement(link=link, configuration=task.configuration, problem=problem, **result)


def _run(task: Task, inside: Sequence[str], group: str) -> dict[str, Any]:
    """Runs a client in a process of its own, on one core; the process is throttled before it measures."""
    # The process is pinned before it has any other thread.
    core = min(os.sched_getaffinity(0))
    program = f"import os, sys; os.sched_setaffinity(0, [{core}]); sys.path.insert(0, {str(_CHECKOUT)!r}); "
    program += f"from {__package__}.client import main; main()"
    environment = {name: word for name, word in original_environment().items() if name != "REMOTECL_SERVERS"}
    environment |= {"POCL_MAX_PTHREAD_COUNT": "1", "OPENBLAS_NUM_THREADS": "1", "REMOTECL_SHARED_MEMORY": "off"}
    # The server would recognise frames of the loop that it has seen before; a real video repeats none.
    environment["REMOTECL_UPLOADS"] = "off"
    with subprocess.Popen(
        [*inside, sys.executable, "-c", program],
        env=environment,
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    ) as client:
        assert client.stdin is not None
        assert client.stdout is not None
        client.stdin.write(f"{task.as_json()}\n")
        client.stdin.flush()
        pids = client.stdout.readline().split()
        if group:
            for pid in pids:
                Path(group, "cgroup.procs").write_text(pid)
        if pids:
            client.stdin.write("go on\n")
        output, _ = client.communicate()
    if client.returncode != 0:
        raise RemoteCLError(f"the client of {task.configuration} failed; its own message is above")
    result: dict[str, Any] = json.loads(output)
    return result


def _expected(file: Path, shape: Shape) -> tuple[int, cloud.Bytes]:
    """Number of points and image of the frame that is checked, by NumPy."""
    decoder = video.Decoder(file, cloud.picture_bytes(shape.patch))
    try:
        for _ in range(CHECKED_FRAMES):
            picture = decoder.picture()
    finally:
        decoder.close()
    width, _ = cloud.picture_size(shape.patch)
    points = cloud.points_of(np.frombuffer(picture, np.uint8).reshape(-1, width), shape.patch)
    return len(points.positions), reference.draw(points, viewer.pose(CHECKED_FRAMES - 1), shape.pixels)
