"""A kernel that takes its process's place on the channel to the daemon, and asks for what the process may ask for."""

from __future__ import annotations

import errno
import socket
import struct
import time

from daemon import WITHIN_S
from intruder import RESULT, TEXT, Calls, Intruder

CHANNEL = 3
DIAL, FIND = 7, 11  # as session_channel.h numbers them
MEMORY = 1 << 37  # where the kernel maps memory of its own, because structures with pointers need a known address
CONTROL, PAYLOAD, PAIR = MEMORY + 0x100, MEMORY + 0x1000, MEMORY + 0x800


class Takeover:
    """The channel, as a kernel of the intruder uses it. The process itself hears nothing more from the daemon."""

    def __init__(self, intruder: Intruder) -> None:
        self._intruder = intruder
        calls = Calls()
        calls.add(9, MEMORY, 1 << 16, 3, 0x32, -1, 0)  # mmap: anonymous, private, at this address
        scratch = calls.add(2, "scratch", 0o102, 0o600)
        calls.add(53, 1, 5, 0, PAIR)  # socketpair, of packets
        calls.add(18, scratch, PAIR, 8, 0)  # pwrite
        pair = calls.text(b"\0" * 8)
        calls.add(17, scratch, pair, 8, 0)  # pread
        calls.add(32, CHANNEL)  # dup
        results = intruder.make(calls)
        assert min(results) >= 0, results
        self._scratch, self._own = results[1], results[-1]
        (instead,) = struct.unpack_from("<i", intruder.memory, pair - TEXT)
        # The process's thread takes one more packet from the channel, and then waits at this pair for ever.
        assert intruder.call(33, instead, CHANNEL) == CHANNEL  # dup2
        self._iov = struct.pack("<QQ", PAYLOAD, 0x8000)
        self.send(struct.pack("<IQ", FIND, 1) + bytes(32))  # kFind
        self._number = 100

    def number(self) -> int:
        self._number += 1
        return self._number

    def send(self, packet: bytes) -> None:
        calls = Calls()
        calls.add(1, self._own, calls.text(packet), len(packet))
        assert self._intruder.make(calls) == [len(packet)]

    def receive(self, number: int) -> tuple[bytes, list[int]]:
        """The payload of the answer with this number, and the descriptors that came with it."""
        end = time.monotonic() + WITHIN_S
        while True:
            header = struct.pack("<QIIQQQQi", 0, 0, 0, MEMORY + 64, 1, CONTROL, 64, 0)
            calls = Calls()
            for at, data in ((MEMORY, header), (MEMORY + 64, self._iov)):
                calls.add(18, self._scratch, calls.text(data), len(data), 0)
                calls.add(17, self._scratch, at, len(data), 0)
            size = calls.add(47, self._own, MEMORY, socket.MSG_DONTWAIT)  # recvmsg
            calls.add(18, self._scratch, MEMORY, 0x3000, 0)
            space = calls.text(b"\0" * 0x3000)
            calls.add(17, self._scratch, space, 0x3000, 0)
            results = self._intruder.make(calls)
            count = results[size - RESULT]
            if count == -errno.EAGAIN:
                assert time.monotonic() < end, f"the daemon does not answer request {number}"
                time.sleep(0.01)
                continue
            assert count > 12, results
            memory = self._intruder.memory[space - TEXT :]
            (control_size,) = struct.unpack_from("<Q", memory, 40)
            control = memory[0x100 : 0x100 + control_size]
            packet = memory[0x1000 : 0x1000 + count]
            descriptors = [] if control_size < 20 else list(struct.unpack_from("<i", control, 16))
            if struct.unpack_from("<Q", packet, 4)[0] == number:
                return packet[4:], descriptors

    def dial(self, host: str, port: int, role: int) -> tuple[str, list[int]]:
        """Asks for a connection of a link; why there is none, and what descriptors came."""
        number = self.number()
        name = host.encode()
        packet = struct.pack("<IQI", DIAL, number, role)
        packet += struct.pack("<QQ", 1, 2) + bytes(16)  # session, epoch, secret
        packet += struct.pack("<QIQ", 0, 0, 0)  # features, no stream
        packet += struct.pack("<II", 1, len(name)) + name + struct.pack("<H", port)
        packet += struct.pack("<III", 0, 2000, 2000)  # no pin, times in ms
        self.send(packet)
        payload, descriptors = self.receive(number)
        (size,) = struct.unpack_from("<I", payload, 8)
        return payload[12 : 12 + size].decode(), descriptors
