"""Frames on a server, and locally while it is lost, stopped or too slow (the example): none is lost or too late."""

import os
import signal
import subprocess
import sys
import threading
import time
from contextlib import contextmanager
from pathlib import Path

import numpy as np
import pyopencl as cl
import pytest

import remotecl
from conftest import CLEAN_ENVIRONMENT, run_command
from daemon import WITHIN_S, Daemon

FOLDER = Path(__file__).parents[2] / "examples/adaptive"
sys.path.insert(0, str(FOLDER))
import adaptive as example  # noqa: E402  examples are no package

# Long enough for a machine that does much else. What a call may take beyond it is the local side and the scheduler.
DEADLINE_S = 2.0
SLACK_S = 3.0
SOURCE = (
    "kernel void square(global const int* in, global int* out) { int i = get_global_id(0); out[i] = in[i] * in[i]; }"
)


class Square:
    """Squares numbers on a context's first device."""

    def __init__(self, context):
        self.context = context
        self.queue = cl.CommandQueue(context)
        self.kernel = cl.Kernel(cl.Program(context, SOURCE).build(), "square")

    def __call__(self, numbers):
        flags = cl.mem_flags
        source = cl.Buffer(self.context, flags.READ_ONLY | flags.COPY_HOST_PTR, hostbuf=numbers)
        target = cl.Buffer(self.context, flags.WRITE_ONLY, numbers.nbytes)
        self.kernel(self.queue, numbers.shape, None, source, target)
        result = np.empty_like(numbers)
        cl.enqueue_copy(self.queue, result, target)
        return result


def is_remote(context):
    return context.devices[0].platform.name == "remotecl"


def local_device():
    return next(
        device
        for platform in cl.get_platforms()
        if platform.name != "remotecl"
        for device in platform.get_devices()
        if can_build(device)
    )


def can_build(device):
    """PoCL's wheel does not know every processor."""
    try:
        cl.Program(cl.Context([device]), SOURCE).build()
    except cl.RuntimeError:
        return False
    return True


class Frames:
    """Runs frames, each of its own numbers, checks every result and how long it took."""

    def __init__(self, adaptive):
        self.adaptive = adaptive
        self.count = 0
        self.longest_s = 0.0

    def run(self):
        self.count += 1
        numbers = np.arange(1000, dtype=np.int32) + self.count
        began = time.monotonic()
        frame = self.adaptive.run(numbers)
        self.longest_s = max(self.longest_s, time.monotonic() - began)
        assert (frame.result == numbers * numbers).all()
        return frame

    def until(self, side):
        end = time.monotonic() + WITHIN_S
        while self.run().side != side:
            assert time.monotonic() < end, self.adaptive
            time.sleep(0.01)


@contextmanager
def frames_on(address, **options):
    with example.adaptive(address, local_device(), Square, **{"deadline_s": DEADLINE_S, **options}) as adaptive:
        yield Frames(adaptive)


@pytest.fixture
def daemon():
    with Daemon() as daemon:
        yield daemon


def stop(daemon):
    """Stops the daemon's process, and waits until no thread of it runs."""
    daemon.process.send_signal(signal.SIGSTOP)
    os.waitid(os.P_PID, daemon.process.pid, os.WSTOPPED | os.WNOWAIT)


def test_frames_go_to_the_server_once_it_has_shown_that_it_is_fast_enough(daemon):
    with frames_on(daemon.address) as frames:
        assert frames.adaptive.side == "local"
        assert frames.run().side == "local"
        frames.until("remote")
        assert frames.count > 3
        assert [frames.run().side for _ in range(20)] == ["remote"] * 20
        assert repr(frames.adaptive) == "<Adaptive, remote>"


def test_a_server_that_is_killed_and_restarted(daemon):
    with frames_on(daemon.address, retry_s=0.1) as frames:
        frames.until("remote")
        daemon.end(signal.SIGKILL)
        assert frames.run().side == "local"
        assert "DEVICE_NOT_AVAILABLE" in frames.adaptive.reason
        assert [frames.run().side for _ in range(20)] == ["local"] * 20
        with Daemon("--listen", daemon.address):
            frames.until("remote")
            assert [frames.run().side for _ in range(20)] == ["remote"] * 20
        frames.until("local")
        assert frames.longest_s < DEADLINE_S + SLACK_S


def test_a_server_that_is_killed_while_it_has_a_frame(daemon):
    """The frame is run locally, long before its deadline."""
    killer = threading.Timer(0.3, lambda: os.kill(daemon.process.pid, signal.SIGKILL))

    def prepare(context):
        square = Square(context)
        gate = cl.UserEvent(context) if is_remote(context) else None

        def run(numbers):
            if gate is not None and numbers[0] == 0:
                killer.start()
                cl.enqueue_marker(square.queue, [gate]).wait()
            return square(numbers)

        return run

    with example.adaptive(daemon.address, local_device(), prepare, deadline_s=30) as adaptive:
        Frames(adaptive).until("remote")
        began = time.monotonic()
        frame = adaptive.run(np.arange(10, dtype=np.int32))
        assert 0.2 < time.monotonic() - began < 0.3 + SLACK_S
        assert frame.side == "local"
        assert frame.result.tolist() == [number * number for number in range(10)]


