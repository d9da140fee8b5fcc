"""Weights that a second process uploads over a limited link, beside what the link and the memory allow.

As root, with remotecl installed: `python tests/bench/upload_bench.py --size 512 --rate 100 --delay 0.5`. The daemon
runs in a network namespace of its own, behind a veth pair whose rate `tc tbf` limits in both directions. Another one is
there, too, so that the two have a fast link.

`--pairs 10` compares writes over loopback with and without offers instead, which needs no root: offers must not cost a
fast link anything.
"""

from __future__ import annotations

import argparse
import hashlib
import json
import os
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path

CLIENT_IP, SERVER_IP, PORTS = "10.92.1.1", "10.92.1.2", (10990, 10991)

# Prints the seconds of the write, of a copy of the same bytes in memory, and of hashing them, and what traveled.
PROGRAM = """
import hashlib, json, sys, time
import numpy, pyopencl
import remotecl
context = remotecl.connect(*sys.argv[2].split(",")).context()
queue = pyopencl.CommandQueue(context, context.devices[0])
weights = numpy.fromfile(sys.argv[1], dtype="u1")
buffer = pyopencl.Buffer(context, pyopencl.mem_flags.READ_WRITE, weights.nbytes)
pyopencl.enqueue_fill_buffer(queue, buffer, numpy.uint8(0), 0, weights.nbytes)  # its pages are there
queue.finish()
sent = remotecl.overview().stats.servers[0].bytes_sent
begun = time.perf_counter()
pyopencl.enqueue_copy(queue, buffer, weights)
queue.finish()
seconds = time.perf_counter() - begun
report = {"write_s": seconds, "sent": remotecl.overview().stats.servers[0].bytes_sent - sent}
begun = time.perf_counter()
copy = weights.copy()
report["copy_s"] = time.perf_counter() - begun
begun = time.perf_counter()
digest = hashlib.sha256(copy).digest()
report["hash_s"] = time.perf_counter() - begun
if sys.argv[3] == "check":
    pyopencl.enqueue_copy(queue, copy, buffer)
    assert hashlib.sha256(copy).digest() == digest, "wrong bytes"
print(json.dumps(report))
"""


# Prints the seconds of each of several writes of bytes that are different each time.
WRITES = """
import json, sys, time
import numpy, pyopencl
import remotecl
context = remotecl.connect(sys.argv[1]).context()
queue = pyopencl.CommandQueue(context, context.devices[0])
data = numpy.random.default_rng().integers(0, 256, int(sys.argv[2]) << 20, dtype="u1")
buffer = pyopencl.Buffer(context, pyopencl.mem_flags.READ_WRITE, data.nbytes)
pyopencl.enqueue_fill_buffer(queue, buffer, numpy.uint8(0), 0, data.nbytes)
queue.finish()
seconds = []
for number in range(int(sys.argv[3])):
    data[:: 1 << 20] = number
    begun = time.perf_counter()
    pyopencl.enqueue_copy(queue, buffer, data)
    queue.finish()
    seconds.append(time.perf_counter() - begun)
print(json.dumps(seconds))
"""


def run(*command: str) -> None:
    subprocess.run(command, check=True)


@contextmanager
def limited_link(rate_mbit: float, delay_ms: float) -> Iterator[str]:
    """Gives the name of the server's namespace."""
    name, link = f"remotecl-bench-{os.getpid()}", f"rcl{os.getpid() % 100000}"
    with ExitStack() as stack:
        run("ip", "netns", "add", name)
        stack.callback(run, "ip", "netns", "del", name)
        run("ip", "link", "add", link, "type", "veth", "peer", "name", "eth0", "netns", name)
        inside = ("ip", "netns", "exec", name)
        run("ip", "address", "add", f"{CLIENT_IP}/24", "dev", link)
        run("ip", "link", "set", link, "up")
        run(*inside, "ip", "address", "add", f"{SERVER_IP}/24", "dev", "eth0")
        run(*inside, "ip", "link", "set", "eth0", "up")
        run(*inside, "ip", "link", "set", "lo", "up")
        for where, device in (((), link), (inside, "eth0")):
            # The burst is a millisecond's bytes and some packets; without it high rates are not reached.
            burst = str(max(64 << 10, int(rate_mbit * 125)))
            limit = ("tbf", "rate", f"{rate_mbit}mbit", "burst", burst, "latency", "200ms")
            run(*where, "tc", "qdisc", "add", "dev", device, "root", "handle", "1:", *limit)
            if delay_ms:
                run(*where, "tc", "qdisc", "add", "dev", device, "parent", "1:", "netem", "delay", f"{delay_ms / 2}ms")
        yield name


@contextmanager
def server(inside: tuple[str, ...], store: Path, port: int = 0) -> Iterator[str]:
    """Gives the address on which it listens. `inside`: what begins its command."""
    options = [
        "--listen",
        f"0.0.0.0:{port}",
        "--insecure",
        "--no-isolate",
        "--exit-on-stdin-eof",
        "--store",
        str(store),
    ]
    command = [*inside, sys.executable, "-m", "remotecl._daemon", *options]
    process = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
    try:
        assert process.stdout is not None
        listening = next((line for line in process.stdout if line.startswith("listening on ")), "")
        assert listening, "the server does not start"
        yield listening.removeprefix("listening on ").strip()
    finally:
        process.terminate()
        process.wait()


