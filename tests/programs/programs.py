#!/usr/bin/env python3
"""Programs of others, natively and through remotecl as a user has it. `make programs` and README.md say more.

    programs.py --prepare DIR [NAME...]        makes or extends a folder that has the programs; needs the registries
    programs.py --from DIR --wheel FILE [NAME...]  runs them; needs no network. Both need root

Without names all programs, with --short a dozen. Standard library only.
"""

from __future__ import annotations

import argparse
import hashlib
import json
import os
import platform
import re
import shlex
import shutil
import subprocess
import sys
from datetime import datetime, timezone
from pathlib import Path
from typing import Any

from catalogue import PROGRAMS
from entry import Program

HERE = Path(__file__).resolve().parent
ROOTS = HERE.parents[1] / "scripts" / "roots.sh"
RATIOS = HERE / "ratios.json"
SUITE, PYTHON = "bookworm", "cp311"
PACKAGES = ["binutils", "clinfo", "g++", "ocl-icd-libopencl1", "ocl-icd-opencl-dev", "pocl-opencl-icd"]
PACKAGES += ["python3-dev", "python3-venv"]
# Which part of its recorded ratio a program may lose, and how much time at least, so that short ones do not fail by
# chance.
WORSE, WORSE_S = 1.5, 0.1


def shell(command: str, *, check: bool = True) -> subprocess.CompletedProcess[str]:
    """Runs a command with the functions of scripts/roots.sh."""
    script = f"set -euo pipefail; source {shlex.quote(str(ROOTS))}; {command}"
    return subprocess.run(["bash", "-c", script], check=check, text=True)


def in_root(root: Path, command: str, *, check: bool = True) -> subprocess.CompletedProcess[str]:
    """Runs a shell's command inside of a root."""
    return shell(shlex.join(["in_root", str(root), "bash", "-c", command]), check=check)


def recipe(program: Program) -> str:
    """What it is made of: a program for which that has changed is installed or built again."""
    sources = [(HERE / "sources" / name).read_text() for name in re.findall(r"\$SOURCES/(\S+)", program.build)]
    made_of = repr((program.debian, program.pypi, program.venv, program.build, sources))
    return f"{program.name} {hashlib.sha256(made_of.encode()).hexdigest()}"


def need_roots() -> None:
    """Ends this program with status 77 where a root of Debian's cannot be made or entered. Installs mmdebstrap."""
    mounts = "unshare --mount --propagation private --pid --fork mount -t tmpfs tmpfs /mnt"
    apt = "apt-get -qq update && apt-get -qq -o DPkg::Lock::Timeout=300 install -y --no-install-recommends mmdebstrap"
    if os.geteuid() != 0:
        lacks = "this needs root"
    elif shell(mounts, check=False).returncode != 0:
        lacks = "nothing can be mounted here"
    elif not shutil.which("mmdebstrap") and shell(f"{{ {apt}; }} >/dev/null", check=False).returncode != 0:
        lacks = "mmdebstrap cannot be installed"
    else:
        return
    print(f"programs: ******** SKIPPED: {lacks}; nothing was tested ********", file=sys.stderr)
    sys.exit(77)


