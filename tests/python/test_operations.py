"""What whoever runs a daemon needs: a log for programs, counters for Prometheus, an orderly end, a systemd unit."""

import json
import os
import re
import shutil
import signal
import socket
import subprocess
import sys
import urllib.error
import urllib.request
from contextlib import contextmanager
from pathlib import Path

import pytest

import remotecl
from client import Client
from conftest import CLEAN_ENVIRONMENT
from daemon import WITHIN_S, Daemon

UNIT = Path(__file__).resolve().parents[2] / "packaging" / "remotecl-server.service"

# Fills a buffer, says so, and goes on for as long as its stdin is open: then it uses the buffer again.
VISITOR = """
import sys
import numpy as np
import pyopencl as cl
import remotecl

context = remotecl.connect(sys.argv[1]).context()
queue = cl.CommandQueue(context)
buffer = cl.Buffer(context, cl.mem_flags.READ_WRITE, 1 << 20)
cl.enqueue_copy(queue, buffer, np.arange(1 << 18, dtype=np.int32))
queue.finish()  # a write returns when its bytes have left, which may be before the server has made the buffer
print("there", flush=True)
sys.stdin.read()
result = np.empty(1 << 18, np.int32)
cl.enqueue_copy(queue, result, buffer)
print(np.array_equal(result, np.arange(1 << 18)), flush=True)
"""


class Visitor(Client):
    """Stays until it is told to leave."""

    def __init__(self, address: str) -> None:
        super().__init__(VISITOR, address)


def test_prometheus_reads_the_counters(run_remotecl):
    with Daemon("--metrics", "0") as daemon:
        before = daemon.metrics()
        assert before["remotecl_build_info", remotecl.__version__] == 1
        assert before["remotecl_sessions",] == before["remotecl_sessions_total",] == 0
        with Visitor(daemon.address) as visitor:
            during = daemon.metrics()
            assert during["remotecl_sessions",] == during["remotecl_sessions_total",] == 1
            (memory,) = [value for key, value in during.items() if key[0] == "remotecl_device_memory_used_bytes"]
            assert memory == 1 << 20
            assert visitor.leave()[0] == "True\n"
        assert run_remotecl("devices", "--servers", f"{daemon.address}?token=/nowhere").returncode != 0
        host, _, port = daemon.address.rpartition(":")
        with socket.create_connection((host, int(port)), timeout=WITHIN_S) as stranger:
            stranger.sendall(b"remotecl" + (999).to_bytes(4, "little") + bytes(36))  # a Hello of another version
            assert stranger.recv(64)
        (status,) = remotecl.overview(daemon.address).status
        after = daemon.metrics()
    assert after["remotecl_connections_refused_total", "version"] == 1
    assert after["remotecl_sessions_total",] == 1
    assert after["remotecl_commands_total",] == status.commands == 2
    received = "remotecl_client_bytes_total", "bulk", "received"
    assert after[received] - before[received] >= 1 << 20
    assert after[received] == status.clients.bulk.received.bytes
    assert after["remotecl_client_messages_total", "control", "sent"] == status.clients.control.sent.messages
    assert all(re.fullmatch(r"remotecl_[a-z_]+", name) for name, *_ in after)


def test_what_automatic_devices_place_is_counted(run_program):
    with Daemon("--metrics", "0") as daemon:
        program = f"""
import pyopencl, remotecl
remotecl.connect({daemon.address!r})
context = pyopencl.Context([remotecl.auto()])
queue = pyopencl.CommandQueue(context)
program = pyopencl.Program(context, "kernel void one(global int* to) {{ to[0] = 1; }}").build()
buffer = pyopencl.Buffer(context, pyopencl.mem_flags.READ_WRITE, 4)
kernel = pyopencl.Kernel(program, "one")
for _ in range(6):
    kernel(queue, (1,), None, buffer)
queue.finish()
(status,) = remotecl.overview().status
print(status.devices[0].placed, status.sessions[0].placed[0], status.users[0].placed)
"""
        assert run_program(program).stdout == "6 6 6\n"
        assert daemon.metrics()["remotecl_user_placed_kernels_total", "default", "0"] == 6


def test_only_metrics_are_there():
    with Daemon("--metrics", "0") as daemon:
        root = daemon.metrics_url.removesuffix("/metrics")
        assert root.startswith("http://127.0.0.1:")
        with pytest.raises(urllib.error.HTTPError, match="404"):
            urllib.request.urlopen(root, timeout=WITHIN_S)
        with pytest.raises(urllib.error.HTTPError, match="405"):
            urllib.request.urlopen(daemon.metrics_url, data=b"x", timeout=WITHIN_S)
        host, port = root.removeprefix("http://").split(":")
        with socket.create_connection((host, int(port)), timeout=WITHIN_S) as chatterbox:
            chatterbox.sendall(b"GET /" + 9000 * b"x")
            assert b" 431 " in chatterbox.recv(100)
        daemon.metrics()


@pytest.mark.parametrize(
    ("port", "words"), [("gpu1", "names no port"), ("192.0.2.1:0", "cannot listen on 192.0.2.1:0")]
)
def test_a_port_for_metrics_that_cannot_be(port, words):
    with pytest.raises(AssertionError, match=re.escape(words)):
        Daemon("--metrics", port)


