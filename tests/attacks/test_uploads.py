"""Offers of chunks: what a client says of bytes that the server may have, and whose these are."""

from __future__ import annotations

import hashlib
import os
import socket
import time
from pathlib import Path

import pytest

from attacks.conftest import Start
from attacks.victim import MIB, Victim
from attacks.wire import (
    CHUNKS_FOUND,
    ENQUEUE_WRITE,
    EVENT_DONE,
    OFFER_CHUNKS,
    PULL_TRANSFER,
    WITHIN_S,
    Client,
    array,
    ends,
    message,
    text,
    u32,
    u64,
)

STORED = 4  # the status of a chunk whose bytes are left out
CHUNKS_MAX, PENDING_MAX = 64, 128


@pytest.fixture
def storing(start: Start, tmp_path: Path) -> Victim:
    return start("--store", str(tmp_path / "store"), "--metrics", "0")


def offer(transfer: int, offset: int, digests: bytes) -> bytes:
    return message(OFFER_CHUNKS, u64(transfer, offset) + text(digests))


def digest(data: bytes) -> bytes:
    return hashlib.sha256(data).digest()


class Write:
    """A write whose bytes the server has asked for."""

    def __init__(self, client: Client, size: int, bulk: socket.socket | None = None) -> None:
        self.client, self.transfer, self.event = client, client.id(), client.id()
        self.bulk = bulk or client.bulk()
        queue, buffer = client.queue(), client.buffer(size)
        payload = u64(queue, self.event, buffer, 0, size, self.transfer) + text(b"") + array([]) + u32(0)
        client.send(message(ENQUEUE_WRITE, payload))
        client.wait(PULL_TRANSFER, u64(self.transfer))

    def offer(self, *chunks: bytes, offset: int = 0) -> bytes:
        """The server's answer: a byte for each chunk."""
        self.client.send(offer(self.transfer, offset, b"".join(digest(chunk) for chunk in chunks)))
        return self.client.wait(CHUNKS_FOUND, u64(self.transfer, offset))[24:]

    def send(self, data: bytes) -> None:
        self.bulk.sendall(u64(self.transfer) + u32(len(data), 0) + data)

    def leave_out(self) -> None:
        self.bulk.sendall(u64(self.transfer) + u32(0, STORED))

    def status(self) -> int:
        done = self.client.wait(EVENT_DONE, u64(self.event))
        return int.from_bytes(done[8:12], "little", signed=True)


WRONG = {
    "no chunks": (0, b"", "an offer of 0"),
    "a part of a digest": (0, bytes(33), "part of a digest"),
    "too many chunks": (0, bytes(32 * (CHUNKS_MAX + 1)), "an offer of 65"),
    "more than the transfer has": (3 * MIB, bytes(32 * 2), "an offer of 2"),
    "beyond the transfer": (4 * MIB, bytes(32), "an offer of 1"),
    "far beyond the transfer": ((1 << 64) - MIB, bytes(32), "an offer of 1"),
    "an offset within a chunk": (1, bytes(32), "an offer of 1"),
}


@pytest.mark.parametrize("name", WRONG)
def test_an_offer_that_fits_nothing_ends_the_session(storing: Victim, name: str) -> None:
    offset, digests, words = WRONG[name]
    with Client(storing.address) as client:
        write = Write(client, 4 * MIB)
        client.send(offer(write.transfer, offset, digests))
        assert words in client.last_words()


def test_an_offer_that_its_bytes_have_overtaken_is_not_answered(storing: Victim) -> None:
    with Client(storing.address) as client:
        late, other = os.urandom(2 * MIB), os.urandom(MIB)
        bulk = client.bulk()
        write = Write(client, len(late), bulk)
        write.send(late)
        assert write.status() == 0
        client.send(offer(write.transfer, 0, digest(late[:MIB])))
        client.send(offer(12345, 0, bytes(32)))  # of none that there was
        assert upload(client, bulk, other) == bytes(1)


def test_an_offer_twice_ends_the_session(storing: Victim) -> None:
    with Client(storing.address) as client:
        write = Write(client, 4 * MIB)
        write.offer(b"x")
        client.send(offer(write.transfer, 0, bytes(32)))
        assert "offered before" in client.last_words()


