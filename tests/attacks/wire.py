"""The protocol as cpp/runtime/protocol/PROTOCOL.md says it, by hand: nothing of remotecl is used."""

from __future__ import annotations

import hmac
import os
import socket
import struct
import threading
from collections.abc import Iterable, Sequence

MAGIC = b"remotecl"
VERSION = 22
WITHIN_S = 60.0
CONTROL, BULK, PEER_CONTROL, PEER_BULK, MONITOR, STRIPE = range(6)
ACCEPTED, OTHER_VERSION, BUSY, UNKNOWN_SESSION, TOKEN_NEEDED, PROVE, WRONG_TOKEN = range(7)
FEATURE_TOKEN, FEATURE_RESUMABLE, FEATURE_RESUME = 2, 4, 8

PING, INTRODUCE, GET_STATUS, KICK_SESSION, SESSION_KICKED = 1, 2, 3, 4, 1003
CREATE_QUEUE, RELEASE_QUEUE, CREATE_BUFFER, CREATE_SUB_BUFFER = 10, 11, 12, 13
CREATE_PROGRAM_WITH_SOURCE, BUILD_PROGRAM, RELEASE_PROGRAM, CREATE_KERNEL = 20, 22, 24, 25
ENQUEUE_KERNEL, ENQUEUE_WRITE, ENQUEUE_MARKER = 40, 42, 48
FINISH, OBSERVE_EVENT, RELEASE_EVENT, EXPECT_EVENT, SIGNAL_EVENT, EXPECT_END = range(60, 66)
CREATE_IMAGE, CREATE_SAMPLER, GET_IMAGE_FORMATS, ALLOCATE_SVM, SET_KERNEL_SVM = 70, 72, 79, 80, 81
RELEASE_BUFFER, CREATE_NETWORK, STOP_NETWORK, NETWORK_CREATED = 14, 82, 83, 1056
CREATE_SUB_DEVICES, CREATE_COMMAND_BUFFER, RELEASE_COMMAND_BUFFER, ENQUEUE_COMMAND_BUFFER = 90, 100, 101, 102
OFFER_CHUNKS = 127
DEVICE_LIST, PONG, BUILD_DONE, FINISHED, EVENT_DONE, COMMAND_FAILED, SVM_ALLOCATED, SESSION_ERROR = (
    1000, 1001, 1020, 1040, 1041, 1042, 1055, 1060,
)  # fmt: skip
PULL_TRANSFER, CHUNKS_FOUND = 1044, 1100


def u16(*values: int) -> bytes:
    return struct.pack(f"<{len(values)}H", *values)


def u32(*values: int) -> bytes:
    return struct.pack(f"<{len(values)}I", *values)


def u64(*values: int) -> bytes:
    return struct.pack(f"<{len(values)}Q", *values)


def text(value: bytes) -> bytes:
    """A byte string or a text."""
    return u32(len(value)) + value


def array(values: Sequence[int]) -> bytes:
    """Of 64-bit integers."""
    return u32(len(values)) + u64(*values)


def sequence(values: Sequence[bytes]) -> bytes:
    return u32(len(values)) + b"".join(values)


def message(code: int, payload: bytes = b"", *, flags: int = 0, size: int | None = None) -> bytes:
    """With its header; `size`: what the header claims."""
    return u32(len(payload) if size is None else size) + u16(code, flags) + payload


def hello(
    role: int, *, features: int = 0, session: int = 0, secret: bytes = bytes(16), version: int = VERSION
) -> bytes:
    return MAGIC + u32(version, role) + u64(features, session) + secret


class Refused(Exception):
    """The server has answered a Hello with another status than accepted."""

    def __init__(self, status: int, words: str) -> None:
        super().__init__(words)
        self.status = status


class Welcome:
    """What the server answers to a Hello."""

    def __init__(self, stream: socket.socket) -> None:
        data = read_exactly(stream, 64)
        assert data[:8] == MAGIC
        self.version, self.status, self.features, self.session = struct.unpack("<IIQQ", data[8:32])
        self.secret = data[32:48]
        self.epoch, size, _ = struct.unpack("<QII", data[48:])
        assert size <= 1024
        self.words = read_exactly(stream, size).decode()


