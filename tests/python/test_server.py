"""Starting and stopping daemons."""

import os
import signal
import socket
import subprocess
import sys
import time
from pathlib import Path

import pytest

import remotecl
from conftest import CLEAN_ENVIRONMENT

GONE_WITHIN_S = 10.0


def can_connect(address: str) -> bool:
    host, _, port = address.rpartition(":")
    try:
        socket.create_connection((host, int(port)), timeout=5).close()
    except OSError:
        return False
    return True


def is_alive(pid: int) -> bool:
    try:
        status = Path(f"/proc/{pid}/stat").read_text()
    except FileNotFoundError:
        return False
    return status.rpartition(")")[2].split()[0] != "Z"


def wait_until_gone(pids: list[int]) -> None:
    deadline = time.monotonic() + GONE_WITHIN_S
    while any(map(is_alive, pids)):
        assert time.monotonic() < deadline, f"still alive: {[pid for pid in pids if is_alive(pid)]}"
        time.sleep(0.02)  # these are not our children: there is nothing to wait on


def test_a_server_listens_until_it_is_stopped():
    with remotecl.Server() as server:
        assert server.running
        assert can_connect(server.address)
        assert is_alive(server.pid)
    assert not server.running
    assert not can_connect(server.address)


def test_stopping_is_clean_and_may_be_repeated():
    server = remotecl.Server()
    assert server.stop() == 0
    assert server.stop() == 0


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_a_signal_shuts_the_daemon_down_cleanly(number):
    with remotecl.Server() as server:
        os.kill(server.pid, number)
        assert server._daemon._process.wait(GONE_WITHIN_S) == 0


def test_a_collected_server_stops():
    server = remotecl.Server()
    pid = server.pid
    del server
    wait_until_gone([pid])


def test_a_taken_port_is_reported_in_the_daemons_words():
    with remotecl.Server() as server, pytest.raises(remotecl.ServerStartError) as caught:
        remotecl.Server(listen=server.address)
    assert "exit code 1" in str(caught.value)
    assert server.address.rpartition(":")[2] in str(caught.value)


def test_an_address_that_is_not_ours_is_reported():
    with pytest.raises(remotecl.ServerStartError, match=r"192\.0\.2\.1"):
        remotecl.Server(listen="192.0.2.1:0")


def test_a_device_that_does_not_exist_is_reported():
    with pytest.raises(remotecl.ServerStartError, match="no such device"):
        remotecl.Server(devices="no such device")


def test_no_driver_is_reported(tmp_path, monkeypatch):
    monkeypatch.setattr(remotecl._loading.vendors, "wheel_pocl", lambda: None)
    with pytest.raises(remotecl.ServerStartError, match=r"(?i)driver|platform"):
        remotecl.Server(environment={"OCL_ICD_VENDORS": str(tmp_path)})


def test_remotecl_is_never_a_driver(cluster, tmp_path, monkeypatch):
    """Even when nobody removes it from the daemon's vendors directory, and it has devices to offer."""
    (tmp_path / "any.icd").write_text(remotecl.icd_path() + "\n")
    monkeypatch.setattr(remotecl._daemon.launcher, "daemon_environment", dict)
    environment = {"OCL_ICD_VENDORS": str(tmp_path), "REMOTECL_SERVERS": cluster.addresses[0]}
    with pytest.raises(remotecl.ServerStartError, match=r"(?i)driver|platform"):
        remotecl.Server(environment=environment)


def test_a_daemon_that_does_not_listen_in_time_is_stopped():
    with pytest.raises(remotecl.ServerStartError, match="did not listen in time"):
        remotecl.Server(startup_timeout_s=0.0)


def test_a_cluster_has_as_many_servers_as_asked():
    with remotecl.LocalCluster(servers=3) as three:
        assert len(set(three.addresses)) == 3
        assert all(map(can_connect, three.addresses))
        pids = [server.pid for server in three.servers]
    assert not any(map(is_alive, pids))


def test_a_cluster_of_none_is_refused():
    with pytest.raises(ValueError, match="at least 1"):
        remotecl.LocalCluster(servers=0)


def test_a_cluster_that_fails_to_start_leaves_nothing_behind():
    with pytest.raises(remotecl.ServerStartError):
        remotecl.LocalCluster(servers=2, devices="no such device")
    children = Path(f"/proc/self/task/{os.getpid()}/children").read_text().split()
    names = [Path(f"/proc/{pid}/cmdline").read_text() for pid in children]
    assert not [name for name in names if "no such device" in name]


@pytest.fixture
def owner():
    """Starts a program that owns a cluster and prints its daemons' process ids; gives the process and the ids."""
    processes = []

    def start(rest: str) -> tuple[subprocess.Popen, list[int]]:
        # From a thread that ends: a daemon must not depend on the thread that started it.
        source = f"""
import os, sys, threading, time
import remotecl
box = []
thread = threading.Thread(target=lambda: box.append(remotecl.LocalCluster(2)))
thread.start(); thread.join()
cluster = box[0]
print(*[server.pid for server in cluster.servers], flush=True)
{rest}
"""
        process = subprocess.Popen(
            [sys.executable, "-c", source], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True,
            env=CLEAN_ENVIRONMENT,
        )  # fmt: skip
        processes.append(process)
        pids = [int(pid) for pid in process.stdout.readline().split()]
        assert len(pids) == 2
        return process, pids

    yield start
    for process in processes:
        process.kill()
        process.stdin.close()
        process.wait()
        process.stdout.close()


@pytest.mark.parametrize(
    "rest",
    [
        "sys.stdin.read()",
        # A forked child that lives on has inherited the pipes, and must not keep the daemons alive.
        "if os.fork() == 0: sys.stdin.read(); os._exit(0)\nsys.stdin.read()",
    ],
    ids=["alone", "with a forked child"],
)
def test_no_daemon_survives_sigkill_of_its_owner(owner, rest):
    process, pids = owner(rest)
    time.sleep(0.2)  # the daemons outlive the thread that started them
    assert all(map(is_alive, pids))
    process.kill()
    process.wait()
    wait_until_gone(pids)


def test_no_daemon_survives_the_end_of_its_owner(owner):
    process, pids = owner("")
    assert process.wait(60) == 0
    wait_until_gone(pids)


def test_a_forked_child_that_ends_leaves_its_parents_daemons_alone(owner):
    process, pids = owner("if os.fork() == 0: sys.exit(0)\nos.wait(); print('forked', flush=True); sys.stdin.read()")
    assert process.stdout.readline() == "forked\n"
    assert all(map(is_alive, pids))


def test_the_wheels_pocl_serves_where_no_driver_is_installed(tmp_path):
    if remotecl._loading.vendors.wheel_pocl() is None:
        pytest.skip("pocl-binary-distribution is not installed")
    with remotecl.Server(environment={"OCL_ICD_VENDORS": str(tmp_path)}) as server:
        assert can_connect(server.address)
