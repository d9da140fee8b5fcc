"""Who breaks the protocol loses their own connection, hears why, and disturbs nobody."""

from __future__ import annotations

import contextlib
import os
import random
import socket
import time

import pytest

from attacks.victim import MEMORY_FACTOR, MIB, Victim
from attacks.wire import (
    ACCEPTED,
    BULK,
    BUSY,
    CONTROL,
    CREATE_BUFFER,
    CREATE_PROGRAM_WITH_SOURCE,
    ENQUEUE_KERNEL,
    ENQUEUE_MARKER,
    ENQUEUE_WRITE,
    EXPECT_EVENT,
    FEATURE_RESUME,
    FEATURE_TOKEN,
    FINISH,
    GET_STATUS,
    KICK_SESSION,
    MONITOR,
    OTHER_VERSION,
    PEER_CONTROL,
    PEER_NONE,
    PING,
    PONG,
    PROVE,
    SESSION_ERROR,
    SESSION_KICKED,
    SIGNAL_EVENT,
    STRIPE,
    TOKEN_NEEDED,
    UNKNOWN_SESSION,
    VERSION,
    WITHIN_S,
    WRONG_TOKEN,
    Client,
    Refused,
    Welcome,
    array,
    ends,
    hello,
    message,
    proof,
    read_exactly,
    text,
    u32,
    u64,
)

WRONG = {
    "a length beyond the bound": (message(PING, size=64 * MIB + 1), "longer"),
    "the longest length": (message(PING, size=0xFFFFFFFF), "longer"),
    "an unknown code": (message(99), "99"),
    "the highest code": (message(0xFFFF), "65535"),
    "a message of the server": (message(PONG, u64(1)), "not known"),
    "unknown flags": (message(PING, u64(1), flags=0x8000), "flags"),
    "times of what is no command": (message(PING, u64(1), flags=1), "times"),
    "a placed kernel that is none": (message(PING, u64(1), flags=2), "placed"),
    "a placed kernel of no queue": (
        message(ENQUEUE_KERNEL, u64(12345, 0, 1) + u32(1, 0) + u64(*range(9)) + u32(0, 0), flags=2),
        "12345",
    ),
    "too few bytes": (message(PING, b"abc"), "malformed"),
    "too many bytes": (message(PING, u64(1) + b"x"), "malformed"),
    "an array without its end": (message(ENQUEUE_MARKER, u64(1, 1) + u32(0, 0) + u32(0xFFFFFFFF)), "malformed"),
    "a text without its end": (message(CREATE_PROGRAM_WITH_SOURCE, u64(1) + u32(0xFFFFFFF0) + b"x"), "malformed"),
    "the id 0": (message(CREATE_BUFFER, u64(0, 1, 64)), "cannot be used"),
    "an id twice": (message(CREATE_BUFFER, u64(7, 1, 64)) * 2, "in use"),
    "an event of the server": (message(EXPECT_EVENT, u64(1 << 63) + PEER_NONE), "cannot be used"),
    "an event twice": (message(EXPECT_EVENT, u64(7) + PEER_NONE) * 2, "used before"),
    "a queue that is not": (message(FINISH, u64(12345, 1)), "12345"),
}


@pytest.mark.parametrize("name", WRONG)
def test_what_is_no_message_ends_its_session_with_the_reason(victim: Victim, name: str):
    wrong, words = WRONG[name]
    with Client(victim.address) as client:
        client.send(wrong)
        assert words in client.last_words()


def test_half_a_message_holds_nobody_up(victim: Victim):
    halves = [Client(victim.address) for _ in range(20)]
    for client in halves:
        client.send(message(CREATE_PROGRAM_WITH_SOURCE, bytes(100), size=1000)[:50])
    with Client(victim.address) as other:
        other.ping()
    for client in halves:
        client.stream.close()


def test_a_signal_of_what_is_not_expected(victim: Victim):
    with Client(victim.address) as client:
        queue, event, held = client.queue(), client.expected_event(), client.id()
        waiting = message(ENQUEUE_MARKER, u64(queue, held) + u32(0, 0) + array([event]))
        client.send(waiting, message(SIGNAL_EVENT, u64(held) + u32(0) + PEER_NONE))
        assert "not expected" in client.last_words()


