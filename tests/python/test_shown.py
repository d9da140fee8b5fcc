"""Everything that prints is a table, at prompts and in notebooks."""

import numpy as np
import pyopencl as cl
import pytest

import remotecl


def test_two_devices_of_one_kind_can_be_told_apart(connection):
    shown = repr(remotecl.overview().devices).splitlines()
    assert shown[0] == f"{len(connection.devices)} devices"
    assert len(set(shown)) == len(shown)
    assert all(any(address in line for line in shown) for address in connection.servers)
    assert str(remotecl.overview().devices) == repr(remotecl.overview().devices)


@pytest.mark.parametrize(
    "what",
    [
        lambda: remotecl.overview().servers,
        lambda: remotecl.overview().links,
        lambda: remotecl.overview().status,
        lambda: remotecl.overview().stats,
        remotecl.overview,
        remotecl.residency,
    ],
)
def test_lists_show_themselves_as_tables(queues, what):
    buffer = cl.Buffer(queues[0].context, cl.mem_flags.READ_WRITE, 64)
    filled = cl.enqueue_fill_buffer(queues[0], buffer, b"x", 0, 64)
    cl.enqueue_migrate_mem_objects(queues[1], [buffer], wait_for=[filled]).wait()  # over a link
    found = what()
    shown = repr(found)
    assert shown == str(found)
    assert "object at" not in shown
    assert "ServerInfo(" not in shown
    assert "<table>" in found._repr_html_()
    del buffer


def test_round_trips_have_one_unit_everywhere(connection):
    (server,) = [one for one in remotecl.overview().servers if one.address == connection.servers[0]]
    assert " us" in repr(server)
    assert " us" in server._repr_html_()
    assert "(us)" not in server._repr_html_()


def test_one_buffer_is_no_buffers(connection):
    context = connection.context()
    buffer = cl.Buffer(context, cl.mem_flags.READ_WRITE, 64)
    found = remotecl.residency(buffer)
    assert repr(found).startswith("1 buffer\n")
    assert "1 buffers" not in found._repr_html_()


@pytest.mark.parametrize("ask", [remotecl.server_of, remotecl.native_platform_of])
@pytest.mark.parametrize("device", [3, None, "gpu1"])
def test_a_device_is_a_device(ask, device):
    with pytest.raises(TypeError, match="device must be a pyopencl"):
        ask(device)


def test_sessions_have_their_users_beside_them(connection):
    status = remotecl.overview(connection.servers[0]).status[0]
    assert {session.user for session in status.sessions} == {"default"}
    assert "default" in repr(status)


def trace_of(queue: cl.CommandQueue, commands: int) -> remotecl.types.Trace:
    buffer = cl.Buffer(queue.context, cl.mem_flags.READ_WRITE, 64)
    with remotecl.trace() as trace:
        for _ in range(commands):
            cl.enqueue_fill_buffer(queue, buffer, np.int32(1), 0, 64)
        queue.finish()
    return trace


def test_a_plot_of_thousands_of_records_is_drawn_in_few_pieces(connection):
    pytest.importorskip("matplotlib").use("agg")
    queue = cl.CommandQueue(connection.context(connection.devices[:1]))
    trace = trace_of(queue, 5000)
    axes = trace.plot()
    assert len(trace) >= 5000
    (bars,) = axes.collections
    assert 0 < len(bars.get_paths()) <= 3001
    assert not axes.texts, "no arrows between thousands"
    assert trace.plot(arrows=False).get_ylim() == (0.5, -0.5)


def test_a_plot_has_a_background_of_its_own_whatever_the_theme(connection):
    plots = pytest.importorskip("matplotlib.pyplot")
    queue = cl.CommandQueue(connection.context(connection.devices[:1]))
    trace = trace_of(queue, 3)
    with plots.style.context("dark_background"):
        axes = trace.plot()
    assert axes.figure.get_facecolor()[:3] == (1, 1, 1)
    assert axes.xaxis.label.get_color() == "black"
    plots.close("all")


def test_a_graph_fits_its_cell(connection):
    queue = cl.CommandQueue(connection.context(connection.devices[:1]))
    short, long = (remotecl.event_graph(trace_of(queue, commands)) for commands in (3, 40))
    assert "rankdir=LR" in short.source
    assert "rankdir=TB" in long.source
    for graph in (short, long):
        assert "bgcolor=white" in graph.source
        assert "fillcolor=white" in graph.source
