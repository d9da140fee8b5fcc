"""However a program ends, nothing is said that it has not caused."""

import pytest

WORK = """
import atexit, os, signal, sys
import numpy as np
import pyopencl as cl
import pyopencl.array
import remotecl


def work(connection):
    context = connection.context()
    queues = [cl.CommandQueue(context, device) for device in context.devices]
    buffer = cl.Buffer(context, cl.mem_flags.COPY_HOST_PTR, hostbuf=np.arange(1 << 18, dtype=np.int32))
    source = "kernel void add(global int *x) { x[get_global_id(0)] += 1; }"
    add = cl.Kernel(cl.Program(context, source).build(), "add")
    events = [add(queue, (1 << 18,), None, buffer) for queue in queues]
    return context, queues, buffer, add, events, cl.array.arange(queues[0], 1000, dtype=np.float32)


"""
STARTED = "cluster = remotecl.LocalCluster(servers=2)\nconnection = cluster.connect()\nkept = work(connection)\n"
ENDS = {
    "objects that live": STARTED,
    "sys.exit": STARTED + "sys.exit(0)",
    "os._exit": STARTED + "os._exit(0)",
    "with": "with remotecl.LocalCluster(servers=2) as cluster:\n    kept = work(cluster.connect())",
    "closed before its objects": STARTED + "connection.close()",
    "objects after the connection": STARTED + "connection.close()\ndel kept",
    "objects after the cluster": STARTED + "cluster.stop()\ndel kept",
    "stopped at exit": STARTED + "atexit.register(cluster.stop)",
    "work at exit": "cluster = remotecl.LocalCluster(servers=2)\natexit.register(lambda: work(cluster.connect()))",
    "a monitor": STARTED + "view = remotecl.monitor(interval_s=60)",
    "a trace that goes on": STARTED + "trace = remotecl.trace()\ntrace.__enter__()\nmore = work(connection)",
    "a progress bar": "remotecl.progress(True)\n" + STARTED,
    "fewer servers": STARTED + "del kept\ncluster.scale(1)",
    "a read under way": (
        STARTED
        + "source = 'kernel void slow(global int *x) { for (int i = 0; i < 300000000; ++i) x[0] += i & x[1]; }'\n"
        + "slow = cl.Kernel(cl.Program(kept[0], source).build(), 'slow')\n"
        + "slow(kept[1][0], (1,), None, kept[2])\n"
        + "event = cl.enqueue_copy(kept[1][0], np.empty(1 << 18, np.int32), kept[2], is_blocking=False)"
    ),
    "a server that is stopped": (
        "server = remotecl.Server('127.0.0.1:0')\nkept = work(remotecl.connect(server.address))\nserver.stop()"
    ),
    "a forked child": STARTED + "child = os.fork()\nif child:\n    os.waitpid(child, 0)",
    "a cycle": f"""
class Node:
    pass
node = Node()
node.node = node
{STARTED}
node.all = cluster, connection, kept
del node, cluster, connection, kept
""",
}  # fmt: skip


@pytest.mark.parametrize("end", ENDS.values(), ids=ENDS.keys())
def test_a_normal_end_is_quiet(run_program, end):
    result = run_program(WORK + end)
    assert (result.stdout, result.stderr) == ("", "")


@pytest.mark.parametrize(
    ("end", "code", "last"),
    [
        ("raise RuntimeError('mine')", 1, "RuntimeError: mine"),
        ("signal.raise_signal(signal.SIGINT)", -2, "KeyboardInterrupt"),
        ("os.kill(os.getpid(), signal.SIGTERM)", -15, ""),
    ],
    ids=["exception", "SIGINT", "SIGTERM"],
)
def test_another_end_says_why_and_nothing_else(run_program, end, code, last):
    result = run_program(WORK + STARTED + end, check=False)
    assert result.returncode == code
    assert "remotecl: " not in result.stderr
    assert (result.stderr.splitlines() or [""])[-1] == last
