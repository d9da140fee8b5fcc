"""Policies of the automatic device that are Python functions."""

from __future__ import annotations

import os
import sys
import threading
import traceback
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

from .._connect.connection import decoded
from ..errors import RemoteCLError
from .scheduling import scheduling

_TYPES = ("cpu", "gpu", "accelerator", "other")  # by remotecl/policy.h's numbers


@dataclass(frozen=True)
class PolicyTask:
    """A kernel that needs a device. Moments are seconds on one clock.

    Attributes:
        kernel: its name.
        work_items: how many its range has.
        bytes: the size of all buffers that it uses.
        now: the moment of the question.
        ready: when the commands that it waits for are expected to end.

    Example::

        long_wait = task.ready - task.now > 0.01
    """

    kernel: str
    work_items: float
    bytes: int
    now: float
    ready: float


@dataclass(frozen=True)
class Candidate:
    """A device that can run a `PolicyTask`, and what is expected if it does. Moments are seconds on the task's clock.

    Attributes:
        server: its address.
        name: the device's.
        type: ``"cpu"``, ``"gpu"``, ``"accelerator"`` or ``"other"``.
        speed: next to other devices; a guess from what it says of itself.
        memory: bytes.
        free: when it could begin, without waiting for data.
        transfer: seconds to bring the data there.
        runs: seconds that the kernel runs.
        measured: whether the device has run it before; else ``runs`` is a prediction.
        finish: when the kernel ends.
        missing: how many bytes the device lacks.
        queued: this process's kernels that have not ended there.

    Example::

        nearest = min(candidates, key=lambda one: one.missing)
    """

    server: str
    name: str
    type: str
    speed: float
    memory: int
    free: float
    transfer: float
    runs: float
    measured: bool
    finish: float
    missing: int
    queued: int


PolicyFunction = Callable[[PolicyTask, Sequence[Candidate]], "Candidate | Sequence[Candidate] | None"]


def use_function(function: PolicyFunction) -> None:
    """Makes the function the policy of this process. Raises RemoteCLError if that is refused."""
    asked = scheduling().AskedPolicy(getattr(function, "__name__", type(function).__name__))
    if error := asked.use():
        raise RemoteCLError(decoded(error))
    threading.Thread(target=_answer, args=(asked, function), name="remotecl-policy", daemon=True).start()


def _answer(asked: Any, function: PolicyFunction) -> None:  # noqa: ANN401  a class of the native module
    """Answers questions until another policy replaces this one."""
    devices: dict[int, tuple[str, str]] = {}
    has_failed = False
    while not asked.has_ended():
        os.read(asked.descriptor(), 8)
        for size_class, task, candidates in asked.questions():
            choices: list[int] = []
            try:
                choices = _ask(function, task, candidates, devices)
            except Exception:
                if not has_failed:
                    sys.stderr.write(
                        "remotecl: the policy function has failed; kernels run where they are expected to end first\n"
                    )
                    traceback.print_exc()
                has_failed = True
            asked.answer(task["kernel"], size_class, choices)


def _ask(
    function: PolicyFunction, task: dict[str, Any], found: list[dict[str, Any]], devices: dict[int, tuple[str, str]]
) -> list[int]:
    numbers: dict[int, int] = {}  # by id() of the candidate
    candidates = []
    for one in found:
        number = one.pop("device")
        if number not in devices:
            known = decoded(scheduling().policy_device_json(number))
            devices[number] = (known["server"], known["name"])
        server, name = devices[number]
        candidate = Candidate(server=server, name=name, **{**one, "type": _TYPES[one["type"]]})
        candidates.append(candidate)
        numbers[id(candidate)] = number
    answer = function(PolicyTask(**task), candidates)
    if answer is None:
        return []
    chosen = [answer] if isinstance(answer, Candidate) else list(answer)
    try:
        return [numbers[id(one)] for one in chosen]
    except KeyError:
        raise TypeError(f"a policy returns candidates that it was given, or None, not {answer!r}") from None
