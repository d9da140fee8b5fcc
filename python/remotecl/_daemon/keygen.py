"""`remotecl keygen`: makes all secrets of a server."""

from __future__ import annotations

import os
import secrets
import subprocess
from contextlib import suppress
from pathlib import Path

from .._connect.connection import server_name
from .._loading import config
from .._loading.own_files import make_folders, open_own
from ..errors import RemoteCLError
from . import launcher

_NAMES = ("token", "certificate.pem", "key.pem")
_SERVE = """\
#!/bin/sh
cd "$(dirname "$0")" || exit 1
exec remotecl-server --listen "${LISTEN:-0.0.0.0}" --token-file token --tls certificate.pem key.pem "$@"
"""


def write_token(file: Path) -> str:
    """Writes a new token of 256 random bits to a file that only its owner can read, and returns it.

    Raises:
        RemoteCLError: the file exists already, or cannot be written.
    """
    token = secrets.token_hex(32)
    _write_private(file, f"{token}\n")
    return token


def write_certificate(certificate: Path, key: Path) -> str:
    """Writes a new key that only its owner can read, and a self-signed certificate for it.

    Returns:
        The pin for the server's name: ``sha256:`` and 64 hexadecimal digits.

    Raises:
        RemoteCLError: one of the files exists already, or cannot be written.
    """
    for file in (certificate, key):
        if file.exists():
            raise _is_there(file)
    # The daemon contains OpenSSL; Python's standard library cannot make certificates.
    command = [launcher.binary_path(), "--make-certificate", str(certificate), str(key)]
    made = subprocess.run(command, capture_output=True, text=True, errors="replace", check=False)
    if made.returncode != 0:
        raise RemoteCLError(made.stderr.strip().removeprefix("remotecl-server: "))
    return made.stdout.strip().removeprefix("pin=")


def keygen(directory: Path) -> str:
    """Makes a token and a certificate with its key in a directory, and prints how server and clients use them.

    The file ``pin`` next to them is for scripts.

    An existing token without a certificate next to it is kept.

    Raises:
        RemoteCLError: there is a certificate already, or a file cannot be written.
    """
    directory = _made(directory)
    token, certificate, key = (directory / name for name in _NAMES)
    pin = _write_keys(directory)
    return f"""\
{token}  only you can read it; copy it to the server and to its clients, for example with scp -p
{certificate}
{key}  only you can read it; copy both to the server and to nobody else
Server:  remotecl-server --listen 0.0.0.0 --token-file {token} --tls {certificate} {key}
Client:  export REMOTECL_SERVERS='{server_name("HOST", token, pin=pin)}'
Python:  remotecl.connect("HOST", token_file="{token}", pin="{pin}")"""


def keygen_for(name: str) -> str:
    """Makes what a server and its clients need, in a folder for each side, and a section for it in the configuration.

    Args:
        name: the server's short name, which is also its host's unless the configuration is changed later.

    Raises:
        RemoteCLError: there is such a section or folder already, the name is invalid, or a file cannot be written.
    """
    configuration = config.load()
    if name in configuration.servers:
        raise RemoteCLError(f"{configuration.file} has [servers.{name}] already; remove it first, or take another name")
    if not config.is_short_name(name):
        raise RemoteCLError(f"{name!r} is no short name of a server; write letters, digits, - and _, like gpu1")
    own = configuration.file.parent / name
    if own.exists():
        raise _is_there(own)
    server = _made(own / "server")
    pin = _write_keys(server)
    _write_private(own / "token", (server / "token").read_text())
    _write_new(server / "serve.sh", _SERVE)
    header = f'servers."{name}"' if "." in name else f"servers.{name}"
    section = f'[{header}]\ntoken-file = "{name}/token"\npin = "{pin}"\n'
    try:
        with open_own(configuration.file, os.O_APPEND, 0o644) as stream:
            stream.write(f"\n{section}" if os.fstat(stream.fileno()).st_size else section)
    except OSError as error:
        raise RemoteCLError(f"cannot write {configuration.file}: {error.strerror}") from error
    return f"""\
{configuration.file}  has a section [{header}] now; put address = "host:port" there if {name} is not its host's name
{own}/token  for clients; only you can read it
{server}  for the server: copy it there, and remove it here, as it has the server's key
Copy:    scp -pr {server} {name}:remotecl-server
Server:  sh remotecl-server/serve.sh     (on {name}; LISTEN=HOST:PORT in front, options of remotecl-server behind)
Client:  remotecl doctor --servers {name}
Python:  remotecl.connect("{name}")"""


def _made(directory: Path) -> Path:
    try:
        make_folders(directory)
    except OSError as error:
        raise RemoteCLError(f"cannot make {directory}: {error.strerror}") from error
    return directory.resolve()


def _write_keys(directory: Path) -> str:
    """Writes certificate, key and pin, and a token unless there is one; returns the pin."""
    token, certificate, key = (directory / name for name in _NAMES)
    pin = write_certificate(certificate, key)
    with suppress(OSError):  # others might have it open
        (directory / "pin").unlink()
    _write_new(directory / "pin", f"{pin}\n")
    if not token.exists():
        write_token(token)
    return pin


def _write_private(file: Path, text: str) -> None:
    _write_new(file, text, 0o600)


def _write_new(file: Path, text: str, mode: int = 0o644) -> None:
    try:
        with open_own(file, os.O_EXCL, mode) as stream:
            stream.write(text)
    except FileExistsError:
        raise _is_there(file) from None
    except OSError as error:
        raise RemoteCLError(f"cannot write {file}: {error.strerror}") from error


def _is_there(file: Path) -> RemoteCLError:
    return RemoteCLError(
        f"{file} is there already, and servers may use it: name another directory (remotecl keygen DIRECTORY), or "
        "remove the file first"
    )
