"""How long a decoded picture takes to a kernel: through the daemon's decoding device, and by hand on the same machine.

With remotecl installed and FFmpeg's program and libraries: `python tests/bench/decoded_frames.py --size 1920x1080`.
The floor is FFmpeg decoding into memory (the same plugin, loaded into this process), a native write and a kernel that
looks at the picture. The other way is `remotecl.read` of the same file on a daemon of this machine, and the same kernel
behind it. They take turns, picture by picture.
"""

from __future__ import annotations

import argparse
import ctypes
import json
import statistics
import subprocess
import tempfile
import time
from pathlib import Path

import numpy as np
import pyopencl as cl

import remotecl

LOOK = """
kernel void look(global const uchar* frame, global uint* sum, uint step) {
  uint of = 0;
  for (uint i = 0; i < 64; ++i) of += frame[i * step];
  *sum = of;
}"""
KERNEL_READ = 0
OPTIONS = "?loop=1"


class Data(ctypes.Structure):
    """remotecl_plugin_data."""

    _fields_ = (("data", ctypes.c_void_p), ("bytes", ctypes.c_uint64))


class Call(ctypes.Structure):
    """remotecl_plugin_call."""

    _fields_ = (
        ("size", ctypes.c_size_t),
        ("kernel", ctypes.c_uint32),
        ("count", ctypes.c_uint32),
        ("arguments", ctypes.POINTER(Data)),
        ("why", ctypes.c_void_p),
    )


class Host(ctypes.Structure):
    """remotecl_plugin_host."""

    _fields_ = (
        ("size", ctypes.c_size_t),
        ("version", ctypes.c_uint32),
        ("count", ctypes.c_uint32),
        ("rules", ctypes.POINTER(ctypes.c_char_p)),
    )


class Plugin(ctypes.Structure):
    """remotecl_plugin."""

    _fields_ = (
        ("size", ctypes.c_size_t),
        ("version", ctypes.c_uint32),
        ("count", ctypes.c_uint32),
        ("devices", ctypes.c_void_p),
        ("open", ctypes.CFUNCTYPE(ctypes.c_int32, ctypes.c_uint32, ctypes.POINTER(ctypes.c_void_p), ctypes.c_char_p)),
        ("execute", ctypes.CFUNCTYPE(ctypes.c_int32, ctypes.c_void_p, ctypes.POINTER(Call))),
        ("close", ctypes.CFUNCTYPE(None, ctypes.c_void_p)),
    )


class Decoder:
    """The FFmpeg plugin in this process."""

    def __init__(self, rule: str) -> None:
        library = ctypes.CDLL(str(Path(remotecl.__file__).parent / "lib/remotecl-plugins/libremotecl_ffmpeg.so"))
        library.remotecl_plugin_get.restype = ctypes.POINTER(Plugin)
        self.rules = (ctypes.c_char_p * 1)(rule.encode())
        self.plugin = library.remotecl_plugin_get(ctypes.byref(Host(ctypes.sizeof(Host), 1, 1, self.rules))).contents
        self.why = ctypes.create_string_buffer(501)
        self.instance = ctypes.c_void_p()
        if self.plugin.open(0, ctypes.byref(self.instance), self.why):
            raise SystemExit(self.why.value.decode())

    def read(self, name: str, frame: np.ndarray) -> None:
        """Puts the next picture into `frame`."""
        text = ctypes.create_string_buffer(name.encode())
        pieces = [(ctypes.addressof(text), len(text)), (frame.ctypes.data, frame.nbytes), (None, 0), (None, 0)]
        arguments = (Data * 4)(*(Data(*piece) for piece in pieces))
        call = Call(ctypes.sizeof(Call), KERNEL_READ, 4, arguments, ctypes.addressof(self.why))
        if self.plugin.execute(self.instance, ctypes.byref(call)):
            raise SystemExit(self.why.value.decode())


