"""Content size, prefetch and pinned memory."""

from __future__ import annotations

import gc
import re

import numpy as np
import pyopencl as cl
import pyopencl.array
import pyopencl.tools
import pytest

import remotecl

COUNT = 1 << 18  # ints, 1 MiB
OLD, NEW = 7, 9


@pytest.fixture
def native_context(connection) -> cl.Context:
    found = [platform for platform in cl.get_platforms() if platform.name != "remotecl"]
    if not found:
        pytest.skip("no native platform is visible here")
    return cl.Context(found[0].get_devices())


def state_on(buffer: cl.MemoryObject | cl.array.Array, device: cl.Device) -> set[str]:
    (entry,) = remotecl.residency(buffer)
    return {copy.state for part in entry.ranges for copy in part.copies if copy.device == device}


class TestContentSize:
    @pytest.fixture
    def array(self, queues) -> cl.array.Array:
        """New on the first server, old on the second one."""
        array = cl.array.empty(queues[0], COUNT, np.int32)
        self.make_new(queues, array)
        return array

    @staticmethod
    def make_new(queues: list[cl.CommandQueue], array: cl.array.Array) -> None:
        for queue, value in ((queues[1], OLD), (queues[0], NEW)):
            cl.enqueue_fill_buffer(queue, array.data, np.int32(value), 0, array.nbytes).wait()

    @staticmethod
    def new_ones(queues: list[cl.CommandQueue], array: cl.array.Array) -> int:
        """How many the second server has, once it needs all of them."""
        raw = cl.Buffer(queues[1].context, cl.mem_flags.READ_WRITE, array.nbytes)
        remotecl.prefetch(array, queues[1].device).wait()
        cl.enqueue_copy(queues[1], raw, array.data)
        values = np.empty(COUNT, np.int32)
        cl.enqueue_copy(queues[1], values, raw)
        return int((values == NEW).sum())

    def test_limits_what_is_sent_until_it_is_detached(self, queues, array):
        remotecl.set_content_size(array, cl.array.to_device(queues[0], np.array([1000], np.uint64)))
        assert self.new_ones(queues, array) == 250
        self.make_new(queues, array)
        remotecl.set_content_size(array.data, None)
        assert self.new_ones(queues, array) == COUNT

    def test_a_kernel_may_write_it(self, queues, array):
        size = cl.Buffer(queues[0].context, cl.mem_flags.READ_WRITE, 8)
        remotecl.set_content_size(array.data, size)
        program = cl.Program(queues[0].context, "kernel void f(global ulong* size) { *size = 12; }").build()
        program.f(queues[0], (1,), None, size)
        assert self.new_ones(queues, array) == 3

    @pytest.mark.parametrize(
        ("size", "error", "words"),
        [
            (lambda queue, array: np.zeros(1, np.uint64), TypeError, "size_buffer must be a pyopencl.Buffer"),
            (lambda queue, array: cl.array.zeros(queue, 1, np.uint32), ValueError, "at least 8 bytes"),
            (lambda queue, array: array[1:], ValueError, "size_buffer is an array that begins 4 bytes into"),
            (lambda queue, array: array.data.get_sub_region(0, 4096), ValueError, "neither images nor sub-buffers"),
            (lambda queue, array: cl.Buffer(cl.Context([queue.device]), 1, 8), ValueError, "different contexts"),
        ],
        ids=["a NumPy array", "too small", "a slice", "a sub-buffer", "another context"],
    )
    def test_what_it_cannot_be(self, queues, array, size, error, words):
        with pytest.raises(error, match=words):
            remotecl.set_content_size(array, size(queues[0], array))

    @pytest.mark.parametrize("detach", [False, True])
    def test_not_of_a_part_of_a_buffer(self, queues, array, detach):
        size = None if detach else cl.array.zeros(queues[0], 1, np.uint64)
        with pytest.raises(ValueError, match="whole buffers"):
            remotecl.set_content_size(array.data.get_sub_region(0, 4096), size)

    def test_not_of_a_native_buffer(self, native_context):
        buffer = cl.Buffer(native_context, cl.mem_flags.READ_WRITE, 8)
        with pytest.raises(ValueError, match="devices of remotecl only"):
            remotecl.set_content_size(buffer, None)


