#!/usr/bin/env python3
"""Face verification as GPUnet's authors built it, in three designs that are compared.

    python faces.py --clients 8 --requests 50

kernel: one persistent kernel has all the sockets, of the clients and to memcached; host-driven: the host has the
sockets and starts a kernel for each batch of requests; host: NumPy compares. Clients and memcached are unmodified.
"""

from __future__ import annotations

import argparse
import contextlib
import json
import shutil
import socket
import statistics
import subprocess
import sys
import threading
from collections.abc import Callable, Iterator
from typing import Any

import common
import numpy as np
import pyopencl as cl
from binary_patterns import BIN_OF, PIXELS, THRESHOLD, distances
from face_host import REQUEST, HostServer
from photos import photo

DESIGNS = ("kernel", "host-driven", "host")


@contextlib.contextmanager
def memcached(people: int) -> Iterator[int]:
    """Debian's memcached with one photo of each person; its port."""
    program = shutil.which("memcached")
    if program is None:
        raise SystemExit("memcached is missing: apt-get install memcached")
    with socket.create_server(("127.0.0.1", 0)) as free:
        port = free.getsockname()[1]
    process = subprocess.Popen([program, "-l", "127.0.0.1", "-p", str(port), "-U", "0", "-u", "nobody"])
    try:
        with common.connect(port) as store:
            for person in range(people):
                store.sendall(b"set person%d 0 0 %d\r\n%s\r\n" % (person, PIXELS, photo(person, 0).tobytes()))
                if store.recv(100) != b"STORED\r\n":
                    raise SystemExit("memcached did not take a photo")
        yield port
    finally:
        process.terminate()
        process.wait()


