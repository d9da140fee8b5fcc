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

        sent = remotecl.overview().stats[0].traffic.control.sent
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

        bulk = remotecl.overview().stats[0].traffic.bulk
        print(bulk.sent.bytes, bulk.received.bytes)
    """

    sent: Amount = field(default_factory=Amount)
    received: Amount = field(default_factory=Amount)


@dataclass(frozen=True)
class Compressed:
    """What was compressed on its way (``REMOTECL_COMPRESSION``); what travelled as it is does not count.

    Attributes:
        before: bytes before compression.
        after: bytes that they became.

    Example::

        sent = remotecl.overview().stats[0].traffic.compressed_sent
        print(sent.before / max(sent.after, 1))
    """

    before: int = 0
    after: int = 0


@dataclass(frozen=True)
class Traffic:
    """What went over the two connections of a link: messages and small data on `control`, large data on `bulk`.

    Attributes:
        control: messages, and data of up to 64 KiB.
        bulk: larger data.
        compressed_sent, compressed_received: what of the larger data was compressed; `bulk` counts its bytes after
            that.

    Example::

        traffic = remotecl.overview().stats[0].traffic
        print(traffic.bytes_sent, traffic.bytes_received)
    """

    control: Flow = field(default_factory=Flow)
    bulk: Flow = field(default_factory=Flow)
    compressed_sent: Compressed = field(default_factory=Compressed)
    compressed_received: Compressed = field(default_factory=Compressed)

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
        compressed = entry["compressed"]
        return cls(
            _flow(entry["control"]),
            _flow(entry["bulk"]),
            Compressed(**compressed["sent"]),
            Compressed(**compressed["received"]),
        )


def _flow(entry: dict[str, Any]) -> Flow:
    return Flow(Amount(**entry["sent"]), Amount(**entry["received"]))
