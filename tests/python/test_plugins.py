"""Devices of plugins: their kernels run in processes of their own, and what goes wrong there fails one command."""

import os
import signal
import time
from pathlib import Path

import numpy as np
import pyopencl as cl
import pytest

import remotecl
from conftest import BUILT
from daemon import Daemon
from streams import Program

PLUGIN = BUILT / "lib" / "libremotecl_fake_plugin.so"
LARGE = 1 << 20  # more than is copied


def fake_devices(connection):
    return {
        device.name: device
        for device in remotecl.overview().devices
        if remotecl.server_of(device) == connection.servers[0] and device.type == cl.device_type.CUSTOM
    }


@pytest.fixture(scope="module", params=["processes", "in-process"])
def server(request):
    if not PLUGIN.exists():
        pytest.skip(f"{PLUGIN} has not been built")
    options = ["--plugins-in-process"] if request.param == "in-process" else []
    with Daemon("--plugin", str(PLUGIN), "--plugin-limit", "2", *options) as daemon:
        connection = remotecl.connect(daemon.address)
        yield connection
        connection.close()


@pytest.fixture(scope="module")
def processes():
    """A daemon whose plugins run in processes, and its log when it has ended."""
    if not PLUGIN.exists():
        pytest.skip(f"{PLUGIN} has not been built")
    with Daemon("--plugin", str(PLUGIN), "--plugin-limit", "2", "--plugin-instances", "5") as daemon:
        connection = remotecl.connect(daemon.address)
        connection.daemon = daemon
        yield connection
        connection.close()


def test_plugins_devices_are_custom_ones(server):
    devices = fake_devices(server)
    assert set(devices) == {"fake plugin", "second fake plugin"}
    names = devices["fake plugin"].built_in_kernels.split(";")
    assert names[0] == "test.multiply"
    assert names[-1] == "remotecl.error"
    assert devices["second fake plugin"].built_in_kernels == "test.multiply;test.calls;remotecl.error"


@pytest.mark.parametrize("count", [100, LARGE])
def test_a_kernel_reads_and_writes_buffers(server, count):
    program = Program(fake_devices(server)["fake plugin"], ["test.multiply"])
    numbers = np.arange(count, dtype=np.int32)
    to = program.buffer(4 * count)
    program.call("test.multiply", to, program.buffer(0, numbers), np.int32(3))
    assert (program.read(to) == 3 * numbers).all()


def test_what_is_not_written_stays(server):
    program = Program(fake_devices(server)["fake plugin"], ["test.multiply"])
    to = program.buffer(0, np.full(100, 7, np.int32))
    program.call("test.multiply", to, program.buffer(0, np.arange(10, dtype=np.int32)), np.int32(2))
    assert program.read(to).tolist() == [*range(0, 20, 2), *[7] * 90]


