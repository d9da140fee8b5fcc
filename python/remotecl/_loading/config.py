"""The configuration file: short names of servers, with everything needed to use them, and groups of servers."""

from __future__ import annotations

import importlib
import os
import re
import ssl
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any
from urllib.parse import quote

from ..errors import RemoteCLError

# The keys of the file, and the options of a server's name that they become.
_FILES = {"token-file": "token", "ca-file": "ca", "certificate-file": "certificate", "key-file": "key"}
_KEYS = ("address", *_FILES, "pin", "tls", "streams", "exclusive")
_SECTIONS = ("default", "servers", "groups")
_PIN = re.compile(r"sha256:[0-9a-fA-F]{64}")
_STREAMS_MAX = 8
# These cannot be short names: IPv4 addresses, IPv6 addresses, and names with a port.
_IS_ADDRESS = re.compile(r".*[:\[]|[0-9.]+$")


@dataclass(frozen=True)
class Config:
    """The contents of the file.

    Attributes:
        file: where it is, or would be.
        servers: short names, with the names that `connect` and ``REMOTECL_SERVERS`` take.
        groups: names of groups, with the names of their servers, as written.
        default: the servers of commands that name none.
    """

    file: Path
    servers: Mapping[str, str] = field(default_factory=dict)
    groups: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    default: tuple[str, ...] = ()

    def resolve(self, name: str) -> Iterator[str]:
        """What a name stands for: the servers of a group, or one server. An address stands for itself."""
        short, mark, options = name.partition("?")
        if short.startswith("@"):
            if mark:
                raise RemoteCLError(f"{name} names a group, which takes no options; put them behind its servers")
            if short[1:] not in self.groups:
                known = ", ".join(f"@{group}" for group in self.groups) or "none"
                raise RemoteCLError(f"{self.file} has no group {short[1:]} under [groups]; there are: {known}")
            for member in self.groups[short[1:]]:
                yield from self.resolve(member)
        elif short in self.servers:
            yield with_options(self.servers[short], options)
        else:
            yield name


def default_folder() -> Path:
    """``~/.config/remotecl``, or the folder in ``XDG_CONFIG_HOME``."""
    return Path(os.environ.get("XDG_CONFIG_HOME") or Path.home() / ".config") / "remotecl"


def config_file() -> Path:
    """The file in ``REMOTECL_CONFIG``, else ``config.toml`` in the default folder."""
    named = os.environ.get("REMOTECL_CONFIG")
    return Path(named) if named else default_folder() / "config.toml"


def load() -> Config:
    """Reads the file. Empty if there is none, unless ``REMOTECL_CONFIG`` names it.

    Raises:
        RemoteCLError: the file cannot be read, or has an invalid entry; the message has file, key and remedy.
    """
    file = config_file()
    try:
        text = file.read_text(encoding="utf-8")
    except FileNotFoundError:
        if not os.environ.get("REMOTECL_CONFIG"):
            return Config(file)
        raise RemoteCLError(f"the configuration {file}, which REMOTECL_CONFIG names, is not there") from None
    except (OSError, UnicodeDecodeError) as error:
        raise RemoteCLError(f"the configuration {file} cannot be read: {error}") from error
    return _Reader(file).read(_parsed(file, text))


def resolve_all(names: Sequence[str]) -> list[str]:
    """The servers that these names stand for, each once, in order; ``"a,b"`` is two names.

    The file is read only if a name may be one of its own; ``host:port`` cannot.
    """
    single = [part.strip() for name in names for part in name.split(",") if part.strip()]
    if all(_IS_ADDRESS.match(name.partition("?")[0]) for name in single):
        return single
    config = load()
    return list(dict.fromkeys(server for name in single for server in config.resolve(name)))


def is_short_name(name: str) -> bool:
    """Whether this can be the short name of a server."""
    return re.fullmatch(r"[A-Za-z0-9_][A-Za-z0-9_.-]*", name) is not None and not _IS_ADDRESS.match(name)


def default_servers() -> list[str]:
    """The file's ``default``: the servers of commands that name none."""
    config = load()
    return list(dict.fromkeys(server for name in config.default for server in config.resolve(name)))


def _parsed(file: Path, text: str) -> dict[str, Any]:
    try:
        toml = importlib.import_module("tomllib")  # from Python 3.11 on
    except ImportError:
        try:
            toml = importlib.import_module("tomli")
        except ImportError:
            raise RemoteCLError(
                f"reading {file} needs tomli with this Python, which is not installed: pip install tomli"
            ) from None
    try:
        parsed: dict[str, Any] = toml.loads(text)
    except toml.TOMLDecodeError as error:
        raise RemoteCLError(f"the configuration {file} is not TOML: {error}") from error
    return parsed