def upload(weights: Path, uploads: str, check: bool, ports: tuple[int, ...]) -> dict[str, float]:
    """The report of one process, which uploads to the first of these servers."""
    settings = {**os.environ, "REMOTECL_UPLOADS": uploads}
    settings["REMOTECL_SHARED_MEMORY"] = "off"  # as on a machine of its own
    servers = ",".join(f"{SERVER_IP}:{port}" for port in ports)
    arguments = [str(weights), servers, "check" if check else "trust"]
    result = subprocess.run(
        [sys.executable, "-c", PROGRAM, *arguments], env=settings, check=True, capture_output=True, text=True
    )
    report: dict[str, float] = json.loads(result.stdout)
    return report


def hashing_speed() -> float:
    """Bytes per second of the library that remotecl uses, one thread, from its cache."""
    chunk, begun, count = os.urandom(1 << 20), time.perf_counter(), 0
    while time.perf_counter() - begun < 1:
        hashlib.sha256(chunk).digest()
        count += 1
    return count * len(chunk) / (time.perf_counter() - begun)


def compare_on_a_fast_link(pairs: int, folder: Path) -> None:
    """Writes with and without offers, by processes that take turns."""
    print(f"hashing: {hashing_speed() / 1e9:.2f} GB/s of one thread")
    with server((), folder / "store") as listening:
        address = listening.replace("0.0.0.0", "127.0.0.1")
        for size, writes in ((64, 70), (512, 6)):
            medians: dict[str, list[float]] = {"auto": [], "off": []}
            whole: dict[str, list[float]] = {"auto": [], "off": []}
            for pair in range(pairs):
                for uploads in ("auto", "off") if pair % 2 == 0 else ("off", "auto"):
                    settings = {**os.environ, "REMOTECL_UPLOADS": uploads, "REMOTECL_SHARED_MEMORY": "off"}
                    command = [sys.executable, "-c", WRITES, address, str(size), str(writes)]
                    result = subprocess.run(command, env=settings, check=True, capture_output=True, text=True)
                    seconds: list[float] = json.loads(result.stdout)
                    medians[uploads].append(statistics.median(seconds))
                    whole[uploads].append(sum(seconds) / len(seconds))
            for what, of in (("median", medians), ("mean", whole)):
                speed = {name: size / 1024 / statistics.median(times) for name, times in of.items()}
                ratio = statistics.median(one / other for one, other in zip(of["auto"], of["off"], strict=True))
                print(
                    f"{size:4} MiB, {what:6} of {writes} writes: {speed['auto']:.2f} GiB/s with offers, "
                    f"{speed['off']:.2f} without; {ratio:.3f} times the time (median of {pairs} pairs)",
                    flush=True,
                )


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--size", type=int, default=512, help="MiB of weights")
    parser.add_argument("--rate", type=float, default=100, help="of the link, in Mbit/s")
    parser.add_argument("--delay", type=float, default=0, help="of a round trip, in ms")
    parser.add_argument("--folder", type=Path, help="for weights and store, on a local disk; default: a temporary one")
    parser.add_argument(
        "--check", action="store_true", help="read everything back; that takes as long as the link needs"
    )
    parser.add_argument("--pairs", type=int, help="compare writes over loopback with and without offers, so often")
    options = parser.parse_args()
    if options.pairs is not None:
        with tempfile.TemporaryDirectory(dir=options.folder) as folder:
            return compare_on_a_fast_link(options.pairs, Path(folder))
    with tempfile.TemporaryDirectory(dir=options.folder) as folder, limited_link(options.rate, options.delay) as there:
        weights = Path(folder) / "weights"
        with weights.open("wb") as file:
            for _ in range(options.size):
                file.write(os.urandom(1 << 20))
        inside = ("ip", "netns", "exec", there)
        with server(inside, Path(folder) / "store", PORTS[0]), server(inside, Path(folder) / "other", PORTS[1]):
            print(f"hashing: {hashing_speed() / 1e9:.2f} GB/s of one thread")
            ceiling = options.size * (1 << 20) * 8 / options.rate / 1e6
            print(
                f"{options.size} MiB over {options.rate:g} Mbit/s, {options.delay:g} ms; the link takes {ceiling:.2f} s"
            )

            def show(title: str, uploads: str = "auto", ports: tuple[int, ...] = PORTS[:1]) -> None:
                report = upload(weights, uploads, options.check, ports)
                print(
                    f"{title:42} {report['write_s']:8.3f} s, {report['sent'] / 2**20:7.1f} MiB sent"
                    f"   (a copy: {report['copy_s']:.3f} s, hashing: {report['hash_s']:.3f} s)",
                    flush=True,
                )

            show("without offers", uploads="off")
            show("first process")
            show("second process")
            show("to another server, which asks the first", "auto", PORTS[::-1])
            show("to that one again, alone", "auto", PORTS[1:])


if __name__ == "__main__":
    main()