class Folder:
    """A folder with a root of Debian, in which programs are installed, and what is known of them."""

    def __init__(self, path: Path) -> None:
        self.root = path / "root"
        self._record = path / "prepared.json"
        # The reason why it cannot be had, by what it is made of; empty if it can.
        self._prepared: dict[str, str] = json.loads(self._record.read_text()) if self._record.exists() else {}

    def prepare(self, programs: list[Program]) -> None:
        """Installs what is missing."""
        if not self.root.exists():
            print(f"a root of Debian {SUITE} in {self.root}", flush=True)
            shell(f"base_root {SUITE} {shlex.quote(str(self.root))}.new")
            Path(f"{self.root}.new").rename(self.root)
            (self.root / "etc/dpkg/dpkg.cfg.d/fast").write_text("force-unsafe-io\n")
        missing = [program for program in programs if not program.missing and self._prepared.get(recipe(program)) != ""]
        if not missing:
            return
        in_root(self.root, "apt-get update -qq")
        self._install(sorted({*PACKAGES, *(name for program in missing for name in program.debian)}))
        self._copy_sources()
        for program in missing:
            self._prepared[recipe(program)] = self._prepare_one(program)
            self._record.write_text(json.dumps(self._prepared, indent=1))

    def _install(self, packages: list[str]) -> None:
        install = "DEBIAN_FRONTEND=noninteractive apt-get install -y -qq --no-install-recommends"
        in_root(self.root, f"{install} {shlex.join(packages)} >/dev/null")

    def _copy_sources(self) -> None:
        shutil.copytree(HERE, self.root / "programs", dirs_exist_ok=True)

    def _prepare_one(self, program: Program) -> str:
        print(f"installing {program.name}", flush=True)
        steps = []
        if program.pypi:
            venv = f"/opt/programs/{program.venv}"
            steps.append(f"test -e {venv} || python3 -m venv {venv}")
            steps.append(f"{venv}/bin/pip install -q --disable-pip-version-check {shlex.join(program.pypi)}")
        if program.build:
            steps.append("mkdir -p /opt/programs/built")
            steps.append(f"export SOURCES=/programs/sources BUILT=/opt/programs/built; {program.build}")
        done = in_root(self.root, " && ".join(steps), check=False) if steps else None
        return "" if done is None or done.returncode == 0 else "cannot be installed or built"

    def run(self, programs: list[Program], wheel: Path, rounds: int) -> list[dict[str, Any]]:
        """What came of programs."""
        absent = {program.name: self._prepared.get(recipe(program), "was not prepared") for program in programs}
        runnable = [program.name for program in programs if program.missing or not absent[program.name]]
        self._copy_sources()
        self._bring_drivers()
        shutil.copy(wheel, self.root / "programs")
        venv = "test -e /opt/remotecl || python3 -m venv /opt/remotecl; /opt/remotecl/bin/pip install -q --no-index"
        in_root(self.root, f"{venv} --no-deps --force-reinstall --disable-pip-version-check /programs/{wheel.name}")
        result = self.root / "programs" / "result.json"
        result.unlink(missing_ok=True)
        measure = ["/opt/remotecl/bin/python", "/programs/measure.py", "/programs/result.json", str(rounds), *runnable]
        in_root(self.root, f"PYTHONDONTWRITEBYTECODE=1 {shlex.join(measure)}")
        results = json.loads(result.read_text()) if result.exists() else []
        for program in programs:
            if not program.missing and absent[program.name]:
                words = {"status": "missing", "reason": absent[program.name]}
                results.append({"name": program.name, "does": program.does, **words})
        return results

    def _bring_drivers(self) -> None:
        """Where the machine has GPUs of NVIDIA's, these are the devices, and their drivers come into the root."""
        if not Path("/dev/nvidiactl").exists():
            return
        folder = self.root / "opt" / "drivers"
        folder.mkdir(parents=True, exist_ok=True)
        listed = subprocess.run(["ldconfig", "-p"], capture_output=True, text=True, check=True).stdout
        for name, path in re.findall(r"^\s*(lib(?:nvidia|cuda)\S*) .*x86-64.* => (\S+)$", listed, re.MULTILINE):
            shutil.copy(path, folder / name)
        (self.root / "etc/ld.so.conf.d/drivers.conf").write_text("/opt/drivers\n")
        vendors = self.root / "etc/OpenCL/vendors"
        shutil.rmtree(vendors, ignore_errors=True)
        vendors.mkdir(parents=True)
        (vendors / "nvidia.icd").write_text("libnvidia-opencl.so.1\n")
        in_root(self.root, "ldconfig")

    def device(self) -> dict[str, str]:
        """The device, as clinfo names it."""
        properties = {"device": "CL_DEVICE_NAME", "platform": "CL_PLATFORM_NAME", "driver": "CL_DRIVER_VERSION"}
        script = f"source {shlex.quote(str(ROOTS))}; in_root {shlex.quote(str(self.root))} clinfo --raw"
        words = subprocess.run(["bash", "-c", script], capture_output=True, text=True, check=True).stdout
        return {
            name: (re.search(rf"\b{of}\s+(.+)$", words, re.MULTILINE) or ["", "?"])[1].strip()
            for name, of in properties.items()
        }


def report_of(folder: Folder, results: list[dict[str, Any]], load: float) -> dict[str, Any]:
    """What scripts/performance_tables.py takes."""
    cpu = re.search(r"^model name\s*: (.+)$", Path("/proc/cpuinfo").read_text(), re.MULTILINE)
    return {
        "native_device": folder.device(),
        "cpu": cpu[1] if cpu else platform.processor(),
        "cores": os.cpu_count(),
        "load": load,
        "date": datetime.now(timezone.utc).isoformat(),
        "quick": False,
        "programs": results,
        "failures": [],
    }


