#!/usr/bin/env python3
"""Many clients on a few servers of unlike speed: the automatic device against static placements.

    shared_cluster.py --servers HOST:PORT,... [--clients 8] [--seconds 5]

Each client is a process with independent kernels; the last has as many times the work of the first as there are
clients. First each device's speed is measured alone. Then all clients run at once: with the static placement that ends
first by these speeds, of all there are; with one that gives devices in turn; and on the automatic device. Prints when
the last client ends, how long clients take on the average, and the longest time that one has waited for a kernel's
end, beside the least time that the devices' speeds allow.
"""

import argparse
import itertools
import json
import subprocess
import sys
import time

SOURCE = """
kernel void work(global uint* data, int rounds) {
  uint value = data[get_global_id(0)];
  for (int i = 0; i < rounds; ++i) value = value * 1664525u + 1013904223u;
  data[get_global_id(0)] = value;
}
"""
ITEMS = 1 << 14
IN_FLIGHT = 32  # what a client has enqueued at most


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--servers", required=True, help="addresses, one device of each is used")
    parser.add_argument("--clients", type=int, default=8)
    parser.add_argument("--seconds", type=float, default=5, help="about how long all of it takes with all devices")
    parser.add_argument("--rounds", type=int, default=20_000, help="work of an item of a kernel")
    parser.add_argument("--client", help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.client:
        run_client(options.servers, json.loads(options.client))
        return
    addresses = options.servers.split(",")
    speeds = [measure(address, options.rounds) for address in addresses]
    for address, speed in zip(addresses, speeds, strict=True):
        print(f"{address}: {speed:.1f} kernels a second")
    shares = list(range(1, options.clients + 1))
    unit = options.seconds * sum(speeds) / sum(shares)
    kernels = [max(1, round(unit * share)) for share in shares]
    least = sum(kernels) / sum(speeds)
    best = min(
        itertools.product(range(len(addresses)), repeat=len(kernels)),
        key=lambda places: expected(places, kernels, speeds),
    )
    placements = {
        "best static": list(best),
        "in turn": [client % len(addresses) for client in range(len(kernels))],
        "automatic": [-1] * len(kernels),
    }
    print(f"{len(kernels)} clients, {sum(kernels)} kernels; no placement takes less than {least:.2f} s")
    print(f"{'placement':12} {'last end':>9} {'of least':>9} {'mean end':>9} {'longest wait':>13}")
    for name, places in placements.items():
        ends, waits = run_all(options, kernels, places)
        mean = sum(ends) / len(ends)
        print(f"{name:12} {max(ends):7.2f} s {max(ends) / least:9.2f} {mean:7.2f} s {max(waits):11.2f} s", flush=True)


def expected(places: tuple[int, ...], kernels: list[int], speeds: list[float]) -> float:
    loads = [0.0] * len(speeds)
    for place, count in zip(places, kernels, strict=True):
        loads[place] += count / speeds[place]
    return max(loads)


def measure(address: str, rounds: int) -> float:
    """Kernels a second of a server's device, alone."""
    task = {"kernels": 64, "rounds": rounds, "place": 0}
    process = start(address, task)
    process.stdin.write("\n")
    process.stdin.flush()
    return task["kernels"] / json.loads(process.communicate()[0].splitlines()[-1])["end"]


def run_all(options: argparse.Namespace, kernels: list[int], places: list[int]) -> tuple[list[float], list[float]]:
    processes = [
        start(options.servers, {"kernels": count, "rounds": options.rounds, "place": place})
        for count, place in zip(kernels, places, strict=True)
    ]
    for process in processes:
        assert process.stdout.readline() == "ready\n"
    for process in processes:
        process.stdin.write("\n")
        process.stdin.flush()
    results = [json.loads(process.communicate()[0].splitlines()[-1]) for process in processes]
    return [result["end"] for result in results], [result["wait"] for result in results]


def start(servers: str, task: dict) -> subprocess.Popen:
    command = [sys.executable, __file__, "--servers", servers, "--client", json.dumps(task)]
    return subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)


def run_client(servers: str, task: dict) -> None:
    import numpy as np
    import pyopencl as cl

    import remotecl

    remotecl.connect(servers)
    if task["place"] < 0:
        device = remotecl.auto()
    else:
        address = servers.split(",")[task["place"]]
        device = next(one for one in remotecl.devices() if remotecl.server_of(one) == address)
    context = cl.Context([device])
    queue = cl.CommandQueue(context, properties=cl.command_queue_properties.OUT_OF_ORDER_EXEC_MODE_ENABLE)
    kernel = cl.Kernel(cl.Program(context, SOURCE).build(), "work")
    data = np.arange(ITEMS, dtype=np.uint32)
    flags = cl.mem_flags.READ_WRITE | cl.mem_flags.COPY_HOST_PTR
    buffers = [cl.Buffer(context, flags, hostbuf=data) for _ in range(IN_FLIGHT)]
    rounds = np.int32(task["rounds"])
    for buffer in buffers:  # each device compiles it and has run it
        kernel(queue, (ITEMS,), None, buffer, np.int32(1))
    queue.finish()
    print("ready", flush=True)
    sys.stdin.readline()

    begin = last = time.monotonic()
    wait = 0.0
    running: list[tuple[cl.Event, cl.Buffer]] = []
    for _ in range(task["kernels"]):
        if not buffers:
            event, buffer = running.pop(0)
            event.wait()
            buffers.append(buffer)
            now = time.monotonic()
            wait, last = max(wait, now - last), now
        buffer = buffers.pop()
        running.append((kernel(queue, (ITEMS,), None, buffer, rounds), buffer))
        queue.flush()
    queue.finish()
    now = time.monotonic()
    print(json.dumps({"end": now - begin, "wait": max(wait, now - last)}), flush=True)


if __name__ == "__main__":
    main()