class TestPrefetch:
    @pytest.fixture
    def arrays(self, queues) -> list[cl.array.Array]:
        return [cl.array.to_device(queues[0], np.full(COUNT, value, np.int32)) for value in (1, 2)]

    def test_to_a_device(self, queues, arrays):
        first, second = (queue.device for queue in queues)
        queues[0].finish()
        event = remotecl.prefetch(arrays[0], second)
        assert isinstance(event, cl.Event)
        assert event.command_type == cl.command_type.MIGRATE_MEM_OBJECTS
        event.wait()
        assert state_on(arrays[0], first) == state_on(arrays[0], second) == {"newest"}
        assert state_on(arrays[1], second) == {"stale"}

    def test_several_to_a_queue(self, queues, arrays):
        event = remotecl.prefetch([arrays[0], arrays[1].data], queues[1])
        assert event.command_queue == queues[1]
        event.wait()
        assert all(state_on(array, queues[1].device) == {"newest"} for array in arrays)

    def test_waits_for_events_and_for_who_writes(self, queues, arrays):
        context = queues[0].context
        gate = cl.UserEvent(context)
        cl.enqueue_barrier(queues[0], wait_for=[gate])
        arrays[0].fill(NEW, queue=queues[0])  # behind the gate, on the first server
        waiting = cl.UserEvent(context)
        event = remotecl.prefetch(arrays[0], queues[1].device, wait_for=[waiting])
        assert event.command_execution_status != cl.command_execution_status.COMPLETE
        waiting.set_status(cl.command_execution_status.COMPLETE)
        assert event.command_execution_status != cl.command_execution_status.COMPLETE
        gate.set_status(cl.command_execution_status.COMPLETE)
        event.wait()
        assert (arrays[0].get(queues[1]) == NEW).all()

    def test_its_event_outlives_the_context(self, connection):
        queue = cl.CommandQueue(connection.context())
        event = remotecl.prefetch(cl.array.zeros(queue, 1 << 16, np.int32), queue.device)
        del queue
        gc.collect()
        event.wait()
        assert event.command_queue is None
        assert event.context.devices

    def test_mistakes_are_named(self, connection, queues, arrays):
        device = queues[1].device
        with pytest.raises(ValueError, match="nothing to prefetch"):
            remotecl.prefetch([], device)
        with pytest.raises(TypeError, match="not ndarray"):
            remotecl.prefetch(np.zeros(3), device)
        with pytest.raises(TypeError, match="to must be"):
            remotecl.prefetch(arrays[0], 1)
        other = cl.CommandQueue(connection.context([queues[0].device]))
        with pytest.raises(ValueError, match="one context"):
            remotecl.prefetch([arrays[0], cl.array.zeros(other, 4, np.int32)], device)
        with pytest.raises(ValueError, match="not a device of the buffers' context"):
            remotecl.prefetch(cl.array.zeros(other, 4, np.int32), device)

    def test_not_of_a_native_buffer(self, connection, native_context):
        buffer = cl.Buffer(native_context, cl.mem_flags.READ_WRITE, 8)
        with pytest.raises(ValueError, match="devices of remotecl only"):
            remotecl.prefetch(buffer, connection.devices[0])


class TestPinned:
    @pytest.mark.parametrize("order", ["C", "F"])
    def test_is_an_array_like_any_other(self, queues, order):
        array = remotecl.pinned_empty(queues[0], (37, 53), np.float32, order)
        assert array.shape == (37, 53)
        assert array.dtype == np.float32
        assert array.flags[f"{order}_CONTIGUOUS"]
        assert array.ctypes.data % 4096 == 0
        array[...] = 3
        assert array.sum() == 3 * 37 * 53

    def test_copies_go_both_ways(self, queues):
        sent, got = (remotecl.pinned_empty(queues[0], COUNT, np.int32) for _ in range(2))
        sent[:] = np.arange(COUNT)
        buffer = cl.Buffer(queues[0].context, cl.mem_flags.READ_WRITE, sent.nbytes)
        cl.enqueue_copy(queues[0], buffer, sent, is_blocking=False)
        cl.enqueue_copy(queues[1], got, buffer, is_blocking=True)
        np.testing.assert_array_equal(got, sent)

    def test_lives_as_long_as_a_view(self, connection):
        queue = cl.CommandQueue(connection.context())
        view = remotecl.pinned_empty(queue, 1000, np.int32)[::2]
        del queue
        gc.collect()
        view[:] = 5
        assert view.sum() == 2500

    def test_is_given_back(self, queues):
        array = remotecl.pinned_empty(queues[0], 12345, np.uint8)
        assert 12345 in {entry.size for entry in remotecl.residency()}
        del array
        gc.collect()
        queues[0].finish()
        assert 12345 not in {entry.size for entry in remotecl.residency()}

    def test_moves_nothing(self, queues):
        queues[0].finish()
        before = sum(server.bytes_sent + server.bytes_received for server in remotecl.overview().stats)
        array = remotecl.pinned_empty(queues[0], 1 << 20, np.uint8)
        array[:] = 1
        del array
        queues[0].finish()
        after = sum(server.bytes_sent + server.bytes_received for server in remotecl.overview().stats)
        assert after - before < 4096

    def test_works_on_native_platforms_too(self, native_context):
        array = remotecl.pinned_empty(cl.CommandQueue(native_context), 100)
        assert array.dtype == np.float64

    @pytest.mark.parametrize("shape", [0, (3, 0), (-1,), (-1, -1)])
    def test_nothing_cannot_be_pinned(self, queues, shape):
        with pytest.raises(ValueError, match="no bytes to pin"):
            remotecl.pinned_empty(queues[0], shape)