def kind_of(report: dict[str, Any]) -> str:
    """Under which name ratios are recorded."""
    return "nvidia" if "nvidia" in report["native_device"]["platform"].lower() else "pocl"


def too_slow(result: dict[str, Any], recorded: dict[str, float]) -> list[str]:
    """Where a program has fallen behind what it once was."""
    found = []
    for place, ratio in result.get("ratios", {}).items():
        native, now = result["then_s"]["native"], result["then_s"][place]
        before = recorded.get(place)
        if before and ratio > WORSE * before and now - before * native > WORSE_S:
            found.append(f"{place} takes {ratio:.2f} times the native time; {before:.2f} is recorded")
    return found


def check(folder: Folder, report: dict[str, Any], options: argparse.Namespace) -> int:
    """Says what does not work or has become slow; those that seem slow are measured once more."""
    recorded: dict[str, Any] = json.loads(RATIOS.read_text()) if RATIOS.exists() else {}
    mine = recorded.setdefault(kind_of(report), {})
    if options.record:
        for result in report["programs"]:
            if result["status"] == "works":
                # What was faster than natively may be so by chance.
                mine[result["name"]] = {
                    name: round(max(ratio, 1.0), 2) for name, ratio in sorted(result["ratios"].items())
                }
        recorded[kind_of(report)] = dict(sorted(mine.items()))
        RATIOS.write_text(json.dumps(recorded, indent=1) + "\n")
        return 0
    results = {result["name"]: result for result in report["programs"]}
    slow = [name for name, result in results.items() if too_slow(result, mine.get(name, {}))]
    if slow:
        print(f"once more, as they seem slow: {' '.join(slow)}", flush=True)
        again = [program for program in PROGRAMS if program.name in slow]
        results |= {result["name"]: result for result in folder.run(again, options.wheel, 2 * options.rounds)}
    problems = {name: problem_of_result(result, mine.get(name)) for name, result in results.items()}
    failed = [f"{name}: {problem}" for name, problem in problems.items() if problem]
    passed = sum(result["status"] == "works" and not problems[name] for name, result in results.items())
    print("\n".join(failed))
    print(f"programs: {passed} passed, {len(failed)} failed, {len(results) - passed - len(failed)} skipped")
    return 1 if failed or not passed else 0


def problem_of_result(result: dict[str, Any], recorded: dict[str, float] | None) -> str:
    """Why a run must not pass; empty if it may. What did not work when ratios were recorded may be missing."""
    if result["status"] in ("fails", "differs") or (result["status"] != "works" and recorded is not None):
        return f"{result['status']}: {result['reason']}"
    return "; ".join(too_slow(result, recorded or {}))


def main() -> int:
    """The command line above."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    which = parser.add_mutually_exclusive_group(required=True)
    which.add_argument("--prepare", type=Path, metavar="DIR")
    which.add_argument("--from", dest="source", type=Path, metavar="DIR")
    parser.add_argument("--short", action="store_true", help="only a dozen of them")
    parser.add_argument("--wheel", type=Path, metavar="FILE", help="remotecl's wheel")
    parser.add_argument("--rounds", type=int, default=3, help="later runs at each place; the best one counts")
    parser.add_argument("--json", type=Path, metavar="FILE", help="write the results there")
    parser.add_argument("--record", action="store_true", help="keep the ratios in ratios.json")
    parser.add_argument("names", nargs="*", metavar="NAME")
    options = parser.parse_args()
    unknown = set(options.names) - {program.name for program in PROGRAMS}
    if unknown:
        parser.error(f"the catalogue has no {', '.join(sorted(unknown))}")
    if options.source and not options.wheel:
        parser.error("--from needs --wheel FILE; `make wheel` builds it")
    if options.wheel and PYTHON not in options.wheel.name:
        parser.error(f"Debian {SUITE} needs a wheel for {PYTHON}: make wheel PYTHON=python3.11")
    programs = [
        program
        for program in PROGRAMS
        if (not options.names or program.name in options.names) and (program.short or not options.short)
    ]
    folder = Folder((options.prepare or options.source).resolve())
    if options.prepare:
        need_roots()
        folder.prepare(programs)
        return 0
    load = os.getloadavg()[0]
    report = report_of(folder, folder.run(programs, options.wheel.resolve(), options.rounds), load)
    if options.json:
        options.json.write_text(json.dumps(report, indent=1) + "\n")
    return check(folder, report, options)


if __name__ == "__main__":
    sys.exit(main())
