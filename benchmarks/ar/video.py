"""The cloud as a video: encoding it, cutting it into packets, and decoding it on the client, by the command ffmpeg."""

from __future__ import annotations

import shutil
import struct
import subprocess
import time
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import IO

import numpy as np
from numpy.typing import NDArray

from remotecl import RemoteCLError

CODECS = ("h264", "hevc")
RATE = 30
# For each codec, the first encoder that this ffmpeg has is used. No encoder may delay or reorder pictures.
_ENCODERS = {
    "h264": {"libx264": ("-preset", "veryfast", "-tune", "zerolatency"), "libopenh264": (), "h264_nvenc": ("-bf", "0")},
    "hevc": {"libx265": ("-preset", "veryfast", "-tune", "zerolatency"), "hevc_nvenc": ("-bf", "0")},
}
# The two bytes, after 00 00 01, of the unit that begins a picture of each codec.
_DELIMITERS = {"h264": b"\x09", "hevc": b"\x46\x01"}
_START = b"\x00\x00\x00\x01"


def ffmpeg_path() -> str:
    """The path of the command ffmpeg.

    Raises:
        RemoteCLError: it is not installed.
    """
    found = shutil.which("ffmpeg")
    if found is None:
        raise RemoteCLError(
            "the command ffmpeg, which encodes and decodes the video, is missing: apt-get install ffmpeg"
        )
    return found


def encode(
    pictures: Iterable[NDArray[np.uint8]], size: tuple[int, int], codec: str, folder: Path, bitrate: int
) -> tuple[Path, Path]:
    """Writes a video with one key frame, at its beginning, so that it can be played in a loop.

    Args:
        pictures: in NV12.
        size: their width and height.
        codec: of `CODECS`.
        folder: where to.
        bitrate: in bit/s, at `RATE` pictures a second.

    Returns:
        the video for `Decoder`, and the same as packets, one for each picture, with 4 bytes of length before each.

    Raises:
        RemoteCLError: ffmpeg is missing, has no encoder, or failed; the message has its output.
    """
    encoder, options = _encoder(codec)
    file, packets = folder / f"{codec}.mkv", folder / f"{codec}.packets"
    raw = ("-f", "rawvideo", "-pix_fmt", "nv12", "-video_size", f"{size[0]}x{size[1]}", "-framerate", str(RATE))
    to_file = ("-c:v", encoder, *options, "-pix_fmt", "yuv420p", "-g", "100000", "-b:v", str(bitrate), str(file))
    _run([*raw, "-i", "pipe:0", *to_file], b"".join(picture.tobytes() for picture in pictures))
    # ffmpeg can play a file in a loop, and mark where pictures begin in a raw stream.
    filters = f"{codec}_mp4toannexb,{codec}_metadata=aud=insert"
    marked = ("-c", "copy", "-bsf:v", filters, "-f", codec, "pipe:1")
    stream = _run(["-i", str(file), *marked])
    packets.write_bytes(b"".join(struct.pack("<I", len(one)) + one for one in split(stream, codec)))
    return file, packets


def _run(arguments: Sequence[str], data: bytes = b"") -> bytes:
    command = [ffmpeg_path(), "-v", "error", "-y", *arguments]
    done = subprocess.run(command, input=data, capture_output=True, check=False)
    if done.returncode != 0:
        raise RemoteCLError(f"ffmpeg could not encode the video: {done.stderr.decode(errors='replace').strip()}")
    return done.stdout


def split(stream: bytes, codec: str) -> list[bytes]:
    """The packets of a raw stream, one for each picture; each begins with an access unit delimiter."""
    delimiter = _START + _DELIMITERS[codec]
    if not stream.startswith(delimiter):
        raise RemoteCLError("ffmpeg has written a stream whose pictures do not begin with delimiters")
    return [delimiter + rest for rest in stream.split(delimiter)[1:]]


def _encoder(codec: str) -> tuple[str, tuple[str, ...]]:
    listed = subprocess.run([ffmpeg_path(), "-v", "error", "-encoders"], capture_output=True, text=True, check=False)
    there = {line.split()[1] for line in listed.stdout.splitlines() if len(line.split()) > 1}
    for name, options in _ENCODERS[codec].items():
        if name in there:
            return name, options
    raise RemoteCLError(
        f"this machine's ffmpeg has no encoder of {codec}; it needs one of {', '.join(_ENCODERS[codec])}"
    )


class Decoder:
    """Decodes the pictures of a video, in a loop, with one thread in a process of its own.

    The process works ahead by what a pipe holds, 64 KiB, which is less than a picture of usual size.

    Args:
        file: the video.
        byte_count: of a picture in NV12.
    """

    def __init__(self, file: Path, byte_count: int) -> None:
        command = [ffmpeg_path(), "-v", "fatal", "-threads", "1", "-stream_loop", "-1", "-i", str(file)]
        command += ["-fps_mode", "passthrough", "-f", "rawvideo", "-pix_fmt", "nv12", "pipe:1"]
        self._byte_count = byte_count
        self._process = subprocess.Popen(command, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE)

    def picture(self) -> bytes:
        """The next picture.

        Raises:
            RemoteCLError: ffmpeg has ended.
        """
        output: IO[bytes] = self._process.stdout  # type: ignore[assignment]
        data = output.read(self._byte_count)
        if len(data) != self._byte_count:
            raise RemoteCLError("ffmpeg has ended before the video's end; its own message is above")
        return data

    @property
    def pid(self) -> int:
        """The id of its process."""
        return self._process.pid

    @property
    def processor_s(self) -> float:
        """Seconds that its threads have run."""
        # Python lacks clock_getcpuclockid(); this is the id that it returns for a process.
        return time.clock_gettime((~self._process.pid << 3) | 2)

    def close(self) -> None:
        """Ends the process."""
        # Its remaining output is discarded.
        self._process.kill()
        self._process.wait()
        if self._process.stdout:
            self._process.stdout.close()