def test_bulk_data_that_nobody_asked_for(victim: Victim):
    for header in (u64(1) + u32(64, 0), u64(1) + u32(0xFFFFFFFF, 0), u64(1) + u32(0, 0), u64(0) + u32(4, 0x80000000)):
        with Client(victim.address) as client, client.bulk() as bulk:
            bulk.sendall(header + bytes(64))
            client.last_words()
            assert ends(bulk)


def test_a_small_write_that_carries_other_bytes_than_it_says(victim: Victim):
    for said, carried in ((64, 63), (64, 65), (1 << 40, 8), (1 << 17, 1 << 17)):
        with Client(victim.address) as client:
            queue, buffer = client.queue(), client.buffer(1 << 41)
            write = u64(queue, 0, buffer, 0, said, 0) + text(bytes(carried)) + array([]) + u32(0)
            client.send(message(ENQUEUE_WRITE, write))
            assert "carries" in client.last_words()


def answer_to(victim: Victim, said: bytes) -> Welcome | None:
    """Null: the server ended the connection without a word."""
    with socket.create_connection(victim.address, WITHIN_S) as stream, contextlib.suppress(ConnectionError):
        stream.sendall(said)
        return Welcome(stream)
    return None


def test_handshakes_of_those_who_do_not_belong(victim: Victim):
    other = answer_to(victim, hello(CONTROL, version=VERSION + 1))
    assert other is not None and (other.status, other.version) == (OTHER_VERSION, VERSION)
    assert answer_to(victim, b"GET / HTTP/1.1\r\nHost: victim\r\nAccept: */*\r\n\r\n".ljust(48)) is None
    assert answer_to(victim, hello(6)) is None
    assert answer_to(victim, hello(0xFFFFFFFF)) is None
    with Client(victim.address) as client:
        session = client.welcome.session
        for role in (BULK, PEER_CONTROL, STRIPE):
            refused = answer_to(victim, hello(role, session=session, secret=os.urandom(16)))
            assert refused is not None and refused.status == UNKNOWN_SESSION
        # A proof for another role is none for this one.
        secret = proof(client.welcome.secret, 1, STRIPE, 0, session)[:16]
        refused = answer_to(victim, hello(BULK, session=session, secret=secret))
        assert refused is not None and refused.status == UNKNOWN_SESSION
        client.ping()


def test_a_session_is_not_carried_on_by_who_does_not_know_its_secret(victim: Victim):
    with Client(victim.address) as client, socket.create_connection(victim.address, WITHIN_S) as stream:
        stream.sendall(hello(CONTROL, features=FEATURE_RESUME, session=client.welcome.session, secret=os.urandom(16)))
        with contextlib.suppress(ConnectionError):
            welcome = Welcome(stream)
            if welcome.status == PROVE:
                stream.sendall(os.urandom(32) + u64(0))
                welcome = Welcome(stream)
            assert welcome.status not in (ACCEPTED, PROVE)
        client.ping()


def test_tokens(tmp_path):
    token = tmp_path / "token"
    token.write_text("what only friends know")
    token.chmod(0o600)
    victim = Victim("--token-file", str(token))
    with contextlib.ExitStack() as stack:
        stack.callback(victim.end, b"what only friends know")
        with pytest.raises(Refused) as stranger:
            Client(victim.address)
        assert stranger.value.status == TOKEN_NEEDED
        with pytest.raises(Refused) as guesser:
            Client(victim.address, token=b"what nobody has said")
        assert guesser.value.status == WRONG_TOKEN
        with Client(victim.address, token=b"what only friends know") as friend:
            friend.ping()
            # What one client has proved proves nothing on another connection.
            with socket.create_connection(victim.address, WITHIN_S) as stream:
                nonce = os.urandom(16)
                stream.sendall(hello(CONTROL, features=FEATURE_TOKEN, secret=nonce))
                first = Welcome(stream)
                known = {"epoch": first.epoch, "ours": nonce, "theirs": first.secret}
                replayed = proof(b"what only friends know", 1, CONTROL, FEATURE_TOKEN, first.session, **known)
            with socket.create_connection(victim.address, WITHIN_S) as stream:
                stream.sendall(hello(CONTROL, features=FEATURE_TOKEN, secret=nonce))
                assert Welcome(stream).status == PROVE
                stream.sendall(replayed)
                assert Welcome(stream).status == WRONG_TOKEN


