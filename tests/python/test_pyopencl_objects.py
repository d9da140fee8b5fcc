"""The rest of PyOpenCL on remote devices: memory of every kind, events, programs, and its larger algorithms."""

from __future__ import annotations

import threading

import numpy as np
import pyopencl as cl
import pyopencl.algorithm
import pyopencl.array
import pyopencl.bitonic_sort
import pyopencl.clmath
import pyopencl.clrandom
import pyopencl.scan
import pyopencl.tools
import pytest

import remotecl

COMPLETE = cl.command_execution_status.COMPLETE
READ_WRITE = cl.mem_flags.READ_WRITE
WAIT_S = 60.0


@pytest.fixture(scope="module")
def queues(connection) -> list[cl.CommandQueue]:
    """One per server, in one context."""
    devices = {remotecl.server_of(device): device for device in connection.devices}
    context = connection.context(list(devices.values()))
    return [cl.CommandQueue(context, device) for device in devices.values()]


@pytest.fixture(scope="module")
def queue(queues) -> cl.CommandQueue:
    return queues[0]


@pytest.fixture(scope="module")
def context(queue) -> cl.Context:
    return queue.context


@pytest.fixture
def numbers() -> np.random.Generator:
    return np.random.default_rng(3)


class TestArray:
    def test_slices_are_views(self, queue, numbers):
        values = numbers.integers(0, 100, 1000).astype(np.int32)
        remote = cl.array.to_device(queue, values)
        remote[100:200] = cl.array.zeros(queue, 100, np.int32)
        values[100:200] = 0
        np.testing.assert_array_equal(remote.get(), values)
        np.testing.assert_array_equal((remote[200:300] + remote[:100]).get(), values[200:300] + values[:100])
        assert remote[100:].offset == 400

    def test_reshape_and_transpose(self, queue, numbers):
        values = numbers.random((12, 20)).astype(np.float32)
        remote = cl.array.to_device(queue, values)
        np.testing.assert_array_equal(remote.reshape(20, 12).get(), values.reshape(20, 12))
        np.testing.assert_array_equal(remote.T.get(), values.T)
        np.testing.assert_array_equal(remote[3:7].get(), values[3:7])

    def test_take_and_put(self, queue, numbers):
        values = numbers.integers(0, 100, 500).astype(np.int64)
        indices = numbers.permutation(500)[:100].astype(np.int32)
        remote, where = cl.array.to_device(queue, values), cl.array.to_device(queue, indices)
        np.testing.assert_array_equal(remote[where].get(), values[indices])
        remote[where] = cl.array.zeros(queue, 100, np.int64)
        values[indices] = 0
        np.testing.assert_array_equal(remote.get(), values)

    def test_complex(self, queue, numbers):
        a, b = (numbers.random(300) + 1j * numbers.random(300) for _ in range(2))
        a_remote, b_remote = cl.array.to_device(queue, a), cl.array.to_device(queue, b)
        np.testing.assert_allclose((a_remote * b_remote + 1j).get(), a * b + 1j)
        np.testing.assert_allclose((a_remote / b_remote).conj().real.get(), (a / b).conj().real)
        np.testing.assert_allclose(complex(cl.array.vdot(a_remote, b_remote).get()), np.vdot(a, b))

    def test_map_to_host(self, queues):
        remote = cl.array.zeros(queues[0], 1000, np.int32)
        mapped = remote.map_to_host()
        mapped[:] = np.arange(1000)
        mapped.base.release(queues[0])
        np.testing.assert_array_equal(remote.get(queues[1]), np.arange(1000))

    def test_get_async(self, queue):
        remote = cl.array.arange(queue, 1 << 18, dtype=np.int32)
        values, event = remote.get_async(queue)
        event.wait()
        np.testing.assert_array_equal(values, np.arange(1 << 18))

    def test_where_minimum_and_comparisons(self, queue, numbers):
        a, b = (numbers.integers(0, 9, 500).astype(np.int32) for _ in range(2))
        a_remote, b_remote = cl.array.to_device(queue, a), cl.array.to_device(queue, b)
        np.testing.assert_array_equal(cl.array.minimum(a_remote, b_remote).get(), np.minimum(a, b))
        chosen = cl.array.if_positive(a_remote - b_remote, a_remote, b_remote)
        np.testing.assert_array_equal(chosen.get(), np.where(a > b, a, b))
        assert bool((a_remote == a_remote).all().get())

    def test_an_array_moves_to_the_queue_that_uses_it(self, queues):
        remote = cl.array.arange(queues[0], 1000, dtype=np.int32)
        queues[0].finish()
        there = remote.with_queue(queues[1])
        np.testing.assert_array_equal((there * 2).get(), 2 * np.arange(1000))

    def test_functions_of_clmath(self, queue, numbers):
        values = numbers.random(1000, np.float32)
        remote = cl.array.to_device(queue, values)
        for name in ("sin", "exp", "sqrt", "tanh"):
            np.testing.assert_allclose(
                getattr(cl.clmath, name)(remote).get(), getattr(np, name)(values), rtol=1e-5, atol=1e-6
            )


