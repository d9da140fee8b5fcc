#!/usr/bin/env python3
"""A GPU server and CPU servers: the best static placement against the automatic device, and one kernel over all.

    unlike_devices.py [--start gpu:2,cpu:6,cpu:4 | --servers HOST:PORT,...] [--json FILE]

First the five applications of `benchmarks.haocl`, each divided into `--shares`. Every way to give the shares to
devices is tried, apart from the order of shares, the devices alone first; then the best three again. The automatic
device runs the same shares under earliest finish: once with kernels that it does not know, a few times to learn, and
then as often as the best ones. The last table says how much later it ends than the best static placement. To find
that one, `--seconds` for each application may not suffice; how many were tried is shown.

Then one NDRange with remotecl.split(): its efficiency is the speed of all devices together, of the sum of their speeds
alone. The range is as long as makes the fastest device work for `--split-ms`.

With --start the program starts servers of its own, each on cores of its own: `gpu:2` serves GPUs on 2 cores, `cpu:6`
the CPU on 6 cores with as many of PoCL's threads. What is left of the cores is the program's, so leave it two. On a
machine with 16 cores and a GPU, in 4 minutes:

    python tests/bench/unlike_devices.py --start gpu:2,cpu:6,cpu:4,cpu:2 --scale 0.02 --seconds 30 --json unlike.json
"""

import argparse
import contextlib
import importlib.util
import itertools
import json
import os
import pathlib
import statistics
import sys
import time

import numpy as np
import pyopencl as cl
from pinned_servers import started

import remotecl

sys.path.insert(0, str(pathlib.Path(__file__).parents[2]))
from benchmarks.haocl.machine import Clock, Machine
from benchmarks.haocl.run import APPLICATIONS

LEARNING_RUNS = 5
SPLIT_RUNS = 5
GROUP = 64
SOURCE = """
kernel void work(global uint* data, int rounds) {
  uint value = data[get_global_id(0)];
  for (int i = 0; i < rounds; ++i) value = value * 1664525u + 1013904223u;
  data[get_global_id(0)] = value;
}
"""


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--servers", help="addresses; all their devices are used")
    parser.add_argument("--start", default="cpu:1,cpu:1", help="servers to start, KIND:CORES (default: %(default)s)")
    parser.add_argument("--only", default=",".join(APPLICATIONS), help="applications, or none (default: %(default)s)")
    parser.add_argument("--scale", type=float, default=0.01, help="of the data; 1 is HaoCL's (default: %(default)s)")
    parser.add_argument("--shares", type=int, default=4, help="of each application's work (default: %(default)s)")
    parser.add_argument("--seconds", type=float, default=30, help="to try placements of each (default: %(default)s)")
    parser.add_argument("--repetitions", type=int, default=3, help="of the best; the fastest counts")
    parser.add_argument("--items", type=int, default=1 << 24, help="of the divided range (default: %(default)s)")
    parser.add_argument("--split-ms", type=float, default=100, help="see above; 0: no divided kernel")
    parser.add_argument("--json", help="a file for all figures")
    options = parser.parse_args()
    begin = time.perf_counter()
    with contextlib.ExitStack() as cleanup:
        addresses = options.servers or ",".join(cleanup.enter_context(started(options.start)))
        devices = remotecl.connect(addresses).devices
        names = [f"{device.name.strip()} of {remotecl.server_of(device)}" for device in devices]
        print(*(f"{number}: {name}" for number, name in enumerate(names)), sep="\n")
        report = {"devices": names, "scale": options.scale, "shares": options.shares, "load": os.getloadavg()[0]}
        wanted = [name for name in options.only.split(",") if name in APPLICATIONS]
        report["applications"] = [compared(name, devices, options) for name in wanted]
        show(report["applications"])
        if options.split_ms > 0:
            report["split"] = divided(devices, options.items, options.split_ms * 1e-3)
    report["seconds"] = time.perf_counter() - begin
    print(f"{report['seconds']:.0f} s in all")
    if options.json:
        pathlib.Path(options.json).write_text(json.dumps(report, indent=1), encoding="utf-8")


# Placements.


def compared(name: str, devices: list[cl.Device], options: argparse.Namespace) -> dict:
    """The best static placement of an application's shares, and earliest finish."""
    application = APPLICATIONS[name](options.scale, 0)
    is_checked = importlib.util.find_spec("scipy") is not None or name not in ("bfs", "spmv")
    context = cl.Context(devices)
    # Devices alone come first, then those with the fewest devices.
    placements = sorted(
        itertools.combinations_with_replacement(range(len(devices)), options.shares), key=lambda one: len(set(one))
    )
    problems: list[str] = []

    def run(machine: Machine, before: int, times: int) -> list[tuple[float, float]]:
        """Seconds of transfers and of kernels, after some runs that do not count."""
        plan = application.prepare(machine)
        seconds = []
        for number in range(before + times):
            clock = Clock(machine)
            result = plan.run(clock)
            if number + 1 == before + times and is_checked and (problem := application.problem(result)):
                problems.append(problem)
            seconds.append((clock.transfer_s, clock.compute_s))
        return seconds

    def static(placement: tuple[int, ...]) -> Machine:
        return Machine([cl.CommandQueue(context, devices[place]) for place in placement])

    tried: dict[tuple[int, ...], float] = {}
    until = time.perf_counter() + options.seconds
    for placement in placements:
        if len(tried) >= len(devices) and time.perf_counter() > until:
            break
        tried[placement] = sum(run(static(placement), 1, 1)[-1])
    finalists = sorted(tried, key=tried.__getitem__)[:3]
    again = {one: min(run(static(one), 1, options.repetitions)[1:], key=sum) for one in finalists}
    best = min(again, key=lambda one: sum(again[one]))
    machine = Machine.of_automatic(remotecl.auto(policy="earliest-finish"), options.shares)
    automatic = run(machine, LEARNING_RUNS, options.repetitions)
    late = min(automatic[LEARNING_RUNS:], key=sum)
    row = {
        "application": name,
        "bytes": application.bytes,
        "static": {"placement": best, "transfer_s": again[best][0], "compute_s": again[best][1]},
        "tried": len(tried),
        "placements": len(placements),
        "alone_s": {place: tried[(place,) * options.shares] for place in range(len(devices))},
        "automatic": {"transfer_s": late[0], "compute_s": late[1], "runs_s": [sum(one) for one in automatic]},
        "ratio": sum(late) / sum(again[best]),
        "resident_ratio": late[1] / again[best][1],
        "result": "; ".join(problems) or ("right" if is_checked else "not checked: no SciPy"),
    }
    print(f"{name}: earliest finish takes {row['ratio']:.2f} of the best static placement, {row['result']}", flush=True)
    return row


