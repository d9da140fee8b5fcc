"""Writes and reads of data of several kinds over a limited link, beside raw TCP over the same link and the compressor.

As root, with remotecl installed: `python tests/bench/compression_bench.py --rate 100 --size 32`. The daemon runs in a
network namespace of its own, behind a veth pair whose rate `tc tbf` limits in both directions; `--rate 0` leaves it as
fast as it is. The ceiling of each row is what raw TCP moves times the ratio of zstd (level 1, all of the data at once),
or the speed of the compressor where that is less.
"""

from __future__ import annotations

import argparse
import ctypes
import ctypes.util
import json
import os
import socket
import statistics
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from tempfile import TemporaryDirectory

import numpy

CLIENT_IP, SERVER_IP, PORT = "10.94.1.1", "10.94.1.2", 10990

# Prints the seconds of writes and reads of each file, and what was compressed.
PROGRAM = """
import json, sys, time
import numpy, pyopencl
import remotecl
context = remotecl.connect(sys.argv[1]).context()
queue = pyopencl.CommandQueue(context, context.devices[0])
repeats, report = int(sys.argv[2]), {}
def sent():
    return remotecl.overview().stats.servers[0].traffic
for path in sys.argv[3:]:
    data = numpy.fromfile(path, dtype="u1")
    buffer = pyopencl.Buffer(context, pyopencl.mem_flags.READ_WRITE, data.nbytes)
    pyopencl.enqueue_fill_buffer(queue, buffer, numpy.uint8(0), 0, data.nbytes)
    queue.finish()
    writes, reads, before = [], [], sent()
    for _ in range(repeats):
        begun = time.perf_counter()
        pyopencl.enqueue_copy(queue, buffer, data)
        queue.finish()
        writes.append(time.perf_counter() - begun)
    after, back = sent(), numpy.empty_like(data)
    for _ in range(repeats):
        begun = time.perf_counter()
        pyopencl.enqueue_copy(queue, back, buffer)
        reads.append(time.perf_counter() - begun)
    assert (back == data).all(), "wrong bytes"
    report[path] = {"writes": writes, "reads": reads, "bulk": after.bulk.sent.bytes - before.bulk.sent.bytes}
print(json.dumps(report))
"""
# Receives until the end and says so, or sends as much as it is told.
PEER = f"""
import socket, sys
listener = socket.create_server(("0.0.0.0", {PORT + 1}))
while True:
    connection, _ = listener.accept()
    while connection.recv(1 << 20):
        pass
    connection.sendall(b"x")
"""


