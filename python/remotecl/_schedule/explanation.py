"""Why a kernel runs where it does."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from .._connect.connection import decoded
from .scheduling import scheduling

if TYPE_CHECKING:
    import pyopencl


@dataclass(frozen=True)
class Explanation:
    """Why a kernel on the automatic device runs where it does. Shows itself as a sentence.

    Attributes:
        kernel: its name.
        server: the address of the device's server.
        device: the device's name.
        policy: the policy's name.
        reason: what the policy looks for.
        expected: seconds until the kernel would end, as was expected when it was placed.
        waits: of these, seconds for earlier tasks.
        transfer: seconds to bring its data there.
        bytes: how many were to be brought.
        runs: seconds that the kernel itself was expected to run.
        measured: whether the device had run it before; else ``runs`` is a prediction.
        runner_up: server and name of the second best device that the policy has compared; None if it compares none.
        text: the same for people, with the scores.

    Example::

        why = remotecl.explain(event)
        print(why.device, why.expected, why.runner_up)
    """

    kernel: str
    server: str
    device: str
    policy: str
    reason: str
    expected: float
    waits: float
    transfer: float
    bytes: int
    runs: float
    measured: bool
    runner_up: tuple[str, str] | None
    text: str

    def __str__(self) -> str:
        return f"{self.kernel} on {self.server} {self.device}: {self.text}"


def explain(event: pyopencl.Event) -> Explanation | None:
    """Why the kernel of this event runs where it does.

    Args:
        event: of a kernel on a queue of the automatic device (see `auto`).

    Returns:
        None for any other event, and for kernels that are not among the latest 4096.

    Raises:
        AttributeError: `event` is no event of PyOpenCL's.

    Example::

        event = kernel(queue, shape, None, buffer)
        print(remotecl.explain(event))
    """
    found = decoded(scheduling().explain_event_json(event.int_ptr))
    if found is None:
        return None
    second = found["runner_up"]
    return Explanation(
        kernel=found["kernel"],
        server=found["device"]["server"],
        device=found["device"]["name"],
        policy=found["policy"],
        reason=found["reason"],
        expected=found["expected_s"],
        waits=found["waits_s"],
        transfer=found["transfer_s"],
        bytes=found["bytes"],
        runs=found["runs_s"],
        measured=found["measured"],
        runner_up=None if second is None else (second["server"], second["name"]),
        text=found["text"],
    )
