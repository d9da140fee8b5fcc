#!/usr/bin/env python3
"""Prints the rooms of cpp/ and python/remotecl in layers, lowest first, and checks what includes or imports what.

In C++ the rooms and what they use are read from the `remotecl_room(...)` lines of the CMakeLists.txt files. Fails when
rooms use each other in a circle, when a file includes a header of a room that its own does not use, when a room uses
another one without including any of its headers, when the core uses an extra, and when a source is in no room's list.

In Python a room is a module or a package in remotecl, and PYTHON_LAYERS has them all. Fails when a module imports one
of a room that is not below its own, also where only types need it, when modules import each other in a circle, and when
a room is in no layer.
"""

import ast
import graphlib
import re
import sys
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
CPP = ROOT / "cpp"
PYTHON = ROOT / "python/remotecl"
INCLUDE = re.compile(r'^#include "([^"]+)"', re.MULTILINE)
MAIN = {"extras.cpp", "main.cpp"}  # of a program, which are no part of their room's library
EXTRAS = "extras/"  # rooms that the core does not know, except those who put a program together
COMPOSITION_ROOTS = {"icd/api_network.cpp", "icd/extras.cpp", "server/daemon/extras.cpp", "server/daemon/main.cpp"}
KEYWORDS = {"SOURCES", "USES", "LIBRARIES", "PRIVATE_LIBRARIES"}
# Each room imports those of lower layers only.
PYTHON_LAYERS = (
    ("_stoppable", "_version", "errors"),
    ("_display", "_loading"),
    ("_connect",),
    ("_daemon", "_memory", "_observe", "_schedule", "_tracing"),
    ("_clusters",),
    ("types",),
    ("__init__", "bench"),
    ("demo", "doctor"),
    ("_cli",),
    ("__main__",),
)


@dataclass
class Room:
    """One folder below cpp/ (with its subfolders that are no rooms), and one CMake target."""

    folder: str
    sources: set[str]
    uses: set[str]
    files: list[Path] = field(default_factory=list)

    @property
    def lines(self) -> int:
        """Of all its files."""
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
    # A shared library, and no room's way to others; extras add their parts of the C interface to it.
    client = {folder for folder in rooms if folder.startswith("runtime/client/")} - {"runtime/client/upload"}
    listed = (CPP / "icd/CMakeLists.txt").read_text()
    sources = set(re.findall(r"(?<!/)\b\w+\.cpp", listed))
    rooms["icd"] = Room("icd", sources, client | {"runtime/base", "runtime/memory", "runtime/protocol"})
    for folder in set(re.findall(r"cpp/(extras/\w+/api)/", listed)):
        parts = set(re.findall(rf"cpp/{folder}/(\w+\.cpp)", listed))
        own = {room for room in rooms if room.startswith(folder.removesuffix("api"))}
        rooms[folder] = Room(folder, parts, {"icd"} | own)
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
            if other.folder.startswith(EXTRAS) and str(path.relative_to(CPP)) in COMPOSITION_ROOTS:
                continue
            used.add(other.folder)
            if other.folder not in below:
                problems.append(f"{path.relative_to(CPP)} includes {name}: {room.folder} does not use {other.folder}")
    problems += [f"{room.folder} uses {folder} and includes nothing of it" for folder in sorted(room.uses - used)]
    if not room.folder.startswith(EXTRAS):
        problems += [f"{room.folder} is core and uses {u}" for u in sorted(room.uses) if u.startswith(EXTRAS)]
    present = {str(path.relative_to(CPP / room.folder)) for path in room.files if path.suffix == ".cpp"}
    problems += [f"{room.folder}/{name} is in no list of sources" for name in sorted(present - room.sources - MAIN)]
    return problems


def check_cpp() -> list[str]:
    """Prints the rooms of cpp/; what is wrong with them, in lines for people."""
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
            print_layers(layers(rooms))
            for room in rooms.values():
                problems += check_room(room, rooms)
    except ValueError as circle:
        problems.append(str(circle))
    return problems


def module_at(path: list[str], modules: dict[str, ast.Module]) -> str:
    """The module there, the package, or the one of them that defines what has this name."""
    places = (path, [*path, "__init__"], path[:-1], [*path[:-1], "__init__"])
    return next((name for name in map(".".join, places) if name in modules), ".".join(path))


def imports_of(name: str, modules: dict[str, ast.Module]) -> Iterator[str]:
    """The modules of remotecl that a module imports, wherever in it. Names are as in "doctor.finding"."""
    package = name.split(".")[:-1]
    for node in ast.walk(modules[name]):
        found: list[list[str]] = []
        if isinstance(node, ast.Import):
            found = [alias.name.split(".") for alias in node.names]
        elif isinstance(node, ast.ImportFrom):
            base = ["remotecl", *package[: len(package) - node.level + 1]] if node.level else []
            base += node.module.split(".") if node.module else []
            found = [[*base, alias.name] for alias in node.names]
        yield from (module_at(path, modules) for root, *path in found if root == "remotecl")


def check_python() -> list[str]:
    """Prints the rooms of python/remotecl; what is wrong with them, in lines for people."""
    paths = {".".join(path.relative_to(PYTHON).with_suffix("").parts): path for path in sorted(PYTHON.rglob("*.py"))}
    modules = {name: ast.parse(path.read_text()) for name, path in paths.items()}
    heights = {room: height for height, layer in enumerate(PYTHON_LAYERS) for room in layer}
    rooms = {room: Room(room, set(), set()) for room in heights}
    problems = []
    uses = {name: set(imports_of(name, modules)) for name in modules}
    for name, used in uses.items():
        room = name.split(".")[0]
        if room not in rooms:
            problems.append(f"remotecl.{name} is in no layer")
            continue
        rooms[room].files.append(paths[name])
        for other in sorted({each.split(".")[0] for each in used} - {room}):
            if heights.get(other, len(heights)) >= heights[room]:
                problems.append(f"remotecl.{name} imports {other}, which is not below {room}")
    try:
        graphlib.TopologicalSorter(uses).prepare()
    except graphlib.CycleError as circle:
        problems.append("modules that import each other in a circle: " + ", ".join(circle.args[1]))
    print_layers([[rooms[room] for room in layer] for layer in PYTHON_LAYERS])
    return problems


def print_layers(rooms: list[list[Room]]) -> None:
    """One line for each room."""
    for height, layer in enumerate(rooms):
        for room in layer:
            print(f"{height:2}  {room.folder:26} {len(room.files):3} files {room.lines:5} lines")


def main() -> int:
    """The exit code: 1 when something is wrong."""
    problems = check_cpp()
    print()
    problems += check_python()
    for problem in problems:
        print(problem, file=sys.stderr)
    return 1 if problems else 0


if __name__ == "__main__":
    sys.exit(main())
