"""The findings of `remotecl doctor`, and how they are shown."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from dataclasses import asdict, dataclass
from typing import Literal

Status = Literal["ok", "note", "problem"]


@dataclass(frozen=True)
class Finding:
    """One line of the report.

    `status` is ``"ok"``, ``"note"`` (works, but you may want to know) or ``"problem"`` (does not work); `check` names
    what was checked, `text` says what was found, and `remedy` what to do about it; empty if there is nothing to do.
    """

    check: str
    status: Status
    text: str
    remedy: str = ""

    def __str__(self) -> str:
        line = f"{self.status:8} {self.check}: {self.text}"
        return f"{line}\n{'':8}   -> {self.remedy}" if self.remedy else line


Check = Callable[[], Iterable[Finding]]


def findings_of(name: str, check: Check) -> Iterator[Finding]:
    """All findings of one check. A check that fails itself is a finding too, and does not prevent others."""
    try:
        yield from check()
    except Exception as error:  # whatever a broken machine may do to a check
        text = f"this check could not be finished: {type(error).__name__}: {error}"
        yield Finding(name, "problem", text, "if the other findings do not explain it, report it with this output")


def summary(findings: Iterable[Finding]) -> str:
    """How many findings there are of each kind, in words."""
    counts = Counter(finding.status for finding in findings)
    problems, notes = counts["problem"], counts["note"]
    return f"{problems} problem{'s' * (problems != 1)}, {notes} note{'s' * (notes != 1)}, {counts['ok']} ok"


def as_json(findings: Iterable[Finding]) -> str:
    """JSON for programs: a list of objects with the fields of `Finding`."""
    return json.dumps([asdict(finding) for finding in findings], indent=2)
