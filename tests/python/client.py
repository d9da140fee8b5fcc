"""A program with a session, in a process of its own, as somebody who uses the same server would run it."""

import subprocess
import sys

from conftest import CLEAN_ENVIRONMENT
from daemon import WITHIN_S


class Client:
    """Runs Python source that says "there" when it has its session, and does something for each line that it gets.

    The source finds the server's name in ``sys.argv[1]``. It lives until the end of the block.
    """

    def __init__(self, source: str, name: str, **environment: str) -> None:
        self.process = subprocess.Popen(
            [sys.executable, "-c", source, name], env=CLEAN_ENVIRONMENT | environment, stdin=subprocess.PIPE,
            stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
        )  # fmt: skip
        assert self.process.stdout.readline() == "there\n", self.process.stderr.read()

    def next_line(self) -> str:
        """Sends a line, and gives the one that comes back."""
        self.process.stdin.write("\n")
        self.process.stdin.flush()
        return self.process.stdout.readline()

    def leave(self) -> tuple[str, str]:
        """Lets it come to its end: what it has printed since, and its errors."""
        return self.process.communicate(timeout=WITHIN_S)

    def __enter__(self) -> "Client":
        return self

    def __exit__(self, *_) -> None:
        self.process.kill()
        self.process.communicate()
