"""What users see of RDMA: everywhere the same words, and without a device nothing else changes."""

import json
from pathlib import Path
from types import SimpleNamespace

import pytest

import remotecl
from daemon import Daemon
from remotecl._observe import stats
from remotecl._observe.rdma import RdmaStats, rdma_table, words

NO_DEVICE = "this machine has no RDMA device"

without_device = pytest.mark.skipif(
    any(Path("/sys/class/infiniband").glob("*")), reason="this machine has an RDMA device"
)

PROGRAM = """
import json, numpy, remotecl, pyopencl as cl
queue = cl.CommandQueue(remotecl.connect(ADDRESS).context())
buffer = cl.Buffer(queue.context, cl.mem_flags.READ_WRITE, 4 << 20)
cl.enqueue_copy(queue, buffer, numpy.ones(4 << 20, numpy.uint8))
stats = remotecl.overview().stats
(status,) = remotecl.overview().status
print(json.dumps([vars(stats[0].rdma), vars(status.sessions[0].rdma), repr(stats)]))
"""


def seen_by_a_program(run_program, address: str, **environment: str):
    return json.loads(run_program(PROGRAM.replace("ADDRESS", repr(address)), **environment).stdout)


@without_device
def test_both_sides_say_why_there_is_none(run_program, run_remotecl):
    with Daemon("--rdma", "auto", "--log-level", "info") as daemon:
        own, servers, shown = seen_by_a_program(run_program, daemon.address, REMOTECL_RDMA="auto")
        assert (own["state"], own["reason"]) == ("unavailable", NO_DEVICE)
        assert (servers["state"], servers["reason"]) == ("unavailable", NO_DEVICE)
        assert own["channels"] == own["losses"] == own["bytes_sent"] == 0
        assert own["tcp_bytes_sent"] >= 4 << 20
        assert NO_DEVICE in shown
        devices = run_remotecl("devices", "--servers", daemon.address, REMOTECL_RDMA="auto").stdout
        assert f"  RDMA unavailable: {NO_DEVICE}\n" in devices
        assert f"no RDMA: {NO_DEVICE}" in daemon.end()[1]


@without_device
def test_the_doctor_says_it_once_and_quietly(run_remotecl):
    with Daemon() as daemon:
        arguments = ("doctor", "--servers", daemon.address)
        lines = run_remotecl(*arguments).stdout.splitlines()
        assert [line for line in lines if " RDMA" in line.partition(":")[0]] == [
            f"ok       RDMA: {NO_DEVICE}; TCP carries bulk data"
        ]
        text = run_remotecl(*arguments, REMOTECL_RDMA="auto").stdout
    assert f"server {daemon.address}: RDMA: unavailable: {NO_DEVICE}" in text
    assert "problem" not in text.replace("0 problems", "")


@without_device
def test_who_does_not_ask_sees_nothing_of_it(run_program, run_remotecl):
    with Daemon() as daemon:
        own, servers, shown = seen_by_a_program(run_program, daemon.address)
        assert own["state"] == servers["state"] == "off"
        assert "RDMA" not in shown
        assert "RDMA" not in run_remotecl("devices", "--servers", daemon.address).stdout
        assert "RDMA" not in run_remotecl("top", "--once", "--servers", daemon.address).stdout


@without_device
def test_a_session_with_a_process_of_its_own_says_it_too(run_program):
    with Daemon("--rdma", "auto", "--isolate") as daemon:
        _, servers, _ = seen_by_a_program(run_program, daemon.address, REMOTECL_RDMA="auto")
    assert (servers["state"], servers["reason"]) == ("unavailable", NO_DEVICE)


USED = RdmaStats("in use", "", "mlx5_0:1", "10.0.0.1", "10.0.0.2", 4, 0, 3 << 30, 1 << 20)
LOST = RdmaStats("lost", "the port is down", "mlx5_0:1", "10.0.0.1", "10.0.0.3", 0, 2, 5, 6)


@pytest.mark.parametrize(
    "its, reason",
    [
        (RdmaStats("off"), "it is off at the server: --rdma off, or REMOTECL_RDMA=off"),
        (RdmaStats("off", NO_DEVICE), f"the server says: {NO_DEVICE}"),
        (RdmaStats("unavailable", "no port of a device is active"), "the server says: no port of a device is active"),
        (RdmaStats("connecting"), "the other side offers none: it may be this or that"),
        (None, "the other side offers none: it may be this or that"),
    ],
)
def test_the_server_knows_why_it_offers_none(its, reason):
    own = RdmaStats("unavailable", "the other side offers none: it may be this or that")
    status = SimpleNamespace(
        sessions=[SimpleNamespace(is_own=False, rdma=USED), SimpleNamespace(is_own=True, rdma=its)]
    )
    assert stats._rdma(own, status).reason == reason
    assert stats._rdma(own, None) == own
    assert stats._rdma(USED, status) == USED


def test_a_state_in_one_line():
    assert words(USED) == "in use, mlx5_0:1, 10.0.0.1 to 10.0.0.2"
    assert words(LOST) == "lost: the port is down"
    assert words(RdmaStats()) == "off"


def test_the_table_has_those_who_want_it():
    table = rdma_table([("gpu1:10990", "this process", USED), ("gpu2:10990", "x", RdmaStats()), ("gpu3", "y", None)])
    assert len(table.rows) == 1
    text = rdma_table([("gpu1:10990", "this process", USED), ("gpu2:10990", "gpu1:10990", LOST)]).fitted(78).text()
    assert max(map(len, text.splitlines())) <= 80
    assert "3.0 GiB" in text
    assert "the port is" in text
    assert remotecl.types.RdmaStats is RdmaStats
