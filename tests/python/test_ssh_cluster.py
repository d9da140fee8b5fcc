"""SSHCluster through a real sshd: two addresses of this machine are two hosts."""

import json
import os
import re
import shlex
import shutil
import subprocess
import sys
import threading
import time
from pathlib import Path

import pytest

import remotecl
from conftest import CLEAN_ENVIRONMENT
from remotecl._daemon.process import DaemonProcess
from ssh_server import ADDRESSES, SSHD
from test_server import GONE_WITHIN_S, can_connect

JOB = """
import json, sys
import numpy as np
import pyopencl as cl
import remotecl

with remotecl.SSHCluster(["one", "two"], python=sys.executable, **json.loads(sys.argv[1])) as cluster:
    connection = cluster.connect()
    context = connection.context()
    source = "kernel void add(global int* a, int b) { a[get_global_id(0)] += b; }"
    add = cl.Kernel(cl.Program(context, source).build(), "add")
    data = np.arange(1 << 18, dtype=np.int32)
    buffer = cl.Buffer(context, cl.mem_flags.READ_WRITE | cl.mem_flags.COPY_HOST_PTR, hostbuf=data)
    queues = [cl.CommandQueue(context, device) for device in context.devices]
    assert len({remotecl.server_of(queue.device) for queue in queues}) == 2
    for queue in queues:
        add(queue, data.shape, None, buffer, np.int32(3))
        queue.finish()
    result = np.empty_like(data)
    cl.enqueue_copy(queues[0], result, buffer)
    assert (result == data + 3 * len(queues)).all()
    links = [(link.state, link.reason) for link in remotecl.overview().links]
    print(json.dumps({
        "addresses": cluster.addresses, "remote": [server.remote_address for server in cluster.servers], "links": links
    }))
"""


@pytest.fixture(scope="module")
def sshd(tmp_path_factory):
    server = SSHD(tmp_path_factory.mktemp("sshd"))
    yield server
    server.close()


def wait_until_closed(addresses):
    deadline = time.monotonic() + GONE_WITHIN_S
    while any(map(can_connect, addresses)):
        assert time.monotonic() < deadline, addresses
        time.sleep(0.02)  # these are not our children: there is nothing to wait on


def run_job(**arguments):
    result = subprocess.run(
        [sys.executable, "-c", JOB, json.dumps(arguments)],
        env=CLEAN_ENVIRONMENT, capture_output=True, text=True, timeout=120, check=False,
    )  # fmt: skip
    assert result.returncode == 0, result.stdout + result.stderr
    return json.loads(result.stdout), result.stderr


def test_a_job_on_two_hosts(sshd):
    report, errors = run_job(ssh_options=sshd.options)
    assert [address.rpartition(":")[0] for address in report["addresses"]] == list(ADDRESSES.values())
    assert report["addresses"] == report["remote"]
    assert [state for state, _ in report["links"]] == ["connected"]
    assert not errors
    assert not any(map(can_connect, report["addresses"]))


def test_only_who_has_the_clusters_token_is_let_in(sshd, run_remotecl):
    with remotecl.SSHCluster(["one"], tunnel=True, python=sys.executable, ssh_options=sshd.options) as cluster:
        friend = run_remotecl("devices", "--servers", cluster.names[0])
        stranger = run_remotecl("devices", "--servers", cluster.addresses[0])
    assert friend.returncode == 0, friend.stderr
    assert stranger.returncode == 1
    assert "asks for a token" in stranger.stderr


def test_without_a_tunnel_it_speaks_tls_with_a_key_that_ssh_has_told(sshd, run_remotecl):
    def devices(tls: bool | None, hide_pin: bool) -> str:
        options = {"python": sys.executable, "ssh_options": sshd.options, "tls": tls}
        with remotecl.SSHCluster(["one"], **options) as cluster:
            name = cluster.names[0].partition("&pin=")[0] if hide_pin else cluster.names[0]
            assert ("&pin=sha256:" in cluster.names[0]) == (tls is not False)
            done = run_remotecl("devices", "--servers", name)
            return done.stderr or done.stdout.split()[1].rstrip(",")

    assert devices(None, hide_pin=False) == "connected"
    assert "it speaks TLS only" in devices(None, hide_pin=True)
    assert devices(False, hide_pin=True) == "connected"


def test_a_job_through_tunnels(sshd):
    report, errors = run_job(ssh_options=sshd.options, tunnel=True)
    assert not set(report["addresses"]) & set(report["remote"])
    assert all(address.startswith("127.0.0.1:") for address in report["addresses"] + report["remote"])
    assert not errors
    assert not any(map(can_connect, report["addresses"] + report["remote"]))


