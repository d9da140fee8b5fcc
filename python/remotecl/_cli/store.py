"""``remotecl store``: what the servers of this machine keep of built programs and of uploads."""

from __future__ import annotations

import contextlib
import os
import re
import time
from pathlib import Path

from ..errors import RemoteCLError

# As the daemon names its entries; cpp/runtime/store has more.
ENTRY = re.compile(r"(u?)([0-9a-f]{16})-[0-9a-f]{64}")
UNFINISHED = re.compile(r"\.new-[0-9]+-[0-9]+")
KINDS = {"": "builds", "u": "uploads"}


def default_folder() -> Path:
    """Where a daemon of this user has its store unless it is told otherwise."""
    cache = Path(os.environ.get("XDG_CACHE_HOME", ""))
    return (cache if cache.is_absolute() else Path.home() / ".cache") / "remotecl" / "store"


def show(folder: Path) -> str:
    """One line for each owner and kind, and one for all.

    Raises:
        RemoteCLError: the folder cannot be read.
    """
    owners: dict[tuple[str, str], list[os.stat_result]] = {}
    for entry in _entries(folder):
        if named := ENTRY.fullmatch(entry.name):
            with contextlib.suppress(FileNotFoundError):  # a daemon has removed it
                owners.setdefault((KINDS[named[1]], named[2]), []).append(entry.stat(follow_symlinks=False))
    lines = [f"{owner}  {kind:7}  {_line(files)}" for (kind, owner), files in sorted(owners.items())]
    everything = [file for files in owners.values() for file in files]
    return "\n".join([*lines, f"{folder}: {_line(everything)}"])


def clear(folder: Path, kind: str | None = None) -> str:
    """Removes all entries, or those of a kind, and nothing else.

    A daemon that runs goes on, and keeps what it has in memory.

    Raises:
        RemoteCLError: the folder or an entry in it cannot be changed.
    """
    removed = 0
    for entry in _entries(folder):
        named = ENTRY.fullmatch(entry.name)
        is_wanted = named is not None and kind in (None, KINDS[named[1]])
        if not is_wanted and not (kind is None and UNFINISHED.fullmatch(entry.name)):
            continue
        try:
            Path(entry.path).unlink()
        except FileNotFoundError:
            continue
        except OSError as error:
            raise RemoteCLError(f"cannot remove {entry.path}: {error.strerror}") from error
        removed += 1
    return f"{folder}: removed {removed} {'entry' if removed == 1 else 'entries'}"


def _entries(folder: Path) -> list[os.DirEntry[str]]:
    try:
        with os.scandir(folder) as entries:
            return list(entries)
    except FileNotFoundError:
        return []
    except OSError as error:
        raise RemoteCLError(f"cannot read the store {folder}: {error.strerror}") from error


def _line(files: list[os.stat_result]) -> str:
    count = f"{len(files)} {'entry' if len(files) == 1 else 'entries'}"
    if not files:
        return count
    used = time.strftime("%Y-%m-%d %H:%M", time.localtime(max(max(file.st_mtime, file.st_atime) for file in files)))
    return f"{count}, {sum(file.st_size for file in files) / 2**20:.1f} MiB, last used {used}"
