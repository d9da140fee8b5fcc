"""Announcing servers and finding them, by real multicast DNS on the loopback interface."""

import ipaddress
import os
import signal
import subprocess
import sys
import threading
from pathlib import Path

import pytest
import zeroconf

import remotecl
from conftest import CLEAN_ENVIRONMENT
from remotecl._connect import discovery
from remotecl._daemon import advertise
from test_server import GONE_WITHIN_S, can_connect, is_alive, wait_until_gone

LOOPBACK = ["127.0.0.1"]
# Other test runs on this machine announce theirs, too.
NAME = f"test {os.getpid()}"


class Announced:
    """A `remotecl-server --advertise` as a user starts it, on loopback."""

    def __init__(self, name: str, *options: str) -> None:
        self.process = subprocess.Popen(
            [sys.executable, "-m", "remotecl._daemon", "--listen", "127.0.0.1:0", "--no-store", "--advertise", name,
             *options],
            env=CLEAN_ENVIRONMENT, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
        )  # fmt: skip
        self.lines = []
        for line in self.process.stdout:
            self.lines.append(line)
            if line.startswith("announced as "):
                break
        self.address = next((line.split()[-1] for line in self.lines if line.startswith("listening on ")), "")

    def daemon_pid(self) -> int:
        return int(Path(f"/proc/{self.process.pid}/task/{self.process.pid}/children").read_text())

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.process.kill()
        self.process.wait()
        for stream in (self.process.stdin, self.process.stdout, self.process.stderr):
            stream.close()


class Watcher:
    """Notices when a service appears and when it is withdrawn."""

    def __init__(self, service_name):
        self.appeared, self.removed = threading.Event(), threading.Event()
        self._network = zeroconf.Zeroconf(interfaces=LOOPBACK)

        def changed(zeroconf, service_type, name, state_change):
            if name == f"{service_name}.{discovery.SERVICE_TYPE}":
                (self.removed if state_change.name == "Removed" else self.appeared).set()

        zeroconf.ServiceBrowser(self._network, discovery.SERVICE_TYPE, handlers=[changed])

    def close(self):
        self._network.close()


def find(name):
    return [server for server in remotecl.discover(interfaces=LOOPBACK) if server.name == name]


@pytest.fixture(scope="module")
def announced():
    with Announced(NAME) as one:
        yield one


def test_an_announced_server_is_found_and_used(announced, run_program):
    (found,) = find(NAME)
    assert found.address == announced.address
    assert found.version == remotecl.__version__
    assert found.device_count == len(found.devices) > 0
    program = f"import remotecl; print(*[d.name for d in remotecl.connect({found.address!r}).devices], sep='|')"
    assert run_program(program).stdout.strip() == "|".join(found.devices)


def test_the_command_lists_them(announced, run_remotecl):
    lines = run_remotecl("discover").stdout.splitlines()
    at = lines.index(f"{announced.address} {NAME}, remotecl {remotecl.__version__}")
    assert lines[at + 1].startswith("  0: ")


def test_a_name_that_is_taken_gets_a_number_and_sigint_stops(announced):
    with Announced(NAME) as second:
        assert second.lines[-1].startswith(f"announced as {NAME}-2 on ")
        second.process.send_signal(signal.SIGINT)
        assert second.process.wait(GONE_WITHIN_S) == 0


def test_it_is_withdrawn_when_the_server_is_stopped():
    name = f"{NAME} stopped"
    with Announced(name) as announced:
        watcher = Watcher(name)
        assert watcher.appeared.wait(GONE_WITHIN_S)
        announced.process.terminate()
        assert announced.process.wait(GONE_WITHIN_S) == 0
        assert watcher.removed.wait(GONE_WITHIN_S), "a goodbye is sent"
        watcher.close()
    assert not can_connect(announced.address)


def test_it_is_withdrawn_when_the_daemon_dies():
    name = f"{NAME} dies"
    with Announced(name) as announced:
        watcher = Watcher(name)
        assert watcher.appeared.wait(GONE_WITHIN_S)
        os.kill(announced.daemon_pid(), signal.SIGKILL)
        assert announced.process.wait(GONE_WITHIN_S) == 128 + signal.SIGKILL
        assert watcher.removed.wait(GONE_WITHIN_S)
        watcher.close()


def test_the_daemon_does_not_survive_who_announces_it():
    with Announced(f"{NAME} killed") as announced:
        pid = announced.daemon_pid()
        assert is_alive(pid)
        announced.process.kill()
        announced.process.wait()
        wait_until_gone([pid])


def test_it_ends_with_its_stdin_where_that_is_asked():
    with Announced(f"{NAME} stdin", "--exit-on-stdin-eof") as announced:
        announced.process.stdin.close()
        assert announced.process.wait(GONE_WITHIN_S) == 0


def test_a_daemon_that_does_not_start_is_not_announced():
    with Announced(NAME, "--devices", "no such device") as failed:
        _, errors = failed.process.communicate(timeout=GONE_WITHIN_S)
    assert failed.process.returncode == 1
    assert "no such device" in errors


@pytest.mark.parametrize(
    "arguments", [["--advertise"], ["--advertise="], ["--advertise", "x" * 64], ["--advertise", "gpu1."]]
)
def test_an_unusable_name_is_refused(arguments):
    with pytest.raises(remotecl.RemoteCLError, match="1 to 63 bytes"):
        advertise.split_option(arguments)


def test_without_zeroconf_the_remedy_is_told(run_program):
    hidden = "import sys; sys.modules['zeroconf'] = None\n"
    result = run_program(hidden + "import remotecl; remotecl.discover()", check=False)
    assert "pip install 'remotecl[discovery]'" in result.stderr
    program = "sys.argv = ['', '--advertise', 'x']\nfrom remotecl._daemon.launcher import main; main()"
    result = run_program(hidden + program, check=False)
    assert result.returncode == 1
    assert result.stderr.startswith("remotecl-server: ")
    assert "pip install 'remotecl[discovery]'" in result.stderr


def test_an_address_that_both_machines_can_use_is_chosen(monkeypatch):
    own = ["192.168.7.20/24", "172.17.0.1/16", "127.0.0.1/8"]
    monkeypatch.setattr(discovery, "own_interfaces", lambda: [ipaddress.IPv4Interface(text) for text in own])
    assert discovery.nearest(["172.17.0.1", "10.1.1.1", "192.168.7.30"]) == "192.168.7.30"
    assert discovery.nearest(["172.17.0.1", "10.1.1.1"]) == "10.1.1.1"
    assert discovery.nearest(["127.0.0.1"]) == "127.0.0.1"


def test_no_time_is_a_mistake():
    with pytest.raises(ValueError, match="must be positive"):
        remotecl.discover(0)
