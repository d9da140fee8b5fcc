"""What sessions and users may have: the file, the options, and what who wants more gets."""

import re
import signal
from pathlib import Path

import pytest

import remotecl
from client import Client
from daemon import Daemon
from remotecl._connect.connection import server_name

MIB = 1 << 20

# Fills two buffers of 6 MiB, one after the other, and says what becomes of each, and of an image and of SVM.
GREEDY = """
import sys
import numpy as np
import pyopencl as cl
import remotecl

context = remotecl.connect({name!r}).context()
device = context.devices[0]
queue = cl.CommandQueue(context, device)
print(device.global_mem_size, device.max_mem_alloc_size)
kept = []

def fill(size):
    buffer = cl.Buffer(context, cl.mem_flags.READ_WRITE, size)
    kept.append(buffer)
    cl.enqueue_fill_buffer(queue, buffer, np.int32(1), 0, size)
    try:
        queue.finish()
        event = cl.enqueue_fill_buffer(queue, buffer, np.int32(1), 0, size)
        event.wait()
        print("ok")
    except cl.Error as error:
        print(error.code)

fill(6 << 20)
fill(6 << 20)
image = cl.Image(context, cl.mem_flags.READ_WRITE, cl.ImageFormat(cl.channel_order.RGBA, cl.channel_type.FLOAT),
                 shape=(1024, 512))
try:
    cl.enqueue_fill_image(queue, image, np.zeros(4, np.float32), (0, 0), (1024, 512)).wait()
    print("ok")
except cl.Error as error:
    print(error.code)
try:
    svm = cl.SVMAllocation(context, 6 << 20, 64, cl.svm_mem_flags.READ_WRITE)
    print("ok")
except Exception as error:
    print("no svm")
del image
kept.clear()
queue.finish()
fill(6 << 20)
"""
FAILURE = -4  # CL_MEM_OBJECT_ALLOCATION_FAILURE, or what a wait for an event that ended with it gives
WAIT_FAILURE = -14


@pytest.fixture
def users(tmp_path) -> Path:
    """A file of limits for alice and bob, beside their tokens."""
    for name in ("alice", "bob", "common"):
        token = tmp_path / f"{name}.token"
        token.write_text(f"what only {name} knows")
        token.chmod(0o600)
    file = tmp_path / "limits.toml"
    file.write_text("""
[session]
queued-commands = 1000

[default]
sessions = 1

[users.alice]
token-file = "alice.token"
sessions = 2
device-memory = "10 MiB"

[users.bob]
token-file = "bob.token"
devices = [0]
weight = 2.5
""")
    return file


def test_a_session_gets_no_more_memory_than_it_may_have(run_program):
    with Daemon("--limit", "session.device-memory=10MiB", "--metrics", "0") as daemon:
        sizes, first, second, image, svm, again = run_program(GREEDY.format(name=daemon.address)).stdout.splitlines()
        assert sizes == f"{10 * MIB} {10 * MIB}"
        assert first == again == "ok"
        assert int(second) in (FAILURE, WAIT_FAILURE)
        assert int(image) in (FAILURE, WAIT_FAILURE)
        assert svm == "no svm"
        (left,) = [value for key, value in daemon.metrics().items() if key[0] == "remotecl_device_memory_used_bytes"]
        assert left == 0


def test_the_status_says_each_sessions_weight(run_program, users):
    with Daemon("--limits", str(users), "--metrics", "0") as daemon:
        bob = server_name(daemon.address, users.parent / "bob.token")
        program = f"""
import remotecl
remotecl.connect({bob!r})
(session,) = [each for each in remotecl.overview().status[0].sessions if each.user == "bob"]
print(session.user, session.weight)
"""
        assert run_program(program).stdout == "bob 2.5\n"
        metrics = daemon.metrics()
        assert (metrics["remotecl_user_weight", "bob"], metrics["remotecl_user_weight", "alice"]) == (2.5, 1)


