"""`remotecl keygen`: the secrets of a server, made in one go."""

from __future__ import annotations

import os
import secrets
from pathlib import Path

from .connection import server_name
from .errors import RemoteCLError


def default_directory() -> Path:
    """``~/.config/remotecl``, or where ``XDG_CONFIG_HOME`` puts it."""
    return Path(os.environ.get("XDG_CONFIG_HOME") or Path.home() / ".config") / "remotecl"


def write_token(file: Path) -> str:
    """Writes a new token of 256 random bits to a file that only its owner can read, and gives it.

    Raises:
        RemoteCLError: the file exists already, or cannot be written.
    """
    token = secrets.token_hex(32)
    try:
        with os.fdopen(os.open(file, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600), "w") as stream:
            stream.write(f"{token}\n")
    except FileExistsError:
        raise RemoteCLError(
            f"{file} is there already, and servers may use it: name another directory (remotecl keygen DIRECTORY), or "
            "remove the file first"
        ) from None
    except OSError as error:
        raise RemoteCLError(f"cannot write {file}: {error.strerror}") from error
    return token


def keygen(directory: Path) -> str:
    """Makes a token in a directory, and says how a server and its clients use it.

    Raises:
        RemoteCLError: there is one already, or it cannot be written.
    """
    try:
        directory.mkdir(mode=0o700, parents=True, exist_ok=True)
    except OSError as error:
        raise RemoteCLError(f"cannot make {directory}: {error.strerror}") from error
    file = directory.resolve() / "token"
    write_token(file)
    return f"""\
{file}  only you can read it; copy it to the server and to its clients, for example with scp -p
Server:  remotecl-server --listen 0.0.0.0 --token-file {file}
Client:  export REMOTECL_SERVERS='{server_name("HOST", file)}'
Python:  remotecl.connect("HOST", token_file="{file}")"""
