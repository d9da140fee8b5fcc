"""The words that variables ``REMOTECL_...`` take, as ``cpp/runtime/base/settings.cpp`` does."""

from __future__ import annotations

import sys
from collections.abc import Mapping

ON = ("1", "on", "yes", "true")
OFF = ("0", "off", "no", "false")


def on_or_off(environment: Mapping[str, str], name: str) -> bool | None:
    """None when it is not set, or its value means nothing."""
    value = environment.get(name, "").lower()
    return value in ON if value in ON + OFF else None


def tell(environment: Mapping[str, str], name: str) -> None:
    """Says on stderr that its value, which is not empty, means nothing; unless `REMOTECL_LOG` is off."""
    if environment.get(name) and on_or_off(environment, "REMOTECL_LOG") is not False:
        value = "".join(character if character.isprintable() else " " for character in environment[name][:60])
        print(f"remotecl: {name}={value} means nothing and is ignored; it takes on or off", file=sys.stderr)
