#!/usr/bin/env python3
"""Many clients on a few servers of unlike speed: the automatic device against static placements.

    shared_cluster.py --servers HOST:PORT,... [--clients 8] [--seconds 5] [--json FILE]
    shared_cluster.py --start cpu:1,cpu:2,cpu:4,cpu:6 --seconds 8

The second one starts servers with so many cores each, and keeps the other cores for the clients: on a machine with 16
cores these are three. Kernels should take 2 ms at least on the fastest server, so that clients do not wait for a core:
the kernels a second that are shown first say so, and --rounds makes them longer.

Each client is a process with independent kernels, 32 at a time; the last has as many times the work of the first as
there are clients. First each device's speed is measured alone. Then all clients run at once: with the static placement
that ends first by these speeds, of all there are; with one that gives devices in turn; and on the automatic device, in
three ways:

automatic   kernels of this length have run on each device, and the program goes on when any of its kernels has ended
in order    the program waits for the kernel that it enqueued first
unknown     what has run before, called alike, was 1,000 times shorter or more

Connecting, building and each device's first run come before and are shown apart. Prints when the last client ends, how
long clients take on the average, and the longest time that one has waited for a kernel's end, beside the least time
that the devices' speeds allow; for the automatic device also where kernels ran, how long each was expected to take from
its call to its end and has taken, and how long the scheduler thought in the end that a kernel alone takes. With --json
the file gets every kernel.
"""

import argparse
import contextlib
import itertools
import json
import pathlib
import queue
import statistics
import subprocess
import sys
import time

from pinned_servers import started

