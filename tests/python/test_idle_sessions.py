"""What clients that do nothing cost the daemon."""

import hashlib
import hmac
import os
import pathlib
import re
import socket
import struct

import remotecl

HELLO = struct.Struct("<8sIIQQ16s")
WELCOME = struct.Struct("<8sIIQQ16sQII")
STATEMENT = struct.Struct("<8sIIIQQQQ32x")
CONTROL, BULK = 0, 1
SESSIONS = 200
KIB_PER_SESSION_MAX = 1024 * int(os.environ.get("REMOTECL_TEST_MEMORY_FACTOR", "1"))


def handshake(address, version, role, session=0, secret=bytes(16)):
    host, port = address.rsplit(":", 1)
    connection = socket.create_connection((host, int(port)))
    connection.sendall(HELLO.pack(b"remotecl", version, role, 0, session, secret))
    answer = connection.recv(WELCOME.size, socket.MSG_WAITALL)
    return connection, WELCOME.unpack(answer)


def proof_of(secret, version, role, session):
    """What a connection of a session says to show that it knows the session's secret."""
    connecting = STATEMENT.pack(b"remotecl", version, 1, role, 0, 0, session, 0)
    return hmac.digest(secret, connecting, hashlib.sha256)[:16]


def resident_kib(process):
    status = pathlib.Path(f"/proc/{process}/status").read_text()
    return int(re.search(r"VmRSS:\s+(\d+) kB", status)[1])


def test_an_idle_session_takes_less_than_a_mebibyte():
    with remotecl.Server() as server:
        refused, (_, version, status, *_) = handshake(server.address, 0, CONTROL)
        refused.close()
        assert status == 1  # another version: now this one is known
        connections = []

        def connect():
            control, (_, _, accepted, _, session, secret, *_) = handshake(server.address, version, CONTROL)
            assert accepted == 0
            bulk, (_, _, accepted, *_) = handshake(
                server.address, version, BULK, session, proof_of(secret, version, BULK, session)
            )
            assert accepted == 0
            connections.extend([control, bulk])

        connect()  # what the first one needs stays for the others
        before = resident_kib(server.pid)
        for _ in range(SESSIONS):
            connect()
        growth = resident_kib(server.pid) - before
        for connection in connections:
            connection.close()
    assert growth < SESSIONS * KIB_PER_SESSION_MAX, f"{growth / SESSIONS:.0f} KiB for each session"
    print(f"{growth / SESSIONS:.0f} KiB for each of {SESSIONS} idle sessions")
