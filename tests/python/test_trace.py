"""Traces and event graphs on two servers, each in a process of its own, which can be killed or lose its PATH."""

import json

import pytest

PIPELINE = """
import json, math, os, signal, threading, time
import numpy as np
import pyopencl as cl
import remotecl

SOURCE = '''
kernel void produce(global int* data) { data[get_global_id(0)] = get_global_id(0); }
kernel void consume(global const int* data, global int* sums) { sums[get_global_id(0)] = 2 * data[get_global_id(0)]; }
'''
cluster = remotecl.LocalCluster(servers=2)
connection = cluster.connect()
context = connection.context()
by_server = {remotecl.server_of(device): device for device in connection.devices}
first, second = (cl.CommandQueue(context, by_server[address]) for address in cluster.addresses)
program = cl.Program(context, SOURCE).build()
produce, consume = cl.Kernel(program, "produce"), cl.Kernel(program, "consume")
COUNT = 1 << 20
data = cl.Buffer(context, cl.mem_flags.READ_WRITE, 4 * COUNT)
sums = cl.Buffer(context, cl.mem_flags.READ_WRITE, 4 * COUNT)
result = np.empty(COUNT, np.int32)

def pipeline():
    made = produce(first, (COUNT,), None, data)
    used = consume(second, (COUNT,), None, data, sums, wait_for=[made])
    cl.enqueue_copy(second, result, sums)
    assert (result == 2 * np.arange(COUNT)).all()
    return made, used
"""


def test_two_server_pipeline(run_program):
    run_program(
        PIPELINE
        + """
with remotecl.trace() as t:
    pipeline()
[made] = [record for record in t if record.name == "produce"]
[used] = [record for record in t if record.name == "consume"]
[moved] = [record for record in t if record.kind == "transfer"]
[read] = [record for record in t if record.kind == "read"]
assert moved.lane == f"{made.device.label} → {used.device.label}", moved
assert read.destination == "client" and read.bytes == 4 * COUNT
assert made.id in moved.depends_on and {made.id, moved.id} <= set(used.depends_on)
for record in t:
    assert record.error == "" and 0 <= record.queued <= record.received <= record.submit <= record.start <= record.end
    assert record.end <= t.duration, record
for before, after in ((made, moved), (moved, used), (used, read)):
    assert before.end <= after.start, (before, after)
assert read.arrived >= read.start
assert made.buffers == (data.int_ptr,) and made.queue == first.int_ptr and made.device.server == cluster.addresses[0]
"""
    )


def test_dataframe_plot_perfetto_and_text(run_program, tmp_path):
    program = (
        PIPELINE
        + f"""
import matplotlib
matplotlib.use("Agg")
with remotecl.trace() as t:
    pipeline()
frame = t.to_dataframe()
assert list(frame.index) == [record.id for record in t]
assert frame[frame.kind == "kernel"].name.tolist() == ["produce", "consume"]
assert ((frame.end - frame.start - frame.duration).abs() < 1e-12).all()
axes = t.plot()
lanes = [label.get_text() for label in axes.get_yticklabels()]
assert lanes[:2] == [device.label for device in t.devices] and set(lanes) == {{r.lane for r in t}}, lanes
arrows = [text for text in axes.texts if text.arrow_patch is not None]
assert len(arrows) == sum(len(record.depends_on) for record in t)
axes.figure.savefig({str(tmp_path / "timeline.png")!r})
t.save({str(tmp_path / "trace.json")!r})
by_lane = {{lane.lane: lane for lane in t.summary()}}
assert sum(lane.records for lane in by_lane.values()) == len(t)
assert all(0 < lane.busy <= t.duration for lane in by_lane.values())
assert all(lane in repr(t) and lane in t._repr_html_() for lane in by_lane)
"""
    )
    run_program(program)
    assert (tmp_path / "timeline.png").stat().st_size > 1000
    events = json.loads((tmp_path / "trace.json").read_text())["traceEvents"]
    slices = [event for event in events if event["ph"] == "X"]
    assert {"produce", "transfer", "consume", "read"} == {event["name"] for event in slices}
    assert sum(event["ph"] == "M" and event["name"] == "process_name" for event in events) == 2
    threads = {(event["pid"], event["tid"]) for event in events if event.get("name") == "thread_name"}
    assert {(event["pid"], event["tid"]) for event in slices} == threads
    begins = {event["id"]: event for event in events if event["ph"] == "s"}
    ends = {event["id"]: event for event in events if event["ph"] == "f"}
    assert begins and begins.keys() == ends.keys()
    # Perfetto ties an arrow to the slice around its time.
    for arrow in [*begins.values(), *ends.values()]:
        assert any(
            (one["pid"], one["tid"]) == (arrow["pid"], arrow["tid"])
            and one["ts"] <= arrow["ts"] <= one["ts"] + one["dur"]
            for one in slices
        ), arrow


