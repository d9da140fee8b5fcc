"""Trains networks in several places with several choices of optimisations, and compares."""

from __future__ import annotations

import itertools
import statistics
import time
import warnings
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Protocol

import numpy as np
import pyopencl as cl
from numpy.typing import NDArray

from remotecl import RemoteCLError, overview

from .architectures import ALEXNET, ARCHITECTURES, LENET, Architecture
from .data import Images, digits, generated
from .machine import CACHED, COMPILED, REBUILT, Machine, Options
from .network import Network
from .places import PLACES, Place, places
from .replicas import Replicas
from .report import Measurement, Report

NAMES = tuple(ARCHITECTURES)
# AlexNet needs a GPU.
_DEFAULT_NAMES = tuple(name for name in NAMES if name != ALEXNET.name)
_QUEUES = 2
# How many steps are measured by default; few where kernels are compiled, because that takes seconds.
_STEPS = {CACHED: 5, REBUILT: 2, COMPILED: 1}
# How much losses may differ. They are summed up in different orders, and the differences grow from step to step.
_TOLERANCE = 1e-3


class _Trainable(Protocol):
    def load(self, images: NDArray[np.float32], labels: NDArray[np.int32]) -> None: ...

    def step(self) -> None: ...

    def mean_loss(self) -> float: ...


def ladder() -> list[Options]:
    """The choices of optimisations, from none to all of them."""
    return [
        Options(COMPILED, batched=False),
        Options(REBUILT, batched=False),
        Options(CACHED, batched=False),
        Options(CACHED, batched=False, queues=_QUEUES),
        Options(CACHED),
        Options(CACHED, queues=_QUEUES),
    ]


