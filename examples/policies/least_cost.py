"""Kernels of the automatic device go where they cost least, of the devices where they end soon enough.

Run it with `--help`. A program takes `least_cost` and gives it to `remotecl.auto`.
"""

from __future__ import annotations

import argparse
from collections import Counter
from collections.abc import Callable, Mapping, Sequence

import numpy as np
import pyopencl as cl

import remotecl


def least_cost(
    rates: Mapping[str, float], patience: float = 3
) -> Callable[[remotecl.types.PolicyTask, Sequence[remotecl.types.Candidate]], remotecl.types.Candidate]:
    """A policy: the device where a kernel costs least, but ends at most `patience` times as late as at the earliest.

    Without such a limit all kernels would queue on the one device that costs least.

    Args:
        rates: what a device costs while it works, in money for an hour or in watts, by a part of its name or of its
            server's address. The first part that fits counts; a device that no part fits costs nothing.
        patience: at least 1.
    """

    def cost(one: remotecl.types.Candidate) -> float:
        rate = next((rate for part, rate in rates.items() if part in f"{one.server} {one.name}"), 0.0)
        return rate * one.runs

    def policy(
        task: remotecl.types.PolicyTask, candidates: Sequence[remotecl.types.Candidate]
    ) -> remotecl.types.Candidate:
        latest = task.now + patience * (min(one.finish for one in candidates) - task.now)
        in_time = [one for one in candidates if one.finish <= latest]
        return min(in_time, key=lambda one: (cost(one), one.finish))

    policy.__name__ = "least-cost"  # as remotecl.explain() shows it
    return policy


SOURCE = """
kernel void work(global float* data) {
  float x = data[get_global_id(0)];
  for (int i = 0; i < 10000; ++i) x = sin(x) + 0.5f;
  data[get_global_id(0)] = x;
}
"""


def main() -> None:
    """Runs the kernels and says where they ran."""
    parser = argparse.ArgumentParser(description="Runs 100 kernels where they cost least.")
    parser.add_argument("--servers", required=True, help="as for remotecl.connect")
    parser.add_argument("--rate", action="append", default=[], metavar="PART=NUMBER", help="see least_cost")
    options = parser.parse_args()
    rates = {part: float(rate) for part, _, rate in (each.rpartition("=") for each in options.rate)}

    remotecl.connect(options.servers)
    context = cl.Context([remotecl.auto(policy=least_cost(rates))])
    queue = cl.CommandQueue(context)
    work = cl.Kernel(cl.Program(context, SOURCE).build(), "work")
    data = cl.Buffer(
        context, cl.mem_flags.READ_WRITE | cl.mem_flags.COPY_HOST_PTR, hostbuf=np.ones(1 << 14, np.float32)
    )
    places: Counter[str] = Counter()
    for _ in range(100):
        event = work(queue, (1 << 14,), None, data)
        event.wait()
        if why := remotecl.explain(event):
            places[f"{why.server} {why.device}"] += 1
    for place, kernels in places.most_common():
        print(f"{kernels:4} {place}")


if __name__ == "__main__":
    main()
