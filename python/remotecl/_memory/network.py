"""Sockets inside kernels."""

from __future__ import annotations

from types import TracebackType
from typing import TYPE_CHECKING

from .._connect.connection import device_handle, import_pyopencl, native, server_of_device
from .._connect.objects import require_remote_device
from .._connect.refusal import check
from ..errors import RemoteCLError

if TYPE_CHECKING:
    import pyopencl

_RING_BYTES_MIN, _RING_BYTES_MAX = 1 << 10, 16 << 20
_SOCKETS_MAX = 16384


class Network:
    """Sockets for the kernels of one device: memory that connects them with that device's server.

    A kernel that includes ``"remotecl/net.cl"``, which the server provides, takes `memory` as an argument
    ``__global rcl_net*``, and opens, accepts, reads and writes TCP, UDP and Unix sockets of the server's machine by
    itself. No other command can use that memory. See the page *Sockets inside kernels* for the kernel's functions.

    The server has to be started with ``--kernel-sockets``, and its limits say where kernels may connect to and what
    they may bind (`Server` has ``kernel_connect`` and ``kernel_bind`` for that).

    It is a context manager: at the end of the ``with`` block, also after Ctrl-C, `stop` ends the waits of its kernels.

    Args:
        context: the kernels' context.
        device: the device where they run; one of the context's, not the automatic one.
        sockets: how many its kernels can have at once, 1 to 16384.
        ring_bytes: how many bytes can wait in each direction of each socket: a power of two, 1 KiB to 16 MiB. The
            network takes ``2 * sockets * ring_bytes`` of memory that the device and its host share. By default as many
            as make 64 MiB for all sockets, but not below 64 KiB and not above 1 MiB.

    Raises:
        ValueError: the device is not one of the context's, or `sockets` or `ring_bytes` is out of range.
        RemoteCLError: kernels have no sockets on that device.
        pyopencl.Error: OpenCL refuses for other reasons, for example because there is not as much memory.

    Example::

        server = remotecl.Server(kernel_bind=["127.0.0.1:7000"])
        connection = remotecl.connect(server.address)
        context = connection.context()
        queue = pyopencl.CommandQueue(context)
        program = pyopencl.Program(context, '''
            #include "remotecl/net.cl"
            __kernel void echo(__global rcl_net* net, __global uchar* scratch) {
              RCL_GROUP(g, net);
              int s = rcl_accept(g, rcl_bind(g, "tcp:127.0.0.1:7000")), n;
              while ((n = rcl_recv(g, s, scratch, 4096)) > 0) rcl_send_all(g, s, scratch, n);
              rcl_close(g, s);
            }''').build()
        scratch = pyopencl.Buffer(context, pyopencl.mem_flags.READ_WRITE, 4096)
        with remotecl.Network(context, context.devices[0]) as network:
            program.echo(queue, (64,), (64,), network.memory, scratch)
            queue.flush()
            ...  # connect to port 7000
    """

    def __init__(
        self, context: pyopencl.Context, device: pyopencl.Device, sockets: int = 64, ring_bytes: int | None = None
    ) -> None:
        if not 1 <= sockets <= _SOCKETS_MAX:
            raise ValueError(f"a network has 1 to {_SOCKETS_MAX} sockets, not {sockets}")
        if ring_bytes is not None and (
            not _RING_BYTES_MIN <= ring_bytes <= _RING_BYTES_MAX or ring_bytes & (ring_bytes - 1)
        ):
            raise ValueError(f"ring_bytes is a power of two from 1 KiB to 16 MiB, not {ring_bytes}")
        cl = import_pyopencl()
        require_remote_device(device, "device")
        handle, code = native().create_network(context.int_ptr, device.int_ptr, sockets, ring_bytes or 0)
        if code == cl.status_code.INVALID_DEVICE:
            raise ValueError(f"{device} is not a device of this context; choose one of context.devices")
        if code == cl.status_code.INVALID_VALUE:
            raise ValueError(f"{sockets} sockets with rings of {ring_bytes} bytes are more than 4 GiB of rings")
        if code == cl.status_code.INVALID_OPERATION:
            raise RemoteCLError(
                f"kernels have no sockets on {device.name.strip()} of {server_of_device(device)}: its server has to be "
                "started with --kernel-sockets, and the device needs memory that a running kernel and the host both "
                "see, which CPU devices and NVIDIA's GPUs have"
            )
        check(cl, code, "remotecl_create_network")
        self._memory: pyopencl.Buffer = cl.Buffer.from_int_ptr(handle, retain=False)
        self._stopped = False

    @property
    def memory(self) -> pyopencl.Buffer:
        """The kernel's argument ``__global rcl_net*``."""
        return self._memory

    def stop(self) -> None:
        """Closes its sockets for good and ends the waits of its kernels, now and later, with ``-RCL_ECANCELED``.

        A kernel that then returns frees the device within a second. Calling it again does nothing.
        """
        if not self._stopped:
            self._stopped = True
            check(import_pyopencl(), native().stop_network(self._memory.int_ptr), "remotecl_stop_network")

    @staticmethod
    def groups(device: pyopencl.Device) -> int:
        """How many work-groups of a kernel the device is sure to run at once.

        With more, those that have begun must end before others begin, so a kernel whose work-groups wait for each other
        must not be started with more.

        Raises:
            TypeError: `device` is not a device.
            ValueError: it is not remotecl's, or the automatic one.
        """
        require_remote_device(device, "device")
        groups, code = native().network_groups(device_handle(device))
        if code:
            raise ValueError("the automatic device runs each kernel elsewhere; ask one of the others")
        count: int = groups
        return count

    def __enter__(self) -> Network:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        self.stop()

    def __repr__(self) -> str:
        return f"<remotecl.Network of {self._memory.size} bytes{', stopped' if self._stopped else ''}>"