@pytest.fixture(scope="module")
def alone(connection) -> cl.CommandQueue:
    """Of a context with one device, for what builds many kernels."""
    return cl.CommandQueue(connection.context(connection.devices[:1]))


@pytest.fixture(scope="module")
def values() -> np.ndarray:
    return np.random.default_rng(4).integers(0, 1000, 5000).astype(np.int32)


@pytest.fixture(scope="module")
def remote(alone, values) -> cl.array.Array:
    return cl.array.to_device(alone, values)


class TestAlgorithms:
    def test_copy_if(self, remote, values):
        chosen, count, _ = cl.algorithm.copy_if(remote, "ary[i] > 500")
        np.testing.assert_array_equal(chosen.get()[: int(count.get())], values[values > 500])

    def test_partition(self, remote, values):
        yes, no, count, _ = cl.algorithm.partition(remote, "ary[i] > 500")
        size = int(count.get())
        np.testing.assert_array_equal(yes.get()[:size], values[values > 500])
        np.testing.assert_array_equal(no.get()[: len(values) - size], values[values <= 500])

    def test_unique(self, alone, values):
        ordered = np.sort(values)
        found, count, _ = cl.algorithm.unique(cl.array.to_device(alone, ordered))
        np.testing.assert_array_equal(found.get()[: int(count.get())], np.unique(values))

    def test_generic_scan(self, alone, remote, values):
        scan = cl.scan.GenericScanKernel(
            alone.context,
            np.int32,
            arguments="__global int *x, __global int *where",
            input_expr="(x[i] > 500) ? 1 : 0",
            scan_expr="a+b",
            neutral="0",
            output_statement="if (prev_item != item) where[item-1] = i;",
        )
        where = cl.array.zeros(alone, len(values), np.int32)
        scan(remote, where)
        expected = np.flatnonzero(values > 500)
        np.testing.assert_array_equal(where.get()[: len(expected)], expected)

    def test_bitonic_sort(self, alone, numbers):
        values = numbers.permutation(1024).astype(np.int32)
        result, _ = cl.bitonic_sort.BitonicSort(alone.context)(cl.array.to_device(alone, values))
        np.testing.assert_array_equal(result.get(), np.arange(1024))

    def test_list_of_lists(self, alone):
        builder = cl.algorithm.ListOfListsBuilder(
            alone.context, [("multiples", np.int32)],
            "void generate(LIST_ARG_DECL USER_ARG_DECL index_type i)\n"
            "{ for (int j = 0; j < i % 4; ++j) { APPEND_multiples(i * j); } }",
            arg_decls=[],
        )  # fmt: skip
        result, _ = builder(alone, 200)
        expected = [i * j for i in range(200) for j in range(i % 4)]
        assert result["multiples"].count == len(expected)
        np.testing.assert_array_equal(result["multiples"].lists.get()[: len(expected)], expected)
        assert result["multiples"].starts.get()[-1] == len(expected)

    def test_key_value_sorter(self, alone, numbers):
        keys = numbers.integers(0, 20, 300).astype(np.int32)
        values = np.arange(300, dtype=np.int32)
        starts, ordered, _ = cl.algorithm.KeyValueSorter(alone.context)(
            alone, cl.array.to_device(alone, keys), cl.array.to_device(alone, values), 20, starts_dtype=np.int32
        )
        bounds, ordered = starts.get(), ordered.get()
        for key in range(20):
            np.testing.assert_array_equal(np.sort(ordered[bounds[key] : bounds[key + 1]]), np.flatnonzero(keys == key))

    def test_normal_random_numbers(self, alone):
        values = cl.clrandom.ThreefryGenerator(alone.context, seed=5).normal(alone, 50_000, np.float32).get()
        assert abs(values.mean()) < 0.02
        assert abs(values.std() - 1) < 0.02


