"""A kernel that speaks to the daemon in its process's place, and asks it to connect for it."""

import contextlib
import socket
import threading
from collections.abc import Iterator

import pytest

from client import Client
from daemon import Daemon
from intruder import Intruder
from takeover import Takeover
from test_containment import kernels_are_of_this_machine, pytestmark, shared  # noqa: F401
from test_isolation import GOES_ON

PEER_CONTROL, MONITOR = 2, 4


@pytest.fixture
def bob(shared) -> Iterator[Intruder]:  # noqa: F811
    with Intruder(shared.name("bob")) as intruder:
        yield intruder


@contextlib.contextmanager
def program(answer: bytes = b"") -> Iterator[tuple[int, list[bytes]]]:
    """Some program's port, and what each of those who have connected has said until it ended the connection."""
    heard: list[bytes] = []
    with socket.create_server(("127.0.0.1", 0)) as listener:

        def serve() -> None:
            with contextlib.suppress(OSError):
                while True:
                    connection, _ = listener.accept()
                    words = bytearray()
                    with connection, contextlib.suppress(OSError):  # an end may be abrupt
                        connection.sendall(answer)
                        while piece := connection.recv(4096):
                            words += piece
                    heard.append(bytes(words))

        thread = threading.Thread(target=serve)
        thread.start()
        try:
            yield listener.getsockname()[1], heard
        finally:
            listener.shutdown(socket.SHUT_RDWR)
            thread.join()


def own_addresses() -> list[str]:
    """Of this machine, as a client of another one would name it."""
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as probe, contextlib.suppress(OSError):
        probe.connect(("192.0.2.1", 9))  # sends nothing
        return [probe.getsockname()[0]]
    return []


def test_the_daemon_does_not_connect_to_itself(shared, bob):  # noqa: F811
    port = int(shared.daemon.address.rpartition(":")[2])
    with Client(GOES_ON, shared.name("alice")) as alice:
        assert alice.next_line() == "right\n"
        takeover = Takeover(bob)
        for host in ("127.0.0.1", "localhost", "0.0.0.0", "127.3.2.1", *own_addresses()):
            for role in (PEER_CONTROL, MONITOR):
                failure, descriptors = takeover.dial(host, port, role)
                assert not descriptors
                assert "this server itself" in failure or "for links only" in failure or "no server" in failure, failure
        assert alice.next_line() == "right\n"


@pytest.mark.parametrize("answer", [b"", b"SSH-2.0-OpenSSH_9.2p1 Debian-2\r\n" * 4], ids=["silent", "talking"])
def test_other_programs_are_not_reached(shared, bob, answer):  # noqa: F811
    takeover = Takeover(bob)
    with program(answer) as (port, heard):
        failure, descriptors = takeover.dial("127.0.0.1", port, PEER_CONTROL)
        assert not descriptors
        assert "no server that is to be linked has answered" in failure
    assert bob.call(39) > 1  # the process lives
    assert len(heard) == 1
    assert heard[0].startswith(b"remotecl")
    assert len(heard[0]) == 48


def test_each_attempt_is_in_the_log():
    with Daemon("--isolate", "--metrics", "0", "--log-level", "info") as daemon:
        own = {int(url.rpartition(":")[2].partition("/")[0]) for url in (daemon.address, daemon.metrics_url)}
        with Intruder(daemon.address) as intruder, program() as (port, heard):
            takeover = Takeover(intruder)
            for each in (port, *own):
                assert not takeover.dial("127.0.0.1", each, PEER_CONTROL)[1]
        assert len(heard) == 1
        log = daemon.end()[1]
    assert f"connects to 127.0.0.1:{port} for a link of user default: " in log
    for each in own:
        assert f"may not connect to 127.0.0.1:{each} for a link of user default: " in log
