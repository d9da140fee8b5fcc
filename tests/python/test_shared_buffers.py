"""One context over two servers: the right bytes in the right order."""

import numpy as np
import pyopencl as cl
import pytest

SOURCE = """
kernel void add(global int* data, const int amount) { data[get_global_id(0)] += amount; }
kernel void add_into(global const int* a, global const int* b, global int* sum) {
  const int i = get_global_id(0);
  sum[i] = a[i] + b[i];
}
"""
COUNT = 10_000


@pytest.fixture(scope="module")
def queues(connection) -> list[cl.CommandQueue]:
    import remotecl

    context = connection.context()
    by_server = {remotecl.server_of(device): device for device in connection.devices}
    return [cl.CommandQueue(context, by_server[address]) for address in connection.servers]


@pytest.fixture(scope="module")
def program(queues) -> cl.Program:
    return cl.Program(queues[0].context, SOURCE).build()


def new_buffer(queues, values=None) -> cl.Buffer:
    if values is None:
        return cl.Buffer(queues[0].context, cl.mem_flags.READ_WRITE, COUNT * 4)
    flags = cl.mem_flags.READ_WRITE | cl.mem_flags.COPY_HOST_PTR
    return cl.Buffer(queues[0].context, flags, hostbuf=values)


def contents(queue, buffer) -> np.ndarray:
    values = np.empty(COUNT, np.int32)
    cl.enqueue_copy(queue, values, buffer)
    return values


def test_written_on_one_and_read_on_the_other(queues):
    values = np.arange(COUNT, dtype=np.int32)
    buffer = new_buffer(queues)
    cl.enqueue_copy(queues[0], buffer, values)
    np.testing.assert_array_equal(contents(queues[1], buffer), values)


def test_initial_contents_are_everywhere(queues):
    values = np.arange(COUNT, dtype=np.int32)
    buffer = new_buffer(queues, values)
    for queue in queues:
        np.testing.assert_array_equal(contents(queue, buffer), values)


def test_kernels_alternate_between_servers(queues, program):
    buffer = new_buffer(queues, np.zeros(COUNT, np.int32))
    add = cl.Kernel(program, "add")
    event = None
    for step in range(20):
        event = add(
            queues[step % 2], (COUNT,), None, buffer, np.int32(step), wait_for=None if event is None else [event]
        )
        queues[step % 2].flush()
    event.wait()
    for queue in queues:
        np.testing.assert_array_equal(contents(queue, buffer), np.full(COUNT, sum(range(20)), np.int32))


def test_an_event_of_one_server_orders_the_other(queues, program):
    """The consumer waits for a user event through the producer, so it is enqueued long before it may run."""
    buffer = new_buffer(queues, np.zeros(COUNT, np.int32))
    gate = cl.UserEvent(queues[0].context)
    add = cl.Kernel(program, "add")
    produced = add(queues[0], (COUNT,), None, buffer, np.int32(5), wait_for=[gate])
    queues[0].flush()
    values = np.empty(COUNT, np.int32)
    consumed = cl.enqueue_copy(queues[1], values, buffer, wait_for=[produced], is_blocking=False)
    queues[1].flush()
    assert consumed.command_execution_status > cl.command_execution_status.COMPLETE
    gate.set_status(cl.command_execution_status.COMPLETE)
    consumed.wait()
    np.testing.assert_array_equal(values, np.full(COUNT, 5, np.int32))


def test_parts_are_gathered_into_one_buffer(queues):
    half = COUNT // 2
    whole = new_buffer(queues)
    copies = []
    for number, queue in enumerate(queues):
        part = cl.Buffer(queue.context, cl.mem_flags.READ_WRITE, half * 4)
        filled = cl.enqueue_fill_buffer(queue, part, np.int32(number + 1), 0, half * 4)
        queue.flush()
        copies.append(
            cl.enqueue_copy(
                queues[0], whole, part, dst_offset=number * half * 4, byte_count=half * 4, wait_for=[filled]
            )
        )
    cl.wait_for_events(copies)
    expected = np.repeat(np.array([1, 2], np.int32), half)
    for queue in queues:
        np.testing.assert_array_equal(contents(queue, whole), expected)


def test_a_kernel_takes_inputs_from_both_servers(queues, program):
    a, b, total = (new_buffer(queues) for _ in range(3))
    cl.enqueue_fill_buffer(queues[0], a, np.int32(3), 0, COUNT * 4).wait()
    cl.enqueue_fill_buffer(queues[1], b, np.int32(4), 0, COUNT * 4).wait()
    cl.Kernel(program, "add_into")(queues[1], (COUNT,), None, a, b, total)
    np.testing.assert_array_equal(contents(queues[1], total), np.full(COUNT, 7, np.int32))
    np.testing.assert_array_equal(contents(queues[0], a), np.full(COUNT, 3, np.int32))


def test_halves_written_on_different_servers_make_one_whole(queues):
    half = COUNT // 2
    buffer = new_buffer(queues, np.zeros(COUNT, np.int32))
    for number, queue in enumerate(queues):
        cl.enqueue_copy(queue, buffer, np.full(half, number + 1, np.int32), dst_offset=number * half * 4)
    np.testing.assert_array_equal(contents(queues[0], buffer), np.repeat(np.array([1, 2], np.int32), half))


def test_a_mapping_sees_the_other_servers_writes_and_is_seen_there(queues):
    buffer = new_buffer(queues, np.zeros(COUNT, np.int32))
    cl.enqueue_fill_buffer(queues[0], buffer, np.int32(9), 0, COUNT * 4).wait()
    flags = cl.map_flags.READ | cl.map_flags.WRITE
    array, _ = cl.enqueue_map_buffer(queues[1], buffer, flags, 0, (COUNT,), np.int32)
    with array.base:
        np.testing.assert_array_equal(array, np.full(COUNT, 9, np.int32))
        array[:] = np.arange(COUNT)
    queues[1].finish()
    np.testing.assert_array_equal(contents(queues[0], buffer), np.arange(COUNT, dtype=np.int32))


def test_many_small_buffers_come_and_go(queues):
    for step in range(200):
        buffer = cl.Buffer(queues[0].context, cl.mem_flags.READ_WRITE, 64)
        value = np.full(16, step, np.int32)
        cl.enqueue_copy(queues[step % 2], buffer, value)
        back = np.empty_like(value)
        cl.enqueue_copy(queues[(step + 1) % 2], back, buffer)
        np.testing.assert_array_equal(back, value)