class TestMemory:
    def test_sub_buffers(self, queues, context):
        whole = cl.Buffer(context, READ_WRITE, 8192)
        cl.enqueue_fill_buffer(queues[0], whole, np.int32(1), 0, 8192).wait()
        part = whole.get_sub_region(4096, 4096)
        cl.enqueue_fill_buffer(queues[1], part, np.int32(2), 0, 4096).wait()
        values = np.empty(2048, np.int32)
        cl.enqueue_copy(queues[0], values, whole)
        np.testing.assert_array_equal(values, np.repeat([1, 2], 1024))
        np.testing.assert_array_equal([part.offset, part.size], [4096, 4096])
        assert whole[4096:8192].size == 4096

    def test_memory_pool(self, queue):
        pool = cl.tools.MemoryPool(cl.tools.ImmediateAllocator(queue))
        for turn in range(4):
            array = cl.array.empty(queue, 1000, np.int32, allocator=pool)
            array.fill(turn)
            assert int(array.get().sum()) == 1000 * turn
            del array
        assert pool.held_blocks == 1
        pool.free_held()
        assert pool.held_blocks == 0

    def test_images(self, queues, context, numbers):
        values = numbers.integers(0, 255, (16, 32, 4)).astype(np.uint8)
        image = cl.image_from_array(context, values, 4)
        assert image.shape == (32, 16)
        result = np.empty_like(values)
        cl.enqueue_copy(queues[1], result, image, origin=(0, 0), region=(32, 16))
        np.testing.assert_array_equal(result, values)

    def test_rectangles(self, queue, context, numbers):
        values = numbers.integers(0, 255, (20, 30)).astype(np.uint8)
        buffer = cl.Buffer(context, READ_WRITE | cl.mem_flags.COPY_HOST_PTR, hostbuf=values)
        result = np.zeros((5, 7), np.uint8)
        cl.enqueue_copy(
            queue, result, buffer, buffer_origin=(3, 2), host_origin=(0, 0), region=(7, 5), buffer_pitches=(30,),
            host_pitches=(7,),
        )  # fmt: skip
        np.testing.assert_array_equal(result, values[2:7, 3:10])

    def test_use_host_ptr(self, queue, context):
        values = np.arange(100, dtype=np.int32)
        buffer = cl.Buffer(context, READ_WRITE | cl.mem_flags.USE_HOST_PTR, hostbuf=values)
        cl.enqueue_fill_buffer(queue, buffer, np.int32(5), 0, 400).wait()
        mapped, _ = cl.enqueue_map_buffer(queue, buffer, cl.map_flags.READ, 0, (100,), np.int32)
        assert mapped.ctypes.data == values.ctypes.data
        assert (mapped == 5).all()
        mapped.base.release(queue)

    def test_coarse_grained_shared_memory(self, queue, context):
        coarse = cl.device_svm_capabilities.COARSE_GRAIN_BUFFER
        if not all(device.svm_capabilities & coarse for device in context.devices):
            pytest.skip("no shared virtual memory on these devices")
        values = cl.csvm_empty(context, 1000, np.int32)
        shared = cl.SVM(values)
        with shared.map_rw(queue) as mapped:
            mapped[:] = np.arange(1000)
        program = cl.Program(context, "kernel void twice(global int* x) { x[get_global_id(0)] *= 2; }").build()
        program.twice(queue, (1000,), None, shared)
        with shared.map_ro(queue) as mapped:
            np.testing.assert_array_equal(mapped, 2 * np.arange(1000))

    def test_fine_grained_shared_memory_is_reported_missing(self, context):
        fine = cl.device_svm_capabilities.FINE_GRAIN_BUFFER | cl.device_svm_capabilities.FINE_GRAIN_SYSTEM
        assert not any(device.svm_capabilities & fine for device in context.devices)
        with pytest.raises(cl.Error):
            cl.fsvm_empty(context, 100, np.int32)


@pytest.mark.parametrize("flags", [0, cl.mem_flags.ALLOC_HOST_PTR], ids=["plain", "of the host"])
@pytest.mark.parametrize("count", [1000, 1 << 18])
def test_a_mapping_may_be_ended_before_its_bytes_are_here(queues, count, flags):
    """Nobody has written into it, so nothing may change."""
    context = queues[0].context
    buffer = cl.Buffer(context, cl.mem_flags.READ_WRITE | flags, 4 * count)
    cl.enqueue_fill_buffer(queues[0], buffer, np.int32(9), 0, 4 * count).wait()
    gate = cl.UserEvent(context)
    both = cl.map_flags.READ | cl.map_flags.WRITE
    array, _ = cl.enqueue_map_buffer(queues[0], buffer, both, 0, (count,), np.int32, wait_for=[gate], is_blocking=False)
    array.base.release(queues[0])
    gate.set_status(cl.command_execution_status.COMPLETE)
    queues[0].finish()
    for queue in queues:
        values = np.zeros(count, np.int32)
        cl.enqueue_copy(queue, values, buffer)
        assert (values == 9).all()


