"""Chooses devices, runs applications on one, on several and natively, and checks every result."""

from __future__ import annotations

import importlib.util
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack

import numpy as np
import pyopencl as cl

from remotecl import Connection, LocalCluster, RemoteCLError, auto, connect, server_of
from remotecl.bench.native import native_device

from .application import Application
from .bfs import BreadthFirstSearch
from .cfd import EulerSolver
from .knn import NearestNeighbours
from .machine import Clock, Machine
from .matmul import MatrixMul
from .report import AUTOMATIC, Measurement, Report
from .spmv import SparseProduct

APPLICATIONS: dict[str, type[Application]] = {
    kind.NAME: kind for kind in (MatrixMul, EulerSolver, NearestNeighbours, BreadthFirstSearch, SparseProduct)
}
NAMES = tuple(APPLICATIONS)
_CHECKED_BY_SCIPY = (BreadthFirstSearch.NAME, SparseProduct.NAME)
_LOCAL_SERVERS = 2


def main(
    names: Sequence[str] = (),
    servers: Sequence[str] = (),
    *,
    devices: Sequence[int] = (),
    scale: float = 0.01,
    sizes: Sequence[int] = (),
    seed: int = 0,
    repetitions: int = 3,
    json_file: str | None = None,
) -> int:
    """Runs applications and prints their times. Returns 0, or 1 if a result is wrong.

    Args:
        names: of `NAMES`; none takes all.
        servers: as for `remotecl.connect`; none starts daemons on loopback, as many as `devices` asks for, or two.
        devices: how many to run on, one number after the other; none takes 1 to all that there are.
        scale: of the data; 1 is that of HaoCL's evaluation.
        sizes: of the matrices of `matmul`, in place of what `scale` gives.
        seed: of the data.
        repetitions: of each run; the fastest counts.
        json_file: where to write the results too.

    Raises:
        RemoteCLError: SciPy is missing, there are fewer devices, or the data is too small or too large for them.
    """
    chosen = list(dict.fromkeys(names)) or list(NAMES)
    _require(chosen, sizes)
    with ExitStack() as cleanup:
        addresses = servers or cleanup.enter_context(LocalCluster(max(devices, default=_LOCAL_SERVERS))).addresses
        connection = cleanup.enter_context(connect(*addresses))
        there = _devices(connection, one_each=not servers)
        counts = list(dict.fromkeys(devices)) or list(range(1, len(there) + 1))
        if max(counts) > len(there):
            raise RemoteCLError(f"--devices asks for {max(counts)} devices, and the servers have {len(there)}")
        report = Report(scale, seed, repetitions, there, native_device(there[0]))
        print(report.heading())
        for name in chosen:
            for make in _makers(name, scale, sizes, seed):
                rows = list(_measured(make, report, counts))
                report.rows += rows
                print(f"\n{report.table(rows)}", flush=True)
    if json_file:
        report.write(json_file)
    print("\nEverything is right." if report.right else "\nWRONG RESULTS, see above.")
    return 0 if report.right else 1


def _require(names: Sequence[str], sizes: Sequence[int]) -> None:
    if sizes and MatrixMul.NAME not in names:
        raise RemoteCLError(f"--sizes is for {MatrixMul.NAME}, which is not among {', '.join(names)}")
    by_scipy = [name for name in names if name in _CHECKED_BY_SCIPY]
    if by_scipy and importlib.util.find_spec("scipy") is None:
        raise RemoteCLError(
            f"SciPy, which checks {' and '.join(by_scipy)}, is not installed: pip install scipy, or name other "
            "applications"
        )


def _makers(name: str, scale: float, sizes: Sequence[int], seed: int) -> Iterator[Callable[[], Application]]:
    """A function for each size that makes the application with its data."""
    if name == MatrixMul.NAME and sizes:
        for n in sizes:
            yield lambda n=n: MatrixMul(scale, seed, n)  # type: ignore[misc]
    else:
        yield lambda: APPLICATIONS[name](scale, seed)


def _measured(make: Callable[[], Application], report: Report, counts: Sequence[int]) -> Iterator[Measurement]:
    """The native run if there can be one, those on each number of devices, and the automatic one if all are used."""
    np.random.default_rng()  # its first use loads a part of NumPy, which must not count
    start = time.perf_counter()
    application = make()
    data_create_s = time.perf_counter() - start
    places = [("remotecl", report.devices[:count]) for count in counts]
    if report.native is not None:
        places.insert(0, ("native", [report.native]))
    if counts[-1] == len(report.devices):
        places.append((AUTOMATIC, report.devices))
    native = None
    for where, devices in places:
        machine = Machine.of_automatic(auto(), len(devices)) if where == AUTOMATIC else Machine.of_devices(devices)
        row = _run(application, machine, report.repetitions)
        row.where, row.data_create_s, row.native = where, data_create_s, native
        if where == "native":
            native = row
        yield row


def _run(application: Application, machine: Machine, repetitions: int) -> Measurement:
    """The fastest of several runs, and what was wrong with any of them."""
    try:
        plan = application.prepare(machine)
        runs, problem = [], ""
        for _ in range(repetitions):
            clock = Clock(machine)
            result = plan.run(clock)
            problem = problem or application.problem(result)
            runs.append(clock)
    except cl.MemoryError as error:
        raise RemoteCLError(
            f"{application.NAME}: a device has too little memory ({error}); take a smaller --scale"
        ) from error
    best = min(runs, key=lambda clock: clock.transfer_s + clock.compute_s)
    return Measurement(
        application=application.NAME,
        devices=len(machine),
        size=application.size,
        bytes=application.bytes,
        shares=plan.shares,
        transfer_s=best.transfer_s,
        compute_s=best.compute_s,
        problem=problem,
    )


def _devices(connection: Connection, *, one_each: bool) -> list[cl.Device]:
    """All devices of servers; of those that were started here, which have the same ones, another one of each."""
    if not one_each:
        return connection.devices
    groups = [[device for device in connection.devices if server_of(device) == name] for name in connection.servers]
    return [group[number % len(group)] for number, group in enumerate(groups)]