def show(rows: list[dict]) -> None:
    titles = ("", "best static", "shares on", "tried", "earliest finish", "at first", "ratio", "resident")
    cells = [titles, *map(cells_of, rows)]
    widths = [max(map(len, column)) for column in zip(*cells, strict=True)]
    for line in cells:
        print("  ".join(cell.rjust(width) for cell, width in zip(line, widths, strict=True)))


def cells_of(row: dict) -> tuple[str, ...]:
    static, automatic = row["static"], row["automatic"]
    return (
        row["application"],
        f"{1e3 * (static['transfer_s'] + static['compute_s']):.1f} ms",
        " ".join(map(str, static["placement"])),
        f"{row['tried']} of {row['placements']}",
        f"{1e3 * (automatic['transfer_s'] + automatic['compute_s']):.1f} ms",
        f"{1e3 * automatic['runs_s'][0]:.0f} ms",
        f"{row['ratio']:.2f}",
        f"{row['resident_ratio']:.2f}",
    )


# One kernel over all devices.


def divided(devices: list[cl.Device], items: int, seconds: float) -> dict:
    context = cl.Context(devices)
    kernel = cl.Kernel(cl.Program(context, SOURCE).build(), "work")
    queues = [cl.CommandQueue(context, device) for device in devices]
    data = np.arange(items, dtype=np.uint32)

    def timed(queue: cl.CommandQueue, count: int, rounds: int) -> float:
        """Of a launch of a part of the range, whose bytes are there."""
        buffer = cl.Buffer(context, cl.mem_flags.READ_WRITE | cl.mem_flags.COPY_HOST_PTR, hostbuf=data[:count])
        taken = []
        for _ in range(4):
            begin = time.perf_counter()
            kernel(queue, (count,), (GROUP,), buffer, np.int32(rounds)).wait()
            taken.append(time.perf_counter() - begin)
        return statistics.median(taken[1:])

    # So many rounds that the fastest device is busy for long enough with all items.
    rounds = 64
    fastest = min(queues, key=lambda queue: timed(queue, min(items, GROUP << 12), rounds))
    while (taken := timed(fastest, items, rounds)) < seconds:
        rounds = int(rounds * min(max(1.2 * seconds / taken, 1.5), 16))
    speeds = []
    for queue in queues:
        count = GROUP << 4  # a CPU may be a thousand times slower
        while (taken := timed(queue, count, rounds)) < 0.2 and count < items:
            count = min(items, count * 4)
        speeds.append(count / taken)
    buffer = cl.Buffer(context, cl.mem_flags.READ_WRITE | cl.mem_flags.COPY_HOST_PTR, hostbuf=data)
    times = []
    for _ in range(2 + SPLIT_RUNS):
        begin = time.perf_counter()
        remotecl.split(kernel, queues, (items,), (GROUP,), buffer, np.int32(rounds), slices={0: 4}).wait()
        times.append(time.perf_counter() - begin)
    result = np.empty_like(data)
    cl.enqueue_copy(queues[0], result, buffer)
    median = statistics.median(times[2:])
    report = {
        "items": items,
        "rounds": rounds,
        "speeds": speeds,
        "first_s": times[0],
        "median_s": median,
        "fastest_alone_s": items / max(speeds),
        "efficiency": items / median / sum(speeds),
        "right": bool(np.array_equal(result, after_rounds(data, rounds * len(times)))),
    }
    part, is_right = max(speeds) / sum(speeds), "right" if report["right"] else "WRONG"
    print(
        f"one NDRange of {items:,} items, {rounds} rounds: {1e3 * median:.1f} ms on all ({1e3 * times[0]:.1f} first), "
        f"{1e3 * report['fastest_alone_s']:.1f} ms on the fastest device, whose speed is {part:.1%} of the sum; "
        f"efficiency {report['efficiency']:.3f}; {is_right}"
    )
    return report


def after_rounds(data: np.ndarray, rounds: int) -> np.ndarray:
    """What the kernel makes of the data: rounds of an affine map are one affine map."""
    factor, term, square, offset = 1, 0, 1664525, 1013904223
    while rounds:
        if rounds & 1:
            factor, term = factor * square % 2**32, (term * square + offset) % 2**32
        square, offset = square * square % 2**32, (offset * square + offset) % 2**32
        rounds >>= 1
    return data * np.uint32(factor) + np.uint32(term)


if __name__ == "__main__":
    main()