def test_a_monitor_can_do_nothing_but_look(victim: Victim):
    for wrong in (message(CREATE_BUFFER, u64(1, 1, 64)), message(GET_STATUS, size=1 << 20), message(0xFFFF)):
        with socket.create_connection(victim.address, WITHIN_S) as stream:
            stream.sendall(hello(MONITOR) + b"")
            assert Welcome(stream).status == ACCEPTED
            stream.sendall(wrong)
            size, code = u32_u16(read_exactly(stream, 8))
            assert code == SESSION_ERROR
            read_exactly(stream, size)
            assert ends(stream)


def kicked(stream: socket.socket, session: int) -> int:
    """What a monitor is told that would end this session: 0 it has ended, 3 that may only operators."""
    stream.sendall(hello(MONITOR))
    assert Welcome(stream).status == ACCEPTED
    stream.sendall(message(KICK_SESSION, u64(1, session)))
    size, code = u32_u16(read_exactly(stream, 8))
    assert code == SESSION_KICKED
    return int.from_bytes(read_exactly(stream, size)[8:12], "little")


def test_a_tcp_connection_makes_nobody_an_operator(victim: Victim):
    """Although it is of the daemon's user, as one would be that the daemon has made for somebody."""
    with Client(victim.address) as other, socket.create_connection(victim.address, WITHIN_S) as stream:
        assert kicked(stream, other.welcome.session) == 3
        other.ping()


def test_the_operators_socket_is_for_monitors(victim: Victim):
    def connected() -> socket.socket:
        stream = socket.socket(socket.AF_UNIX)
        stream.settimeout(WITHIN_S)
        stream.connect(f"\0remotecl:{victim.address[1]}")
        return stream

    with Client(victim.address) as other:
        with connected() as stream:
            stream.sendall(hello(CONTROL))
            assert Welcome(stream).status == UNKNOWN_SESSION
        with connected() as stream:
            assert kicked(stream, other.welcome.session) == 0


def u32_u16(header: bytes) -> tuple[int, int]:
    return int.from_bytes(header[:4], "little"), int.from_bytes(header[4:6], "little")


def test_silent_connections_keep_others_out_for_seconds_only(victim: Victim):
    silent = [socket.create_connection(victim.address, WITHIN_S) for _ in range(80)]
    for stream in silent[::2]:
        stream.sendall(hello(CONTROL)[:47])
    deadline = time.monotonic() + 20
    while True:
        try:
            with Client(victim.address) as client:
                client.ping()
                break
        except (OSError, Refused) as error:
            assert not isinstance(error, Refused) or error.status == BUSY
            assert time.monotonic() < deadline
            time.sleep(0.1)
    for stream in silent:
        assert ends(stream)
        stream.close()


def test_sessions_that_come_and_go_leave_nothing(victim: Victim):
    def come_and_go(count: int) -> None:
        for _ in range(count):
            with Client(victim.address) as client:
                client.send(message(EXPECT_EVENT, u64(1) + PEER_NONE) + message(CREATE_BUFFER, u64(1, 1, 1 << 20)))

    come_and_go(50)
    before = victim.forget_peak()
    come_and_go(200)
    assert victim.peak() - before < 64 * MIB * MEMORY_FACTOR


def test_noise(victim: Victim):
    """Messages of all codes whose fields are small, huge or nothing."""
    print("seed", seed := int(os.environ.get("REMOTECL_TEST_SEED", "1")))
    noise = random.Random(seed)
    codes = [*range(1, 130), *range(1000, 1100), 2000]
    for _ in range(60):
        with Client(victim.address) as client, contextlib.suppress(OSError):
            queue, buffer, event = client.queue(noise.randrange(4)), client.buffer(64), client.expected_event()
            for _ in range(200):
                values = [
                    0,
                    1,
                    queue,
                    buffer,
                    event,
                    1 << 31,
                    (1 << 32) - 1,
                    1 << 62,
                    (1 << 64) - 1,
                    noise.getrandbits(64),
                ]
                fields = (
                    noise.choice((u64, u32))(noise.choice(values) & 0xFFFFFFFF) for _ in range(noise.randrange(14))
                )
                client.send(message(noise.choice(codes), b"".join(fields)))
                if client.ended:
                    break
