"""Fixtures: a daemon of its own for each attack."""

from __future__ import annotations

from collections.abc import Callable, Iterator

import pytest

from attacks.victim import Victim
from attacks.wire import Client

Start = Callable[..., Victim]


@pytest.fixture
def start() -> Iterator[Start]:
    """Starts daemons with options; all of them still serve when the attack is over, and end when they are told to."""
    victims: list[Victim] = []

    def started(*options: str, **environment: str) -> Victim:
        victims.append(Victim(*options, **environment))
        return victims[-1]

    yield started
    for victim in victims:
        victim.end()


@pytest.fixture
def victim(start: Start) -> Iterator[Victim]:
    """A daemon without options, and a neighbour's session that goes on whatever is done to the daemon."""
    daemon = start()
    with Client(daemon.address) as neighbour:
        yield daemon
        neighbour.ping()