class TestResidency:
    def test_of_what_nobody_has_written(self, queues):
        buffer = cl.Buffer(queues[0].context, cl.mem_flags.READ_WRITE, 1 << 20)
        (entry,) = remotecl.residency(buffer)
        assert [(part.offset, part.size, part.version) for part in entry.ranges] == [(0, 1 << 20, 0)]
        assert {copy.state for copy in entry.ranges[0].copies} == {"undefined"}
        assert [copy.device for copy in entry.ranges[0].copies] == [None, *queues[0].context.devices]

    def test_ranges_have_versions_and_states(self, queues):
        array = cl.array.to_device(queues[0], np.zeros(1024, np.int32))
        cl.enqueue_fill_buffer(queues[1], array.data, np.int32(1), 1024, 1024).wait()
        (entry,) = remotecl.residency(array)
        assert [(part.offset, part.size) for part in entry.ranges] == [(0, 1024), (1024, 1024), (2048, 2048)]
        before, written, behind = entry.ranges
        assert written.version > before.version == behind.version > 0
        assert {copy.device: copy.state for copy in written.copies} == {
            None: "stale", queues[0].device: "stale", queues[1].device: "newest",
        }  # fmt: skip

    def test_what_is_on_its_way_arrives(self, queues):
        array = cl.array.to_device(queues[0], np.zeros(COUNT, np.int32))
        queues[0].finish()
        gate = cl.UserEvent(queues[0].context)
        cl.enqueue_fill_buffer(queues[0], array.data, np.int32(1), 0, array.nbytes, wait_for=[gate])
        event = remotecl.prefetch(array, queues[1].device)
        assert state_on(array, queues[0].device) == {"newest"}  # as soon as the fill has run
        assert state_on(array, queues[1].device) == {"arriving"}
        gate.set_status(cl.command_execution_status.COMPLETE)
        event.wait()
        assert state_on(array, queues[1].device) == {"newest"}

    def test_what_it_cannot_show(self, native_context):
        assert remotecl.residency(cl.Buffer(native_context, cl.mem_flags.READ_WRITE, 8)) == []
        with pytest.raises(TypeError, match="not int"):
            remotecl.residency(17)

    def test_arrays_of_a_memory_pool(self, queues):
        pool = cl.tools.MemoryPool(cl.tools.ImmediateAllocator(queues[0]))
        array = cl.array.zeros(queues[0], 1000, np.int32, allocator=pool)
        (entry,) = remotecl.residency(array)
        assert entry.size >= 4000
        assert queues[0].device in {copy.device for copy in entry.ranges[0].copies if copy.state == "newest"}

    def test_text_and_table(self, queues):
        array = cl.array.to_device(queues[0], np.zeros(1024, np.int32))
        found = remotecl.residency(array)
        row = rf"{array.data.int_ptr:#x} +4.0 KiB +0\.\.4096 +1 +{re.escape(remotecl.server_of(queues[0].device))}/"
        assert re.search(row, str(found))
        assert found._repr_html_().count("<tr>") == 2 + len(queues[0].context.devices)
        assert "0..4096" in found[0]._repr_html_()


def test_what_jupyter_shows(cluster, connection):
    """Everything that stands for servers and devices names the servers."""
    shown = [
        remotecl.overview().servers,
        remotecl.overview().servers[0],
        remotecl.overview().devices,
        connection,
        cluster,
        cluster.servers[0],
    ]
    for value in shown:
        assert value._repr_html_().startswith("<table>")
        assert cluster.addresses[0] in value._repr_html_()
    assert remotecl.overview().devices == connection.platform.get_devices()


def test_words_of_a_server_are_no_markup():
    evil = remotecl.types.ServerInfo("a:1", "lost", "<script>", ("<b>device</b>",), None)
    assert "<script>" not in evil._repr_html_()
    assert "&lt;b&gt;device" in evil._repr_html_()
