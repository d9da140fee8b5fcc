"""Ctrl-C while the main thread waits: KeyboardInterrupt at once, and everything goes on to be usable."""

from __future__ import annotations

import pytest
from jupyter_client.manager import start_new_kernel

from conftest import CLEAN_ENVIRONMENT
from gated_program import GATED


@pytest.mark.parametrize("wait", ["event.wait()", "cl.wait_for_events([event])", "queue.finish()"])
def test_a_wait_is_interrupted(run_program, addresses, wait):
    run_program(
        f"""{GATED}
event = enqueue()
for _ in range(2):
    interrupted(lambda: {wait})
    assert is_waiting(event)
open_gate()
{wait}
assert not is_waiting(event)
check()
""",
        SERVERS=addresses,
    )


def test_the_end_of_the_program_does_not_wait_for_what_was_interrupted(run_program, addresses):
    result = run_program(
        f"""{GATED}
enqueue()
target = np.empty_like(before)
interrupted(lambda: cl.enqueue_copy(queue, target, buffer))
interrupted(lambda: cl.enqueue_copy(queue, buffer, target))
opener.cancel()
""",
        SERVERS=addresses,
    )
    assert result.stderr == ""


@pytest.mark.parametrize(
    "order", ["import pyopencl, remotecl", "import remotecl, pyopencl", "import remotecl._cli.main, pyopencl.array"]
)
def test_whichever_is_imported_first(run_program, addresses, order):
    run_program(f"{order}\n{GATED}\nenqueue()\ninterrupted(queue.finish)\nopen_gate()\ncheck()", SERVERS=addresses)


def test_other_threads_wait_and_other_signals_are_handled(run_program, addresses):
    run_program(
        f"""{GATED}
event = enqueue()
handled = []
signal.signal(signal.SIGUSR1, lambda number, frame: handled.append(number))
waited = []
others = [threading.Thread(target=lambda: (wait(), waited.append(1))) for wait in (event.wait, queue.finish)]
for other in others:
    other.start()
threading.Timer(0.1, os.kill, [os.getpid(), signal.SIGUSR1]).start()
interrupted(event.wait)
assert handled and not waited
open_gate()
for other in others:
    other.join()
check()
""",
        SERVERS=addresses,
    )


def test_a_cell_of_a_notebook_is_interrupted(addresses):
    manager, client = start_new_kernel(env={**CLEAN_ENVIRONMENT, "SERVERS": addresses})

    def run(source, see=lambda message: None):
        return client.execute_interactive(source, timeout=60, output_hook=see)["content"]

    def interrupt(message):
        if message["msg_type"] == "stream" and "waiting" in message["content"]["text"]:
            manager.interrupt_kernel()

    try:
        assert run(f"{GATED}\nevent = enqueue()")["status"] == "ok"
        interrupted = run("print('waiting', flush=True)\nqueue.finish()", interrupt)
        assert interrupted["ename"] == "KeyboardInterrupt"
        assert run("open_gate()\ncheck()")["status"] == "ok"
    finally:
        client.stop_channels()
        manager.shutdown_kernel(now=True)
