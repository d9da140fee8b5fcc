"""`remotecl keygen`: the secrets of a server, made in one go."""

from __future__ import annotations

import os
import secrets
import subprocess
from pathlib import Path

from . import _daemon
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
        raise _is_there(file) from None
    except OSError as error:
        raise RemoteCLError(f"cannot write {file}: {error.strerror}") from error
    return token


def write_certificate(certificate: Path, key: Path) -> str:
    """Writes a new key that only its owner can read, and a certificate for it that it has signed itself.

    Returns:
        What is put behind a server's name for it: ``sha256:`` and 64 hexadecimal digits.

    Raises:
        RemoteCLError: one of the files exists already, or cannot be written.
    """
    for file in (certificate, key):
        if file.exists():
            raise _is_there(file)
    # The daemon has OpenSSL in it; Python's standard library cannot make certificates.
    command = [_daemon.binary_path(), "--make-certificate", str(certificate), str(key)]
    made = subprocess.run(command, capture_output=True, text=True, errors="replace", check=False)
    if made.returncode != 0:
        raise RemoteCLError(made.stderr.strip().removeprefix("remotecl-server: "))
    return made.stdout.strip().removeprefix("pin=")


def keygen(directory: Path) -> str:
    """Makes a token and a certificate with its key in a directory, and says how a server and its clients use them.

    A token that is there already, without a certificate beside it, is kept.

    Raises:
        RemoteCLError: there is a certificate already, or something cannot be written.
    """
    try:
        directory.mkdir(mode=0o700, parents=True, exist_ok=True)
    except OSError as error:
        raise RemoteCLError(f"cannot make {directory}: {error.strerror}") from error
    directory = directory.resolve()
    token, certificate, key = (directory / name for name in ("token", "certificate.pem", "key.pem"))
    pin = write_certificate(certificate, key)
    if not token.exists():
        write_token(token)
    return f"""\
{token}  only you can read it; copy it to the server and to its clients, for example with scp -p
{certificate}
{key}  only you can read it; copy both to the server and to nobody else
Server:  remotecl-server --listen 0.0.0.0 --token-file {token} --tls {certificate} {key}
Client:  export REMOTECL_SERVERS='{server_name("HOST", token, pin=pin)}'
Python:  remotecl.connect("HOST", token_file="{token}", pin="{pin}")"""


def _is_there(file: Path) -> RemoteCLError:
    return RemoteCLError(
        f"{file} is there already, and servers may use it: name another directory (remotecl keygen DIRECTORY), or "
        "remove the file first"
    )
