"""Sessions of one server share its devices: how much of each one's work the driver has at a time."""

import pytest

import remotecl
from client import Client
from daemon import Daemon

# Launches kernels of some milliseconds without waiting, says so, and counts at the end how many have run.
FLOOD = """
import sys, threading
import numpy as np
import pyopencl as cl
import remotecl

SOURCE = '''
kernel void spin(global int* count, int rounds) {
  int x = *count;
  for (int i = 0; i < rounds; ++i) x = x * 1664525 + 1013904223;
  if (x != 12345) ++*count;
}'''
context = remotecl.connect(sys.argv[1]).context()
queue = cl.CommandQueue(context)
spin = cl.Kernel(cl.Program(context, SOURCE).build(), "spin")
count = cl.Buffer(context, cl.mem_flags.READ_WRITE | cl.mem_flags.COPY_HOST_PTR, hostbuf=np.zeros(1, np.int32))
spin(queue, (1,), (1,), count, np.int32(1))
queue.finish()
print("there", flush=True)
sys.stdin.readline()
for _ in range(300):
    spin(queue, (1,), (1,), count, np.int32(6_000_000))
queue.flush()
print("launched", flush=True)
queue.finish()
result = np.empty(1, np.int32)
cl.enqueue_copy(queue, result, count)
print(result[0])
"""


class Flood(Client):
    """A client that floods a device, once it is told to."""

    def __init__(self, address: str, kernels: int = 300) -> None:
        super().__init__(FLOOD.replace("300", str(kernels)), address)

    def begin(self) -> None:
        assert self.next_line() == "launched\n"

    def count(self) -> int:
        return int(self.leave()[0])


# Has more work for a device than it may give to it at once, as others use it, too. The first kernel takes seconds.
ASKING = f"""{FLOOD.partition("print(")[0]}
work = spin(queue, (1,), (1,), count, np.int32(2_000_000_000))
for _ in range(200):
    spin(queue, (1,), (1,), count, np.int32(1))
assert cl.Kernel(cl.Program(context, SOURCE + " ").build(), "spin").num_args == 2
assert work.command_execution_status > cl.command_execution_status.COMPLETE
queue.finish()
assert work.command_execution_status == cl.command_execution_status.COMPLETE
result = np.empty(1, np.int32)
cl.enqueue_copy(queue, result, count)
assert result[0] == 202
"""


def deepest(address: str, looks: int = 30) -> int:
    return max(remotecl.overview(address).status[0].devices[0].queue_depth for _ in range(looks))


def test_who_is_alone_may_give_the_device_all_of_its_work():
    with Daemon() as daemon, Flood(daemon.address) as alone:
        alone.begin()
        while remotecl.overview(daemon.address).status[0].commands < 301:
            pass
        assert deepest(daemon.address) > 100
        assert alone.count() == 301


@pytest.mark.parametrize("options", [(), ("--limit", "session.queued-commands=8")], ids=["two", "one with a limit"])
def test_the_driver_gets_no_more_than_keeps_the_device_busy(options):
    with Daemon(*options) as daemon, Flood(daemon.address, kernels=3) as neighbour:
        floods = [Flood(daemon.address) for _ in range(1 if options else 2)]
        for flood in floods:
            flood.begin()
        while not deepest(daemon.address, looks=1):
            pass
        neighbour.begin()
        assert neighbour.count() == 4
        assert deepest(daemon.address, looks=1) > 50  # the floods go on; before its turn came, all would have ended
        assert [flood.count() for flood in floods] == [301] * len(floods)


def test_who_waits_for_its_turn_may_ask_the_server_and_build_programs(run_program):
    with Daemon() as daemon, Flood(daemon.address):
        run_program(f"import sys\nsys.argv[1:] = ['{daemon.address}']\n{ASKING}")