class _Reader:
    """Checks the parsed file, and turns it into server names."""

    def __init__(self, file: Path) -> None:
        self._file = file

    def read(self, parsed: Mapping[str, Any]) -> Config:
        for key in parsed:
            if key not in _SECTIONS:
                raise self._error(f"there is no {key}; there are {', '.join(_SECTIONS)}")
        servers = {name: self._server(name, entry) for name, entry in self._table(parsed, "servers").items()}
        groups = {name: self._names(f"groups.{name}", entry) for name, entry in self._table(parsed, "groups").items()}
        for name, members in groups.items():
            nested = [member for member in members if member.startswith("@")]
            if nested:
                raise self._error(f"groups.{name} has {nested[0]}, a group; name its servers")
        return Config(self._file, servers, groups, self._names("default", parsed.get("default", [])))

    def _server(self, name: str, entry: object) -> str:
        where = f"servers.{name}"
        if not isinstance(entry, dict):
            raise self._error(f'{where} must be a section: [{where}], with address = "host:port" below it')
        if not is_short_name(name):
            raise self._error(f"{where} must have a name of letters, digits, dots, - and _, and be no address")
        for key in entry:
            if key not in _KEYS:
                raise self._error(f"{where} has no key {key}; there are {', '.join(_KEYS)}")
        address = self._text(where, entry, "address") or name
        if re.search(r"[\s,?@]", address):
            raise self._error(f'address of {where} must be one server, "host" or "host:port"; options have keys')
        return with_options(address, "&".join(self._options(where, entry)))

    def _options(self, where: str, entry: Mapping[str, Any]) -> Iterator[str]:
        for key, option in _FILES.items():
            if text := self._text(where, entry, key):
                yield f"{option}={escaped(str(self._file.parent / Path(text).expanduser()))}"
        pin = self._text(where, entry, "pin")
        if pin:
            if not _PIN.fullmatch(pin):
                raise self._error(f"pin of {where} must be sha256: and 64 hexadecimal digits, as keygen prints it")
            yield f"pin={pin}"
        is_checked = bool(pin or entry.get("ca-file"))
        if self._switch(where, entry, "tls", is_checked):
            if not is_checked:
                yield f"ca={escaped(self._authorities(where))}"
        elif is_checked:
            raise self._error(f"{where} has tls = false beside a pin or ca-file, which mean TLS; leave one of them out")
        if self._switch(where, entry, "exclusive", False):
            yield "exclusive=yes"
        if "streams" in entry:
            streams = entry["streams"]
            if type(streams) is not int or not 1 <= streams <= _STREAMS_MAX:
                raise self._error(f"streams of {where} must be a number from 1 to {_STREAMS_MAX}")
            yield f"streams={streams}"

    def _authorities(self, where: str) -> str:
        file = ssl.get_default_verify_paths().cafile
        if file is None:
            raise self._error(f"{where} asks for TLS, and this system has no list of authorities: give pin or ca-file")
        return file

    def _table(self, parsed: Mapping[str, Any], name: str) -> Mapping[str, Any]:
        entry = parsed.get(name, {})
        if not isinstance(entry, dict):
            raise self._error(f"{name} must be a section: [{name}]")
        return entry

    def _names(self, where: str, entry: object) -> tuple[str, ...]:
        names = [entry] if isinstance(entry, str) else entry
        if not isinstance(names, list) or not all(isinstance(name, str) and name.strip() for name in names):
            raise self._error(f'{where} must be a list of names: ["gpu1", "gpu2:10991"]')
        return tuple(name.strip() for name in names)

    def _text(self, where: str, entry: Mapping[str, Any], key: str) -> str:
        value = entry.get(key, "")
        if not isinstance(value, str) or (key in entry and not value):
            raise self._error(f"{key} of {where} must be a text")
        return value

    def _switch(self, where: str, entry: Mapping[str, Any], key: str, otherwise: bool) -> bool:
        value = entry.get(key, otherwise)
        if not isinstance(value, bool):
            raise self._error(f"{key} of {where} must be true or false")
        return value

    def _error(self, words: str) -> RemoteCLError:
        return RemoteCLError(f"the configuration {self._file} is wrong: {words}")


def with_options(name: str, options: str) -> str:
    """The name with these options, which replace options of the same name."""
    address, _, old = name.partition("?")
    merged = dict(option.partition("=")[::2] for option in [*old.split("&"), *options.split("&")] if option)
    return address + "?" * bool(merged) + "&".join(f"{key}={value}" for key, value in merged.items())


def escaped(file: str) -> str:
    """A text escaped as the value of an option."""
    return quote(file, safe="/~:")
