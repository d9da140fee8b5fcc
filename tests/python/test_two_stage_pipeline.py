"""Frames made on one server and used up on another, while the client's own links are slow: they must not pass it.

Client and servers have a network namespace each. The client's link to either server carries 100 Mbit/s, the servers'
link with each other what the machine can.
"""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Iterator

import pytest

from conftest import CLEAN_ENVIRONMENT
from namespaces import PORT, Namespaces, namespaces_or_skip, run

pytestmark = pytest.mark.namespaces

FRAME_BYTES = 16 << 20
LINK_BYTES_PER_SECOND = 100e6 / 8

PROGRAM = """
import json, os, sys, time
import numpy as np
import pyopencl as cl
import remotecl

frame_bytes, frames = int(sys.argv[1]), int(sys.argv[2])
words = frame_bytes // 4
context = cl.Context(remotecl.overview().devices)
assert len({remotecl.server_of(device) for device in context.devices}) == 2
maker, user = (cl.CommandQueue(context, device) for device in context.devices[:2])
program = cl.Program(context, '''
uint word(uint index, uint seed) { return (index ^ seed) * 2654435761u + seed; }
kernel void make(global uint* frame, uint seed) {
  uint begin = get_global_id(0) * 1024;
  for (uint i = begin; i < begin + 1024; ++i) frame[i] = word(i, seed);
}
kernel void use(global const uint* frame, uint seed, global uint* matching) {
  uint begin = get_global_id(0) * 1024, equal = 0;
  for (uint i = begin; i < begin + 1024; ++i) equal += frame[i] == word(i, seed);
  atomic_add(matching, equal);
}''').build("-cl-kernel-arg-info")  # tells that `use` leaves the frame as it is
make, use = cl.Kernel(program, "make"), cl.Kernel(program, "use")
buffers = [cl.Buffer(context, cl.mem_flags.READ_WRITE, frame_bytes) for _ in range(3)]
counts = cl.Buffer(context, cl.mem_flags.READ_WRITE, 4 * frames)
seed = 0

def traffic():
    return sum(server.bytes_sent + server.bytes_received for server in remotecl.overview().stats)

def check(slots):
    matching = np.empty(1, np.uint32)
    for slot in slots:
        cl.enqueue_copy(user, matching, slot)
        assert matching[0] == words, f"{matching[0]} of {words} words are right"

def new_slots(count):
    return [cl.Buffer(context, cl.mem_flags.READ_WRITE | cl.mem_flags.COPY_HOST_PTR, hostbuf=np.zeros(1, np.uint32))
            for _ in range(count)]

def one_by_one(count):
    global seed
    seconds, slots = 0.0, new_slots(count)
    for slot in slots:
        seed += 1
        make(maker, (words // 1024,), None, buffers[0], np.uint32(seed))
        maker.finish()
        start = time.perf_counter()
        cl.enqueue_migrate_mem_objects(user, [buffers[0]])
        user.finish()
        seconds += time.perf_counter() - start
        use(user, (words // 1024,), None, buffers[0], np.uint32(seed), slot)
        user.finish()
    check(slots)
    return seconds

def pipeline(count):
    global seed
    slots, used = new_slots(count), [None] * len(buffers)
    start = time.perf_counter()
    for number, slot in enumerate(slots):
        seed += 1
        at = number % len(buffers)
        made = make(maker, (words // 1024,), None, buffers[at], np.uint32(seed), wait_for=used[at] and [used[at]])
        maker.flush()
        used[at] = use(user, (words // 1024,), None, buffers[at], np.uint32(seed), slot, wait_for=[made])
        user.flush()
    user.finish()
    seconds = time.perf_counter() - start
    check(slots)
    return seconds

one_by_one(1)  # the first one makes buffers and links
before = traffic()
lone, piped = one_by_one(frames), pipeline(frames)
print(json.dumps({"lone_s": lone, "piped_s": piped, "client_bytes": traffic() - before}))
"""


