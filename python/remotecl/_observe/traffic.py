"""Bytes and messages that went over connections."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any


@dataclass(frozen=True)
class Amount:
    """A number of bytes and of messages; on bulk connections, whole transfers count as messages.

    Attributes:
        bytes: including the headers of messages and chunks.
        messages: their number.

    Example::

        sent = remotecl.stats()[0].traffic.control.sent
        print(sent.bytes / max(sent.messages, 1), "bytes a message")
    """

    bytes: int = 0
    messages: int = 0


@dataclass(frozen=True)
class Flow:
    """Both directions of one connection, as seen from the side that counts.

    Attributes:
        sent: what went out.
        received: what came in.

    Example::

        bulk = remotecl.stats()[0].traffic.bulk
        print(bulk.sent.bytes, bulk.received.bytes)
    """

    sent: Amount = field(default_factory=Amount)
    received: Amount = field(default_factory=Amount)


@dataclass(frozen=True)
class Traffic:
    """What went over the two connections of a link: messages and small data on `control`, large data on `bulk`.

    Attributes:
        control: messages, and data of up to 64 KiB.
        bulk: larger data.

    Example::

        traffic = remotecl.stats()[0].traffic
        print(traffic.bytes_sent, traffic.bytes_received)
    """

    control: Flow = field(default_factory=Flow)
    bulk: Flow = field(default_factory=Flow)

    @property
    def bytes_sent(self) -> int:
        """Bytes sent on both connections."""
        return self.control.sent.bytes + self.bulk.sent.bytes

    @property
    def bytes_received(self) -> int:
        """Bytes received on both connections."""
        return self.control.received.bytes + self.bulk.received.bytes

    @classmethod
    def _from_json(cls, entry: dict[str, Any]) -> Traffic:
        return cls(_flow(entry["control"]), _flow(entry["bulk"]))


def _flow(entry: dict[str, Any]) -> Flow:
    return Flow(Amount(**entry["sent"]), Amount(**entry["received"]))
