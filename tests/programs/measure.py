"""Runs programs of the catalogue natively and on servers, and writes what came of it as JSON.

    measure.py RESULT.json ROUNDS NAME...

`programs.py` starts it inside of its root, with the Python that has remotecl.
"""

from __future__ import annotations

import json
import shutil
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

import places
from catalogue import PROGRAMS
from entry import Program, difference, last_line, problem_of
from places import Daemon, Outcome, Place

# No more rounds are begun when a program has had so long.
ENOUGH_S = 60.0


class Refused(Exception):
    """A program that does not do what it should, and where."""

    def __init__(self, status: str, reason: str) -> None:
        super().__init__(reason)
        self.status = status


class Measurement:
    """One program at all places. Used as a context, for the daemons that it starts."""

    def __init__(self, program: Program, home: Path) -> None:
        self._program = program
        self._daemons = [Daemon(home / f"server{number}") for number in range(2 if program.two else 1)]
        self._expected = ""
        first = self._daemons[:1]
        self._places: dict[str, tuple[Place, list[Daemon]]] = {
            "native": (places.native(home / "native"), []),
            "tcp": (places.remote(home / "remote", first, shared_memory=False), first),
            "memory": (places.remote(home / "remote", first, shared_memory=True), first),
        }
        if program.two:
            both = places.remote(home / "both", self._daemons, shared_memory=False)
            self._places["two"] = (both, self._daemons)

    def __enter__(self) -> Measurement:
        return self

    def __exit__(self, *_: object) -> None:
        for daemon in self._daemons:
            daemon.stop()

    def measure(self, rounds: int) -> dict[str, Any]:
        """The first run at each place, with empty caches, and the best of some later ones."""
        begin = time.monotonic()
        first = {name: self._run(name).seconds for name in self._places}
        later: dict[str, list[Outcome]] = {name: [] for name in self._places}
        for number in range(rounds):
            if number and time.monotonic() - begin > ENOUGH_S:
                break
            for name, outcomes in later.items():
                outcomes.append(self._run(name))
        then = {name: min(outcome.work_s for outcome in outcomes) for name, outcomes in later.items()}
        return {
            "first_s": first,
            "then_s": then,
            "ratios": {name: seconds / then["native"] for name, seconds in then.items() if name != "native"},
        }

    def _run(self, name: str) -> Outcome:
        place, daemons = self._places[name]
        before = [daemon.commands() for daemon in daemons]
        outcome = place.run(self._program, self._program.two if name == "two" else self._program.command)
        status = "fails" if daemons else "not native"
        if problem := outcome.error or problem_of(self._program, outcome.output):
            raise Refused(status, f"{name}: {problem}" if daemons else problem)
        if not daemons and not self._expected:
            self._expected = outcome.output
        if unlike := difference(self._program, self._expected, outcome.output):
            raise Refused("differs" if daemons else "not native", f"{name}: {unlike}")
        for daemon, former in zip(daemons, before, strict=True):
            if daemon.commands() == former and not self._program.idle:
                raise Refused("fails", f"{name}: a server has had no command: {last_line(outcome.output)}")
        return outcome


def measured(program: Program, rounds: int) -> dict[str, Any]:
    """What came of one program."""
    result: dict[str, Any] = {"name": program.name, "does": program.does, "status": "works", "reason": ""}
    if program.missing:
        return result | {"status": "missing", "reason": program.missing}
    home = Path(tempfile.mkdtemp(prefix="programs-"))
    home.chmod(0o755)
    try:
        with Measurement(program, home) as measurement:
            return result | measurement.measure(rounds)
    except Refused as refusal:
        return result | {"status": refusal.status, "reason": str(refusal)}
    finally:
        shutil.rmtree(home, ignore_errors=True)


def main(arguments: list[str]) -> None:
    """The command line above."""
    result, rounds, *names = arguments
    results = []
    for program in PROGRAMS:
        if program.name in names:
            print(f"{program.name} ...", end="", flush=True)
            results.append(measured(program, int(rounds)))
            words = {name: round(ratio, 2) for name, ratio in results[-1].get("ratios", {}).items()}
            print(f" {results[-1]['status']} {words or results[-1]['reason']}", flush=True)
            Path(result).write_text(json.dumps(results))


if __name__ == "__main__":
    main(sys.argv[1:])
