"""A token for the daemons that one cluster starts."""

from __future__ import annotations

import tempfile
from pathlib import Path

from .keygen import write_token


class FreshToken:
    """A new token, and a file with it for this process's connections, which is removed with this object."""

    def __init__(self) -> None:
        self._directory = tempfile.TemporaryDirectory(prefix="remotecl-")
        self.file = Path(self._directory.name) / "token"
        self.text = write_token(self.file)