@pytest.mark.parametrize("count", [1000, 1 << 18])
def test_what_was_written_into_a_mapping_of_the_host_reaches_every_device(queues, count):
    context = queues[0].context
    buffer = cl.Buffer(context, cl.mem_flags.READ_WRITE | cl.mem_flags.ALLOC_HOST_PTR, 4 * count)
    source = "kernel void add(global int* x) { x[get_global_id(0)] += 1; }"
    add = cl.Program(context, source).build().add
    for turn in range(3):
        for queue in queues:
            array, _ = cl.enqueue_map_buffer(
                queue, buffer, cl.map_flags.READ | cl.map_flags.WRITE, 0, (count,), np.int32
            )
            array[:] = turn
            array.base.release(queue)
            add(queue, (count,), None, buffer)
            array, _ = cl.enqueue_map_buffer(queue, buffer, cl.map_flags.READ, 0, (count,), np.int32)
            assert (array == turn + 1).all()
            array.base.release(queue)


class TestEvents:
    def test_user_events_and_wait_lists(self, queues, context):
        gate = cl.UserEvent(context)
        buffer = cl.Buffer(context, READ_WRITE, 400)
        first = cl.enqueue_fill_buffer(queues[0], buffer, np.int32(1), 0, 400, wait_for=[gate])
        second = cl.enqueue_marker(queues[1], wait_for=[first])
        assert second.command_execution_status != COMPLETE
        gate.set_status(COMPLETE)
        cl.wait_for_events([first, second])
        assert second.command_execution_status == COMPLETE

    def test_a_failed_user_event_fails_what_waits_for_it(self, queues, context):
        gate = cl.UserEvent(context)
        waiting = cl.enqueue_marker(queues[1], wait_for=[gate])
        gate.set_status(-1)
        with pytest.raises(cl.RuntimeError):
            waiting.wait()
        assert waiting.command_execution_status < 0

    def test_callbacks(self, queues, context):
        seen: list[int] = []
        called = threading.Event()
        gate = cl.UserEvent(context)
        event = cl.enqueue_marker(queues[0], wait_for=[gate])
        event.set_callback(COMPLETE, lambda status: (seen.append(status), called.set()))
        assert not called.is_set()
        gate.set_status(COMPLETE)
        assert called.wait(WAIT_S)
        assert seen == [COMPLETE]

    def test_profiling(self, context):
        queue = cl.CommandQueue(context, properties=cl.command_queue_properties.PROFILING_ENABLE)
        event = cl.enqueue_fill_buffer(queue, cl.Buffer(context, READ_WRITE, 400), np.int32(1), 0, 400)
        event.wait()
        profile = event.profile
        assert profile.queued <= profile.submit <= profile.start <= profile.end


class TestPrograms:
    SOURCE = "kernel void f(global int* x, local int* y, int n) { x[get_global_id(0)] = n; }"

    def test_binaries(self, queue, context):
        program = cl.Program(context, self.SOURCE).build()
        again = cl.Program(context, context.devices, program.binaries).build()
        array = cl.array.zeros(queue, 64, np.int32)
        again.f(queue, (64,), None, array.data, cl.LocalMemory(64), np.int32(7))
        assert (array.get() == 7).all()

    def test_a_build_error_has_the_compilers_words(self, context):
        with pytest.raises(cl.RuntimeError, match="no_such_name"):
            cl.Program(context, "kernel void f() { no_such_name(); }").build()

    def test_build_cache(self, context, tmp_path):
        for _ in range(2):
            program = cl.Program(context, self.SOURCE + f"// {tmp_path}").build(cache_dir=str(tmp_path))
            assert program.f.num_args == 3
        assert len([entry for entry in tmp_path.iterdir() if entry.is_dir()]) == 1

    def test_compile_and_link(self, queue, context):
        parts = [
            cl.Program(context, source).compile()
            for source in ("int seven() { return 7; }", "int seven(); kernel void f(global int* x) { *x = seven(); }")
        ]
        linked = cl.link_program(context, parts)
        array = cl.array.zeros(queue, 1, np.int32)
        cl.Kernel(linked, "f")(queue, (1,), None, array.data)
        assert int(array.get()[0]) == 7


def test_int_ptr_both_ways(queue, context):
    """Objects made from handles are the same objects: what other bindings of OpenCL exchange with PyOpenCL."""
    buffer = cl.Buffer(context, READ_WRITE, 64)
    event = cl.enqueue_fill_buffer(queue, buffer, np.int32(1), 0, 64)
    for value in (context, queue, buffer, event, context.devices[0], context.devices[0].platform):
        again = type(value).from_int_ptr(value.int_ptr)
        assert again == value
        assert again.int_ptr == value.int_ptr
    assert remotecl.residency(cl.Buffer.from_int_ptr(buffer.int_ptr)) == remotecl.residency(buffer)
