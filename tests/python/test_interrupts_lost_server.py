"""Ctrl-C while the main thread waits for a server that is stopped, lost or silent."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from conftest import CLEAN_ENVIRONMENT
from gated_program import GATED, PRELUDE


@pytest.mark.parametrize(
    "wait",
    [
        "queue.finish()",
        "enqueue().wait()",
        "cl.enqueue_copy(queue, np.empty_like(before), buffer)",
        "cl.enqueue_copy(queue, buffer, before)",
        "[cl.enqueue_copy(queue, buffer, before[:1 << 17]) for _ in range(100)]",
        "remotecl.overview().status",
        "remotecl.overview().servers",
    ],
)
def test_waiting_for_a_server_that_is_stopped_is_interrupted(run_program, wait):
    run_program(f"""
import os, remotecl
cluster = remotecl.LocalCluster(servers=1)
os.environ["SERVERS"] = cluster.addresses[0]
{GATED}
open_gate()
queue.finish()
process = cluster.servers[0].pid
os.kill(process, signal.SIGSTOP)
os.waitid(os.P_PID, process, os.WSTOPPED | os.WNOWAIT)
try:
    interrupted(lambda: {wait})
finally:
    os.kill(process, signal.SIGCONT)
queue.finish()
cl.enqueue_copy(queue, buffer, before)
check(0)
cluster.stop()
""")


RELAY = """
import sys, time
from throttled_relay import ThrottledRelay
print(ThrottledRelay(sys.argv[1]).address, flush=True)
time.sleep(1000)
"""


# Too much to send without being asked for, which through shared memory needs no connection.
LARGE_WRITE = (
    "cl.enqueue_copy(queue, cl.Buffer(context, cl.mem_flags.READ_WRITE, 16 << 20), np.zeros(4 << 20, np.int32))"
)


@pytest.mark.parametrize("wait", ["queue.finish()", "check()", LARGE_WRITE])
def test_waiting_while_a_lost_server_is_connected_again_is_interrupted(run_program, cluster, wait):
    relay = subprocess.Popen(
        [sys.executable, "-c", RELAY, cluster.addresses[0]],
        env={**CLEAN_ENVIRONMENT, "PYTHONPATH": str(Path(__file__).parent)},
        stdout=subprocess.PIPE,
        text=True,
    )
    try:
        address = relay.stdout.readline().strip()
        run_program(
            f"""{GATED}
open_gate()
queue.finish()
os.kill({relay.pid}, signal.SIGKILL)
while True:
    try:
        silent = socket.create_server(("127.0.0.1", {address.rpartition(":")[2]}))  # takes calls and says nothing
        break
    except OSError:
        time.sleep(0.01)
for _ in range(2):
    interrupted(lambda: {wait})
connection.close()
""",
            SERVERS=address,
        )
    finally:
        relay.kill()
        relay.communicate()


@pytest.mark.parametrize("ask", ["remotecl.connect(silent)", "remotecl.overview(silent).status"])
def test_asking_a_server_that_does_not_answer_is_interrupted(run_program, addresses, ask):
    run_program(
        f"""{PRELUDE}
listener = socket.create_server(("127.0.0.1", 0))
silent = f"127.0.0.1:{{listener.getsockname()[1]}}"
connection = remotecl.connect(os.environ["SERVERS"].split(",")[0])
interrupted(lambda: {ask})
begin = time.monotonic()
assert remotecl.overview().devices == connection.devices == connection.platform.get_devices()
assert time.monotonic() - begin < PROMPTLY_S
listener.close()
assert remotecl.connect(os.environ["SERVERS"]).devices
""",
        SERVERS=addresses,
    )
