"""The same at Python's prompt, in a terminal of 80 columns: what is said is right, fits, and is all."""

from __future__ import annotations

import os
import re
import sys
from pathlib import Path

import pexpect
from story import STEPS, Step

COLUMNS = 80
TEXT = Path(__file__).parents[2] / "build" / "browser" / "terminal.txt"
_CONTROL = re.compile(r"\x1b\[[0-9;?]*[A-Za-z]|\x1b[=>]")
# What a step may say that is no answer to it.
_NEWS = re.compile(r"^remotecl: .*$", re.MULTILINE)


def visible(text: str) -> str:
    """What stays on the screen: no control sequences, and nothing that was written over after a carriage return."""
    lines = _CONTROL.sub("", text).replace("\r\n", "\n").split("\n")
    return "\n".join(line.rstrip("\r").rpartition("\r")[2].rstrip() for line in lines)


class Prompt:
    """Python's prompt, to type at."""

    def __init__(self) -> None:
        environment = {**os.environ, "TERM": "dumb", "COLUMNS": str(COLUMNS)}
        environment.pop("PYTHONSTARTUP", None)
        self._process = pexpect.spawn(
            sys.executable, ["-q"], dimensions=(40, COLUMNS), encoding="utf-8", timeout=120, env=environment
        )
        self._process.expect_exact(">>> ")

    def run(self, step: Step) -> str:
        """What is shown while a step is typed."""
        shown = ""
        for line in step.source.strip().split("\n"):
            self._process.sendline(line)
            self._process.expect_exact([">>> ", "... "])
            # The terminal shows what is typed; news may come before it.
            shown += str(self._process.before).replace(f"{line}\r\n", "", 1)
        return visible(shown)

    def end(self) -> tuple[str, int | None]:
        """What it says at its end, and its exit code."""
        self._process.sendline("exit()")
        self._process.expect(pexpect.EOF)
        self._process.close()
        return visible(str(self._process.before).partition("\n")[2]), self._process.exitstatus


def faults(step: Step, shown: str) -> list[str]:
    """What is wrong with what a step has shown."""
    news = "\n".join(_NEWS.findall(shown))
    answers = [line for line in _NEWS.sub("", shown).split("\n") if line]
    wrong = [f"{text!r} is missing" for text in step.shows if text not in shown]
    wrong += [f"nobody says {text!r}" for text in step.says if text not in news]
    wrong += ["Traceback"] * ("Traceback" in shown)
    wrong += [f"on stderr: {news}"] * (bool(news) and not step.says)
    wrong += [f"wider than the terminal: {line}" for line in answers if len(line) > COLUMNS]
    return [f"{step.name}: {each}\n{shown}" for each in wrong]


def test_the_story():
    prompt, wrong, seen = Prompt(), [], ""
    for step in STEPS:
        if step.is_drawn:
            continue
        shown = prompt.run(step)
        seen += "".join(f">>> {line}\n" for line in step.source.strip().split("\n")) + shown + "\n"
        wrong += faults(step, shown)
    said, code = prompt.end()
    TEXT.parent.mkdir(parents=True, exist_ok=True)
    TEXT.write_text(seen)
    assert not wrong, "\n".join(wrong)
    assert (said, code) == ("", 0)
