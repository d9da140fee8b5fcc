"""Progress bars: of a slow upload, of a slow build, of the package's own work; none where nobody wants them."""

import re

import pytest

import remotecl
from notebook import run_notebook
from throttled_relay import ThrottledRelay

MIB = 1 << 20
UPLOAD = """
import sys
import numpy as np, pyopencl as cl, remotecl
print("progress is", "on" if remotecl.progress() else "off")
connection = remotecl.connect({address!r})
queue = cl.CommandQueue(connection.context())
buffer = cl.Buffer(queue.context, cl.mem_flags.READ_WRITE, {size})
cl.enqueue_copy(queue, buffer, np.random.default_rng(1).integers(0, 256, {size}, np.uint8))  # not compressed
queue.finish()
"""


@pytest.fixture(scope="module")
def slow_upload(cluster):
    """A program that uploads for more than a second."""
    with ThrottledRelay(cluster.addresses[0], bytes_per_s=16 * MIB) as relay:
        yield UPLOAD.format(address=relay.address, size=16 * MIB), relay.address


def test_a_slow_upload_shows_a_bar_that_grows(run_program, slow_upload):
    program, address = slow_upload
    result = run_program(program, REMOTECL_PROGRESS="1", REMOTECL_SHARED_MEMORY="off")
    assert "progress is on" in result.stdout
    shares = [int(share) for share in re.findall(rf"to {address}: +(\d+)%", result.stderr)]
    assert len(set(shares)) >= 3, result.stderr
    assert shares == sorted(shares)
    assert re.search(r"/16\.0M", result.stderr), result.stderr


def test_a_notebook_shows_one_below_the_cell_that_works(cluster):
    with ThrottledRelay(cluster.addresses[0], bytes_per_s=8 * MIB) as relay:
        # Much more than sockets and relay hold, in steps of 4 MiB.
        program = UPLOAD.format(address=relay.address, size=32 * MIB)
        program += "import time; time.sleep(1)"  # nbclient ignores what comes between two cells, like the bar's end
        displayed: list[tuple[int, str]] = []
        # The last state of a bar may appear below a cell that begins at that moment, and not below later ones.
        cells = run_notebook(
            ["import remotecl", program, "import time; time.sleep(2)", "1 + 1"],
            {"REMOTECL_SHARED_MEMORY": "off"},
            displayed,
        )
    shown = [" ".join(text for number, text in displayed if number == cell) for cell in range(len(cells))]
    assert re.search(rf"to {relay.address}: +\d\d%", shown[1]), shown
    assert relay.address not in shown[0] + shown[3]
    # Nothing of it stays, and no red line.
    left = ["".join(output.get("text", str(output.get("data"))) for output in cell.outputs) for cell in cells]
    assert "progress is on" in left[1]
    assert relay.address not in "".join(left)
    assert not any(output.get("name") == "stderr" for cell in cells for output in cell.outputs)


def test_a_script_shows_none(run_program, slow_upload):
    program, address = slow_upload
    result = run_program(program, REMOTECL_SHARED_MEMORY="off")
    assert "progress is off" in result.stdout
    assert address not in result.stderr


SLOW_BUILD = """
import os, time
import pyopencl as cl, remotecl
remotecl.progress(True)
context = remotecl.connect(ADDRESS).context()
body = " ".join(f"x[{i}] = sin(x[{i}]) * {os.getpid()}.0f;" for i in range(40))
for count in (50, 400, 1600):  # until it takes long on this machine
    source = " ".join(f"kernel void k{n}_{count}(global float* x) {{ {body} }}" for n in range(count))
    begin = time.monotonic()
    cl.Program(context, source).build(cache_dir=False)
    if time.monotonic() - begin > 1.5:
        break
"""


def test_a_slow_build_shows_a_bar(run_program, cluster):
    result = run_program(SLOW_BUILD.replace("ADDRESS", repr(cluster.addresses[0])))
    assert f"building on {cluster.addresses[0]}" in result.stderr, result.stderr


def test_the_packages_own_bars(run_program):
    program = """
import time, remotecl
from remotecl._observe.progress import bar
remotecl.progress(True)
with bar(3, "starting servers") as started:
    for _ in range(3):
        time.sleep(0.4)
        started.advance()
with bar(3, "soon over"):
    pass
assert remotecl.progress(False) is False
with bar(2, "nobody looks") as unseen:
    unseen.advance()
"""
    errors = run_program(program).stderr
    assert "starting servers" in errors
    assert "3/3" in errors
    assert "soon over" not in errors
    assert "nobody looks" not in errors


def test_it_is_on_by_default_at_a_prompt(run_program):
    program = "import sys; sys.ps1 = '>>> '; import remotecl; print(remotecl.progress())"
    assert run_program(program).stdout.strip() == "True"
    for word in ("0", "No", "OFF", "false"):
        assert run_program(program, REMOTECL_PROGRESS=word).stdout.strip() == "False"


def test_a_setting_that_means_nothing_is_told_of(run_program):
    result = run_program("import remotecl; print(remotecl.progress())", REMOTECL_PROGRESS="ba\nnana")
    assert result.stdout.strip() == "False"
    assert result.stderr == "remotecl: REMOTECL_PROGRESS=ba nana means nothing and is ignored; it takes on or off\n"


def test_without_tqdm_there_are_none_and_asking_says_why(run_program):
    program = """
import sys
sys.modules["tqdm"] = None  # as if it were not installed
import importlib.util
find_spec = importlib.util.find_spec
importlib.util.find_spec = lambda name, *more: None if name == "tqdm" else find_spec(name, *more)
import remotecl
assert not remotecl.progress()
try:
    remotecl.progress(True)
except remotecl.RemoteCLError as error:
    print(error)
"""
    assert "pip install 'remotecl[progress]'" in run_program(program, REMOTECL_PROGRESS="1").stdout


BETWEEN = """
import numpy as np, pyopencl as cl, remotecl
context = remotecl.connect({first!r}, {second!r}).context()
one, other = (cl.CommandQueue(context, device) for device in (context.devices[0], context.devices[-1]))
buffer = cl.Buffer(context, cl.mem_flags.READ_WRITE, {size})
cl.enqueue_copy(one, buffer, np.zeros({size}, np.uint8))
one.finish()
cl.enqueue_migrate_mem_objects(other, [buffer]).wait()
"""


def test_what_goes_from_server_to_server_shows_a_bar_that_grows(run_program):
    alone = {"REMOTECL_SHARED_MEMORY": "off", "REMOTECL_COMPRESSION": "off"}
    with (
        remotecl.Server(environment=alone) as one,
        remotecl.Server(environment=alone) as other,
        ThrottledRelay(other.address, bytes_per_s=16 * MIB) as relay,
    ):
        program = BETWEEN.format(first=one.address, second=relay.address, size=64 * MIB)
        result = run_program(program, REMOTECL_PROGRESS="1", **alone)
    shown = re.findall(rf"between servers, {one.address} to {relay.address}: +(\d+)%", result.stderr)
    shares = [int(share) for share in shown]
    assert len(set(shares)) >= 3, result.stderr
    assert shares == sorted(shares)
