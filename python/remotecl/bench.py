"""`remotecl bench`: runs the benchmark program against servers, by default against daemons on loopback."""

from __future__ import annotations

import json
import subprocess
import tempfile
from collections.abc import Sequence
from pathlib import Path

from . import _daemon, _loader, _vendors
from .cluster import LocalCluster
from .errors import RemoteCLError

BINARY = _vendors.PACKAGE / "bin" / "remotecl-bench"

# What the rows that need several servers take at most.
_SEVERAL_SERVERS = 4


def run(
    servers: Sequence[str] = (), arguments: Sequence[str] = (), *, rows: str = "all", json_file: str | None = None
) -> int:
    """Runs the benchmark and returns its exit code.

    Args:
        servers: ``host[:port]`` of the servers to measure; none starts daemons on loopback: one, and then four for the
            rows that need several.
        arguments: further arguments for the program, for example ``["--quick"]``.
        rows: ``"one"`` for the rows that take one server, ``"several"`` for the others, or ``"all"``.
        json_file: where to write the results too.

    Raises:
        RemoteCLError: the program is not installed.
        ServerStartError: a daemon did not start.
    """
    if not BINARY.is_file():
        raise RemoteCLError(f"{BINARY} is missing: remotecl was built without its benchmark; install it with pip")
    if servers or "--list" in arguments:
        return _run(servers, [*arguments, "--rows", rows, *_json_option(json_file)])
    # Further daemons would disturb the rows of one server: a client starts slower when it connects to them too.
    with tempfile.TemporaryDirectory() as folder:
        reports = []
        code = 0
        for part, count in (("one", 1), ("several", _SEVERAL_SERVERS)):
            if rows not in ("all", part):
                continue
            chosen = [*arguments, "--rows", part]
            listed = subprocess.run([str(BINARY), "--list", *chosen], stdout=subprocess.PIPE, text=True, check=False)
            if listed.returncode != 0:
                return listed.returncode
            if not listed.stdout:
                continue
            report = str(Path(folder) / f"{part}.json") if json_file else None
            with LocalCluster(servers=count) as cluster:
                code = _run(cluster.addresses, [*chosen, *_json_option(report)]) or code
            if report and Path(report).is_file():
                reports.append(report)
        if json_file and reports:
            _join_reports(reports, json_file)
    return code


def _run(servers: Sequence[str], arguments: Sequence[str]) -> int:
    # The program compares with the native driver, so its loader must show that beside remotecl.
    environment = _daemon.daemon_environment(_loader.original_environment())
    native = _vendors.drivers_in(_vendors.vendors_setting(environment))
    environment["OCL_ICD_VENDORS"] = _vendors.directory_with([*native, _loader.icd_path()])
    command = [str(BINARY), *(["--servers", ",".join(servers)] if servers else []), *arguments]
    return subprocess.run(command, env=environment, check=False).returncode


def _json_option(file: str | None) -> list[str]:
    return ["--json", file] if file else []


def _join_reports(reports: Sequence[str], file: str) -> None:
    """One report out of several runs: the first one's, with the results and failures of all."""
    first, *others = (json.loads(Path(report).read_text()) for report in reports)
    for other in others:
        for key in ("results", "failures"):
            first[key] += other[key]
    Path(file).write_text(json.dumps(first, indent=2) + "\n")
