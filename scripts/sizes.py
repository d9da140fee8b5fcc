#!/usr/bin/env python3
"""Counts the lines of code of a commit, without blank lines and comments: core, extras, Python, tests and benchmarks.

    scripts/sizes.py [COMMIT]...  HEAD without any
    scripts/sizes.py --check      fails if the working tree exceeds a budget below

Standard library only. C++ headers and sources, OpenCL C, the tables of messages (.def) and Python count.
"""

import io
import re
import statistics
import subprocess
import sys
import tarfile
import tokenize
from collections.abc import Iterator
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
# The first that fits counts.
PARTS = (
    ("benchmarks", ("benchmarks/", "tests/bench/", "python/remotecl/bench/")),
    ("tests", ("tests/",)),
    ("extras", ("cpp/extras/",)),
    ("core", ("cpp/",)),
    ("package", ("python/",)),
)
# What the core may have. The aim is 40,000 lines of C++, 100 messages and 14 variables. Lower a budget when it can be
# lowered; raising one is a commit of its own that says why.
BUDGETS = {"lines of C++ in the core": 54_050, "messages": 111, "variables": 19}
CXX = "C++ and OpenCL C"
C_LIKE = {".h", ".cpp", ".cl", ".def"}
# A text or a comment, whichever begins first.
TEXT_OR_COMMENT = re.compile(r'"(?:\\.|[^"\\\n])*"|\'(?:\\.|[^\'\\\n])*\'|//[^\n]*|/\*.*?\*/', re.DOTALL)


def c_lines(source: str) -> int:
    """Lines of C or C++ that are more than blank or a comment."""
    bare = TEXT_OR_COMMENT.sub(lambda found: found[0] if found[0][0] in "\"'" else "\n" * found[0].count("\n"), source)
    return sum(1 for line in bare.splitlines() if line.strip())


def python_lines(source: str) -> int:
    """Lines of Python that are more than blank, a comment or a docstring."""
    lines: set[int] = set()
    statement: list[tokenize.TokenInfo] = []
    quiet = {tokenize.COMMENT, tokenize.NL, tokenize.INDENT, tokenize.DEDENT, tokenize.ENCODING}
    for token in tokenize.generate_tokens(io.StringIO(source).readline):
        if token.type in (tokenize.NEWLINE, tokenize.ENDMARKER):
            if any(one.type != tokenize.STRING for one in statement):
                lines.update(line for one in statement for line in range(one.start[0], one.end[0] + 1))
            statement = []
        elif token.type not in quiet:
            statement.append(token)
    return len(lines)


def working_tree() -> Iterator[tuple[str, str]]:
    """Paths and texts of the files that git knows, as they are now."""
    command = ["git", "-C", str(ROOT), "ls-files", "-z"]
    for name in subprocess.run(command, capture_output=True, check=True, text=True).stdout.split("\0"):
        if Path(name).suffix in C_LIKE | {".py"} and (ROOT / name).exists():
            yield name, (ROOT / name).read_text()


def files(commit: str) -> Iterator[tuple[str, str]]:
    """Paths and texts of a commit."""
    command = ["git", "-C", str(ROOT), "archive", commit]
    packed = subprocess.run(command, capture_output=True, check=True).stdout
    with tarfile.open(fileobj=io.BytesIO(packed)) as archive:
        for member in archive:
            content = archive.extractfile(member)
            if content and Path(member.name).suffix in C_LIKE | {".py"}:
                yield member.name, content.read().decode()


def sizes(sources: Iterator[tuple[str, str]]) -> dict[tuple[str, str], list[int]]:
    """The files' lengths, by part and language."""
    found: dict[tuple[str, str], list[int]] = {}
    for path, source in sources:
        part = next((name for name, folders in PARTS if path.startswith(folders)), None)
        if part is None:
            continue
        is_python = path.endswith(".py")
        lines = python_lines(source) if is_python else c_lines(source)
        found.setdefault((part, "Python" if is_python else CXX), []).append(lines)
    return found


def check() -> int:
    """The exit code: 1 when something exceeds its budget."""
    messages = (ROOT / "cpp/runtime/protocol/commands.def").read_text()
    variables = (ROOT / "docs/environment.md").read_text().split("\n## ")[1]
    found = {
        "lines of C++ in the core": sum(sizes(working_tree())["core", CXX]),
        "messages": len(re.findall(r"^REMOTECL_\w+\(", messages, re.MULTILINE)),
        "variables": len(re.findall(r"^\| `REMOTECL_", variables, re.MULTILINE)),
    }
    too_many = [what for what, count in found.items() if count > BUDGETS[what]]
    for what, count in found.items():
        print(f"{count:6,} {what}, at most {BUDGETS[what]:,}")
    return 1 if too_many else 0


def main(commits: list[str]) -> None:
    """The command line above."""
    for commit in commits or ["HEAD"]:
        print(commit)
        for (part, language), counts in sorted(sizes(files(commit)).items(), reverse=True):
            figures = f"{sum(counts):6,} lines, median {statistics.median(counts):.0f}, most {max(counts)}"
            print(f"  {part:10} {language:16} {len(counts):4} files {figures}")


if __name__ == "__main__":
    sys.exit(check() if sys.argv[1:] == ["--check"] else main(sys.argv[1:]))
