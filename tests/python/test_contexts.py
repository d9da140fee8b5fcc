"""How PyOpenCL's own ways to choose a device find remote ones."""

from __future__ import annotations

import pytest

PROGRAM = """
import io, sys
{imports}
import pyopencl as cl, pyopencl.tools
if {answers!r} is not None:
    sys.stdin = io.StringIO({answers!r})
context = cl.create_some_context(interactive={answers!r} is not None)
import remotecl
assert {{device.platform.name for device in context.devices}} == {{"remotecl"}}, context.devices
print("chosen", *(remotecl.overview().devices.index(device) for device in context.devices))
"""


@pytest.fixture
def choose(run_program, addresses):
    """Which of the remote devices create_some_context takes."""

    def run(imports: str = "", answers: str | None = None, check: bool = True, **environment: str):
        settings = {"PYOPENCL_CTX": None, "PYOPENCL_TEST": None, "REMOTECL_SERVERS": addresses, **environment}
        result = run_program(PROGRAM.format(imports=imports, answers=answers), check=check, **settings)
        return result.stdout.rpartition("chosen ")[2].strip() if check else result.stderr

    return run


@pytest.mark.parametrize(
    ("setting", "chosen"), [("remotecl", "0"), ("remotecl:0", "0"), ("remotecl:1", "1"), ("remotecl:0,1", "0 1")]
)
def test_pyopencl_ctx_in_a_program_that_knows_nothing_of_remotecl(choose, setting, chosen):
    assert choose(PYOPENCL_CTX=setting) == chosen


def test_pyopencl_ctx_with_numbers_and_with_a_device_name(choose, run_program, addresses):
    program = """
import pyopencl as cl
platforms = cl.get_platforms()
number = [platform.name for platform in platforms].index("remotecl")
print(number, platforms[number].get_devices()[0].name, sep="\\n")
"""
    number, name = run_program(program, REMOTECL_SERVERS=addresses).stdout.splitlines()
    assert choose(PYOPENCL_CTX=f"{number}:1") == "1"
    assert choose(PYOPENCL_CTX=f"remotecl:{name.split(':')[0]}") == "0"


def test_pyopencl_ctx_with_a_device_that_is_not_there(choose):
    assert "did not match any device" in choose(PYOPENCL_CTX="remotecl:9", check=False)


def test_pyopencl_test(choose):
    assert choose(PYOPENCL_TEST="remotecl:1") == "1"


def test_servers_alone_are_enough_for_who_imports_remotecl(choose, addresses):
    assert choose("import remotecl") == "0"
    # With one server it has no more devices than the local platform, which PyOpenCL would take.
    assert choose("import remotecl", REMOTECL_SERVERS=addresses.split(",")[1]) == "0"


@pytest.mark.parametrize("name", ["PYOPENCL_CTX", "PYOPENCL_TEST"])
def test_what_the_user_has_set_stays(run_program, addresses, name):
    other = {"PYOPENCL_CTX", "PYOPENCL_TEST"} - {name}
    program = f"import os, remotecl; print(os.environ[{name!r}], {other.pop()!r} in os.environ)"
    settings = {"PYOPENCL_CTX": None, "PYOPENCL_TEST": None, name: "portable"}
    assert run_program(program, REMOTECL_SERVERS=addresses, **settings).stdout == "portable False\n"


def test_without_servers_nothing_is_set(run_program):
    program = "import os, remotecl; print('PYOPENCL_CTX' in os.environ)"
    assert run_program(program, PYOPENCL_CTX=None).stdout == "False\n"


def test_interactively(choose):
    assert choose("import remotecl", answers="1\n") == "1"
    assert choose("import remotecl", answers="\n") == "0"
    assert choose("import remotecl", answers="1,0\n") == "1 0"
    assert choose(answers="remotecl\n1\n") == "1"


UNMAPPED_ELSEWHERE = """
import numpy as np
import pyopencl as cl
import remotecl

context = remotecl.connect(*{addresses!r}).context()
one, other = (cl.CommandQueue(context, device) for device in (context.devices[0], context.devices[-1]))
image = cl.create_image(context, cl.mem_flags.READ_WRITE,
                        cl.ImageFormat(cl.channel_order.R, cl.channel_type.UNSIGNED_INT32), shape=(8, 8))
expected = np.arange(64, dtype=np.uint32).reshape(8, 8)
cl.enqueue_copy(one, image, expected, origin=(0, 0), region=(8, 8))
pixels, *_, row_pitch, _ = cl.enqueue_map_image(
    one, image, cl.map_flags.WRITE | cl.map_flags.READ, (2, 2), (4, 4), (4, 4), np.uint32, strides=(32, 4))
assert row_pitch == 32
pixels[:] = 7
expected[2:6, 2:6] = 7
pixels.base.release(other)  # the two servers have had nothing to say to each other until now
found = np.empty_like(expected)
cl.enqueue_copy(other, found, image, origin=(0, 0), region=(8, 8))
assert (found == expected).all(), found
"""


def test_a_part_of_an_image_is_unmapped_on_the_queue_of_another_server(run_program, cluster):
    run_program(UNMAPPED_ELSEWHERE.format(addresses=cluster.addresses))


BUFFER_UNMAPPED_ELSEWHERE = """
import numpy as np
import pyopencl as cl
import remotecl

context = remotecl.connect(*{addresses!r}).context()
one, other = (cl.CommandQueue(context, device) for device in (context.devices[0], context.devices[-1]))
expected = np.arange(1024, dtype=np.uint32)
buffer = cl.Buffer(context, cl.mem_flags.READ_WRITE, expected.nbytes)
cl.enqueue_copy(one, buffer, expected)
mapped, _ = cl.enqueue_map_buffer(one, buffer, cl.map_flags.WRITE_INVALIDATE_REGION, 40, 28, np.uint32)
mapped[:] = expected[10:38] = 7
gate = cl.UserEvent(context)
# The two servers have had nothing to say to each other until now, and the second one needs what is there if this fails.
mapped.base.release(other, [gate])
gate.set_status(cl.command_execution_status.COMPLETE)
other.finish()
found = np.empty_like(expected)
cl.enqueue_copy(one, found, buffer)
assert (found == expected).all(), found
"""


def test_a_part_of_a_buffer_is_unmapped_on_the_queue_of_another_server(run_program, cluster):
    run_program(BUFFER_UNMAPPED_ELSEWHERE.format(addresses=cluster.addresses))
