"""What a write that fills a thin link does to small commands, beside a raw round trip over the same loaded link.

As root, with remotecl installed: `python tests/bench/thin_link_bench.py --rate 20 --buffer 1000`. Client, router and
server are three network namespaces. `tc tbf` limits the router's rate in both directions, and its queue has the
given size, as that of a home router has. `--congestion` names the congestion control of all connections.
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

# Prints the seconds of no-ops, small reads and raw round trips, at rest and while the write or read goes on.
PROGRAM = """
import json, socket, sys, time
import numpy, pyopencl
import remotecl
address, host, port, size, how = sys.argv[1], sys.argv[2], int(sys.argv[3]), int(sys.argv[4]) << 20, sys.argv[5]
context = remotecl.connect(address).context()
small, large = (pyopencl.CommandQueue(context, context.devices[0]) for _ in range(2))
raw = socket.create_connection((host, port))
raw.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
data = numpy.random.default_rng(1).integers(0, 256, size, dtype="u1")
buffer = pyopencl.Buffer(context, pyopencl.mem_flags.READ_WRITE, size)
little = pyopencl.Buffer(context, pyopencl.mem_flags.READ_WRITE, 1024)
few = numpy.zeros(1024, "u1")
pyopencl.enqueue_fill_buffer(large, buffer, numpy.uint8(1), 0, size)
pyopencl.enqueue_fill_buffer(large, little, numpy.uint8(1), 0, 1024)
large.finish()
def no_op():
    pyopencl.enqueue_marker(small)
    small.finish()
def small_read():
    pyopencl.enqueue_copy(small, few, little)
def round_trip():
    raw.sendall(b"x" * 32)
    raw.recv(64)
def measure(goes_on):
    seconds = {"raw round trip": [], "no-op": [], "read of 1 KiB": []}
    calls = dict(zip(seconds, (round_trip, no_op, small_read)))
    while goes_on():
        for name, call in calls.items():
            begun = time.perf_counter()
            call()
            seconds[name].append(time.perf_counter() - begun)
            time.sleep(0.005)
    return seconds
for call in (no_op, small_read, round_trip):
    call()
end = time.perf_counter() + 2
rest = measure(lambda: time.perf_counter() < end)
begun = time.perf_counter()
ends = []
if how in ("write", "both"):
    ends.append(pyopencl.enqueue_copy(large, buffer, data, is_blocking=False))
if how in ("read", "both"):
    to = numpy.empty_like(data)
    ends.append(pyopencl.enqueue_copy(large, to, buffer, is_blocking=False))
large.flush()
complete = pyopencl.command_execution_status.COMPLETE
loaded = measure(lambda: any(end.command_execution_status != complete for end in ends))
for end in ends:
    end.wait()
seconds = time.perf_counter() - begun
print(json.dumps({"rest": rest, "loaded": loaded, "seconds": seconds}))
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
        arguments = (f"{SERVER}:{PORT}", SERVER, str(ECHO_PORT), str(options.size), options.how)
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
    for when in ("rest", "loaded"):
        for name, seconds in report[when].items():
            values = [1e3 * quantile(seconds, part) for part in (0.5, 0.99, 1)]
            print(f"{when:7} {name:15} p50 {values[0]:8.2f}  p99 {values[1]:8.2f}  most {values[2]:8.2f} ms", end="")
            print(f"   of {len(seconds)}")


if __name__ == "__main__":
    main()
