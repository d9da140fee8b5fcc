"""What a transfer that fills a thin link does to small commands and smaller transfers, beside a raw round trip over it.

As root, with remotecl installed: `python tests/bench/thin_link_bench.py --rate 20 --buffer 1000`. Client, router and
server are three network namespaces. `tc tbf` limits the router's rate in both directions, and its queue has the
given size, as that of a home router has. `--congestion` names the congestion control of all connections.

The floor of a transfer is a round trip at rest and its bytes over the bandwidth. `--apart` measures in another process
than the one whose transfer fills the link: another session.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager

CLIENT_NET, SERVER_NET = "10.93.1", "10.93.2"
SERVER, PORT, ECHO_PORT = f"{SERVER_NET}.2", 10990, 10991

# Answers each byte with one, for the raw round trip.
ECHO = f"""
import socket
listener = socket.create_server(("0.0.0.0", {ECHO_PORT}))
while True:
    connection, _ = listener.accept()
    connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
    while data := connection.recv(64):
        connection.sendall(data)
"""

# Prints the seconds of no-ops, small transfers and raw round trips, at rest and while the write or read goes on. The
# transfer that fills the link is its own, or that of another process with another session, which says when it ends.
PROGRAM = """
import json, socket, subprocess, sys, time
import numpy, pyopencl
import remotecl
address, host, port, size, how, apart = *sys.argv[1:3], int(sys.argv[3]), int(sys.argv[4]) << 20, *sys.argv[5:7]
context = remotecl.connect(address).context()
complete = pyopencl.command_execution_status.COMPLETE

def buffer_of(size, queue):
    buffer = pyopencl.Buffer(context, pyopencl.mem_flags.READ_WRITE, size)
    pyopencl.enqueue_fill_buffer(queue, buffer, numpy.uint8(1), 0, size)
    queue.finish()
    return buffer

class Filling:
    def __init__(self):
        self.queue = pyopencl.CommandQueue(context, context.devices[0])
        self.data = numpy.random.default_rng(1).integers(0, 256, size, dtype="u1")
        self.buffers = [buffer_of(size, self.queue) for _ in range(2)]
    def begin(self):
        self.ends = []
        if how in ("write", "both"):
            self.ends.append(pyopencl.enqueue_copy(self.queue, self.buffers[0], self.data, is_blocking=False))
        if how in ("read", "both"):
            self.to = numpy.empty_like(self.data)
            self.ends.append(pyopencl.enqueue_copy(self.queue, self.to, self.buffers[1], is_blocking=False))
        self.queue.flush()
    def goes_on(self):
        return any(end.command_execution_status != complete for end in self.ends)

class OtherProcess:
    def __init__(self):
        self.process = subprocess.Popen([sys.executable, "-c", sys.argv[7], *sys.argv[1:6], "filling", sys.argv[7]],
                                        stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
        assert self.process.stdout.readline() == "ready\\n"
    def begin(self):
        self.process.stdin.write("begin\\n")
        self.process.stdin.flush()
    def goes_on(self):
        return self.process.poll() is None

if apart == "filling":
    filling = Filling()
    print("ready", flush=True)
    sys.stdin.readline()
    filling.begin()
    while filling.goes_on():
        time.sleep(0.005)
    sys.exit()
filling = OtherProcess() if apart == "apart" else Filling()
small = pyopencl.CommandQueue(context, context.devices[0])
raw = socket.create_connection((host, port))
raw.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)

def no_op():
    pyopencl.enqueue_marker(small)
    small.finish()
def round_trip():
    raw.sendall(b"x" * 32)
    raw.recv(64)
def read_of(kib):
    there, here = buffer_of(kib << 10, small), numpy.zeros(kib << 10, "u1")
    return lambda: pyopencl.enqueue_copy(small, here, there)
def write_of(kib):
    there, here = buffer_of(kib << 10, small), numpy.random.default_rng(2).integers(0, 256, kib << 10, dtype="u1")
    return lambda: pyopencl.enqueue_copy(small, there, here, is_blocking=False).wait()
def blocking_write_of(kib):
    there, here = buffer_of(kib << 10, small), numpy.random.default_rng(2).integers(0, 256, kib << 10, dtype="u1")
    return lambda: (pyopencl.enqueue_copy(small, there, here), small.finish())
calls = {"raw round trip": (0, round_trip), "no-op": (0, no_op)}
for kib in (4, 64, 256):
    calls[f"read of {kib} KiB"] = (kib << 10, read_of(kib))
    calls[f"write of {kib} KiB"] = (kib << 10, write_of(kib))
calls["blocking write of 256 KiB"] = (256 << 10, blocking_write_of(256))
def measure(goes_on):
    seconds = {name: [] for name in calls}
    while goes_on():
        for name, (_, call) in calls.items():
            if not goes_on():
                break
            begun = time.perf_counter()
            call()
            seconds[name].append(time.perf_counter() - begun)
            time.sleep(0.005)
    return seconds
