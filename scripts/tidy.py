#!/usr/bin/env python3
"""Checks all C++ of the product with clang-tidy (.clang-tidy), and which locks are held (runtime/base/mutex.h).

Each room is checked as one file (REMOTECL_GROUP), so that its headers are read once. A room that was clean is checked
again when it has changed, or a file of ours that it includes, or how it is checked.

Usage: scripts/tidy.py [ROOM...], a room being the CMake target or a part of its name.
"""

import concurrent.futures
import hashlib
import json
import os
import re
import shlex
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
BUILD = ROOT / "build-lint"
CLEAN = BUILD / "clean"  # the digests of what was clean, in one file for each room
INCLUDE = re.compile(r'^\s*#\s*include "([^"]+)"', re.MULTILINE)
OPTIONS = ["CMAKE_CXX_COMPILER=clang++", *(f"REMOTECL_{x}" for x in ("GROUP=1000", "WERROR=1", "TESTS=0", "BENCH=0"))]


@dataclass
class Room:
    """One file that includes the sources of a room."""

    file: Path
    command: list[str]

    def files(self) -> set[Path]:
        """The file, and all of ours that it includes."""
        folders = [Path(word[2:]) for word in self.command if word.startswith("-I")]
        found, left = {self.file}, [self.file]
        while left:
            file = left.pop()
            for name in INCLUDE.findall(file.read_text()):
                ours = [path for path in (folder / name for folder in (file.parent, *folders)) if path.exists()][:1]
                left += [path for path in ours if path not in found]
                found.update(ours)
        return found

    def digest(self, version: str) -> str:
        """Of everything that the result depends on, besides the headers of libraries."""
        digest = hashlib.sha256(repr((version, self.command)).encode())
        for path in (ROOT / ".clang-tidy", *sorted(self.files())):
            digest.update(repr((str(path), path.read_bytes())).encode())
        return digest.hexdigest()


def configure() -> list[Room]:
    """The rooms, with their precompiled headers made."""
    options = [f"-D{option}" for option in OPTIONS]
    subprocess.run(["cmake", "-G", "Ninja", "-S", ROOT, "-B", BUILD, *options], check=True, stdout=subprocess.DEVNULL)
    targets = subprocess.run(["ninja", "-C", BUILD, "-t", "targets", "all"], check=True, capture_output=True, text=True)
    headers = re.findall(r"^(\S*cmake_pch\.hxx\.\w+): ", targets.stdout, re.MULTILINE)
    subprocess.run(["ninja", "-C", BUILD, "--quiet", *headers], check=True)
    entries = json.loads((BUILD / "compile_commands.json").read_text())
    rooms = [Room(Path(entry["file"]), shlex.split(entry["command"])) for entry in entries]
    return [room for room in rooms if room.file.parent == BUILD / "united"]


def check(room: Room, version: str) -> str:
    """What clang-tidy has to say; empty when the room is clean."""
    clean, digest = CLEAN / room.file.stem, room.digest(version)
    if clean.exists() and clean.read_text() == digest:
        return ""
    command = ["clang-tidy", "--quiet", "-p", BUILD, room.file]
    run = subprocess.run(command, check=False, capture_output=True, text=True, errors="replace")
    if run.returncode != 0:
        return run.stdout + run.stderr
    clean.write_text(digest)
    return ""


def main() -> int:
    """Checks the rooms that were asked for, the largest first."""
    wanted = sys.argv[1:]
    rooms = [room for room in configure() if not wanted or any(name in room.file.stem for name in wanted)]
    rooms.sort(key=lambda room: sum(path.stat().st_size for path in room.files()), reverse=True)
    CLEAN.mkdir(exist_ok=True)
    version = subprocess.run(["clang-tidy", "--version"], check=True, capture_output=True, text=True).stdout
    with concurrent.futures.ThreadPoolExecutor(os.cpu_count()) as pool:
        findings = [text for text in pool.map(lambda room: check(room, version), rooms) if text]
    for text in findings:
        sys.stderr.write(text)
    print(f"{len(rooms)} rooms checked by clang-tidy, {len(findings)} with findings")
    return 1 if findings or not rooms else 0


if __name__ == "__main__":
    sys.exit(main())