def test_a_log_for_programs():
    with Daemon("--log-format", "json", "--log-level", "info") as daemon:
        with Visitor(daemon.address) as visitor:
            visitor.leave()
        code, log = daemon.end()
    assert code == 0
    lines = [json.loads(line) for line in log.splitlines()]
    assert all({"time", "level", "message"} <= line.keys() for line in lines)
    sessions = [(line["session"], line["message"].split(",")[0]) for line in lines if "session" in line]
    (first, begins), *_, (last, ends) = sessions
    assert (begins, ends) == ("begins", "ends")
    assert first == last
    assert re.fullmatch("[0-9a-f]{16}", first)
    assert {line["device"] for line in lines if line["message"].startswith("serves ")} == {0}


def test_a_failure_to_start_is_in_the_log_for_programs_too():
    with pytest.raises(AssertionError) as caught:
        Daemon("--log-format", "json", "--log-level", "off", "--devices", "no such device")
    line = json.loads(str(caught.value).splitlines()[0])
    assert line["level"] == "critical"
    assert "no such device" in line["message"]


def test_draining_lets_sessions_go_on_and_takes_no_others(run_remotecl):
    with Daemon("--drain", "600", "--log-level", "info") as daemon, Visitor(daemon.address) as visitor:
        daemon.process.send_signal(signal.SIGTERM)
        assert "takes no new sessions" in next(line for line in daemon.process.stderr if "takes" in line)
        refused = run_remotecl("devices", "--servers", daemon.address)
        assert refused.returncode == 1
        assert "is about to end and takes no new sessions" in refused.stderr
        assert remotecl.overview(daemon.address).status[0].session_count == 1
        assert visitor.leave() == ("True\n", "")
        assert daemon.process.wait(WITHIN_S) == 0


def test_who_does_not_leave_is_told_when_the_time_is_over():
    with Daemon("--drain", "1") as daemon, Visitor(daemon.address) as visitor:
        code, log = daemon.end()
        assert code == 0
        assert "1 sessions have not left" in log
        assert "the server said: the server is shutting down" in visitor.leave()[1]


def test_a_second_signal_ends_a_drain():
    with Daemon("--drain", "600", "--log-level", "info") as daemon, Visitor(daemon.address):
        daemon.process.send_signal(signal.SIGTERM)
        next(line for line in daemon.process.stderr if "takes" in line)
        assert daemon.end()[0] == 0


@contextmanager
def listening_below_systemd(notify: str, process: str, *options: str):
    """A `remotecl-server` that has the environment of a service whose main process has this number ("$$": its own)."""
    with subprocess.Popen(
        ["sh", "-c", f'SYSTEMD_EXEC_PID={process} exec "$@"', "sh",
         sys.executable, "-m", "remotecl._daemon", "--listen", "127.0.0.1:0", "--no-store", *options],
        env={**CLEAN_ENVIRONMENT, "NOTIFY_SOCKET": notify}, stdout=subprocess.PIPE, text=True,
    ) as daemon:  # fmt: skip
        try:
            assert any(line.startswith("listening on ") for line in daemon.stdout)
            yield
        finally:
            daemon.terminate()
            daemon.communicate(timeout=WITHIN_S)


@pytest.mark.parametrize("options", [[], ["--advertise", f"test {os.getpid()}"]], ids=["daemon", "advertised"])
@pytest.mark.parametrize("kind", ["file", "abstract"])
def test_systemd_is_told_when_it_listens(options, kind, tmp_path):
    name = str(tmp_path / "notify") if kind == "file" else f"@remotecl test {os.getpid()}"
    with socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as manager:
        manager.bind(name.replace("@", "\0"))
        manager.settimeout(WITHIN_S)
        with listening_below_systemd(name, "$$", *options):
            assert manager.recv(100) == b"READY=1"
        # A service is not ready because a daemon is that it has started.
        with listening_below_systemd(name, "1", *options):
            pass
        manager.setblocking(False)
        with pytest.raises(BlockingIOError):
            manager.recv(100)


def test_the_systemd_unit_is_sound(tmp_path):
    if shutil.which("systemd-analyze") is None:
        pytest.skip("systemd-analyze is not installed")
    text = UNIT.read_text()
    (program,) = re.findall(r"^ExecStart=(\S+)", text, re.MULTILINE)
    unit = tmp_path / UNIT.name
    unit.write_text(text.replace(program, shutil.which("true")))
    verified = subprocess.run(
        ["systemd-analyze", "verify", "--man=no", "--recursive-errors=no", unit],
        capture_output=True, text=True, check=False,
    )  # fmt: skip
    assert (verified.returncode, verified.stderr) == (0, "")
    # In tenths of systemd's measure of exposure: 0 to 100.
    judged = subprocess.run(
        ["systemd-analyze", "security", "--offline=yes", "--threshold=20", unit],
        capture_output=True, text=True, check=False,
    )  # fmt: skip
    assert judged.returncode == 0, judged.stdout
    options = re.findall(r"--[a-z-]+", re.search(r"^ExecStart=(?:.*\\\n)*.*", text, re.MULTILINE).group())
    known = subprocess.run(
        [remotecl._daemon.launcher.binary_path(), "--help"], capture_output=True, text=True, check=True
    ).stdout
    assert options and all(option in known for option in options)