def test_users_share_what_they_may_have(run_program, users):
    with Daemon("--limits", str(users)) as daemon:
        alice = server_name(daemon.address, users.parent / "alice.token")
        bob = server_name(daemon.address, users.parent / "bob.token")
        together = f"""
import os, subprocess, sys
import numpy as np, pyopencl as cl, remotecl
context = remotecl.connect({alice!r}).context()
queue = cl.CommandQueue(context)
buffer = cl.Buffer(context, cl.mem_flags.READ_WRITE, 6 << 20)
cl.enqueue_fill_buffer(queue, buffer, np.int32(1), 0, 6 << 20)
queue.finish()
for name in ({alice!r}, {bob!r}):
    print(subprocess.run([sys.executable, "-c", {GREEDY!r}.format(name=name)], capture_output=True, text=True).stdout)
"""
        said = run_program(together).stdout.split("\n\n")
        of_alice, of_bob = said[0].splitlines(), said[1].splitlines()
        assert int(of_alice[1]) in (FAILURE, WAIT_FAILURE), "her other session has 6 of her 10 MiB"
        assert of_bob[1:] == ["ok"] * 5


def test_users_are_told_apart_and_counted(run_remotecl, run_program, users):
    with Daemon("--limits", str(users), "--metrics", "0") as daemon:
        names = {name: server_name(daemon.address, users.parent / f"{name}.token") for name in ("alice", "bob")}
        stranger = run_remotecl("devices", "--servers", daemon.address)
        assert stranger.returncode == 1
        assert "asks for a token" in stranger.stderr
        wrong = run_remotecl("devices", "--servers", server_name(daemon.address, users.parent / "common.token"))
        assert "the token is not the server's" in wrong.stderr
        code = """
import remotecl, subprocess, sys
remotecl.connect({alice!r})
again = [sys.executable, "-c", "import remotecl; remotecl.connect({alice!r})"]
second = subprocess.Popen([again[0], again[1], again[2] + "; print(1, flush=True); input()"], stdin=-1, stdout=-1)
second.stdout.readline()
print(subprocess.run(again, capture_output=True, text=True).stderr)
second.communicate()
print("left", subprocess.run(again, capture_output=True, text=True).returncode)
"""
        said = run_program(code.format(**names)).stdout
        assert "user alice has 2 sessions there, and may not have more at a time" in said
        assert "left 0" in said
        counted = daemon.metrics()
        assert counted["remotecl_connections_refused_total", "sessions"] == 1
        assert counted["remotecl_connections_refused_total", "wrong_token"] == 1
        assert counted["remotecl_connections_refused_total", "token_needed"] == 1
        assert ("remotecl_user_sessions", "bob") in counted


def test_the_token_of_all_others_is_the_default_users(run_remotecl, users):
    with Daemon("--limits", str(users), "--token-file", str(users.parent / "common.token")) as daemon:
        for name in ("common", "bob"):
            listed = run_remotecl("devices", "--servers", server_name(daemon.address, users.parent / f"{name}.token"))
            assert listed.returncode == 0, listed.stderr


def test_bandwidth_is_bounded_and_nobody_else_is_slowed_down(run_program):
    code = """
import time
import numpy as np, pyopencl as cl, remotecl
context = remotecl.connect({name!r}).context()
queue = cl.CommandQueue(context)
data = np.ones(8 << 20, np.uint8)
buffer = cl.Buffer(context, cl.mem_flags.READ_WRITE, data.nbytes)
begin = time.monotonic()
cl.enqueue_copy(queue, buffer, data)
cl.enqueue_copy(queue, data, buffer)
print(time.monotonic() - begin)
"""
    with Daemon("--limit", "session.bandwidth=16 MB/s") as daemon:
        # 16 MiB at 16 MB/s, but for what a pause is worth.
        assert 0.9 < float(run_program(code.format(name=daemon.address)).stdout) < 10


def test_a_user_sees_only_some_devices(run_remotecl):
    with Daemon("--limit", "default.devices=[0]") as daemon:
        assert run_remotecl("devices", "--servers", daemon.address).returncode == 0
    with Daemon("--limit", "default.devices=[0]", "--limit", "session.devices=[0]") as daemon:
        assert run_remotecl("devices", "--servers", daemon.address).returncode == 0