def test_the_deadline_holds_while_the_server_is_stopped(daemon):
    with frames_on(daemon.address, retry_s=0.1) as frames:
        frames.until("remote")
        stop(daemon)
        try:
            began = time.monotonic()
            frame = frames.run()
            assert frame.side == "local"
            assert DEADLINE_S <= time.monotonic() - began < DEADLINE_S + SLACK_S
            assert frame.seconds >= DEADLINE_S
            # It is known to be busy from then on.
            began = time.monotonic()
            assert [frames.run().side for _ in range(10)] == ["local"] * 10
            assert time.monotonic() - began < SLACK_S
            assert "3 frames in a row missed the deadline of 2 s" in frames.adaptive.reason
        finally:
            daemon.process.send_signal(signal.SIGCONT)
        frames.until("remote")
        assert frames.longest_s < DEADLINE_S + SLACK_S


@pytest.mark.parametrize("is_blocking", [True, False])
def test_a_write_to_a_server_that_hangs_leaves_pythons_lock_to_others(daemon, is_blocking):
    """It is small enough for the sockets. PyOpenCL's event, which is dropped, would wait with the lock held."""

    def prepare(context):
        queue = cl.CommandQueue(context)
        buffer = cl.Buffer(context, cl.mem_flags.READ_WRITE, 512 << 10)

        def run(data):
            cl.enqueue_copy(queue, buffer, data, is_blocking=is_blocking)
            queue.finish()
            return len(data)

        return run

    data = np.ones(512 << 10, np.uint8)
    with example.adaptive(daemon.address, local_device(), prepare, deadline_s=DEADLINE_S, retry_s=0.1) as adaptive:
        while adaptive.run(data).side == "local":
            time.sleep(0.01)
        stop(daemon)
        began = time.monotonic()
        assert adaptive.run(data).side == "local"
        assert time.monotonic() - began < DEADLINE_S + SLACK_S


def test_stopping_while_the_server_is_stopped(daemon):
    with frames_on(daemon.address) as frames:
        frames.until("remote")
        stop(daemon)
        assert frames.run().side == "local"
        began = time.monotonic()
        frames.adaptive.stop()
        assert time.monotonic() - began < DEADLINE_S + SLACK_S
        assert not frames.adaptive._remote._thread.is_alive()
        assert "stopped" in repr(frames.adaptive)
        with pytest.raises(RuntimeError, match=r"after stop\(\)"):
            frames.run()


WITHOUT_SERVER = """
import sys, time
import numpy as np
import pyopencl as cl

sys.path.insert(0, sys.argv[2])
from test_adaptive import Frames, Square, example, local_device

device = local_device()  # the loader has asked its drivers for platforms before any server is known
adaptive = example.adaptive(sys.argv[1], device, Square, deadline_s=1, retry_s=0.1)
frames = Frames(adaptive)
while adaptive.reason == "the server has not been tried yet":
    assert frames.run().side == "local"
print(adaptive.reason, flush=True)
sys.stdin.readline()
frames.until("remote")
print("remote", flush=True)
sys.stdin.readline()
assert frames.run().side == "local"
"""


def test_a_server_that_comes_later_and_a_program_that_ends_while_it_is_stopped():
    with Daemon() as first:
        address = first.address
    process = subprocess.Popen(
        [sys.executable, "-c", WITHOUT_SERVER, address, str(Path(__file__).parent)],
        env=CLEAN_ENVIRONMENT, text=True, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE,
    )  # fmt: skip
    assert process.stdout.readline().startswith("ServerUnreachable: ")
    with Daemon("--listen", address) as daemon:
        process.stdin.write("\n")
        process.stdin.flush()
        assert process.stdout.readline() == "remote\n", process.communicate()
        stop(daemon)
        began = time.monotonic()
        errors = process.communicate("\n", timeout=WITHIN_S)[1]
        assert process.returncode == 0, errors
        assert "Traceback" not in errors and "terminate" not in errors, errors
        assert time.monotonic() - began < 4 * SLACK_S


class Slowly:
    """A remote side that takes as long as it is told, and counts its frames."""

    def __init__(self):
        self.seconds = 0.0
        self.frames = 0
        self.contexts = 0
        self.error = None

    def prepare(self, context):
        if not is_remote(context):
            return lambda number: number
        self.contexts += 1

        def run(number):
            self.frames += 1
            error = self.error
            time.sleep(self.seconds)
            if error is not None:
                raise error
            return number

        return run