def test_failed_pending_and_dropped(run_program):
    run_program(
        PIPELINE
        + """
gate, open_end = cl.UserEvent(context), cl.UserEvent(context)
with remotecl.trace(wait=0) as t:
    failed = cl.enqueue_marker(first, wait_for=[gate])
    gate.set_status(-5)
    try:
        failed.wait()
    except cl.Error:
        pass
    pending = cl.enqueue_marker(second, wait_for=[open_end])
    second.flush()
assert [record.error for record in t] == ["EXEC_STATUS_ERROR_FOR_EVENTS_IN_WAIT_LIST", "pending"], t.records
assert math.isnan(t.records[1].end)
assert sum(lane.failed for lane in t.summary()) == 1
open_end.set_status(0)
second.finish()
with remotecl.trace(records_max=2) as t:
    for _ in range(5):
        cl.enqueue_marker(first)
assert (len(t), t.dropped) == (2, 3) and "3 more did not fit" in repr(t)
"""
    )


def test_lost_server(run_program):
    run_program(
        PIPELINE
        + """
pipeline()
gate = cl.UserEvent(context)
begun = time.monotonic()
with remotecl.trace(wait=60) as t:
    produce(second, (COUNT,), None, data)
    second.finish()
    stuck = cl.enqueue_marker(first, wait_for=[gate])
    first.flush()
    os.kill(cluster.servers[0].pid, signal.SIGKILL)
    try:
        stuck.wait()
        raise SystemExit("the lost server's command ended well")
    except cl.Error:
        pass
    produce(second, (COUNT,), None, data)
assert time.monotonic() - begun < 30, "the end of the trace waited for a lost server"
kernels = [record for record in t if record.kind == "kernel"]
[marker] = [record for record in t if record.kind == "marker"]
assert marker.error == "DEVICE_NOT_AVAILABLE" and math.isnan(marker.end), marker
assert [record.error for record in kernels] == ["", ""] and not any(math.isnan(record.end) for record in kernels)
with remotecl.trace() as again:
    produce(second, (COUNT,), None, data)
assert [record.error for record in again] == [""]
""",
        REMOTECL_LOG="off",
    )


def test_one_trace_at_a_time_and_many_threads(run_program):
    run_program(
        PIPELINE
        + """
def launches():
    queue = cl.CommandQueue(context, by_server[cluster.addresses[0]])
    own = cl.Kernel(program, "produce")
    for _ in range(50):
        own(queue, (16,), None, data)

t = remotecl.trace()
try:
    t.records
    raise SystemExit("records before the end")
except remotecl.TraceError as error:
    assert "with block" in str(error)
with t:
    for body in (lambda: remotecl.trace().__enter__(), lambda: t.__enter__()):
        try:
            body()
            raise SystemExit("a trace in a trace")
        except remotecl.TraceError as error:
            assert "running already" in str(error) or "another one" in str(error), error
    threads = [threading.Thread(target=launches) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
assert sum(record.name == "produce" for record in t) == 200
by_queue = {}
for record in t:
    assert record.start >= by_queue.get(record.queue_id, 0)
    by_queue[record.queue_id] = record.end
assert len(by_queue) == 4
"""
    )


def test_queues_with_the_same_handle_are_different_queues(run_program):
    run_program(
        PIPELINE
        + """
with remotecl.trace() as t:
    for _ in range(8):
        queue = cl.CommandQueue(context, by_server[cluster.addresses[0]])
        produce(queue, (16,), None, data)
        queue.finish()
        del queue
launches = [record for record in t if record.kind == "kernel"]
assert len({record.queue_id for record in launches}) == 8
assert not [edge for edge in remotecl.event_graph(t).edges if edge.kind == "queue"]
"""
    )