SOURCE = """
kernel void work(global uint* data, int rounds) {
  uint value = data[get_global_id(0)];
  for (int i = 0; i < rounds; ++i) value = value * 1664525u + 1013904223u;
  data[get_global_id(0)] = value;
}
"""
ITEMS = 1 << 14
GROUP = 64  # so that each of a device's threads has something to do
IN_FLIGHT = 32  # what a client has enqueued at most
AUTOMATIC = -1


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--servers", default="", help="addresses, one device of each is used")
    parser.add_argument("--start", help="servers to start here, cpu:CORES of each")
    parser.add_argument("--clients", type=int, default=8)
    parser.add_argument("--seconds", type=float, default=5, help="about how long all of it takes with all devices")
    parser.add_argument("--rounds", type=int, default=20_000, help="work of an item of a kernel")
    parser.add_argument("--policy", default="earliest-finish", help="of the automatic device")
    parser.add_argument("--json", help="a file for every kernel's times")
    parser.add_argument("--client", help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.client:
        run_client(options.servers, json.loads(options.client))
        return
    if bool(options.start) == bool(options.servers):
        parser.error("name either --servers or --start")
    with contextlib.ExitStack() as cleanup:
        if options.start:
            options.servers = ",".join(cleanup.enter_context(started(options.start)))
        measure(options)


def measure(options: argparse.Namespace) -> None:
    addresses = options.servers.split(",")
    speeds = []
    for place, address in enumerate(addresses):
        result = run_all(options, [64], {"place": place})[0]
        speeds.append(64 / result["end"])
        print(f"{address}: {speeds[-1]:.1f} kernels a second; {preparation(result)}", flush=True)
    shares = list(range(1, options.clients + 1))
    unit = options.seconds * sum(speeds) / sum(shares)
    kernels = [max(1, round(unit * share)) for share in shares]
    least = sum(kernels) / sum(speeds)
    best = min(
        itertools.product(range(len(addresses)), repeat=len(kernels)),
        key=lambda places: expected(places, kernels, speeds),
    )
    turns = [client % len(addresses) for client in range(len(kernels))]
    automatic = {"place": AUTOMATIC, "policy": options.policy}
    runs = {
        "best static": [{"place": place} for place in best],
        "devices in turn": [{"place": place} for place in turns],
        "automatic": [automatic] * len(kernels),
        "in order": [automatic | {"in_order": True}] * len(kernels),
        "unknown": [automatic | {"warm_up": 1}] * len(kernels),
    }
    print(f"{len(kernels)} clients, {kernels} kernels; no placement takes less than {least:.2f} s")
    print(f"{'placement':16} {'last end':>9} {'of least':>9} {'mean end':>9} {'longest wait':>13}")
    everything = {"servers": addresses, "speeds": speeds, "kernels": kernels, "runs": {}}
    for name, tasks in runs.items():
        results = run_all(options, kernels, *tasks)
        everything["runs"][name] = results
        ends, waits = [one["end"] for one in results], [one["wait"] for one in results]
        mean = statistics.mean(ends)
        print(f"{name:16} {max(ends):7.2f} s {max(ends) / least:9.2f} {mean:7.2f} s {max(waits):11.2f} s", flush=True)
        print("    ends of clients:", *(f"{end:.1f}" for end in ends))
        show_start(results)
        if tasks[0]["place"] == AUTOMATIC:
            show_placements(addresses, speeds, results)
    if options.json:
        pathlib.Path(options.json).write_text(json.dumps(everything), encoding="utf-8")


def expected(places: tuple[int, ...], kernels: list[int], speeds: list[float]) -> float:
    loads = [0.0] * len(speeds)
    for place, count in zip(places, kernels, strict=True):
        loads[place] += count / speeds[place]
    return max(loads)


def preparation(result: dict) -> str:
    firsts = ", ".join(f"{seconds:.2f}" for seconds in result["first_runs"])
    return f"connected in {result['connect']:.2f} s, built in {result['build']:.2f} s, first run {firsts} s"


def show_start(results: list[dict]) -> None:
    """The slowest of each, before the clock starts."""
    firsts = [max(seconds) for seconds in zip(*(one["first_runs"] for one in results), strict=False)]
    slowest = {"connect": max(one["connect"] for one in results), "build": max(one["build"] for one in results)}
    print("    before, at worst:", preparation(slowest | {"first_runs": firsts}))


def show_placements(addresses: list[str], speeds: list[float], results: list[dict]) -> None:
    """Where kernels ran, and what the scheduler expected. Predictions are wrong by the quotient's distance from 1."""
    total = sum(speeds)
    for address, speed in zip(addresses, speeds, strict=True):
        own = [run for one in results for run in one["runs"] if run["server"] == address]
        counts = [sum(run["server"] == address for run in one["runs"]) for one in results]
        if not own:
            print(f"    {address}: no kernel")
            continue
        quotients = sorted(run["took"] / max(run["expected"], 1e-6) for run in own)
        middle, worst = statistics.median(quotients), quotients[len(quotients) * 9 // 10]
        alone = statistics.median(run["runs"] for run in own[len(own) // 2 :])
        trials = sum(not run["measured"] for run in own)
        share = len(own) / sum(len(one["runs"]) for one in results)
        print(
            f"    {address}: {len(own)} kernels ({share:.0%}, its part of the speeds is {speed / total:.0%}; of clients"
            f" {counts}), took {middle:.2f} of what was expected (a tenth more than {worst:.2f}),"
            f" {1e3 * alone:.1f} ms alone as expected, {1e3 / speed:.1f} measured, {trials} trials"
        )


def run_all(options: argparse.Namespace, kernels: list[int], *tasks: dict) -> list[dict]:
    processes = [
        start(options.servers, {"kernels": count, "rounds": options.rounds, "warm_up": options.rounds} | task)
        for count, task in zip(kernels, tasks, strict=True)
    ]
    for process in processes:
        assert process.stdout.readline() == "ready\n"
    for process in processes:
        process.stdin.write("\n")
        process.stdin.flush()
    return [json.loads(process.communicate()[0].splitlines()[-1]) for process in processes]


def start(servers: str, task: dict) -> subprocess.Popen:
    command = [sys.executable, __file__, "--servers", servers, "--client", json.dumps(task)]
    return subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)


def run_client(servers: str, task: dict) -> None:
    import numpy as np
    import pyopencl as cl

    import remotecl

    begin = time.monotonic()
    remotecl.connect(servers)
    is_automatic = task["place"] == AUTOMATIC
    addresses = servers.split(",")
    if is_automatic:
        device = remotecl.auto(policy="round-robin")  # so that each device compiles the kernel and has run it
    else:
        device = next(one for one in remotecl.overview().devices if remotecl.server_of(one) == addresses[task["place"]])
    context = cl.Context([device])
    connected = time.monotonic()
    commands = cl.CommandQueue(context, properties=cl.command_queue_properties.OUT_OF_ORDER_EXEC_MODE_ENABLE)
    kernel = cl.Kernel(cl.Program(context, SOURCE).build(), "work")
    built = time.monotonic()
    data = np.arange(ITEMS, dtype=np.uint32)
    flags = cl.mem_flags.READ_WRITE | cl.mem_flags.COPY_HOST_PTR
    buffers = [cl.Buffer(context, flags, hostbuf=data) for _ in range(IN_FLIGHT)]
    first_runs = []
    for at in range(3 * len(addresses) if is_automatic else 3):
        before = time.monotonic()
        kernel(commands, (ITEMS,), (GROUP,), buffers[at % IN_FLIGHT], np.int32(task["warm_up"])).wait()
        if at < (len(addresses) if is_automatic else 1):
            first_runs.append(time.monotonic() - before)
    if is_automatic:
        remotecl.auto(policy=task["policy"])
    print("ready", flush=True)
    sys.stdin.readline()
    result = run_kernels(task, commands, kernel, buffers)
    result |= {"connect": connected - begin, "build": built - connected, "first_runs": first_runs}
    print(json.dumps(result), flush=True)


def run_kernels(task: dict, commands: object, kernel: object, buffers: list) -> dict:
    import numpy as np
    import pyopencl as cl

    import remotecl

    is_automatic, in_order = task["place"] == AUTOMATIC, task.get("in_order", False)
    rounds = np.int32(task["rounds"])
    ended: queue.SimpleQueue = queue.SimpleQueue()  # numbers of kernels and when they ended
    running: dict[int, cl.Event] = {}
    used = {}
    runs = []
    begin = last = time.monotonic()
    wait = 0.0
    for number in range(task["kernels"] + len(buffers)):
        if not buffers or number >= task["kernels"]:
            if not running:
                break
            if in_order:
                first = next(iter(running))
                running[first].wait()
                which, at = first, time.monotonic()
            else:
                which, at = ended.get()
            del running[which]
            buffers.append(used.pop(which))
            wait, last = max(wait, at - last), max(last, at)
            if is_automatic:
                runs[which]["took"] = at - begin - runs[which]["enqueued"]
        if number >= task["kernels"]:
            continue
        buffer = buffers.pop()
        enqueued = time.monotonic()
        event = kernel(commands, (ITEMS,), (GROUP,), buffer, rounds)
        commands.flush()
        running[number], used[number] = event, buffer
        if not in_order:
            event.set_callback(
                cl.command_execution_status.COMPLETE, lambda _, number=number: ended.put((number, time.monotonic()))
            )
        if is_automatic:
            why = remotecl.explain(event)
            runs.append(
                {
                    "server": why.server,
                    "enqueued": enqueued - begin,
                    "expected": why.expected,
                    "runs": why.runs,
                    "measured": why.measured,
                }
            )
    commands.finish()
    return {"end": last - begin, "wait": wait, "runs": runs}


if __name__ == "__main__":
    main()
