"""The dependencies of events, or of a trace, as a graph."""

from __future__ import annotations

import html
import importlib
import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, cast

from .._connect.connection import decoded, native
from .._display import table
from ..errors import RemoteCLError
from .records import TraceRecord, status_text
from .trace import Trace

if TYPE_CHECKING:
    import graphviz
    import pyopencl

# Graphviz takes minutes for graphs that nobody can read.
NODES_MAX = 500
# Longer chains are drawn from top to bottom, because pages are scrolled down, not sideways.
_ROW_MAX = 5
# Inches, the width of a notebook's cell. A graph is scaled down to fit, never up.
_CELL = "9.5,30"


class EventGraphError(RemoteCLError):
    """A graph cannot be made or drawn; the message says why and what to do."""


@dataclass(frozen=True)
class EventNode:
    """A command in an event graph.

    Attributes:
        id: names it in the graph's edges.
        name: the kernel's name; for other commands, the kind.
        server: ``host:port``; empty for user events.
        device: the device's name; empty for user events.
        status: ``"complete"``, ``"pending"``, or the error's name.
        start: and `end`: seconds on one clock for all nodes of the graph, counted from the earliest start; None if
        unknown (events of queues without profiling).
        end: see `start`.

    Example::

        for node in remotecl.event_graph(events).nodes:
            print(node.name, node.server, node.status)
    """

    id: int
    name: str
    server: str
    device: str
    status: str
    start: float | None
    end: float | None


@dataclass(frozen=True)
class EventEdge:
    """`after` waited for `before`: by its wait list or for its data (``"event"``), or by its queue (``"queue"``).

    Attributes:
        before: id of the node that was waited for.
        after: id of the one that waited.
        kind: ``"event"`` or ``"queue"``.

    Example::

        graph = remotecl.event_graph(events)
        print([(edge.before, edge.after) for edge in graph.edges if edge.kind == "event"])
    """

    before: int
    after: int
    kind: str


class EventGraph:
    """A graph of commands; in Jupyter it draws itself with graphviz, where that is installed.

    Attributes:
        nodes: the commands.
        edges: which command waited for which.

    Args:
        nodes: the commands.
        edges: between their ids.

    Example::

        graph = remotecl.event_graph(events)
        print(graph.source)  # DOT
        graph.svg()
    """

    def __init__(self, nodes: Sequence[EventNode], edges: Sequence[EventEdge]) -> None:
        self.nodes = tuple(nodes)
        self.edges = tuple(edges)

    @property
    def source(self) -> str:
        """The graph in graphviz' language, DOT: one box for each server. Needs nothing installed."""
        direction = "LR" if self._depth() <= _ROW_MAX else "TB"
        lines = [
            "digraph events {",
            # A background of its own, so that it can be read on dark pages too.
            f'  rankdir={direction}; size="{_CELL}"; bgcolor=white; fontname="sans-serif";',
            '  node [shape=box, style="rounded,filled", fillcolor=white, fontname="sans-serif", margin="0.2,0.1"];',
        ]
        servers = dict.fromkeys(node.server for node in self.nodes)
        for number, server in enumerate(servers):
            lines.append(f"  subgraph cluster_{number} {{")
            lines.append(f"    label={_quoted(server or 'this program')};")
            lines += [f"    {_dot_node(node)}" for node in self.nodes if node.server == server]
            lines.append("  }")
        styles = {"event": "", "queue": " [style=dotted]"}
        lines += [f"  n{edge.before} -> n{edge.after}{styles[edge.kind]};" for edge in self.edges]
        return "\n".join([*lines, "}", ""])

    def _depth(self) -> int:
        """The number of commands in the longest chain of dependencies."""
        after: dict[int, list[int]] = {}
        waits = dict.fromkeys((node.id for node in self.nodes), 0)
        for edge in self.edges:
            after.setdefault(edge.before, []).append(edge.after)
            waits[edge.after] += 1
        depth = dict.fromkeys(waits, 1)
        free = [node for node, count in waits.items() if count == 0]
        while free:
            node = free.pop()
            for other in after.get(node, ()):
                depth[other] = max(depth[other], depth[node] + 1)
                waits[other] -= 1
                if waits[other] == 0:
                    free.append(other)
        return max(depth.values(), default=0)

    def to_graphviz(self) -> graphviz.Source:
        """The graph as an object of the package graphviz, to be rendered to files.

        Raises:
            EventGraphError: the package is not installed.

        Example::

            graph.to_graphviz().render("graph", format="pdf")
        """
        try:
            package = importlib.import_module("graphviz")
        except ImportError as error:
            raise EventGraphError("this needs graphviz, which is not installed: pip install graphviz") from error
        return package.Source(self.source)

    def svg(self) -> str:
        """The drawn graph.

        Raises:
            EventGraphError: the package graphviz or its program ``dot`` is not installed; the message says how to
                install it.
        """
        if len(self.nodes) > NODES_MAX:
            raise EventGraphError(
                f"{len(self.nodes)} commands are too many to draw ({NODES_MAX} are not): give event_graph() a part "
                "of the records or events"
            )
        drawing = self.to_graphviz()
        try:
            return cast(str, drawing.pipe(format="svg", encoding="utf-8"))
        except importlib.import_module("graphviz").ExecutableNotFound as error:
            raise EventGraphError(
                "drawing needs graphviz' program dot, which is not on the PATH: apt-get install graphviz, or "
                "conda install graphviz. `source` has the graph as text"
            ) from error

    def __repr__(self) -> str:
        dependencies = f"{len(self.edges):,} {'dependency' if len(self.edges) == 1 else 'dependencies'}"
        lines = [f"<remotecl.EventGraph: {table.count(len(self.nodes), 'command')}, {dependencies}>"]
        before: dict[int, list[int]] = {}
        for edge in self.edges:
            before.setdefault(edge.after, []).append(edge.before)
        for node in self.nodes[:NODES_MAX]:
            waits = f", after {', '.join(map(str, before[node.id]))}" if node.id in before else ""
            lines.append(f"  {node.id}: {node.name} on {node.server or 'this program'}, {_state(node)}{waits}")
        return "\n".join(lines)

    def _repr_mimebundle_(self, include: Any = None, exclude: Any = None) -> dict[str, str]:  # noqa: ANN401
        try:
            return {"image/svg+xml": self.svg(), "text/plain": repr(self)}
        except EventGraphError as error:
            return {"text/plain": f"{self!r}\n({error})"}


