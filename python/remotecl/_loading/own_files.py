"""Folders and files that only this user may change, whatever the umask is."""

from __future__ import annotations

import os
from pathlib import Path
from typing import IO


def make_folders(folder: Path) -> None:
    """Makes a folder and its missing parents for this user alone."""
    for missing in reversed([path for path in folder.parents if not path.exists()]):
        missing.mkdir(mode=0o700, exist_ok=True)
    folder.mkdir(mode=0o700, exist_ok=True)  # fails if it is a file


def open_own(file: Path, flags: int, mode: int) -> IO[str]:
    """A text file to write. A new one gets the mode, or less where the umask says so."""
    return os.fdopen(
        os.open(file, os.O_WRONLY | os.O_CREAT | flags, mode), "w", encoding="utf-8", errors="surrogateescape"
    )