def test_more_offers_than_may_wait_end_the_session(storing: Victim) -> None:
    with Client(storing.address) as client:
        write = Write(client, (2 * PENDING_MAX + 1) * MIB)
        for window in range(2):
            write.offer(*[b"x"] * CHUNKS_MAX, offset=window * CHUNKS_MAX * MIB)
        for window in range(2, 4):  # which are not answered before bytes have come
            client.send(offer(write.transfer, window * CHUNKS_MAX * MIB, bytes(32 * CHUNKS_MAX)))
        client.send(offer(write.transfer, 2 * PENDING_MAX * MIB, bytes(32)))
        assert "too many" in client.last_words()


@pytest.mark.parametrize("is_offered", [False, True])
def test_bytes_that_nobody_has_cannot_be_left_out(storing: Victim, is_offered: bool) -> None:
    with Client(storing.address) as client:
        write = Write(client, 2 * MIB)
        if is_offered:
            assert write.offer(b"nobody's") == bytes(1)
        write.leave_out()
        assert client.last_words()
        assert ends(write.bulk)


def upload(client: Client, bulk: socket.socket, data: bytes) -> bytes:
    """Offers a chunk and sends what is missing; gives the server's answer."""
    write = Write(client, len(data), bulk)
    found = write.offer(data)
    write.leave_out() if found == b"\1" else write.send(data)
    assert write.status() == 0
    return found


def await_stored(victim: Victim, count: int) -> None:
    end = time.monotonic() + WITHIN_S
    while victim.metric("remotecl_uploads_entries") < count:
        assert time.monotonic() < end
        time.sleep(0.02)


def test_what_was_uploaded_is_found_with_its_size_only(storing: Victim) -> None:
    data = os.urandom(MIB)
    with Client(storing.address) as client, client.bulk() as bulk:
        assert upload(client, bulk, data) == bytes(1)
        await_stored(storing, 1)
        assert upload(client, bulk, data) == b"\1"
        short = Write(client, MIB // 2, bulk)
        assert short.offer(data) == bytes(1)


def test_bytes_are_stored_under_their_own_digest_whatever_the_client_says(storing: Victim) -> None:
    wanted, sent = os.urandom(MIB), os.urandom(MIB)
    with Client(storing.address) as client, client.bulk() as bulk:
        write = Write(client, MIB, bulk)
        assert write.offer(wanted) == bytes(1)
        write.send(sent)
        assert write.status() == 0
        await_stored(storing, 1)
        assert upload(client, bulk, sent) == b"\1"
        assert upload(client, bulk, wanted) == bytes(1)


def test_a_digest_of_anothers_bytes_is_no_key(tmp_path: Path) -> None:
    tokens = {}
    limits = tmp_path / "limits.toml"
    for name in ("alice", "bob"):
        tokens[name] = os.urandom(16).hex().encode()
        (tmp_path / f"{name}.token").write_bytes(tokens[name])
        (tmp_path / f"{name}.token").chmod(0o600)
    limits.write_text("".join(f'[users.{name}]\ntoken-file = "{name}.token"\n' for name in tokens))
    options = ("--store", str(tmp_path / "store"), "--metrics", "0", "--no-isolate", "--limits", str(limits))
    victim = Victim(*options)
    try:
        data = os.urandom(MIB)
        with Client(victim.address, token=tokens["alice"]) as alice, alice.bulk() as bulk:
            assert upload(alice, bulk, data) == bytes(1)
            await_stored(victim, 1)
            assert upload(alice, bulk, data) == b"\1"
        with Client(victim.address, token=tokens["bob"]) as bob, bob.bulk() as bulk:
            assert upload(bob, bulk, data) == bytes(1)
    finally:
        victim.end(tokens["alice"])


def test_many_chunks_that_do_not_end_are_bounded(storing: Victim) -> None:
    """Each transfer is offered, and all but a byte of its chunk is sent."""
    count, out_of_order = 150, 1
    with Client(storing.address) as client, client.bulk() as bulk:
        before = storing.forget_peak()
        queue = client.queue(out_of_order)
        transfers = []
        for _ in range(count):
            transfers.append(client.id())
            payload = u64(queue, client.id(), client.buffer(MIB), 0, MIB, transfers[-1])
            client.send(message(ENQUEUE_WRITE, payload + text(b"") + array([]) + u32(0)))
        for transfer in transfers:
            client.wait(PULL_TRANSFER, u64(transfer))
            client.send(offer(transfer, 0, bytes(32)))
            client.wait(CHUNKS_FOUND, u64(transfer))
            bulk.sendall(u64(transfer) + u32(MIB - 1, 0) + bytes(MIB - 1))
        client.ping()
        # Their buffers, 64 MiB that may wait to be stored, and what the allocator and the driver may add.
        assert storing.peak() - before < (count + 64 + 96) * MIB