def kinds(size: int) -> dict[str, bytes]:
    """The data, each of `size` bytes."""
    random = numpy.random.default_rng(1)
    y, x = numpy.mgrid[0 : size // 4 // 2048, 0:2048].astype("f4")
    field = numpy.where((x - 900) ** 2 + (y % 1024 - 500) ** 2 < 4e5, numpy.round(numpy.sin(x / 300) * 64) / 64, 0)
    y, x = numpy.mgrid[0 : size // 2 // 640, 0:640]
    depth = (1000 + 2 * (y % 480) + 300 * ((x // 80 + y // 60) % 3) + random.normal(0, 1.5, x.shape)).astype("u2")
    depth[x % 97 < 5] = 0
    root = Path(__file__).parents[2]
    text = b"".join(path.read_bytes() for path in sorted(root.glob("cpp/**/*.cpp")) + sorted(root.glob("docs/**/*.md")))
    made = {
        "zeros": bytes(size),
        "text": text * (size // len(text) + 1),
        "float field": field.astype("f4").tobytes(),
        "depth images": depth.tobytes(),
        "random": random.bytes(size),
    }
    return {name: (data + data[:size])[:size] for name, data in made.items()}


def compressor(data: bytes) -> tuple[float, float]:
    """Ratio, and bytes per second."""
    library = ctypes.CDLL(ctypes.util.find_library("zstd") or "libzstd.so.1")
    library.ZSTD_compressBound.restype = library.ZSTD_compress.restype = ctypes.c_size_t
    room = library.ZSTD_compressBound(ctypes.c_size_t(len(data)))
    out = ctypes.create_string_buffer(room)
    begun = time.perf_counter()
    size = library.ZSTD_compress(out, ctypes.c_size_t(room), data, ctypes.c_size_t(len(data)), 1)
    return len(data) / size, len(data) / (time.perf_counter() - begun)


def run(*command: str) -> None:
    subprocess.run(command, check=True)


@contextmanager
def limited_link(rate_mbit: float) -> Iterator[str]:
    """Gives the name of the server's namespace."""
    name, link = f"remotecl-bench-{os.getpid()}", f"rcl{os.getpid() % 100000}"
    with ExitStack() as stack:
        run("ip", "netns", "add", name)
        stack.callback(run, "ip", "netns", "del", name)
        run("ip", "link", "add", link, "type", "veth", "peer", "name", "eth0", "netns", name)
        inside = ("ip", "netns", "exec", name)
        for where, device, address in (((), link, CLIENT_IP), (inside, "eth0", SERVER_IP)):
            run(*where, "ip", "address", "add", f"{address}/24", "dev", device)
            run(*where, "ip", "link", "set", device, "up")
            if rate_mbit:
                burst = str(max(64 << 10, int(rate_mbit * 125)))
                limit = ("tbf", "rate", f"{rate_mbit}mbit", "burst", burst, "latency", "200ms")
                run(*where, "tc", "qdisc", "add", "dev", device, "root", *limit)
        yield name


def raw_tcp(data: bytes) -> float:
    """Bytes per second to the server's namespace."""
    with socket.create_connection((SERVER_IP, PORT + 1)) as connection:
        begun = time.perf_counter()
        connection.sendall(data)
        connection.shutdown(socket.SHUT_WR)
        connection.recv(1)
        return len(data) / (time.perf_counter() - begun)


@contextmanager
def process(inside: tuple[str, ...], *command: str) -> Iterator[subprocess.Popen[str]]:
    with subprocess.Popen(
        [*inside, sys.executable, *command], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    ) as started:
        try:
            yield started
        finally:
            started.terminate()


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rate", type=float, default=100, help="of the link, in Mbit/s; 0: unlimited")
    parser.add_argument("--size", type=int, default=32, help="MiB of each kind")
    parser.add_argument("--repeats", type=int, default=2, help="of each write and read; the median counts")
    options = parser.parse_args()
    data = kinds(options.size << 20)
    os.environ["REMOTECL_SHARED_MEMORY"] = "off"  # as between machines
    os.environ["REMOTECL_UPLOADS"] = "off"
    with TemporaryDirectory() as folder, limited_link(options.rate) as there, ExitStack() as stack:
        inside = ("ip", "netns", "exec", there)
        stack.enter_context(process(inside, "-c", PEER))
        listen = ("--listen", f"0.0.0.0:{PORT}", "--insecure", "--no-isolate", "--exit-on-stdin-eof")
        daemon = stack.enter_context(process(inside, "-m", "remotecl._daemon", *listen))
        assert daemon.stdout is not None
        assert any(line.startswith("listening on ") for line in daemon.stdout), "the server does not start"
        threading.Thread(target=daemon.stdout.read, daemon=True).start()
        paths = {name: Path(folder) / name.replace(" ", "-") for name in data}
        for name, path in paths.items():
            path.write_bytes(data[name])
        reports = {}
        for word in ("off", "auto"):
            command = [sys.executable, "-c", PROGRAM, f"{SERVER_IP}:{PORT}", str(options.repeats)]
            result = subprocess.run(
                [*command, *map(str, paths.values())],
                env={**os.environ, "REMOTECL_COMPRESSION": word},
                check=True,
                stdout=subprocess.PIPE,
                text=True,
            )
            reports[word] = json.loads(result.stdout)
        raw = raw_tcp(data["random"])
        print(f"{options.size} MiB over {options.rate:g} Mbit/s; raw TCP: {raw / 1e6:.1f} MB/s")
        for name, path in paths.items():
            ratio, speed = compressor(data[name])
            ceiling = min(raw * ratio, speed)
            print(f"{name:13} zstd {ratio:7.2f}, {speed / 1e6:6.0f} MB/s; ceiling {ceiling / 1e6:7.1f} MB/s")
            for what in ("writes", "reads"):
                off, auto = (
                    len(data[name]) / statistics.median(reports[word][str(path)][what]) for word in ("off", "auto")
                )
                print(
                    f"   {what:6} {auto / 1e6:8.1f} MB/s, {100 * auto / ceiling:5.1f} % of the ceiling; "
                    f"{off / 1e6:8.1f} MB/s without, {auto / off:.3f} times as fast",
                    flush=True,
                )


if __name__ == "__main__":
    main()
