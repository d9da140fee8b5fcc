"""A control group that gives its processes a part of one core."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

_GROUPS = Path("/sys/fs/cgroup")
# How long the processes run in each period; this is the shortest quota that Linux takes.
_QUOTA_US = 1000
# Linux's longest period is 1 s.
PART_MIN = _QUOTA_US / 1e6


@contextmanager
def throttled(part: float) -> Iterator[tuple[str, str]]:
    """Makes a group; gives its folder, empty if there is none, and what it does, in words.

    Args:
        part: how much of a core, from `PART_MIN` on; 1 does nothing.
    """
    if part >= 1:
        yield "", "one core"
        return
    period = round(_QUOTA_US / part)
    words = f"one core, of which it has {100 * part:g} %"
    is_second = (_GROUPS / "cgroup.controllers").is_file()
    parent = _GROUPS if is_second else _GROUPS / "cpu"
    group = parent / f"remotecl-ar-{os.getpid()}"
    try:
        group.mkdir()
        if is_second:
            (group / "cpu.max").write_text(f"{_QUOTA_US} {period}")
        else:
            (group / "cpu.cfs_period_us").write_text(str(period))
            (group / "cpu.cfs_quota_us").write_text(str(_QUOTA_US))
    except OSError as error:
        with suppress(OSError):
            group.rmdir()
        yield "", f"one core, NOT throttled: a control group cannot be made ({error.strerror}: {group})"
        return
    try:
        yield str(group), f"{words} (control group: {_QUOTA_US / 1e3:g} of every {period / 1e3:g} ms)"
    finally:
        with suppress(OSError):
            group.rmdir()