class Load:
    """Ordinary clients in processes of their own."""

    def __init__(self, options: argparse.Namespace) -> None:
        self.options = options

    def run(self, port: int) -> dict[str, Any]:
        """Requests a second, latencies and all answers.

        One more client comes before, so that compiling the kernels is not measured.
        """
        with common.connect(port, self.options.seconds) as first:
            first.sendall(b"person0".ljust(REQUEST, b"\0"))
            if len(first.recv(8, socket.MSG_WAITALL)) < 8:
                raise SystemExit("the server did not answer")
        options, each = self.options, self.options.clients // self.options.processes
        command = [sys.executable, str(common.HERE / "face_client.py"), "127.0.0.1", str(port)]
        command += ["--clients", str(each), "--requests", str(options.requests), "--people", str(options.people)]
        command += ["--timeout", str(options.seconds)]
        with contextlib.ExitStack() as stack:
            programs = []
            for k in range(options.processes):
                first = ["--first", str(k * each * options.requests)]
                program = subprocess.Popen(command + first, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
                stack.callback(program.kill)
                programs.append(stack.enter_context(program))
            for program in programs:
                if program.stdout.readline() != "ready\n":
                    raise SystemExit("a client could not connect")
            for program in programs:
                program.stdin.write("go\n")
                program.stdin.flush()
            results = [json.loads(program.stdout.readline() or '{"failed": true}') for program in programs]
        if any("failed" in result for result in results):
            raise SystemExit("a client failed")
        latencies = sorted(latency for result in results for latency in result["latencies_ms"])
        return {
            "rate": len(latencies) / max(result["seconds"] for result in results),
            "p50": statistics.median(latencies),
            "p99": latencies[min(len(latencies) * 99 // 100, len(latencies) - 1)],
            "answers": {number: tuple(answer) for result in results for number, answer in result["answers"].items()},
        }


def in_kernel(device: cl.Device, store: int, options: argparse.Namespace) -> dict[str, Any]:
    """One persistent kernel is the server."""
    groups = min(common.groups(device), options.clients)
    most = -(-options.clients // groups) + 1  # of one work-group
    with common.Site(device, "faces.cl", sockets=options.clients + groups + 8, ring_bytes=16384) as site:
        listener, port = site.listen("tcp:127.0.0.1:0")
        status = site.zeros(1)
        arguments = [
            listener, site.buffer(common.addresses(f"tcp:127.0.0.1:{store}")), np.uint32(THRESHOLD),
            site.buffer(BIN_OF), most, options.clients + 1, site.zeros(1),
            site.zeros(REQUEST * (most + 1) * groups, np.uint8), site.free_places(groups, most, listener),
            site.buffer(np.ones(most + 1, np.uint32)), site.zeros((most + 1) * groups, np.uint32),
            site.zeros(most * groups), status,
        ]  # fmt: skip
        site.queue.finish()
        server = site.run("serve_faces", groups, *arguments)
        result = Load(options).run(port)
        common.wait([server], options.seconds)
        common.check(int(site.read(status)[0]), "the server's kernel")
        return result


def on_host(compare: Callable[..., np.ndarray], store: int, options: argparse.Namespace) -> dict[str, Any]:
    """A thread of this process is the server."""
    server = HostServer(("127.0.0.1", store), compare)
    thread = threading.Thread(target=server.serve, args=(options.clients + 1,), daemon=True)
    thread.start()
    result = Load(options).run(server.port)
    thread.join(options.seconds)
    return result


class DeviceCompare:
    """Compares batches of at most so many pairs on a device: two writes, a kernel and a read."""

    def __init__(self, device: cl.Device, most: int) -> None:
        self.site = common.Site(device, "faces.cl", sockets=1)
        self.kernel = cl.Kernel(self.site.program, "compare_pairs")
        self.asked, self.known = (self.site.zeros(most * PIXELS, np.uint8) for _ in range(2))
        self.bins, self.far = self.site.buffer(BIN_OF), self.site.zeros(most, np.uint32)
        self.kernel.set_args(self.asked, self.known, self.bins, self.far)

    def __call__(self, asked: np.ndarray, known: np.ndarray) -> np.ndarray:
        """Distances of pairs, both of shape (n, 4096)."""
        queue, items = self.site.queue, self.site.items
        result = np.empty(len(asked), np.uint32)
        cl.enqueue_copy(queue, self.asked, asked, is_blocking=False)
        cl.enqueue_copy(queue, self.known, known, is_blocking=False)
        cl.enqueue_nd_range_kernel(queue, self.kernel, (items * len(asked),), (items,))
        cl.enqueue_copy(queue, result, self.far)
        return result


def main() -> None:
    """The command."""
    parser = argparse.ArgumentParser(description="Face verification, with and without sockets in a kernel.")
    common.add_servers_option(parser)
    parser.add_argument("--clients", type=int, default=8, metavar="N", help="connections (default: 8)")
    parser.add_argument("--requests", type=int, default=50, metavar="N", help="of each client (default: 50)")
    parser.add_argument("--people", type=int, default=20, metavar="N", help="in memcached (default: 20)")
    parser.add_argument("--processes", type=int, default=1, metavar="N", help="that have the clients (default: 1)")
    parser.add_argument("--designs", nargs="+", choices=DESIGNS, default=DESIGNS, help="(default: all)")
    parser.add_argument("--seconds", type=float, default=300, help="that one design may take (default: 300)")
    parser.add_argument("--json", metavar="FILE", help="write the figures there too")
    options = parser.parse_args()
    if options.clients % options.processes:
        parser.error("--clients must be a multiple of --processes")
    results = {}
    with memcached(options.people) as store, common.devices(options.servers, 1) as devices:
        for design in options.designs:
            if design == "kernel":
                results[design] = in_kernel(devices[0], store, options)
            elif design == "host-driven":
                results[design] = on_host(DeviceCompare(devices[0], options.clients + 1), store, options)
            else:
                results[design] = on_host(distances, store, options)
    print(f"{'design':12} {'requests/s':>10} {'p50 ms':>8} {'p99 ms':>8}")
    for design, result in results.items():
        print(f"{design:12} {result['rate']:10.0f} {result['p50']:8.2f} {result['p99']:8.2f}")
    all_answers = [result.pop("answers") for result in results.values()]
    if options.json:
        with open(options.json, "w") as file:  # noqa: PTH123
            json.dump(results, file)
    verdicts = [verdict for _, verdict in all_answers[0].values()]
    print(f"the same person {verdicts.count(1)}, another one {verdicts.count(0)}, unknown {verdicts.count(-1)}")
    is_same = all(answers == all_answers[0] for answers in all_answers)
    print("all designs gave the same answers" if is_same else "the designs DIFFER in their answers")
    sys.exit(not is_same)


if __name__ == "__main__":
    main()