@pytest.fixture
def slowly(connection):
    return Slowly()


def start(slowly, connection, **options):
    settings = {"deadline_s": 0.2, "retry_s": 0.05, **options}
    return example.adaptive(connection.servers[0], local_device(), slowly.prepare, **settings)


def run_until(adaptive, side):
    end = time.monotonic() + WITHIN_S
    while adaptive.run(7).side != side:
        assert time.monotonic() < end, adaptive
        time.sleep(0.01)


def test_a_frame_that_is_late_now_and_then_changes_nothing(slowly, connection):
    with start(slowly, connection) as adaptive:
        run_until(adaptive, "remote")
        for _ in range(4):
            slowly.seconds = 0.5
            assert adaptive.run(1).side == "local"
            slowly.seconds = 0.0
            time.sleep(0.6)  # the late one ends
            assert adaptive.run(2).side == "remote"
        assert adaptive.side == "remote"
        assert slowly.contexts == 1


def test_a_server_that_is_too_slow_is_left_and_tried_ever_more_seldom(slowly, connection):
    with start(slowly, connection, deadline_s=0.05) as adaptive:
        run_until(adaptive, "remote")
        slowly.seconds = 0.1
        run_until(adaptive, "local")
        while adaptive.side == "remote":
            adaptive.run(7)
        before, end = slowly.frames, time.monotonic() + 3
        while time.monotonic() < end:
            assert adaptive.run(7).side == "local"
            time.sleep(0.005)
        # Pauses of 0.1, 0.2, 0.4, 0.8 and 0.8 s; without them it would be 30.
        assert 3 <= slowly.frames - before <= 8
        assert "the deadline is 0.05 s" in adaptive.reason
        slowly.seconds = 0.0
        run_until(adaptive, "remote")


def test_a_server_near_its_limit_is_not_taken_again(slowly, connection):
    """Else it would be taken and left all the time."""
    with start(slowly, connection, deadline_s=1.0) as adaptive:
        slowly.seconds = 0.9
        end = time.monotonic() + 4
        while time.monotonic() < end:
            assert adaptive.run(7).side == "local"
            time.sleep(0.01)


def test_errors_of_opencl_make_a_new_context_and_others_are_the_callers(slowly, connection):
    with start(slowly, connection) as adaptive:
        run_until(adaptive, "remote")
        slowly.error = cl.Error("clFinish failed: OUT_OF_RESOURCES")
        assert adaptive.run(5).result == 5
        assert "OUT_OF_RESOURCES" in adaptive.reason
        slowly.error = None
        run_until(adaptive, "remote")
        assert slowly.contexts == 2
        slowly.error = KeyError("the caller's mistake")
        with pytest.raises(KeyError, match="the caller's mistake"):
            adaptive.run(6)


def test_an_error_in_a_frame_that_is_late_is_raised_by_the_next_call(slowly, connection):
    with start(slowly, connection) as adaptive:
        run_until(adaptive, "remote")
        slowly.seconds, slowly.error = 0.5, KeyError("the caller's mistake")
        assert adaptive.run(1).side == "local"
        assert adaptive._attempt.done.wait(WITHIN_S)
        slowly.seconds, slowly.error = 0.0, None
        with pytest.raises(KeyError, match="the caller's mistake"):
            adaptive.run(2)
        assert adaptive.run(3).result == 3


def test_the_local_side_may_do_something_else(slowly, connection):
    with start(slowly, connection, prepare_local=lambda context: lambda number: -number) as adaptive:
        assert adaptive.run(3).result == -3
        run_until(adaptive, "remote")
        assert adaptive.run(3).result == 3


def test_what_nobody_holds_any_more_ends_its_thread(slowly, connection):
    adaptive = start(slowly, connection)
    run_until(adaptive, "remote")
    thread = adaptive._remote._thread
    del adaptive
    thread.join(WITHIN_S)
    assert not thread.is_alive()


@pytest.mark.parametrize("options", [{"deadline_s": 0}, {"retry_s": 0}, {"misses": 0}])
def test_what_makes_no_sense_is_refused(slowly, connection, options):
    with pytest.raises(ValueError, match="not "):
        start(slowly, connection, **options)


def test_the_example():
    result = run_command([sys.executable, str(FOLDER / "edges.py"), "--seconds", "6"])
    assert result.returncode == 0, result.stdout + result.stderr
    lines = result.stdout.splitlines()
    assert "every picture is right" in lines[-1]
    assert any("the server is stopped" in line for line in lines)


def test_the_name_that_was_public_says_where_it_is():
    with pytest.raises(AttributeError, match=r"remotecl\.adaptive is now an example: examples/adaptive/adaptive\.py"):
        remotecl.adaptive  # noqa: B018
    with pytest.raises(AttributeError, match="has no attribute 'nonsense'"):
        remotecl.nonsense  # noqa: B018
