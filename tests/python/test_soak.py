"""Many clients with mixed work, a third of them killed at random moments: nothing goes wrong, nothing is kept."""

import os
import random
import subprocess
import sys
import time
from pathlib import Path

import pytest

import remotecl
from conftest import CLEAN_ENVIRONMENT

CLIENTS = int(os.environ.get("SOAK_CLIENTS", "100"))
SECONDS = float(os.environ.get("SOAK_SECONDS", "600"))
CLIENT = """
import random, select, sys
import numpy as np
import pyopencl as cl
import remotecl

random.seed(int(sys.argv[2]))
connection = remotecl.connect(sys.argv[1])
context = connection.context()
queue = cl.CommandQueue(context)
program = cl.Program(context, '''
kernel void add(global int* to, int value) { to[get_global_id(0)] += value; }
kernel void combine(global const int* from, global int* to) { to[get_global_id(0)] ^= from[get_global_id(0)]; }
''').build()
add, combine = cl.Kernel(program, "add"), cl.Kernel(program, "combine")
print("ready", flush=True)
rounds = 0
while not select.select([sys.stdin], [], [], 0)[0]:
    count = random.choice([16, 1000, 40_000, 300_000])
    first = np.random.randint(0, 1 << 20, count, np.int32)
    second = np.random.randint(0, 1 << 20, count, np.int32)
    one = cl.Buffer(context, cl.mem_flags.COPY_HOST_PTR, hostbuf=first)
    other = cl.Buffer(context, 0, first.nbytes)
    cl.enqueue_copy(queue, other, second, is_blocking=random.random() < 0.5)
    for value in range(random.randrange(20)):
        add(queue, (count,), None, one, np.int32(value))
        first += np.int32(value)
    combine(queue, (count,), None, one, other)
    result = np.empty_like(second)
    cl.enqueue_copy(queue, result, other)
    assert (result == first ^ second).all()
    rounds += 1
print(rounds, flush=True)
"""


def start(address: str, seed: int) -> "subprocess.Popen[str]":
    return subprocess.Popen(
        [sys.executable, "-c", CLIENT, address, str(seed)],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        env=CLEAN_ENVIRONMENT,
    )


def finish(client: "subprocess.Popen[str]") -> int:
    """Has a client stop, and gives how many rounds it has done; fails when a result was wrong."""
    output, errors = client.communicate("\n", timeout=300)
    assert client.returncode == 0, errors
    return int(output.split()[-1])


def held(process: int) -> tuple[int, int]:
    """Bytes of memory and descriptors of a process."""
    status = Path(f"/proc/{process}/status").read_text()
    [resident] = [int(line.split()[1]) << 10 for line in status.splitlines() if line.startswith("VmRSS")]
    return resident, len(list(Path(f"/proc/{process}/fd").iterdir()))


def wait_for_no_session(server: remotecl.Server) -> None:
    end = time.monotonic() + 120
    while remotecl.overview(server.address).status[0].session_count:
        assert time.monotonic() < end, "sessions of clients that are gone are still there"
        time.sleep(0.2)


@pytest.mark.soak
def test_many_clients_and_some_killed():
    random.seed(1)
    rounds = killed = 0
    with remotecl.Server() as server:
        # What the driver keeps for good, it keeps after some clients, too.
        for client in [start(server.address, seed) for seed in range(min(CLIENTS, 20))]:
            assert client.stdout is not None and client.stdout.readline() == "ready\n"
            rounds += finish(client)
        wait_for_no_session(server)
        before = held(server.pid)

        clients = [start(server.address, 1000 + number) for number in range(CLIENTS)]
        end = time.monotonic() + SECONDS
        while time.monotonic() < end:
            time.sleep(SECONDS / CLIENTS)
            if killed < CLIENTS // 3:
                victim = random.randrange(CLIENTS)
                clients[victim].kill()
                clients[victim].communicate()
                killed += 1
                clients[victim] = start(server.address, 2000 + killed)
        rounds += sum(map(finish, clients))
        wait_for_no_session(server)
        after = held(server.pid)
    print(f"{CLIENTS} clients, {SECONDS:.0f} s, {rounds} rounds, {killed} killed; memory, files: {before}, {after}")
    assert after[1] <= before[1]
    assert after[0] <= before[0] * 1.25 + (64 << 20)
