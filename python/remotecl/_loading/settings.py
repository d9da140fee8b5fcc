"""The values of ``REMOTECL_...`` variables, as in ``cpp/runtime/base/settings.cpp``."""

from __future__ import annotations

import sys
from collections.abc import Mapping

ON = ("1", "on", "yes", "true")
OFF = ("0", "off", "no", "false")


def on_or_off(environment: Mapping[str, str], name: str) -> bool | None:
    """The variable's value; None if it is not set or invalid."""
    value = environment.get(name, "").lower()
    return value in ON if value in ON + OFF else None


def report_invalid(environment: Mapping[str, str], name: str) -> None:
    """Reports on stderr that its value is invalid, unless `REMOTECL_LOG` is off."""
    if environment.get(name) and on_or_off(environment, "REMOTECL_LOG") is not False:
        value = "".join(character if character.isprintable() else " " for character in environment[name][:60])
        print(f"remotecl: {name}={value} means nothing and is ignored; it takes on or off", file=sys.stderr)
