"""Failed commands and references: the same errors as from a local driver, and nothing that hangs."""

import gc
import threading

import numpy as np
import pyopencl as cl
import pytest

FAILED = -5  # any negative status


@pytest.fixture(scope="module")
def queue(connection):
    return cl.CommandQueue(connection.context())


@pytest.mark.parametrize("size", [100, 1 << 18], ids=["small", "bulk"])
@pytest.mark.parametrize("command", ["read", "write", "map"])
def test_blocking_command_fails_with_its_dependency(queue, size, command):
    buffer = cl.Buffer(queue.context, cl.mem_flags.READ_WRITE, 1 << 20)
    host = np.zeros(size, np.float32)
    user_event = cl.UserEvent(queue.context)
    timer = threading.Timer(0.1, user_event.set_status, [FAILED])
    timer.start()
    with pytest.raises(cl.Error, match="EXEC_STATUS_ERROR_FOR_EVENTS_IN_WAIT_LIST"):
        if command == "read":
            cl.enqueue_copy(queue, host, buffer, wait_for=[user_event])
        elif command == "write":
            cl.enqueue_copy(queue, buffer, host, wait_for=[user_event]).wait()
        else:
            cl.enqueue_map_buffer(queue, buffer, cl.map_flags.READ, 0, (size,), np.float32, wait_for=[user_event])
    timer.join()
    queue.finish()  # the failure was reported already


def test_failure_travels_to_dependents_on_the_other_server(connection):
    context = connection.context()
    queues = [cl.CommandQueue(context, device) for device in context.devices]
    user_event = cl.UserEvent(context)
    first = cl.enqueue_marker(queues[0], wait_for=[user_event])
    second = cl.enqueue_marker(queues[1], wait_for=[first])
    for queue in queues:
        queue.flush()
    user_event.set_status(FAILED)
    with pytest.raises(cl.Error, match="EXEC_STATUS_ERROR"):
        second.wait()
    assert second.command_execution_status < 0


def test_handles_of_released_parents_can_be_asked_for_again(connection):
    """The program keeps its context alive: what the application gets back from it must count again."""
    for _ in range(20):
        context = connection.context()
        kernel = cl.Kernel(cl.Program(context, "kernel void nothing() {}").build(), "nothing")
        del context
        gc.collect()
        for _ in range(3):
            assert kernel.context.devices
            gc.collect()
        assert kernel.program.get_info(cl.program_info.NUM_DEVICES) == len(connection.devices)
        del kernel
        gc.collect()


def test_reference_counts_do_not_show_what_the_runtime_keeps(queue):
    buffer = cl.Buffer(queue.context, cl.mem_flags.READ_WRITE, 1 << 12)
    own_queue = cl.CommandQueue(queue.context, queue.device)
    cl.enqueue_fill_buffer(own_queue, buffer, np.uint8(1), 0, 1 << 12)
    own_queue.finish()
    gc.collect()
    assert own_queue.reference_count == 1
    assert buffer.reference_count == 1


@pytest.mark.parametrize("size", [1 << 60, (1 << 64) - 1])
def test_absurd_buffer_sizes(queue, size):
    with pytest.raises(cl.Error, match="INVALID_BUFFER_SIZE"):
        cl.Buffer(queue.context, cl.mem_flags.READ_WRITE, size)


def test_build_failure_has_the_full_log(queue):
    source = "kernel void broken(global int* out) { out[0] = this_name_does_not_exist; }"
    with pytest.raises(cl.RuntimeError, match="this_name_does_not_exist"):
        cl.Program(queue.context, source).build()