def test_parts_of_buffers(server):
    program = Program(fake_devices(server)["fake plugin"], ["test.multiply"])
    whole = program.buffer(0, np.arange(LARGE, dtype=np.int32))
    half = whole.get_sub_region(2 * LARGE, 2 * LARGE)
    program.call("test.multiply", half, half, np.int32(2))
    found = program.read(whole)
    expected = np.arange(LARGE, dtype=np.int32)
    expected[LARGE // 2 :] *= 2
    assert (found == expected).all()


def test_calls_of_a_program_come_in_order(server):
    program = Program(fake_devices(server)["fake plugin"], ["test.calls", "test.multiply"])
    buffers = [program.buffer(4) for _ in range(20)]
    for buffer in buffers:
        program.call("test.calls", buffer)
    assert [program.read(buffer)[0] for buffer in buffers] == list(range(1, 21))


def test_an_out_of_order_queue_waits_for_events(server):
    device = fake_devices(server)["fake plugin"]
    program = Program(device, ["test.multiply"], cl.command_queue_properties.OUT_OF_ORDER_EXEC_MODE_ENABLE)
    last = program.buffer(0, np.ones(LARGE, np.int32))
    event = None
    for _ in range(10):
        event = program.call("test.multiply", last, last, np.int32(2), wait_for=[event] if event else None)
    found = np.empty(LARGE, np.int32)
    cl.enqueue_copy(program.queue, found, last, wait_for=[event])
    assert (found == 1024).all()


def test_programs_do_not_wait_for_each_other(server):
    device = fake_devices(server)["fake plugin"]
    slow, quick = Program(device, ["test.sleep"]), Program(device, ["test.calls"])
    quick.call("test.calls", quick.buffer(4)).wait()
    event = slow.call("test.sleep", np.int32(1000))
    slow.queue.flush()
    counted = quick.buffer(4)
    quick.call("test.calls", counted)
    assert quick.read(counted)[0] == 2
    assert event.command_execution_status > cl.command_execution_status.COMPLETE
    event.wait()


def test_an_error_has_code_and_cause(server):
    program = Program(fake_devices(server)["fake plugin"], ["test.multiply", "test.fail"])
    event = program.call("test.multiply", program.buffer(4), program.buffer(8), np.int32(1))
    with pytest.raises(cl.Error):
        event.wait()
    assert event.command_execution_status == cl.status_code.INVALID_BUFFER_SIZE
    assert program.error() == "8 bytes do not fit into 4"
    with pytest.raises(cl.Error):
        program.call("test.fail", program.buffer(4)).wait()
    assert program.error() == "x" * 500


def test_profiling(server):
    device = fake_devices(server)["fake plugin"]
    program = Program(device, ["test.sleep"], cl.command_queue_properties.PROFILING_ENABLE)
    event = program.call("test.sleep", np.int32(50))
    event.wait()
    assert event.profile.end - event.profile.start >= 50e6


@pytest.mark.parametrize(
    ("kernel", "cause"),
    [
        ("test.abort", "its process was ended by signal 6 (Aborted)"),
        ("test.hang", "it did not answer within 2000 ms (--plugin-limit), and was ended"),
        ("test.garbage", "its process answered something else than its call"),
        ("test.flood", "its process answered something else than its call"),
    ],
)
def test_a_lost_process_fails_one_command(processes, kernel, cause):
    device = fake_devices(processes)["fake plugin"]
    program, other = Program(device, [kernel, "test.calls"]), Program(device, ["test.calls"])
    for each in (program, other):
        each.call("test.calls", each.buffer(4)).wait()
    event = program.call(kernel, program.buffer(4))
    with pytest.raises(cl.Error):
        event.wait()
    assert event.command_execution_status == cl.status_code.OUT_OF_RESOURCES
    assert program.error() == cause
    counted = program.buffer(4)
    program.call("test.calls", counted)
    assert program.read(counted)[0] == 1  # of a new process
    other.call("test.calls", counted2 := other.buffer(4))
    assert other.read(counted2)[0] == 2


def hosts_of(daemon):
    """The processes of its plugins."""
    children = Path(f"/proc/{daemon.process.pid}/task").glob("*/children")
    return sorted(int(child) for file in children for child in file.read_text().split())


def test_what_a_plugin_prints_is_nobodys(processes):
    program = Program(fake_devices(processes)["fake plugin"], ["test.scribble"])
    program.call("test.scribble", program.buffer(4)).wait()


def wait_until(condition, within_s=20):
    end = time.monotonic() + within_s
    while not condition():
        assert time.monotonic() < end
        time.sleep(0.02)


def test_a_process_ends_with_its_program(processes):
    wait_until(lambda: not hosts_of(processes.daemon))
    program = Program(fake_devices(processes)["fake plugin"], ["test.calls"])
    program.call("test.calls", program.buffer(4)).wait()
    assert len(hosts_of(processes.daemon)) == 1
    del program
    wait_until(lambda: not hosts_of(processes.daemon))


def test_a_killed_process_is_started_again(processes):
    wait_until(lambda: not hosts_of(processes.daemon))
    program = Program(fake_devices(processes)["fake plugin"], ["test.calls", "test.multiply"])
    numbers = program.buffer(0, np.ones(LARGE, np.int32))
    program.call("test.multiply", numbers, numbers, np.int32(2)).wait()
    os.kill(hosts_of(processes.daemon)[0], signal.SIGKILL)
    with pytest.raises(cl.Error):
        program.call("test.calls", program.buffer(4)).wait()
    assert program.error() == "its process was ended by signal 9 (Killed)"
    program.call("test.multiply", numbers, numbers, np.int32(2)).wait()
    assert (program.read(numbers) == 4).all()


def test_no_more_processes_than_allowed(processes):
    device = fake_devices(processes)["fake plugin"]
    wait_until(lambda: not hosts_of(processes.daemon))
    programs = [Program(device, ["test.calls"]) for _ in range(6)]
    for program in programs[:5]:
        program.call("test.calls", program.buffer(4)).wait()
    with pytest.raises(cl.Error):
        programs[5].call("test.calls", programs[5].buffer(4)).wait()
    assert "--plugin-instances" in programs[5].error()


def test_a_released_buffers_memory_is_given_back(processes):
    """Also where the plugin's process still has it."""

    def shared_kib():
        lines = Path(f"/proc/{processes.daemon.process.pid}/status").read_text().splitlines()
        return next(int(line.split()[1]) for line in lines if line.startswith("RssShmem"))

    wait_until(lambda: not hosts_of(processes.daemon))
    program = Program(fake_devices(processes)["fake plugin"], ["test.multiply"])
    for _ in range(20):
        numbers = program.buffer(0, np.ones(LARGE, np.int32))
        program.call("test.multiply", numbers, numbers, np.int32(2)).wait()
        numbers.release()
    wait_until(lambda: shared_kib() < 5 * 4096)


def test_a_plugin_that_cannot_be_used_is_named():
    with Daemon("--plugin", str(PLUGIN), "--plugin-allow", "fake:none", "--plugin", "/bin/true") as daemon:
        _, log = daemon.end()
    assert f"the plugin {PLUGIN} cannot be used: it says that it cannot work on this machine" in log
    assert "the plugin /usr/bin/true cannot be used" in log
    with Daemon("--plugin", str(PLUGIN), "--plugin-allow", "fake:abort-at-once") as daemon:
        _, log = daemon.end()
    assert f"the plugin {PLUGIN} cannot be used: its process was ended by signal 6 (Aborted)" in log


@pytest.mark.parametrize(
    ("options", "cause"),
    [
        (["--plugin", "/no/such.so"], "the plugin /no/such.so cannot be opened: No such file or directory"),
        (["--plugin-allow", "read:/data"], "--plugin-allow does nothing without --streams"),
        (["--plugin", str(PLUGIN), "--isolate"], "plugins cannot be used where each session has a contained process"),
    ],
)
def test_wrong_options_are_refused(options, cause):
    with pytest.raises(AssertionError, match=cause):
        Daemon(*options)


def test_no_buffer_in_place_of_a_released_one(server):
    """An argument whose buffer is gone can be set to NULL."""
    program = Program(fake_devices(server)["fake plugin"], ["test.calls", "test.multiply"])
    kernel = program.kernels["test.multiply"]
    buffer = program.buffer(4)
    kernel.set_args(buffer, buffer, np.int32(1))
    cl.enqueue_nd_range_kernel(program.queue, kernel, (1,), None).wait()
    del buffer
    kernel.set_args(None, None, np.int32(1))
    cl.enqueue_nd_range_kernel(program.queue, kernel, (1,), None).wait()