def test_servers_behind_tunnels_of_separate_machines_go_through_the_client(sshd, tmp_path):
    """Each connection gets a machine of its own: an sshd in a new network namespace."""
    if os.geteuid() != 0 or not shutil.which("ip"):
        pytest.skip("network namespaces need root, and ip: apt-get install iproute2")
    if subprocess.run(
        ["unshare", "--net", "ip", "link", "set", "lo", "up"], capture_output=True, check=False
    ).returncode:
        pytest.skip("no network namespaces here")
    (tmp_path / "sshd_config").write_text(sshd.server_config())
    inner = f"ip link set lo up && exec {sshd.program} -i -f {tmp_path}/sshd_config"
    proxy = f"ProxyCommand=unshare --net sh -c {shlex.quote(inner)}"
    options = ["-o", proxy, "-o", "StrictHostKeyChecking=no", "-o", "UserKnownHostsFile=/dev/null", *sshd.options]
    report, errors = run_job(ssh_options=options, tunnel=True)
    ((state, reason),) = report["links"]
    assert state == "failed"
    assert "no server that is to be linked has answered" in reason
    assert errors.count("data between them goes through this computer") == 1


OWNER = """
import sys, remotecl
cluster = remotecl.SSHCluster(
    ["one", "two"], python=sys.executable, ssh_options=["-F", sys.argv[1]], tunnel=sys.argv[2] == "True"
)
print(*cluster.addresses, *[server.remote_address for server in cluster.servers], flush=True)
sys.stdin.read()
"""


@pytest.mark.parametrize("tunnel", [False, True], ids=["direct", "tunnel"])
def test_no_daemon_survives_sigkill_of_its_owner(sshd, tunnel):
    command = [sys.executable, "-c", OWNER, str(sshd.client_config), str(tunnel)]
    with subprocess.Popen(
        command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, env=CLEAN_ENVIRONMENT
    ) as process:
        try:
            addresses = process.stdout.readline().split()
            assert len(addresses) == 4
            assert all(map(can_connect, addresses))
        finally:
            process.kill()
    wait_until_closed(addresses)


@pytest.mark.parametrize("tunnel", [False, True], ids=["direct", "tunnel"])
def test_a_daemon_ends_with_its_connection(sshd, tunnel):
    """As when the network goes down: ssh is killed, and nobody asks the daemon to end."""
    with remotecl.SSHCluster("one", python=sys.executable, ssh_options=sshd.options, tunnel=tunnel) as cluster:
        (server,) = cluster.servers
        assert server.running
        server._daemon._process.kill()
        server._daemon._process.wait(GONE_WITHIN_S)
        assert not server.running
        wait_until_closed([server.remote_address])
        cluster.scale(1)
        (another,) = cluster.servers
        assert another.running


def test_every_host_may_have_devices_of_its_own(sshd):
    with pytest.raises(
        remotecl.ServerStartError,
        match=r"remotecl-server on two ended with exit code 1: remotecl-server: .*no such device",
    ):
        remotecl.SSHCluster(
            ["one", "two"],
            python=sys.executable,
            ssh_options=sshd.options,
            devices={"one": [0], "two": "no such device's"},
        )
    children = Path(f"/proc/self/task/{threading.get_native_id()}/children").read_text().split()
    names = [Path(f"/proc/{pid}/cmdline").read_text() for pid in children]
    assert not [name for name in names if name.startswith("ssh\0")], "a failed start leaves nothing behind"


def test_a_cluster_shows_itself(sshd):
    with remotecl.SSHCluster(["one"], python=sys.executable, ssh_options=sshd.options, tunnel=True) as cluster:
        assert repr(cluster) == f"<remotecl.SSHCluster {cluster.addresses[0]}>"
        assert repr(cluster.servers[0]) == (
            f"<remotecl.SSHServer {cluster.addresses[0]} on one, through a tunnel, running>"
        )
        shown = re.sub(r" style='[^']*'", "", cluster._repr_html_())
        assert "<td>one, through a tunnel</td><td>running</td>" in shown
    assert ">stopped</td>" in cluster._repr_html_()
    cluster.stop()


def test_a_running_master_connection_is_used_and_stays(sshd, tmp_path):
    socket = tmp_path / "master"
    master = ["ssh", *sshd.options, "-S", str(socket)]
    subprocess.run([*master, "-M", "-N", "-f", "one"], check=True, stderr=subprocess.DEVNULL, timeout=30)
    try:
        # No other connection is let in, so that it can only be this one which is used.
        options = ["-o", f"ControlPath={socket}", "-o", "PubkeyAuthentication=no", *sshd.options]
        with remotecl.SSHCluster(["one"], python=sys.executable, ssh_options=options, tunnel=True) as cluster:
            (server,) = cluster.servers
            assert can_connect(server.address)
            assert can_connect(server.remote_address)
        assert not can_connect(server.address), "the forwarding stays in the master connection"
        assert not can_connect(server.remote_address)
        assert subprocess.run([*master, "-O", "check", "one"], capture_output=True, check=False).returncode == 0
    finally:
        subprocess.run([*master, "-O", "exit", "one"], capture_output=True, check=True)