class Looker:
    """The kernel on a device, and a picture's place there."""

    def __init__(self, context: cl.Context, device: cl.Device, size: int) -> None:
        self.queue = cl.CommandQueue(context, device)
        self.frame = cl.Buffer(context, cl.mem_flags.READ_WRITE, size)
        self.sum = cl.Buffer(context, cl.mem_flags.READ_WRITE, 4)
        self.look = cl.Kernel(cl.Program(context, LOOK).build(devices=[device]), "look")
        self.look.set_args(self.frame, self.sum, np.uint32(size // 64))

    def finish(self, wait_for: list[cl.Event] | None = None) -> int:
        """Looks at the picture; the sum of some of its bytes."""
        event = cl.enqueue_nd_range_kernel(self.queue, self.look, (1,), None, wait_for=wait_for)
        found = np.zeros(1, np.uint32)
        cl.enqueue_copy(self.queue, found, self.sum, wait_for=[event])
        return int(found[0])


def make_video(path: Path, size: str, pictures: int) -> None:
    """An H.264 file of FFmpeg's test picture."""
    source = f"testsrc2=size={size}:rate=30:duration={pictures / 30}"
    subprocess.run(
        ["ffmpeg", "-v", "error", "-y", "-f", "lavfi", "-i", source, "-pix_fmt", "yuv420p", str(path)], check=True
    )


def native_device() -> cl.Device:
    """A compiling device of a driver of this machine."""
    platforms = [one for one in cl.get_platforms() if "remotecl" not in one.name.lower()]
    if not platforms:
        raise SystemExit("no OpenCL driver of this machine")
    return platforms[0].get_devices()[0]


def measure(name: str, size: int, decoder: Decoder, connection: remotecl.Connection, count: int) -> dict[str, float]:
    """Medians of milliseconds for one picture."""
    native = native_device()
    near = Looker(cl.Context([native]), native, size)
    streams = next(one for one in remotecl.overview().devices if one.name == "remotecl FFmpeg")
    far_device = connection.devices[0]
    context = cl.Context([streams, far_device])
    far = Looker(context, far_device, size)
    program = cl.create_program_with_built_in_kernels(context, [streams], "remotecl.read")
    read, queue = cl.Kernel(program, "remotecl.read"), cl.CommandQueue(context, streams)
    text = np.frombuffer(name.encode() + b"\0", np.uint8)
    source = cl.Buffer(context, cl.mem_flags.COPY_HOST_PTR, hostbuf=text)
    read.set_args(source, far.frame, None, None)
    host = np.empty(size, np.uint8)
    times: dict[str, list[float]] = {"decoding": [], "by hand": [], "remotecl": []}
    for number in range(count + 20):
        begin = time.perf_counter()
        decoder.read(name, host)
        decoded = time.perf_counter()
        cl.enqueue_copy(near.queue, near.frame, host)
        wanted = near.finish()
        by_hand = time.perf_counter()
        found = far.finish([cl.enqueue_nd_range_kernel(queue, read, (1,), None)])
        end = time.perf_counter()
        if found != wanted:
            raise SystemExit(f"picture {number} differs: {found} instead of {wanted}")
        if number >= 20:  # warm
            times["decoding"].append(decoded - begin)
            times["by hand"].append(by_hand - begin)
            times["remotecl"].append(end - by_hand)
    result = {what: 1000 * statistics.median(seconds) for what, seconds in times.items()}
    more = [far - near for far, near in zip(times["remotecl"], times["by hand"], strict=True)]
    return {**result, "more": 1000 * statistics.median(more)}


def main() -> None:
    """The command."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--size", default="1920x1080", help="of the pictures (default: 1920x1080)")
    parser.add_argument("--pictures", type=int, default=200, help="to measure (default: 200)")
    parser.add_argument("--json", metavar="FILE", help="write the figures there too")
    options = parser.parse_args()
    width, height = map(int, options.size.split("x"))
    with tempfile.TemporaryDirectory() as folder:
        video = Path(folder) / "clip.mp4"
        make_video(video, options.size, 60)
        rule = f"read:{folder}"
        with remotecl.Server(streams=[rule]) as server, remotecl.connect(server.address) as connection:
            result = measure(
                f"file:{video}{OPTIONS}", width * height * 3 // 2, Decoder(rule), connection, options.pictures
            )
    print(f"{options.size}, ms a picture, medians of {options.pictures}")
    for what, ms in result.items():
        print(f"{what:10} {ms:8.2f}")
    if options.json:
        Path(options.json).write_text(json.dumps(result))


if __name__ == "__main__":
    main()