class Network(Namespaces):
    """Client, maker and user, each linked to both others."""

    def __init__(self) -> None:
        super().__init__("client", "a", "b")
        self.client, self.maker, self.user = self.names
        try:
            self._connect()
        except BaseException:
            self.close()
            raise

    def _connect(self) -> None:
        self.link(self.client, "to-a", "10.91.1.1", self.maker, "to-client", "10.91.1.2")
        self.link(self.client, "to-b", "10.91.2.1", self.user, "to-client", "10.91.2.2")
        self.link(self.maker, "to-b", "10.91.3.1", self.user, "to-a", "10.91.3.2")
        # The servers know each other by the addresses that the client uses.
        run("ip", "-n", self.maker, "route", "add", "10.91.2.2/32", "via", "10.91.3.2")
        run("ip", "-n", self.user, "route", "add", "10.91.1.2/32", "via", "10.91.3.1")
        for name, link in (
            (self.client, "to-a"),
            (self.client, "to-b"),
            (self.maker, "to-client"),
            (self.user, "to-client"),
        ):
            limit = ("tbf", "rate", "100mbit", "burst", "256kb", "latency", "100ms")
            run("tc", "-n", name, "qdisc", "add", "dev", link, "root", *limit)

    def bytes_at(self, namespace: str, *links: str) -> int:
        """What these links of a namespace have carried, both ways."""
        total = 0
        for link in links:
            counters = json.loads(run("ip", "-n", namespace, "-s", "-j", "link", "show", "dev", link))[0]["stats64"]
            total += counters["rx"]["bytes"] + counters["tx"]["bytes"]
        return total


@pytest.fixture(scope="module")
def network() -> Iterator[Network]:
    with namespaces_or_skip(Network) as network:
        network.start_server(network.maker)
        network.start_server(network.user)
        yield network


def run_pipeline(network: Network, frames: int, peers: str) -> dict[str, float]:
    """Runs the program in the client's namespace; adds what the links carried to what it says."""
    client_before = network.bytes_at(network.client, "to-a", "to-b")
    servers_before = network.bytes_at(network.maker, "to-b")
    result = subprocess.run(
        ["ip", "netns", "exec", network.client, sys.executable, "-c", PROGRAM, str(FRAME_BYTES), str(frames)],
        env={
            **CLEAN_ENVIRONMENT,
            "REMOTECL_SERVERS": f"10.91.1.2:{PORT},10.91.2.2:{PORT}",
            "REMOTECL_PEERS": peers,
            "REMOTECL_SHARED_MEMORY": "off",  # as on a machine of its own
        },
        capture_output=True,
        text=True,
        timeout=300,
        check=False,
    )
    assert result.returncode == 0, result.stdout + result.stderr
    report: dict[str, float] = json.loads(result.stdout)
    report["client_link_bytes"] = network.bytes_at(network.client, "to-a", "to-b") - client_before
    report["server_link_bytes"] = network.bytes_at(network.maker, "to-b") - servers_before
    return report


def show(title: str, frames: int, report: dict[str, float]) -> float:
    """Prints the rates and gives the pipeline's in bytes per second."""
    print(f"\n{title}: {frames} frames of {FRAME_BYTES >> 20} MiB")
    for name, key in (("one by one, transfers only", "lone_s"), ("two stages", "piped_s")):
        seconds = report[key]
        print(f"  {name:28} {frames / seconds:8.1f} frames/s {frames * FRAME_BYTES / seconds * 1e-9:8.3f} GB/s")
    for name in ("client_bytes", "client_link_bytes", "server_link_bytes"):
        print(f"  {name:28} {report[name] / 1e6:8.2f} MB")
    return frames * FRAME_BYTES / report["piped_s"]


def test_frames_go_from_server_to_server(network, capsys):
    frames = 24
    report = run_pipeline(network, frames, "on")
    with capsys.disabled():
        rate = show("servers linked", frames, report)
    # Everything that the client says and hears, with the programs and both measurements, is far below one frame.
    assert report["client_bytes"] < 1 << 20
    assert report["client_link_bytes"] < FRAME_BYTES / 4
    # No frame crosses twice or comes back. Fewer may cross: servers of one machine need no network between them.
    assert report["server_link_bytes"] < (2 * frames + 2) * FRAME_BYTES
    assert rate > 4 * LINK_BYTES_PER_SECOND


def test_without_the_servers_link_frames_pass_the_client(network, capsys):
    """What the limits and counters of the other test are worth."""
    frames = 2
    report = run_pipeline(network, frames, "off")
    with capsys.disabled():
        rate = show("through the client", frames, report)
    assert report["client_bytes"] > 4 * frames * FRAME_BYTES
    assert report["client_link_bytes"] > 4 * frames * FRAME_BYTES
    assert rate < 1.5 * LINK_BYTES_PER_SECOND