def read_exactly(stream: socket.socket, size: int) -> bytes:
    """Raises ConnectionError where the stream ends before."""
    data = bytearray()
    while len(data) < size:
        piece = stream.recv(size - len(data))
        if not piece:
            raise ConnectionError(f"the stream ended after {len(data)} of {size} bytes")
        data += piece
    return bytes(data)


def ends(stream: socket.socket) -> bool:
    """Reads on until the other side ends the connection; False when it says nothing and does not."""
    try:
        while stream.recv(1 << 16):
            pass
    except TimeoutError:
        return False
    except OSError:
        pass
    return True


def proof(key: bytes, claim: int, role: int, said: int, session: int, **more: int | bytes) -> bytes:
    """HMAC-SHA256 over what both sides know. `more`: welcomed, epoch, and the nonces ours and theirs."""
    known = (
        MAGIC + u32(VERSION, claim, role) + u64(said, int(more.get("welcomed", 0)), session, int(more.get("epoch", 0)))
    )
    known += bytes(more.get("ours", bytes(16))) + bytes(more.get("theirs", bytes(16)))
    return hmac.digest(key, known, "sha256")


class Client:
    """A session. A thread takes what the server says, unless it is told not to."""

    def __init__(self, address: tuple[str, int], *, token: bytes | None = None, reads: bool = True) -> None:
        self.address = address
        self.stream = socket.create_connection(address, WITHIN_S)
        self.stream.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        nonce = os.urandom(16)
        features = FEATURE_TOKEN if token is not None else 0
        self.stream.sendall(hello(CONTROL, features=features, secret=nonce))
        welcome = Welcome(self.stream)
        if welcome.status == PROVE and token is not None:
            known = {"epoch": welcome.epoch, "ours": nonce, "theirs": welcome.secret}
            self.stream.sendall(proof(token, 1, CONTROL, features, welcome.session, **known))
            welcome = Welcome(self.stream)
            known["welcomed"] = welcome.features
            welcome.secret = proof(token, 3, CONTROL, features, welcome.session, **known)[:16]
        if welcome.status != ACCEPTED:
            self.stream.close()
            raise Refused(welcome.status, welcome.words)
        self.welcome = welcome
        self._ids = 0
        self._changed = threading.Condition()
        self._messages: list[tuple[int, bytes]] = []
        self._ended = False
        if reads:
            threading.Thread(target=self._read, daemon=True).start()

    def __enter__(self) -> Client:
        return self

    def __exit__(self, *_: object) -> None:
        self.stream.close()

    def _read(self) -> None:
        try:
            while True:
                size, code, _ = struct.unpack("<IHH", read_exactly(self.stream, 8))
                payload = read_exactly(self.stream, size)
                with self._changed:
                    self._messages.append((code, payload))
                    self._changed.notify_all()
        except (OSError, ValueError):
            with self._changed:
                self._ended = True
                self._changed.notify_all()

    def id(self) -> int:
        self._ids += 1
        return self._ids

    def send(self, *messages: bytes) -> None:
        self.stream.sendall(b"".join(messages))

    @property
    def ended(self) -> bool:
        with self._changed:
            return self._ended

    def wait(self, code: int, start: bytes = b"") -> bytes:
        """The payload of the next message of this kind that begins so."""
        with self._changed:
            while True:
                for at, (each, payload) in enumerate(self._messages):
                    if each == code and payload.startswith(start):
                        del self._messages[at]
                        return payload
                assert not self._ended, f"the session has ended: {self._words()}"
                assert self._changed.wait(WITHIN_S), f"message {code} does not come"

    def has(self, code: int) -> bool:
        """Whether such a message has come."""
        with self._changed:
            return any(each == code for each, _ in self._messages)

    def _words(self) -> str:
        return next((payload[4:].decode() for code, payload in self._messages if code == SESSION_ERROR), "")

    def last_words(self) -> str:
        """Waits for the session's end; what the server said last, empty when it said nothing."""
        with self._changed:
            while not self._ended:
                assert self._changed.wait(WITHIN_S), "the session does not end"
            return self._words()

    def ping(self) -> None:
        """Returns when the server has taken everything before."""
        token = u64(self.id())
        self.send(message(PING, token))
        self.wait(PONG, token)

    def flood(self, messages: Iterable[bytes]) -> str:
        """Sends until the session ends, and gives its last words; empty if it still stands after the last message."""
        pending = bytearray()
        try:
            for each in messages:
                pending += each
                if len(pending) < 1 << 18:
                    continue
                self.stream.sendall(pending)
                pending.clear()
                if self.ended:
                    return self.last_words()
            self.stream.sendall(pending)
            self.ping()
        except (OSError, AssertionError):
            return self.last_words()
        return ""

    # What attacks begin with.

    def queue(self, properties: int = 0) -> int:
        queue = self.id()
        self.send(message(CREATE_QUEUE, u64(queue) + u32(0) + u64(properties)))
        return queue

    def buffer(self, size: int) -> int:
        buffer = self.id()
        self.send(message(CREATE_BUFFER, u64(buffer, 1, size)))
        return buffer

    def expected_event(self) -> int:
        event = self.id()
        self.send(message(EXPECT_EVENT, u64(event) + PEER_NONE))
        return event

    def signal(self, event: int) -> None:
        self.send(message(SIGNAL_EVENT, u64(event) + u32(0) + PEER_NONE))

    def finish(self, queue: int) -> None:
        token = u64(self.id())
        self.send(message(FINISH, u64(queue) + token))
        self.wait(FINISHED, token)

    def program(self, source: bytes) -> int:
        program, token = self.id(), self.id()
        self.send(message(CREATE_PROGRAM_WITH_SOURCE, u64(program) + text(source)), build(program, token))
        done = self.wait(BUILD_DONE, u64(token))
        assert struct.unpack("<i", done[16:20]) == (0,), "the program does not build"
        return program

    def kernel(self, program: int, name: bytes) -> int:
        kernel = self.id()
        self.send(message(CREATE_KERNEL, u64(kernel, program) + text(name)))
        return kernel

    def bulk(self) -> socket.socket:
        stream = socket.create_connection(self.address, WITHIN_S)
        secret = proof(self.welcome.secret, 1, BULK, 0, self.welcome.session)[:16]
        stream.sendall(hello(BULK, session=self.welcome.session, secret=secret))
        assert Welcome(stream).status == ACCEPTED
        return stream


