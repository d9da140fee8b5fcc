"""A day with remotecl, step by step, as one types it into a notebook or at a prompt."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Step:
    """What is typed, and what has to be seen then.

    Attributes:
        name: of the screenshots.
        source: blocks end with an empty line, for prompts.
        shows: texts that have to be in what it shows.
        says: texts that have to be on stderr; without any it has to be quiet.
        is_drawn: for notebooks only.
    """

    name: str
    source: str
    shows: tuple[str, ...] = ()
    says: tuple[str, ...] = ()
    is_drawn: bool = False


STEPS = (
    Step(
        "cluster",
        """
import os
import signal
import time
import numpy as np
import pyopencl as cl
import remotecl

cluster = remotecl.LocalCluster(servers=2)
cluster
""",
        ("remotecl.LocalCluster", "127.0.0.1:"),
    ),
    Step("connect", "connection = cluster.connect()\nconnection", ("127.0.0.1:",)),
    Step("devices", "remotecl.overview().devices", ("2 devices", "OpenCL 3.0", "127.0.0.1:")),
    Step(
        "compute",
        """
SOURCE = "kernel void add(global int *x) { x[get_global_id(0)] += 1; }"

def compute(context):
    queues = [cl.CommandQueue(context, device) for device in context.devices]
    add = cl.Kernel(cl.Program(context, SOURCE).build(), "add")
    numbers = np.arange(1 << 20, dtype=np.int32)
    buffer = cl.Buffer(context, cl.mem_flags.COPY_HOST_PTR, hostbuf=numbers)
    for queue in queues:
        add(queue, numbers.shape, None, buffer).wait()
    result = np.empty_like(numbers)
    cl.enqueue_copy(queues[0], result, buffer)
    print("right" if (result == numbers + len(queues)).all() else "WRONG")
    return buffer

buffer = compute(connection.context())
""",
        ("right",),
    ),
    Step("residency", "remotecl.residency(buffer)", ("4.0 MiB", "127.0.0.1:")),
    Step("stats", "remotecl.overview().stats", ("server", "sent", "received")),
    Step("links", "remotecl.overview().links", ("1 link", "connected")),
    Step(
        "monitor",
        """
view = remotecl.monitor(interval_s=0.5)
time.sleep(0.7)
""",
        ("servers", "sessions", "connected"),
    ),
    Step("monitor again", "view = remotecl.monitor(interval_s=0.5)\ntime.sleep(0.7)", ("servers", "connected")),
    Step("monitor ends", "view.stop()"),
    Step(
        "trace",
        """
with remotecl.trace() as t:
    buffer = compute(connection.context())

t
""",
        ("right", "records in", "on 2 devices"),
    ),
    Step("plot", "t.plot();", is_drawn=True),
    Step("graph", "remotecl.event_graph(t)", is_drawn=True),
    Step("dataframe", 't.to_dataframe().groupby("name").duration.sum()', ("add",)),
    Step(
        "kill",
        """
address = cluster.addresses[1]
os.kill(cluster.servers[1].pid, signal.SIGKILL)
while connection.devices[1].available:
    time.sleep(0.01)

cluster
""",
        ("127.0.0.1:", "stopped"),
        ("lost 127.0.0.1:",),
    ),
    Step("loss", "remotecl.overview().servers", ("2 servers", "lost")),
    Step(
        "restart",
        """
server = remotecl.Server(address)
server
""",
        ("running",),
    ),
    Step("connect again", "connection = remotecl.connect(cluster.addresses)\nremotecl.devices()", ("2 devices",)),
    Step(
        "add",
        """
another = remotecl.Server("127.0.0.1:0")
connection = remotecl.connect(cluster.addresses, another.address)
remotecl.overview().servers
""",
        ("3 servers",),
    ),
    Step("go on", "buffer = compute(connection.context())\nremotecl.residency(buffer)", ("right", "4.0 MiB")),
    Step("all links", "remotecl.overview().links", ("3 links",)),
    Step(
        "close",
        """
connection.close()
another.stop()
server.stop()
cluster.stop()
cluster
""",
        ("127.0.0.1:",),
    ),
    Step("closed", "remotecl.overview().servers", ("0 servers",)),
)