def event_graph(events: Iterable[pyopencl.Event] | Trace | Iterable[TraceRecord]) -> EventGraph:
    """The dependencies between commands, also across servers.

    Args:
        events: PyOpenCL events of remotecl's platform, or a `Trace`, or some of its records. Events know their wait
            lists and, in queues with profiling, their times; a trace also knows the transfers and all times.

    Returns:
        An `EventGraph`: a drawing in Jupyter, text elsewhere, `EventGraph.source` for graphviz. Does not wait for
        the commands.

    Raises:
        EventGraphError: something in `events` is not an event of remotecl's.

    Example::

        made = kernel(first, (n,), None, data)
        used = kernel(second, (n,), None, data, wait_for=[made])
        remotecl.event_graph([made, used])
    """
    found = list(events)
    if all(isinstance(one, TraceRecord) for one in found):
        return _of_records(cast("list[TraceRecord]", found))
    return _of_events(found)


def _of_records(records: list[TraceRecord]) -> EventGraph:
    begin = min((one.start for one in records if not math.isnan(one.start)), default=0.0)
    nodes = [
        EventNode(
            id=one.id,
            name=one.name if one.source is None else f"{one.name} {table.size(one.bytes or 0)}",
            server=one.device.server,
            device=one.device.name,
            status=one.error or "complete",
            start=None if math.isnan(one.start) else one.start - begin,
            end=None if math.isnan(one.end) else one.end - begin,
        )
        for one in records
    ]
    known = {one.id for one in records}
    edges = [EventEdge(before, one.id, "event") for one in records for before in one.depends_on if before in known]
    queues = [(one.id, one.queue_id) for one in records if one.in_order and one.queue_id]
    return EventGraph(nodes, edges + _queue_edges(queues, edges))


def _of_events(events: list[pyopencl.Event]) -> EventGraph:
    try:
        handles = [event.int_ptr for event in events]
    except AttributeError as error:
        raise EventGraphError("event_graph() takes PyOpenCL events, a trace or its records") from error
    told = decoded(native().events_json(handles))
    if None in told:
        raise EventGraphError(f"event {told.index(None)} is none of remotecl's; only its own know what they wait for")
    by_id = {one["event"]: one for one in told}
    begin = min((one["times"][2] for one in told if one["times"]), default=0)
    nodes = [_event_node(one, begin) for one in by_id.values()]
    edges = [
        EventEdge(before, one["event"], "event") for one in by_id.values() for before in one["waits"] if before in by_id
    ]
    in_order = sorted((one for one in by_id.values() if one["in_order"]), key=lambda one: int(one["place"]))
    return EventGraph(nodes, edges + _queue_edges([(one["event"], one["queue"]) for one in in_order], edges))


def _event_node(told: dict[str, Any], begin: int) -> EventNode:
    times = told["times"]
    return EventNode(
        id=told["event"],
        name=told["name"],
        server=told.get("server", ""),
        device=told.get("device", ""),
        status=status_text(told["status"]) or "complete",
        start=(times[2] - begin) / 1e9 if times else None,
        end=(times[3] - begin) / 1e9 if times else None,
    )


def _queue_edges(commands: list[tuple[int, int]], known: list[EventEdge]) -> list[EventEdge]:
    """The edges that follow from the order of queues: `commands` are ids and queues, in order."""
    there = {(edge.before, edge.after) for edge in known}
    newest: dict[int, int] = {}
    edges: list[EventEdge] = []
    for command, queue in commands:
        before = newest.get(queue)
        if before is not None and (before, command) not in there:
            edges.append(EventEdge(before, command, "queue"))
        newest[queue] = command
    return edges


def _state(node: EventNode) -> str:
    if node.start is None or node.end is None:
        return node.status
    duration = f"{(node.end - node.start) * 1e3:.3f} ms from {node.start * 1e3:.3f} ms"
    return duration if node.status == "complete" else f"{node.status}, {duration}"


def _dot_node(node: EventNode) -> str:
    lines = (f"<b>{html.escape(node.name)}</b>", html.escape(node.device), html.escape(_state(node)))
    color = "" if node.status in ("complete", "pending") else ", color=red"
    return f"n{node.id} [label=<{'<br/>'.join(line for line in lines if line)}>{color}];"


def _quoted(text: str) -> str:
    escaped = text.replace("\\", "\\\\").replace('"', '\\"')
    return f'"{escaped}"'
