"""`remotecl doctor` and servers: other programs, other releases, long ways."""

import contextlib
import socket
import threading
import time
from contextlib import contextmanager

import pytest

from conftest import CLEAN_ENVIRONMENT, PROGRAM_TIMEOUT_S
from remotecl.doctor.servers import HELLO, WELCOME, ServerChecks

TIMEOUT_S = PROGRAM_TIMEOUT_S


def of_servers(*names: str, timeout_s: float = TIMEOUT_S, **settings: str):
    return list(ServerChecks(names, {**CLEAN_ENVIRONMENT, **settings}, timeout_s).all())


def by_check(findings) -> dict:
    return {finding.check: finding for finding in findings}


@contextmanager
def fake_server(answer: bytes | None):
    """Listens on a port; answers the first message with these bytes and ends the connection, or says nothing."""
    listener = socket.create_server(("127.0.0.1", 0))

    def serve() -> None:
        connection, _ = listener.accept()
        with connection:
            connection.recv(HELLO.size)
            if answer is None:
                connection.recv(1)  # until the other side gives up
            else:
                connection.sendall(answer)

    thread = threading.Thread(target=serve)
    thread.start()
    try:
        yield f"127.0.0.1:{listener.getsockname()[1]}"
    finally:
        thread.join(TIMEOUT_S)
        listener.close()


@pytest.mark.parametrize(
    "answer, words",
    [
        (b"SSH-2.0-OpenSSH_9.2p1 Debian-2\r\n" * 4, "no remotecl-server: it answers b'SSH-2.0"),
        (b"", "without an answer"),
        (None, "said nothing"),
    ],
    ids=["garbage", "end", "silence"],
)
def test_another_program_on_the_port_is_recognised(answer, words):
    with fake_server(answer) as address:
        findings = by_check(of_servers(address, timeout_s=1.0))
    assert findings[f"server {address}: port"].status == "ok"
    assert findings[f"server {address}: protocol"].status == "problem"
    assert words in findings[f"server {address}: protocol"].text
    assert "check the port" in findings[f"server {address}: protocol"].remedy


def test_a_server_of_an_older_release_is_recognised():
    text = b"the client speaks protocol version 0, this server (remotecl 0.0.7) version 1; install the same"
    with fake_server(WELCOME.pack(b"remotecl", 1, 1, 0, 0, bytes(16), 0, len(text), 0) + text) as address:
        finding = by_check(of_servers(address))[f"server {address}: protocol"]
    assert finding.status == "problem"
    assert "version 1 (remotecl 0.0.7)" in finding.text
    assert "same remotecl release" in finding.remedy


@pytest.mark.parametrize(
    "name, words",
    [("no-such-host.invalid", "cannot be resolved"), ("host:many", "no server address"), ("127.0.0.1:1", "refused")],
)
def test_servers_that_cannot_be_reached_are_named(name, words):
    *_, finding = of_servers(name)
    assert finding.status == "problem"
    assert finding.check.startswith(f"server {name}")
    assert words in finding.text
    assert finding.remedy


@contextmanager
def slow_road(address: str, delay_s: float):
    """Another address of a server, where everything takes `delay_s` longer in either direction."""
    host, _, port = address.rpartition(":")
    listener = socket.create_server(("127.0.0.1", 0))

    def carry(source: socket.socket, target: socket.socket) -> None:
        with source, contextlib.suppress(OSError):
            while part := source.recv(1 << 20):
                time.sleep(delay_s)
                target.sendall(part)
            target.shutdown(socket.SHUT_WR)

    def accept() -> None:
        with contextlib.suppress(OSError):  # closed below
            while True:
                near, _ = listener.accept()
                far = socket.create_connection((host, int(port)))
                for ends in ((near, far), (far, near)):
                    threading.Thread(target=carry, args=ends, daemon=True).start()

    thread = threading.Thread(target=accept)
    thread.start()
    try:
        yield f"127.0.0.1:{listener.getsockname()[1]}"
    finally:
        listener.shutdown(socket.SHUT_RDWR)
        thread.join(TIMEOUT_S)
        listener.close()


def test_a_long_round_trip_is_noted(cluster):
    with slow_road(cluster.addresses[0], delay_s=0.01) as address:
        finding = by_check(of_servers(address))[f"server {address}: round trip"]
    assert finding.status == "note"
    assert 20 <= float(finding.text.removesuffix(" ms")) < 10_000
    assert "where-and-why-slow" in finding.remedy


def test_no_server_is_noted():
    (finding,) = of_servers()
    assert finding.status == "note"
    assert "REMOTECL_SERVERS" in finding.remedy


def test_shared_memory_and_links_that_are_off_are_noted(cluster):
    settings = {"REMOTECL_SHARED_MEMORY": "off", "REMOTECL_PEERS": "off"}
    findings = by_check(of_servers(*cluster.addresses, **settings))
    shared = findings[f"server {cluster.addresses[0]}: shared memory"]
    assert (shared.status, findings["links"].status) == ("note", "note")
    assert "REMOTECL_SHARED_MEMORY" in shared.text
    assert "through this machine" in findings["links"].text


def test_shared_memory_is_seen(cluster):
    findings = by_check(of_servers(cluster.addresses[0]))
    assert findings[f"server {cluster.addresses[0]}: shared memory"].text.startswith("used")
