"""Children of a Python process, however they are started."""

from __future__ import annotations

import pytest

# multiprocessing imports the program in the child, so it has to be a file.
PROGRAM = """
import multiprocessing, sys
import numpy as np

def work(number):
    import pyopencl as cl, pyopencl.array, remotecl
    context = cl.Context(remotecl.overview().devices)
    queue = cl.CommandQueue(context, context.devices[number % len(context.devices)])
    return int(cl.array.to_device(queue, np.full(1000, number, np.int32)).get().sum())

if __name__ == "__main__":
    if {parent_works!r}:
        assert work(1) == 1000
    with multiprocessing.get_context({method!r}).Pool(2) as pool:
        assert pool.map(work, range(4)) == [0, 1000, 2000, 3000]
    if {parent_works!r}:
        assert work(2) == 2000
    print("done")
"""


@pytest.fixture
def run(run_program, addresses, tmp_path):
    def run_file(source: str):
        file = tmp_path / "program.py"
        file.write_text(source)
        return run_program(
            f"import os, sys; os.execv(sys.executable, [sys.executable, {str(file)!r}])", REMOTECL_SERVERS=addresses
        )

    return run_file


@pytest.mark.parametrize(
    ("method", "parent_works"), [("spawn", True), ("forkserver", True), ("fork", False)],
    ids=["spawn", "forkserver", "fork before the first call"],
)  # fmt: skip
def test_a_pool_of_processes_works(run, method, parent_works):
    assert run(PROGRAM.format(method=method, parent_works=parent_works)).stdout == "done\n"


def test_a_child_that_is_forked_later_is_told_so_and_the_parent_goes_on(run):
    result = run("""
import os
import numpy as np, pyopencl as cl, pyopencl.array, remotecl
queue = cl.CommandQueue(cl.Context(remotecl.overview().devices))
array = cl.array.to_device(queue, np.arange(1000, dtype=np.int32))
child = os.fork()
if child == 0:
    try:
        array.get()
    except cl.Error as error:
        assert error.code == cl.status_code.DEVICE_NOT_AVAILABLE, error
        for look in ("overview().servers", "overview().stats", "overview().links", "residency()"):
            try:
                eval("remotecl." + look)
            except remotecl.RemoteCLError as error:
                assert "forked" in str(error)
            else:
                os._exit(2)
        try:
            remotecl.prefetch(array, queue.device)
        except cl.Error as error:
            assert error.code == cl.status_code.DEVICE_NOT_AVAILABLE, error
            os._exit(7)
    os._exit(1)
assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 7
assert (array.get() == np.arange(1000)).all()
print("done")
""")
    assert result.stdout == "done\n"
    assert result.stderr.count('multiprocessing with "spawn"') == 1


def test_a_child_that_is_forked_later_ends_normally(run):
    """Destructors of what it has from its parent do nothing there, and nothing to the parent."""
    run("""
import os, sys
import numpy as np, pyopencl as cl, pyopencl.array, remotecl
queue = cl.CommandQueue(cl.Context(remotecl.overview().devices))
array = cl.array.to_device(queue, np.arange(1000, dtype=np.int32))

child = os.fork()
if child == 0:
    sys.exit(7)
assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 7
assert (array.get() == np.arange(1000)).all()

""")
