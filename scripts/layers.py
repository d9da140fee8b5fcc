#!/usr/bin/env python3
"""Prints the rooms of cpp/ in layers, lowest first, and checks the #include lines against them.

The rooms and what they use are read from the `remotecl_room(...)` lines of the CMakeLists.txt files. Fails when rooms
use each other in a circle, when a file includes a header of a room that its own does not use, when a room uses another
one without including any of its headers, and when a source is in no room's list.
"""

import re
import sys
from dataclasses import dataclass, field
from pathlib import Path

CPP = Path(__file__).resolve().parent.parent / "cpp"
INCLUDE = re.compile(r'^#include "([^"]+)"', re.MULTILINE)
MAIN = {"main.cpp"}  # of a program, which is no part of its room's library
KEYWORDS = {"SOURCES", "USES", "LIBRARIES", "PRIVATE_LIBRARIES"}


@dataclass
class Room:
    """One folder below cpp/ (with its subfolders that are no rooms), and one CMake target."""

    folder: str
    sources: set[str]
    uses: set[str]
    files: list[Path] = field(default_factory=list)

    @property
    def lines(self) -> int:
        return sum(path.read_text().count("\n") for path in self.files)


def read_rooms() -> dict[str, Room]:
    """All rooms by folder, as the CMake files declare them."""
    rooms = {}
    for path in CPP.rglob("CMakeLists.txt"):
        for body in re.findall(r"remotecl_room\(([^)]*)\)", path.read_text()):
            lists: dict[str, list[str]] = {keyword: [] for keyword in KEYWORDS}
            folder, *words = body.split()
            keyword = ""
            for word in words:
                if word in KEYWORDS:
                    keyword = word
                else:
                    lists[keyword].append(word)
            rooms[folder] = Room(folder, set(lists["SOURCES"]), set(lists["USES"]))
    # A shared library, and no room's way to others.
    client = {folder for folder in rooms if folder.startswith("runtime/client/")}
    sources = re.findall(r"\w+\.cpp", (CPP / "icd/CMakeLists.txt").read_text())
    rooms["icd"] = Room("icd", set(sources), client | {"runtime/base", "runtime/memory", "runtime/protocol"})
    return rooms


def room_of(name: str, rooms: dict[str, Room]) -> Room | None:
    """The room of a file, whose name is relative to cpp/: its folder's, or the nearest one's above."""
    return next((rooms[str(folder)] for folder in Path(name).parents if str(folder) in rooms), None)


def layers(rooms: dict[str, Room]) -> list[list[Room]]:
    """Rooms by height: each uses only those before. Raises ValueError that names the rooms of a circle."""
    left, result = dict(rooms), []
    while left:
        layer = [room for room in left.values() if not room.uses & left.keys()]
        if not layer:
            raise ValueError("rooms that use each other in a circle, or rooms above them: " + ", ".join(sorted(left)))
        result.append(sorted(layer, key=lambda room: room.folder))
        for room in layer:
            del left[room.folder]
    return result


def all_below(room: Room, rooms: dict[str, Room]) -> set[str]:
    """What a room uses, directly or through others."""
    found: set[str] = set()
    ahead = list(room.uses)
    while ahead:
        folder = ahead.pop()
        if folder not in found:
            found.add(folder)
            ahead.extend(rooms[folder].uses)
    return found


def check_room(room: Room, rooms: dict[str, Room]) -> list[str]:
    """What is wrong with one room, in lines for people."""
    below = all_below(room, rooms)
    problems, used = [], set()
    for path in room.files:
        for name in INCLUDE.findall(path.read_text()):
            other = room_of(name, rooms)
            if other is None or other is room:
                continue
            used.add(other.folder)
            if other.folder not in below:
                problems.append(f"{path.relative_to(CPP)} includes {name}: {room.folder} does not use {other.folder}")
    problems += [f"{room.folder} uses {folder} and includes nothing of it" for folder in sorted(room.uses - used)]
    present = {str(path.relative_to(CPP / room.folder)) for path in room.files if path.suffix == ".cpp"}
    problems += [f"{room.folder}/{name} is in no list of sources" for name in sorted(present - room.sources - MAIN)]
    return problems


def main() -> int:
    rooms = read_rooms()
    unknown = [f"{room.folder} uses {u}, which is no room" for room in rooms.values() for u in room.uses - rooms.keys()]
    problems = sorted(unknown)
    for path in sorted(CPP.rglob("*")):
        if path.suffix in {".h", ".cpp", ".def"}:
            room = room_of(str(path.relative_to(CPP)), rooms)
            if room is None:
                problems.append(f"{path.relative_to(CPP)} is in no room")
            else:
                room.files.append(path)
    try:
        if not unknown:
            for height, layer in enumerate(layers(rooms)):
                for room in layer:
                    print(f"{height:2}  {room.folder:26} {len(room.files):3} files {room.lines:5} lines")
            for room in rooms.values():
                problems += check_room(room, rooms)
    except ValueError as circle:
        problems.append(str(circle))
    for problem in problems:
        print(problem, file=sys.stderr)
    return 1 if problems else 0


if __name__ == "__main__":
    sys.exit(main())