WRONG = {
    "no TOML": ("[session\n", "limits.toml:1: this is not TOML"),
    "a section": ("\n[sesion]\n", "limits.toml:2: there is no section [sesion]; there are [session]"),
    "a key": ("[session]\n\nmemory = 1\n", "limits.toml:3: [session] has no key memory; there are device-memory"),
    "a key for users": ("[session]\nweight = 1\n", "[session] has no key weight; there are"),
    "a unit": ('[default]\ndevice-memory = "8 gigs"\n', "limits.toml:2: device-memory of [default] must be a number"),
    "a unit of time": ('[default]\nbandwidth = "8 MB"\n', 'or a text like "200 MB/s"'),
    "nothing": ("[default]\ndevice-memory = 0\n", "must be a number of bytes"),
    "a type": ("[default]\nsessions = 1.5\n", "limits.toml:2: sessions of [default] must be a whole number from 1 on"),
    "a weight": ("[default]\nweight = 0\n", "must be a number from 0.01 to 1000"),
    "a word": ('[default]\nexclusive = "yes"\n', "must be true or false"),
    "devices": ('[default]\ndevices = ["GPU"]\n', "must be a list of the numbers that the server prints"),
    "a device": ("[default]\ndevices = [0, 77]\n", "[default] names device 77, and this server has 1"),
    "no token": ("[users.eve]\nsessions = 1\n", "limits.toml:1: [users.eve] needs token-file"),
    "no such token": ('[users.eve]\ntoken-file = "none"\n', "none: No such file"),
    "a token twice": (
        '[users.eve]\ntoken-file = "t"\n[users.adam]\ntoken-file = "t"\n', "users adam and eve have the same token"
    ),
    "a token for all": ('[default]\ntoken-file = "t"\n', "limits.toml:2: [default] is for those who have no token"),
}  # fmt: skip


@pytest.mark.parametrize(("text", "words"), WRONG.values(), ids=WRONG.keys())
def test_what_is_wrong_with_a_file_is_said(tmp_path, text, words):
    (tmp_path / "t").write_text("what nobody knows")
    (tmp_path / "t").chmod(0o600)
    file = tmp_path / "limits.toml"
    file.write_text(text)
    with pytest.raises(AssertionError, match=re.escape(words)):
        Daemon("--limits", str(file))


@pytest.mark.parametrize(
    ("option", "words"),
    [
        ("--limit=session", "write SECTION.KEY=VALUE"),
        ("--limit=session.device-memory=many", "--limit session.device-memory=many: device-memory of [session] must"),
        ("--limit=sesion.x=1", "there is no section [sesion]"),
        ("--limits=/nowhere/limits.toml", "cannot read the limits in /nowhere/limits.toml"),
    ],
)
def test_what_is_wrong_with_an_option_is_said(option, words):
    with pytest.raises(AssertionError, match=re.escape(words)):
        Daemon(option)


def test_options_come_on_top_of_the_file(run_program, users):
    with Daemon("--limits", str(users), "--limit", "users.alice.device-memory=20 MiB") as daemon:
        name = server_name(daemon.address, users.parent / "alice.token")
        said = run_program(GREEDY.format(name=name)).stdout.splitlines()
        assert said[:3] == [f"{20 * MIB} {20 * MIB}", "ok", "ok"]


def test_users_tokens_protect_a_server_on_the_network(run_remotecl, users):
    with Daemon("--limits", str(users), "--listen", "0.0.0.0:0") as daemon:
        address = f"127.0.0.1:{daemon.address.rpartition(':')[2]}"
        assert run_remotecl("devices", "--servers", address).returncode == 1
        assert remotecl.overview(server_name(address, users.parent / "bob.token")).status[0].session_count == 0