def test_event_graph(run_program):
    run_program(
        PIPELINE
        + """
profiled = cl.CommandQueue(context, second.device, properties=cl.command_queue_properties.PROFILING_ENABLE)
made = produce(first, (COUNT,), None, data)
used = consume(profiled, (COUNT,), None, data, sums, wait_for=[made])
after = consume(profiled, (COUNT,), None, data, sums)
cl.wait_for_events([used, after])
graph = remotecl.event_graph([made, used, after])
names = [node.name for node in graph.nodes]
assert names == ["produce", "consume", "consume"], names
assert [(edge.before, edge.after, edge.kind) for edge in graph.edges] == [
    (graph.nodes[0].id, graph.nodes[1].id, "event"), (graph.nodes[1].id, graph.nodes[2].id, "queue")]
assert graph.nodes[0].start is None and 0 <= graph.nodes[1].start < graph.nodes[1].end <= graph.nodes[2].start
assert {node.server for node in graph.nodes} == set(cluster.addresses)
assert graph.source.count("subgraph") == 2 and graph.source.count("->") == 2 and "produce" in graph.source

with remotecl.trace() as t:
    pipeline()
graph = remotecl.event_graph(t)
assert [node.id for node in graph.nodes] == [record.id for record in t]
assert len([edge for edge in graph.edges if edge.kind == "event"]) == sum(len(record.depends_on) for record in t)
assert len(remotecl.event_graph(t.records[:2]).nodes) == 2

os.environ["PATH"] = ""
assert "apt-get install graphviz" in graph._repr_mimebundle_()["text/plain"]
try:
    remotecl.event_graph([1])
    raise SystemExit("1 is an event")
except remotecl.EventGraphError as error:
    assert "PyOpenCL events" in str(error)
"""
    )


def test_event_graph_draws_itself(run_program):
    run_program(
        PIPELINE
        + """
from xml.etree import ElementTree

graph = remotecl.event_graph(pipeline())
drawing = ElementTree.fromstring(graph._repr_mimebundle_()["image/svg+xml"])
shapes = drawing.iter("{http://www.w3.org/2000/svg}g")
drawn = [(shape.get("class"), " ".join(part.strip() for part in shape.itertext())) for shape in shapes]
of_class = lambda name: [text for kind, text in drawn if kind == name]
assert len(of_class("node")) == len(graph.nodes) and len(of_class("edge")) == len(graph.edges), drawn
for node in graph.nodes:
    assert any(node.name in text for text in of_class("node")), (node, drawn)
servers = {node.server for node in graph.nodes}
assert len(servers) == 2 and len(of_class("cluster")) == 2, drawn
assert all(any(server in text for text in of_class("cluster")) for server in servers), drawn
"""
    )


CARRIED = """
import numpy as np, pyopencl as cl, remotecl
servers = [remotecl.Server(tls=SECURE, isolate=SECURE) for _ in range(2)]
context = remotecl.connect(*(f"{s.address}?pin={s.pin}" if SECURE else s.address for s in servers)).context()
first, second = (cl.CommandQueue(context, device) for device in (context.devices[0], context.devices[-1]))
values = np.ones(1 << 20, np.uint8)
buffer = cl.Buffer(context, cl.mem_flags.READ_WRITE, values.nbytes)
with remotecl.trace() as t:
    cl.enqueue_copy(first, buffer, values)
    cl.enqueue_migrate_mem_objects(second, [buffer]).wait()
    cl.enqueue_copy(second, values, buffer)
    cl.enqueue_copy(second, values[:4], buffer)
assert [record.transport for record in t if record.bytes == values.nbytes] == ["TRANSPORT"] * 3, t.records
assert t.records[-1].transport is None, "it came with the answer"
t.save("FILE")
"""


@pytest.mark.parametrize(
    ("memory", "is_secure", "transport"), [("on", False, "shm"), ("off", False, "tcp"), ("off", True, "tls")]
)
def test_bulk_transfers_say_what_carried_them(run_program, tmp_path, memory, is_secure, transport):
    file = tmp_path / "trace.json"
    words = {"SECURE": repr(is_secure), "TRANSPORT": transport, "FILE": str(file)}
    program = CARRIED
    for name, word in words.items():
        program = program.replace(name, word)
    run_program(program, REMOTECL_SHARED_MEMORY=memory)
    slices = [event["args"] for event in json.loads(file.read_text())["traceEvents"] if event["ph"] == "X"]
    assert [arguments["transport"] for arguments in slices if "transport" in arguments] == [transport] * 3
