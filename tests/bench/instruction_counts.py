#!/usr/bin/env python3
"""Counts the instructions that one kernel launch costs in our own code, one decision of the scheduler with 16 devices,
and a client's commands while many others are pending. Fails when those of a launch have grown, when a decision costs
more than it may, or when a command costs more the more are pending.

    instruction_counts.py BUILD           compares with instruction_counts.json
    instruction_counts.py BUILD --record  writes it

Client and daemon run under callgrind in turns, each with few and with many launches: the difference, of instructions in
libremotecl.so or remotecl-server alone, is what a launch costs there. Unlike times, these numbers are the same again on
a busy machine. The drivers' and libraries' instructions are not counted.

Of the scheduler's benchmark only what Scheduler::place() calls is counted.
"""

import argparse
import json
import os
import signal
import subprocess
import sys
import tempfile
import time
from contextlib import contextmanager
from pathlib import Path

EXPECTED = Path(__file__).with_suffix(".json")
FEW, MANY = 1000, 21000
GROWTH_MAX = 1.2
DECISION_MAX = 3300  # for 16 devices, with the search for untried ones and an alternative to name
START_S = 120
PENDING_CASES = (
    "chain",
    "alternating",
    "copies",
    "ranges",
    "uploads",
    "maps",
    "unmaps",
    "writes",
    "host-reads-events",
    "host-reads-one-place",
    "kernels-after-read",
)
PENDING_FEW, PENDING_MANY = 200, 2000  # each as often again
PENDING_GROWTH_MAX = 2.0


def instructions_in(profile: Path, binary: str) -> int:
    """Sum of what the binary's functions cost by themselves, of a file in callgrind's format."""
    names: dict[str, str] = {}
    total = 0
    inside = after_call = False
    for line in profile.read_text().splitlines():
        if line.startswith("ob="):
            identifier, _, name = line[3:].partition(" ")
            if name:
                names[identifier] = name
            inside = Path(names.get(identifier, identifier)).name.startswith(binary)
        elif line.startswith("calls="):
            after_call = True  # the next line is what the called function cost
        elif line[:1] in "0123456789+-*" and line:
            if inside and not after_call:
                total += int(line.split()[1])
            after_call = False
        elif line.startswith("cob="):
            identifier, _, name = line[4:].partition(" ")
            if name:
                names[identifier] = name
    return total


def under_callgrind(profile: Path, counted: bool) -> list[str]:
    return ["valgrind", "--tool=callgrind", f"--callgrind-out-file={profile}", "--quiet"] if counted else []


@contextmanager
def daemon(build: Path, profile: Path, counted: bool, environment: dict[str, str] | None = None):
    server = [str(build / "bin/remotecl-server"), "--listen", "127.0.0.1:0", "--no-store"]
    command = [*under_callgrind(profile, counted), *server]
    process = subprocess.Popen(command, stdout=subprocess.PIPE, text=True, env=environment)
    try:
        assert process.stdout is not None
        end = time.monotonic() + START_S
        for line in process.stdout:
            if line.startswith("listening on "):
                break
            if time.monotonic() > end:
                sys.exit("the daemon does not start")
        else:
            sys.exit("the daemon did not start")
        yield line.split()[-1]
    finally:
        process.send_signal(signal.SIGTERM)
        process.wait(START_S)


def client_environment(build: Path, folder: Path, servers: str) -> dict[str, str]:
    vendors = folder / "vendors"
    vendors.mkdir(exist_ok=True)
    (vendors / "remotecl.icd").write_text(f"{(build / 'lib/libremotecl.so').resolve()}\n")
    return {**os.environ, "OCL_ICD_VENDORS": str(vendors), "REMOTECL_SERVERS": servers}