PEER_NONE = u32(0)


def build(
    program: int, token: int, folders: Sequence[bytes] = (), headers: Sequence[tuple[bytes, bytes]] = ()
) -> bytes:
    files = [text(path) + text(content) for path, content in headers]
    folders = [text(folder) for folder in folders]
    devices, options = u32(1, 0), text(b"")
    return message(BUILD_PROGRAM, u64(program, token) + devices + options + sequence(folders) + sequence(files))


def marker(queue: int, event: int, waits: Sequence[int], *, is_barrier: int = 0, waits_for_all: int = 0) -> bytes:
    return message(ENQUEUE_MARKER, u64(queue, event) + u32(is_barrier, waits_for_all) + array(waits))


def small_write(queue: int, event: int, buffer: int, data: bytes, waits: Sequence[int]) -> bytes:
    payload = u64(queue, event, buffer, 0, len(data), 0) + text(data) + array(waits) + u32(0)
    return message(ENQUEUE_WRITE, payload)


def kernel_argument(index: int, kind: int, number: int, value: bytes = b"") -> bytes:
    return u32(index, kind) + u64(number) + text(value)


def launch(queue: int, event: int, kernel: int, arguments: Sequence[bytes], waits: Sequence[int] = ()) -> bytes:
    sizes = u64(0, 0, 0) + u64(1, 1, 1) + u64(1, 1, 1)
    payload = u64(queue, event, kernel) + u32(1, 0) + sizes + sequence(arguments) + array(waits)
    return message(ENQUEUE_KERNEL, payload)