@contextmanager
def _silent_compilers() -> Iterator[None]:
    """Silences PoCL's warnings about vectors of 16 in its own headers, on processors without AVX-512."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", cl.CompilerWarning)
        yield


def main(
    names: Sequence[str] = (),
    servers: Sequence[str] = (),
    *,
    where: Sequence[str] = PLACES,
    options: Sequence[Options] = (),
    batch: int | None = None,
    steps: int | None = None,
    devices: int = 1,
    delay_ms: float = 1.0,
    gbit_per_s: float = 1.0,
    seed: int = 0,
    json_file: str | None = None,
) -> int:
    """Trains networks and prints what a step takes. Returns 0, or 1 if losses differ.

    Args:
        names: of `NAMES`; none takes all but AlexNet.
        servers: as for `remotecl.connect`; none starts daemons on loopback.
        where: of ``"native"``, ``"remotecl"`` and ``"far"``.
        options: choices of optimisations; none takes those of `ladder`.
        batch: images of a step, in place of those of each network.
        steps: how many are measured, after one that is not; None: 5, but 2 with rebuilt kernels, 1 with compiled ones.
        devices: if more than one, the network is also trained on so many devices at once, with the last options.
        delay_ms: of the far link, each way.
        gbit_per_s: of the far link.
        seed: of data and weights.
        json_file: where to write the results too.

    Raises:
        RemoteCLError: there are fewer devices, no native one, or it has too little memory.
    """
    chosen = list(options) or ladder()
    with _silent_compilers(), places(where, servers, devices, delay_ms, gbit_per_s) as (found, together):
        report = Report(found, delay_ms, gbit_per_s)
        print(report.heading())
        for name in list(dict.fromkeys(names)) or _DEFAULT_NAMES:
            architecture = ARCHITECTURES[name]
            task = _Task(architecture, batch or architecture.batch, steps, seed)
            first = len(report.rows)
            for choice in chosen:
                report.rows += _measured(task, [_on_place(task, place, choice) for place in found], choice)
            if devices > 1:
                replicas = Replicas(together, architecture, task.batch, chosen[-1], seed=seed)
                machines = [network.machine for network in replicas.networks]
                where_name = f"{devices} devices"
                report.rows += _measured(task, [_Run(where_name, replicas, machines)], chosen[-1])
            _compare(report.rows[first:])
            print(f"\n{report.table(report.rows[first:])}", flush=True)
    if json_file:
        report.write(json_file)
    print("\nEverything is right." if report.right else "\nWRONG RESULTS, see above.")
    return 0 if report.right else 1


class _Task:
    """A network to train, with its images."""

    def __init__(self, architecture: Architecture, batch: int, steps: int | None, seed: int) -> None:
        self.architecture = architecture
        self.batch = batch
        self.seed = seed
        self.data: Images = digits(seed)[0] if architecture is LENET else generated(architecture, batch, seed)
        self._steps = steps

    def plan(self, options: Options) -> Iterator[tuple[Images, bool, bool]]:
        """The images of each step, whether it sends them, and whether it is measured; two steps have the same images.

        Where every kernel is compiled each time, the first step is like all others, and none sends its images.
        """
        steps = self._steps or _STEPS[options.kernels]
        if options.kernels == COMPILED:
            yield from ((self.data.batch(number // 2, self.batch), False, True) for number in range(steps))
            return
        for number, loads in itertools.product(range(1 + steps), (True, False)):
            yield self.data.batch(number, self.batch), loads, number > 0


@dataclass
class _Run:
    """A network that is trained somewhere, and what its steps have taken."""

    where: str
    network: _Trainable
    machines: Sequence[Machine]
    server: str = ""
    resident_s: list[float] = field(default_factory=list)
    loading_s: list[float] = field(default_factory=list)
    losses: list[float] = field(default_factory=list)


def _on_place(task: _Task, place: Place, options: Options) -> _Run:
    machine = Machine(cl.Context([place.device]), place.device, options)
    network = Network(machine, task.architecture, task.batch, seed=task.seed)
    machine.finish()  # so that no step waits for the first parameters
    return _Run(place.name, network, [machine], place.server)


def _measured(task: _Task, runs: Sequence[_Run], options: Options) -> Iterator[Measurement]:
    """All runs do each step in turns, so that a slow moment of the machine affects all of them."""
    counts: dict[str, tuple[int, int, int, int]] = {}
    try:
        for number, (images, loads, is_measured) in enumerate(task.plan(options)):
            for run in runs:
                if number % 2 == 0 and not loads:
                    _load(run, images)
                before = _counts(run)
                seconds = _timed(run, images if loads else None)
                after = _counts(run)
                if is_measured:
                    (run.loading_s if loads else run.resident_s).append(seconds)
                counts[run.where] = tuple(b - a for a, b in zip(before, after, strict=True))  # type: ignore[assignment]
    except cl.MemoryError as error:
        raise RemoteCLError(
            f"{task.architecture.name}: a device has too little memory ({error}); take a smaller --batch"
        ) from error
    for run in runs:
        launches, builds, sent, received = counts[run.where]
        yield Measurement(
            task.architecture.name, task.batch, run.where, options, statistics.median(run.resident_s),
            statistics.median(run.loading_s) if run.loading_s else None, launches, builds, sent if run.server else None,
            received if run.server else None, run.losses,
        )  # fmt: skip


def _load(run: _Run, images: Images) -> None:
    run.network.load(images.images, images.labels)
    for machine in run.machines:
        machine.finish()


def _timed(run: _Run, images: Images | None) -> float:
    start = time.perf_counter()
    if images is not None:
        run.network.load(images.images, images.labels)
    run.network.step()
    # This read comes last in its queue, and that queue waits for all others.
    run.losses.append(run.network.mean_loss())
    seconds = time.perf_counter() - start
    for machine in run.machines:
        machine.finish()
    return seconds


def _counts(run: _Run) -> tuple[int, int, int, int]:
    """Launches, builds, bytes sent and bytes received so far."""
    launches = sum(machine.launches for machine in run.machines)
    builds = sum(machine.builds for machine in run.machines)
    of_server = (
        next((one for one in overview().stats.servers if one.address == run.server), None) if run.server else None
    )
    return launches, builds, of_server.bytes_sent if of_server else 0, of_server.bytes_received if of_server else 0


def _compare(rows: Sequence[Measurement]) -> None:
    """Notes as a problem where losses after the same steps differ by more than rounding."""
    expected = max((row.losses for row in rows), key=len)
    for row in rows:
        worst = max(abs(loss - other) / max(abs(other), 1.0) for loss, other in zip(row.losses, expected, strict=False))
        if not worst <= _TOLERANCE:
            row.problem = f"losses differ by {worst:.2g}"
