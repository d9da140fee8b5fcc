"""`remotecl bench`: runs the benchmark program against servers, by default against daemons on loopback."""

from __future__ import annotations

import json
import subprocess
import tempfile
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager, nullcontext
from dataclasses import dataclass, fields
from pathlib import Path
from typing import IO

from .._clusters.cluster import LocalCluster
from .._daemon import launcher
from .._loading import activation, vendors
from ..errors import RemoteCLError

BINARY = vendors.PACKAGE / "bin" / "remotecl-bench"

# The most servers that a row uses.
_SEVERAL_SERVERS = 4


@dataclass(frozen=True)
class BenchRow:
    """A row of the benchmark: the same work with remotecl, with the native driver, and over the bare network.

    A list of them makes a table: ``pandas.DataFrame(rows)``.

    Attributes:
        name: of the row.
        unit: of the numbers, for example ``"us"``.
        better: ``"lower"`` or ``"higher"``.
        repetitions: how often each value was measured.
        remotecl: the median, like the next three; None if a row has no such measurement.
        native: the native driver on this machine; also None if it has no such device.
        raw: TCP without OpenCL: a round trip of a small message, or one stream.
        ceiling: the best that remotecl could reach, from `native` and `raw`.
        ratio: `remotecl` / `ceiling`.
        p99: remotecl's; for rates, that of the slowest runs.
        max: as `p99`.
    """

    name: str
    unit: str
    better: str
    repetitions: int
    remotecl: float | None
    native: float | None
    raw: float | None
    ceiling: float | None
    ratio: float | None
    p99: float | None
    max: float | None


def measure(only: Iterable[str] = (), servers: Sequence[str] = (), *, quick: bool = False) -> list[BenchRow]:
    """Runs the benchmark in a process of its own and returns the results.

    Args:
        only: rows by name or beginning of a name; ``remotecl bench --list`` prints all of them. None: all rows.
        servers: as for `run`.
        quick: far fewer repetitions.

    Returns:
        the rows, without those that the device cannot do or that need more servers.

    Raises:
        RemoteCLError: the program is not installed, a row is unknown, or the program failed; the message has its
        output.
        ServerStartError: a daemon did not start.

    Example::

        from remotecl import bench

        for row in bench.measure(["noop-finish", "read-4B"]):
            print(row.name, row.remotecl, row.native, row.raw, row.unit)
    """
    names = [only] if isinstance(only, str) else list(only)
    arguments = [*(["--only", ",".join(names)] if names else []), *(["--quick"] if quick else [])]
    with tempfile.TemporaryDirectory() as folder:
        report, log = Path(folder) / "report.json", Path(folder) / "log"
        with log.open("w") as output:
            code = run(servers, arguments, json_file=str(report), output=output)
        if code != 0 or not report.is_file():
            raise RemoteCLError(f"the benchmark failed: {log.read_text().strip() or f'exit code {code}'}")
        results = json.loads(report.read_text())["results"]
    return [BenchRow(**{field.name: row[field.name] for field in fields(BenchRow)}) for row in results]


def run(
    servers: Sequence[str] = (),
    arguments: Sequence[str] = (),
    *,
    rows: str = "all",
    json_file: str | None = None,
    output: IO[str] | None = None,
) -> int:
    """Runs the benchmark and returns its exit code.

    Args:
        servers: ``host[:port]`` of the servers to measure; none starts daemons on loopback: one, and then four for the
            rows that need several. The rows whose names end with ``-tcp`` run in a process without shared memory.
        arguments: more arguments for the program, for example ``["--quick"]``.
        rows: ``"one"`` for the rows that take one server, ``"tcp"`` for those without shared memory, ``"several"`` for
            the others, or ``"all"``.
        json_file: where to write the results too.
        output: a file to which the program prints, errors too; default: where this process prints.

    Raises:
        RemoteCLError: the program is not installed.
        ServerStartError: a daemon did not start.
    """
    if not BINARY.is_file():
        raise RemoteCLError(f"{BINARY} is missing: remotecl was built without its benchmark; install it with pip")
    if "--list" in arguments:
        return _run(servers, [*arguments, "--rows", rows], output)
    # More daemons would disturb the rows of one server: a client starts more slowly if it connects to them too.
    with tempfile.TemporaryDirectory() as folder:
        reports = []
        code = 0
        for part, count in (("one", 1), ("tcp", 1), ("several", _SEVERAL_SERVERS)):
            if rows not in ("all", part):
                continue
            chosen = [*arguments, "--rows", part]
            listed = subprocess.run(
                [str(BINARY), "--list", *chosen], stdout=subprocess.PIPE, stderr=output, text=True, check=False
            )
            if listed.returncode != 0:
                return listed.returncode
            if not listed.stdout:
                continue
            report = str(Path(folder) / f"{part}.json") if json_file else None
            with nullcontext(servers) if servers else _local_servers(count) as names:
                code = _run(names, [*chosen, *_json_option(report)], output) or code
            if report and Path(report).is_file():
                reports.append(report)
        if json_file and reports:
            _join_reports(reports, json_file)
    return code


@contextmanager
def _local_servers(count: int) -> Iterator[Sequence[str]]:
    with LocalCluster(servers=count) as cluster:
        yield cluster.addresses


def _run(servers: Sequence[str], arguments: Sequence[str], output: IO[str] | None) -> int:
    # The program compares with the native driver, so its loader must show that in addition to remotecl.
    environment = activation.original_environment()
    native = launcher.native_drivers(environment)
    environment["OCL_ICD_VENDORS"] = vendors.directory_with([*native, activation.icd_path()])
    command = [str(BINARY), *(["--servers", ",".join(servers)] if servers else []), *arguments]
    errors = None if output is None else subprocess.STDOUT
    return subprocess.run(command, env=environment, stdout=output, stderr=errors, check=False).returncode


def _json_option(file: str | None) -> list[str]:
    return ["--json", file] if file else []


def _join_reports(reports: Sequence[str], file: str) -> None:
    """One report for several runs: the first one's, with the results and failures of all."""
    first, *others = (json.loads(Path(report).read_text()) for report in reports)
    for other in others:
        for key in ("results", "failures"):
            first[key] += other[key]
    Path(file).write_text(json.dumps(first, indent=2) + "\n")
