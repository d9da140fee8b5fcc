"""Programs on the custom devices of a daemon: of any plugin, and those that read and write streams."""

import socket

import numpy as np
import pyopencl as cl
import pytest

import remotecl

FRAME = 4096
END = 1


def free_port(kind):
    with socket.socket(socket.AF_INET, kind) as one:
        one.bind(("127.0.0.1", 0))
        return one.getsockname()[1]


def records_of(size, count=50):
    """A file's records, each of one byte's value: 0, 1, 2, ..."""
    return b"".join(bytes([value]) * size for value in range(count))


class Program:
    """A program of built-in kernels on one device, with a queue of its own."""

    def __init__(self, device, kernels, properties=0, context=None):
        self.context = context or cl.Context([device])
        # PyOpenCL would put colons between the names of a list.
        self.program = cl.create_program_with_built_in_kernels(
            self.context, [device], ";".join([*kernels, "remotecl.error"])
        )
        self.queue = cl.CommandQueue(self.context, device, properties=properties)
        self.kernels = {name: cl.Kernel(self.program, name) for name in [*kernels, "remotecl.error"]}

    def call(self, name, *arguments, wait_for=None):
        kernel = self.kernels[name]
        kernel.set_args(*arguments)
        return cl.enqueue_nd_range_kernel(self.queue, kernel, (1,), None, wait_for=wait_for)

    def buffer(self, size, data=None):
        flags = cl.mem_flags.READ_WRITE
        if data is None:
            return cl.Buffer(self.context, flags, size)
        return cl.Buffer(self.context, flags | cl.mem_flags.COPY_HOST_PTR, hostbuf=data)

    def read(self, buffer, dtype=np.int32, count=None):
        array = np.empty(buffer.size // np.dtype(dtype).itemsize if count is None else count, dtype)
        cl.enqueue_copy(self.queue, array, buffer)
        return array

    def error(self):
        text = self.buffer(600)
        self.call("remotecl.error", text)
        return bytes(self.read(text, np.uint8)).split(b"\0")[0].decode()


class Streams(Program):
    """A program on the device of streams; each has streams of its own."""

    def __init__(self, connection, name="remotecl streams", kernels=("remotecl.read", "remotecl.write"), context=None):
        device = next(
            one
            for one in remotecl.overview().devices
            if one.name == name and remotecl.server_of(one) in connection.servers
        )
        super().__init__(device, kernels, context=context)

    def text(self, name):
        return self.buffer(0, np.frombuffer(name.encode() + b"\0", np.uint8))

    def start_read(self, name, frame, size=None, info=None):
        return self.call("remotecl.read", self.text(name), frame, size, info)

    def read_frame(self, name, room=FRAME):
        """The bytes of the next frame, and what is said of it."""
        frame, size, info = self.buffer(room), self.buffer(8), self.buffer(64)
        self.start_read(name, frame, size, info).wait()
        count = int(self.read(size, np.uint64)[0])
        return bytes(self.read(frame, np.uint8))[:count], self.read(info, np.uint64).tolist()

    def write_frame(self, name, data):
        frame = self.buffer(0, np.frombuffer(data, np.uint8))
        size = self.buffer(0, np.array([len(data)], np.uint64))
        self.call("remotecl.write", self.text(name), frame, size).wait()

    def fails(self, name, code, room=FRAME):
        event = self.start_read(name, self.buffer(room))
        with pytest.raises(cl.Error):
            event.wait()
        assert event.command_execution_status == code
        return self.error()