def test_who_has_devices_alone_keeps_others_out(run_remotecl, run_program, users):
    users.write_text(
        '[users.alice]\ntoken-file = "alice.token"\nexclusive = true\n[users.bob]\ntoken-file = "bob.token"\n'
    )
    with Daemon("--limits", str(users), "--metrics", "0", "--no-isolate") as daemon:
        alice, bob = (server_name(daemon.address, users.parent / f"{name}.token") for name in ("alice", "bob"))
        # Bob is there first, and has no queue yet; alice comes; bob wants one.
        code = """
import subprocess, sys
import numpy as np, pyopencl as cl, remotecl

context = remotecl.connect({bob!r}).context()
start = [sys.executable, "-c", "import remotecl; remotecl.connect({alice!r}); print(1, flush=True); input()"]
alice = subprocess.Popen(start, stdin=-1, stdout=-1)
print(alice.stdout.readline().strip().decode())
look = [sys.executable, "-c", "import remotecl; print(remotecl.connect({bob!r}).devices)"]
print("newcomer:", subprocess.run(look, capture_output=True, text=True).stderr.splitlines()[-1])
buffer = cl.Buffer(context, cl.mem_flags.READ_WRITE, 64)

def fill():
    queue = cl.CommandQueue(context)
    cl.enqueue_fill_buffer(queue, buffer, np.int32(1), 0, 64).wait()
    return queue

try:
    fill()
    print("bob has it too")
except cl.Error as error:
    print("bob:", error.code)
alice.communicate()
for attempt in range(1000):
    try:
        queue = fill()
        break
    except cl.Error:
        pass
print("free again")
again = subprocess.run(start, stdin=subprocess.DEVNULL, capture_output=True, text=True)
print("alice:", again.stderr.splitlines()[-1])
"""
        there, newcomer, taken, free, refused = run_program(code.format(alice=alice, bob=bob)).stdout.splitlines()
        assert there == "1"
        assert "no device that user bob may use now" in newcomer
        assert taken in ("bob: -2", "bob: -14"), "CL_DEVICE_NOT_AVAILABLE, or a wait for what ended with it"
        assert free == "free again"
        assert "user alice is to have devices alone, and others use device 0 now" in refused
        assert daemon.metrics()["remotecl_connections_refused_total", "no_device"] == 2


def test_a_client_gets_devices_alone_when_it_asks_and_may(run_remotecl, run_program):
    with Daemon() as daemon:
        # It is there until others have looked.
        code = """
import subprocess, sys
import remotecl

look = [sys.executable, "-m", "remotecl", "devices", "--servers", {address!r}]
assert subprocess.run(look).returncode == 0
assert remotecl.connect("{address}?exclusive=yes").devices
print("newcomer:", subprocess.run(look, capture_output=True, text=True).stderr)
"""
        assert (
            "there is no device that user default may use now"
            in run_program(code.format(address=daemon.address)).stdout
        )
        assert run_remotecl("devices", "--servers", daemon.address).returncode == 0
    with Daemon("--limit", "default.exclusive=false") as daemon:
        refused = run_remotecl("devices", "--servers", f"{daemon.address}?exclusive=yes")
        assert "user default may not have devices alone; take exclusive=yes out" in refused.stderr + refused.stdout


SESSION = """
import sys, remotecl
connection = remotecl.connect(sys.argv[1])
print("there", flush=True)
sys.stdin.readline()
print(len(connection.devices), flush=True)
"""


def renewed(daemon: Daemon) -> str:
    """Has the daemon read its limits again; what it says."""
    daemon.process.send_signal(signal.SIGHUP)
    return daemon.process.stderr.readline()


def test_limits_are_read_again_and_what_is_there_counts_on(run_remotecl, users):
    def name(who: str) -> str:
        return server_name(daemon.address, users.parent / f"{who}.token")

    def refusal(who: str) -> str:
        return run_remotecl("devices", "--servers", name(who)).stderr

    text = users.read_text()
    with Daemon("--limits", str(users), "--token-file", str(users.parent / "common.token")) as daemon:
        with Client(SESSION, name("alice")) as client:
            assert refusal("alice") == ""
            users.write_text(text.replace("sessions = 2", "sessions = 1"))
            assert "has read" in renewed(daemon)
            assert "may not have more at a time" in refusal("alice"), "the session from before counts"
            users.write_text(text.replace("sessions = 2", "sessions = many"))
            assert "keeps its former limits" in renewed(daemon)
            assert "may not have more at a time" in refusal("alice")
            users.write_text(text[: text.index("[users.bob]")])
            assert "has read" in renewed(daemon)
            assert "the token is not the server's" in refusal("bob")
            assert client.next_line() != "", "who is there stays"
        assert daemon.end()[0] == 0


def test_limits_that_would_let_everybody_in_are_not_taken(users):
    with Daemon("--limits", str(users), "--listen", "0.0.0.0:0") as daemon:
        users.write_text("[session]\nqueued-commands = 7\n")
        assert "keeps its former limits: refusing to listen" in renewed(daemon)


def test_without_a_file_a_hangup_ends_the_server():
    with Daemon() as daemon:
        assert daemon.end(signal.SIGHUP)[0] == -signal.SIGHUP