@pytest.mark.parametrize("tunnel", [False, True], ids=["direct", "tunnel"])
def test_it_becomes_nobodys_master_connection(sshd, tmp_path, tunnel):
    """Else stopping it would wait for, or end, what the user does over the same connection."""
    socket = tmp_path / "master"
    options = ["-o", f"ControlPath={socket}", "-o", "ControlPersist=60", *sshd.options]
    configuration = sshd.client_config.read_text()
    sshd.client_config.write_text("ControlMaster auto\n" + configuration)
    try:
        with remotecl.SSHCluster(["one"], python=sys.executable, ssh_options=options, tunnel=tunnel) as cluster:
            assert all(map(can_connect, cluster.addresses))
            assert not socket.exists()
        assert not any(map(can_connect, cluster.addresses)), "no connection stays in the background"
    finally:
        sshd.client_config.write_text(configuration)


@pytest.mark.parametrize(
    ("hosts", "options", "words"),
    [
        (["no-such-host.invalid"], [], ["no-such-host.invalid", "Could not resolve", "check the spelling"]),
        (["one"], ["-p", "1"], ["Connection refused", "is an SSH server running"]),
        (["one"], ["-o", "PubkeyAuthentication=no"], ["Permission denied", "ssh-copy-id one"]),
        (["one"], ["-o", "UserKnownHostsFile=/dev/null"], ["Host key verification failed", "accept its host key"]),
        (["one"], ["-o", "NoSuchOption=1"], ["nosuchoption", "does `ssh one true` work"]),
    ],
    ids=["unknown host", "refused", "permission denied", "unknown host key", "bad option"],
)
def test_what_is_wrong_with_a_connection_is_told(sshd, hosts, options, words):
    with pytest.raises(remotecl.ServerUnreachable) as caught:
        remotecl.SSHCluster(hosts, python=sys.executable, ssh_options=[*options, *sshd.options], tunnel=True)
    for word in words:
        assert word in str(caught.value)


@pytest.mark.parametrize(
    "how",
    [{"command": "no-such-server"}, {"command": "/no/such/server"}, {"python": f"{sys.executable} -ES"}],
    ids=["in PATH", "by path", "in a Python"],
)
def test_a_machine_without_remotecl_is_told_apart(sshd, how):
    with pytest.raises(remotecl.ServerStartError, match=r"(?s)no remotecl-server on one.*pip install remotecl"):
        remotecl.SSHCluster(["one"], ssh_options=sshd.options, **how)


def test_a_daemon_that_does_not_start_is_quoted(sshd):
    with pytest.raises(
        remotecl.ServerStartError, match=r"on one ended with exit code 1: remotecl-server: .*no such device"
    ):
        remotecl.SSHCluster(["one"], python=sys.executable, ssh_options=sshd.options, devices=["no such device"])


def test_a_command_that_ends_before_it_has_read_its_token_is_told_as_ended():
    daemon = DaemonProcess(["true"], terminate=False, token="x" * 1_000_000)
    assert daemon.await_ready(time.monotonic() + 30) == "ended with exit code 0"


def test_a_daemon_that_cannot_be_reached_asks_for_a_tunnel(sshd):
    # What a machine behind address translation says of itself.
    command = f"{sys.executable} -c 'import sys; print(\"listening on 127.0.0.9:1\", flush=True); sys.stdin.read()'"
    with pytest.raises(remotecl.ServerUnreachable, match=r"127\.0\.0\.9:1.*tunnel=True"):
        remotecl.SSHCluster(["one"], ssh_options=sshd.options, command=command)


@pytest.mark.parametrize("tunnel", [False, True], ids=["direct", "tunnel"])
def test_a_machine_without_ssh_is_told(monkeypatch, tmp_path, tunnel):
    monkeypatch.setenv("PATH", str(tmp_path))
    with pytest.raises(remotecl.ServerStartError, match="openssh-client"):
        remotecl.SSHCluster(["one"], tunnel=tunnel)


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        ({"hosts": []}, "at least one host"),
        ({"hosts": ["-oProxyCommand=true"]}, "is not a host"),
        ({"hosts": ["one two"]}, "is not a host"),
        ({"hosts": ["one"], "devices": {"two": "all"}}, "which devices of one"),
        ({"hosts": ["one"], "command": "a", "python": "b"}, "give one of them"),
    ],
)
def test_mistakes_are_named(arguments, words):
    with pytest.raises(ValueError, match=words):
        remotecl.SSHCluster(**arguments)
