"""Devices that OpenCL does not count among all devices, from a driver that has one."""

import pyopencl as cl
import pytest

import remotecl
from conftest import BUILT
from daemon import Daemon

DRIVER = BUILT / "lib" / "libremotecl_fake_driver.so"


@pytest.fixture(scope="module")
def fake():
    if not DRIVER.exists():
        pytest.skip(f"{DRIVER} has not been built")
    with Daemon(environment={"OCL_ICD_VENDORS": str(DRIVER), "REMOTECL_FAKE_DRIVER": "gpu=1,custom=1"}) as daemon:
        connection = remotecl.connect(daemon.address)
        yield connection
        connection.close()


def of_server(devices, connection):
    return [device for device in devices if remotecl.server_of(device) == connection.servers[0]]


def test_a_context_has_devices_that_compile(fake):
    assert [device.name for device in fake.devices] == ["fake gpu 0"]
    assert [device.name for device in fake.context().devices] == ["fake gpu 0"]


def test_custom_devices_are_in_the_lists(fake):
    assert [device.name for device in of_server(remotecl.overview().devices, fake)] == ["fake gpu 0", "fake custom 0"]
    assert "fake custom 0" in repr(remotecl.overview().devices)
    (server,) = [one for one in remotecl.overview().servers if one.address == fake.servers[0]]
    assert server.devices == ("fake gpu 0", "fake custom 0")
    assert "fake custom 0" in repr(remotecl.overview(fake.servers[0]).status)


def test_a_built_in_kernel_runs(fake):
    (device,) = [
        device for device in of_server(remotecl.overview().devices, fake) if device.type == cl.device_type.CUSTOM
    ]
    context = cl.Context([device])
    program = cl.create_program_with_built_in_kernels(context, [device], ["fill_mv"])
    kernel = cl.Kernel(program, "fill_mv")
    queue = cl.CommandQueue(context)
    buffer = cl.Buffer(context, cl.mem_flags.READ_WRITE, 4096)
    kernel.set_args(buffer, cl.cltypes.int(7))
    cl.enqueue_nd_range_kernel(queue, kernel, (1024,), None)
    found = bytearray(4096)
    cl.enqueue_copy(queue, found, buffer)
    assert found == (7).to_bytes(4, "little") * 1024
    (entry,) = remotecl.residency(buffer)
    assert [copy.device for part in entry.ranges for copy in part.copies if copy.device is not None] == [device]
