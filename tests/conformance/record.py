#!/usr/bin/env python3
"""Puts verdicts of Khronos' OpenCL-CTS side by side, and prints the page that explains them.

    record.py --driver pocl-3.1 --suite COMMIT --run native=A.json --run remotecl=B.json --run "two servers=C.json"
    record.py --page > docs/conformance.md

A run's file has the form {"groups": {GROUP: {"tests": {SUB_TEST: {"verdict": "pass" | "fail" | "skip" | "crash" |
"timeout"}}}}}, however it was made; several files for one run are joined, later ones first. The result is
<driver>.json beside this script: for each group the sub-tests that the native driver does not skip (or that another run
does not skip), with one verdict for each run. "notes" in that file, written by hand, explains what differs; it is kept.
"""

import argparse
import json
import re
from collections import Counter
from pathlib import Path

HERE = Path(__file__).parent
HEADER = """# Conformance

Khronos' OpenCL-CTS, sub-test by sub-test: natively, and through remotecl on the same machine with the same driver. The
verdicts are data in `tests/conformance/`; this page is made from them (`tests/conformance/record.py --page`).
"""


def load(path: str) -> dict[str, dict[str, str]]:
    groups = json.loads(Path(path).read_text())["groups"]
    return {
        group: {name: test["verdict"] for name, test in content["tests"].items()} for group, content in groups.items()
    }


def one_line_for_each_list(text: str) -> str:
    return re.sub(
        r"\[\n[^][{}]*\]", lambda found: " ".join(found[0].split()).replace("[ ", "[").replace(" ]", "]"), text
    )


def record(driver: str, suite: str, runs: list[tuple[str, str]]) -> None:
    target = HERE / f"{driver}.json"
    notes = json.loads(target.read_text()).get("notes", {}) if target.exists() else {}
    names = list(dict.fromkeys(name for name, _ in runs))
    verdicts: dict[str, dict[str, dict[str, str]]] = {}
    for name, path in runs:
        for group, tests in load(path).items():
            for test, verdict in tests.items():
                if verdict != "norun":
                    verdicts.setdefault(group, {}).setdefault(test, {})[name] = verdict
    groups = {}
    for group, tests in verdicts.items():
        rows = {test: [row.get(name, "-") for name in names] for test, row in tests.items()}
        groups[group] = {test: row for test, row in sorted(rows.items()) if set(row) - {"skip", "-"}}
    result = {
        "driver": driver,
        "suite": suite,
        "runs": names,
        "notes": notes,
        "groups": {group: rows for group, rows in groups.items() if rows},
    }
    target.write_text(one_line_for_each_list(json.dumps(result, indent=1)) + "\n")


def page() -> str:
    parts = [HEADER]
    for path in sorted(HERE.glob("*.json")):
        data = json.loads(path.read_text())
        runs = data["runs"]
        parts.append(f"\n## {data['driver']}\n\nOpenCL-CTS at `{data['suite']}`; sub-tests that pass:\n")
        parts.append(f"| group | {' | '.join(runs)} |\n|---|{'---|' * len(runs)}")
        differing = []
        for group, rows in data["groups"].items():
            passed = [Counter(row[i] for row in rows.values()) for i in range(len(runs))]
            counts = [str(count["pass"]) if set(count) - {"-"} else "not run" for count in passed]
            parts.append(f"| {group} | {' | '.join(counts)} |")
            for test, row in rows.items():
                if any(verdict not in (row[0], "-") for verdict in row[1:]):
                    note = data["notes"].get(f"{group}/{test}") or data["notes"].get(group, "")
                    differing.append(f"| {group} | {test} | {' | '.join(row)} | {note} |")
        parts.append(f"\nWhere they differ ({len(differing)}):\n")
        if differing:
            parts.append(f"| group | sub-test | {' | '.join(runs)} | why |\n|---|---|{'---|' * (len(runs) + 1)}")
            parts.extend(differing)
    return "\n".join(parts) + "\n"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--driver")
    parser.add_argument("--suite", help="commit of the suite")
    parser.add_argument("--run", action="append", default=[], metavar="NAME=FILE")
    parser.add_argument("--page", action="store_true")
    options = parser.parse_args()
    if options.page:
        print(page(), end="")
        return
    if not options.driver or not options.suite or not options.run:
        parser.error("--driver, --suite and --run are needed, or --page")
    record(options.driver, options.suite, [tuple(run.split("=", 1)) for run in options.run])


if __name__ == "__main__":
    main()