def count_pending(build: Path, folder: Path, case: str, commands: int) -> int:
    """A client's instructions for so many commands of two servers, which wait for one user event."""
    profile = folder / f"pending-{case}-{commands}"
    driver = {"OCL_ICD_VENDORS": str((build / "lib/libremotecl_fake_driver.so").resolve())}
    fake = {**os.environ, **driver, "REMOTECL_FAKE_DRIVER": "gpu=1"}
    with daemon(build, profile, False, fake) as first, daemon(build, profile, False, fake) as second:
        bench = [str(build / "bin/remotecl-pending-bench"), case, f"--counts={commands}"]
        environment = client_environment(build, folder, f"{first},{second}")
        subprocess.run(
            [*under_callgrind(profile, True), *bench],
            env=environment,
            check=True,
            timeout=5 * START_S,
            stdout=subprocess.DEVNULL,
        )
    return instructions_in(profile, "libremotecl.so")


def growth_by_pending(build: Path, folder: Path, case: str) -> float:
    """How many times more a command costs while ten times as many are pending."""
    costs = []
    for commands in (PENDING_FEW, PENDING_MANY):
        one, two = (count_pending(build, folder, case, times * commands) for times in (1, 2))
        costs.append((two - one) / commands)
    print(f"{case}: {round(costs[0])} instructions with few pending, {round(costs[1])} with many", flush=True)
    return costs[1] / costs[0]


def count(build: Path, folder: Path, side: str, launches: int) -> int:
    profile = folder / f"{side}-{launches}"
    with daemon(build, profile, side == "server") as address:
        environment = client_environment(build, folder, address)
        client = [*under_callgrind(profile, side == "client"), str(build / "bin/remotecl-launches"), str(launches)]
        subprocess.run(client, env=environment, check=True, timeout=START_S)
    return instructions_in(profile, "libremotecl.so" if side == "client" else "remotecl-server")


def count_decisions(build: Path, folder: Path, decisions: int) -> int:
    """Instructions of all; the benchmark's own random numbers and ends of tasks are left out."""
    profile = folder / f"decision-{decisions}"
    toggle = "--toggle-collect=remotecl::schedule::Scheduler::place*"
    command = [*under_callgrind(profile, True), toggle, str(build / "bin/remotecl-schedule-bench"), str(decisions)]
    subprocess.run(command, check=True, timeout=START_S)
    return instructions_in(profile, "remotecl-schedule-bench")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("build", type=Path)
    parser.add_argument("--record", action="store_true")
    arguments = parser.parse_args()
    expected = {} if arguments.record else json.loads(EXPECTED.read_text())
    found: dict[str, int] = {}
    with tempfile.TemporaryDirectory() as folder:
        for side in ("client", "server", "decision"):
            if side == "decision":
                few, many = (count_decisions(arguments.build, Path(folder), decisions) for decisions in (FEW, MANY))
            else:
                few, many = (count(arguments.build, Path(folder), side, launches) for launches in (FEW, MANY))
            found[side] = round((many - few) / (MANY - FEW))
            what = "" if side == "decision" else " for a launch"
            limit = f"at most {DECISION_MAX}" if side == "decision" else f"expected {expected.get(side)}"
            remark = "" if arguments.record else f" ({limit})"
            print(f"{side}: {found[side]} instructions{what}{remark}", flush=True)
        grown_by_pending = [
            case
            for case in PENDING_CASES
            if growth_by_pending(arguments.build, Path(folder), case) > PENDING_GROWTH_MAX
        ]
    if grown_by_pending:
        sys.exit(f"commands cost more the more are pending: {', '.join(grown_by_pending)}")
    if arguments.record:
        launch = {side: count for side, count in found.items() if side != "decision"}
        EXPECTED.write_text(json.dumps(launch, indent=1) + "\n")
    if found["decision"] > DECISION_MAX:
        sys.exit(f"a decision costs more than {DECISION_MAX} instructions")
    grown = [side for side in expected if found[side] > GROWTH_MAX * expected[side]]
    if grown:
        sys.exit(f"more than {round((GROWTH_MAX - 1) * 100)} % more than expected: {', '.join(grown)}")


if __name__ == "__main__":
    main()