end = time.perf_counter() + 3
rest = measure(lambda: time.perf_counter() < end)
begun = time.perf_counter()
filling.begin()
loaded = measure(filling.goes_on)
seconds = time.perf_counter() - begun
sizes = {name: size for name, (size, _) in calls.items()}
print(json.dumps({"rest": rest, "loaded": loaded, "seconds": seconds, "sizes": sizes}))
"""


def run(*command: str) -> None:
    subprocess.run(command, check=True)


class ThinLink:
    """Client, router and server; the router's queues have `rate_mbit` and `buffer_kb`."""

    def __init__(self, stack: ExitStack, rate_mbit: float, buffer_kb: int, congestion: str) -> None:
        self.client, router, self.server = (f"remotecl-{os.getpid()}-{name}" for name in ("client", "router", "server"))
        for name in (self.client, router, self.server):
            run("ip", "netns", "add", name)
            stack.callback(run, "ip", "netns", "del", name)
            run("ip", "-n", name, "link", "set", "lo", "up")
        self.inside(router, "sysctl", "-qw", "net.ipv4.ip_forward=1")
        for name, net, port in ((self.client, CLIENT_NET, "left"), (self.server, SERVER_NET, "right")):
            run("ip", "link", "add", port, "netns", router, "type", "veth", "peer", "name", "eth0", "netns", name)
            for namespace, device, number in ((router, port, 1), (name, "eth0", 2)):
                run("ip", "-n", namespace, "address", "add", f"{net}.{number}/24", "dev", device)
                run("ip", "-n", namespace, "link", "set", device, "up")
            control = ("congctl", congestion) if congestion else ()
            run("ip", "-n", name, "route", "add", "default", "via", f"{net}.1", *control)
            limit = ("tbf", "rate", f"{rate_mbit}mbit", "burst", "4000", "limit", str(buffer_kb * 1000))
            self.inside(router, "tc", "qdisc", "add", "dev", port, "root", *limit)

    @staticmethod
    def inside(namespace: str, *command: str) -> None:
        run("ip", "netns", "exec", namespace, *command)


@contextmanager
def process(namespace: str, *command: str) -> Iterator[subprocess.Popen[str]]:
    whole = ["ip", "netns", "exec", namespace, sys.executable, *command]
    with subprocess.Popen(whole, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as started:
        try:
            yield started
        finally:
            started.terminate()


def quantile(values: list[float], part: float) -> float:
    return sorted(values)[min(len(values) - 1, int(part * len(values)))]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rate", type=float, default=20, help="of the link, in Mbit/s")
    parser.add_argument("--buffer", type=int, default=1000, help="the router's queue, in kB")
    parser.add_argument("--size", type=int, default=64, help="MiB that fill the link")
    parser.add_argument("--congestion", default="", help="cubic, reno or bbr; default: the system's")
    parser.add_argument("--how", choices=("write", "read", "both"), default="write", help="what fills the link")
    parser.add_argument("--apart", action="store_true", help="another process fills it, with a session of its own")
    options = parser.parse_args()
    os.environ["REMOTECL_SHARED_MEMORY"] = "off"  # as between machines
    os.environ["REMOTECL_COMPRESSION"] = "off"
    with ExitStack() as stack:
        link = ThinLink(stack, options.rate, options.buffer, options.congestion)
        stack.enter_context(process(link.server, "-c", ECHO))
        listen = ("--listen", f"0.0.0.0:{PORT}", "--insecure", "--no-isolate", "--exit-on-stdin-eof")
        daemon = stack.enter_context(process(link.server, "-m", "remotecl._daemon", *listen))
        assert daemon.stdout is not None
        assert any(line.startswith("listening on ") for line in daemon.stdout), "the server does not start"
        apart = "apart" if options.apart else "together"
        arguments = (f"{SERVER}:{PORT}", SERVER, str(ECHO_PORT), str(options.size), options.how, apart, PROGRAM)
        result = subprocess.run(
            ["ip", "netns", "exec", link.client, sys.executable, "-c", PROGRAM, *arguments],
            check=True,
            stdout=subprocess.PIPE,
            text=True,
        )
    report = json.loads(result.stdout)
    least = options.size * (1 << 20) * 8 / options.rate / 1e6
    print(f"{options.how} of {options.size} MiB over {options.rate:g} Mbit/s, a queue of {options.buffer} kB, ", end="")
    print(
        f"{options.congestion or 'the usual congestion control'}: {report['seconds']:.1f} s (the link: {least:.1f} s)"
    )
    round_trip = quantile(report["rest"]["raw round trip"], 0.5)
    for when in ("rest", "loaded"):
        for name, seconds in report[when].items():
            if not seconds:
                continue
            values = [1e3 * quantile(seconds, part) for part in (0.5, 0.99, 1)]
            floor = 1e3 * (round_trip + report["sizes"][name] * 8 / options.rate / 1e6)
            print(f"{when:7} {name:25} p50 {values[0]:8.2f}  p99 {values[1]:8.2f}  most {values[2]:8.2f} ms", end="")
            print(f"   of {len(seconds)}, floor {floor:.2f} ({values[0] / floor:.2f})")


if __name__ == "__main__":
    main()
