"""What the pages say is true: their programs run, and every error that a user may see has its row."""

import ast
import re
import runpy
import sys
from pathlib import Path

import pytest

import remotecl
from conftest import run_command

ROOT = Path(__file__).resolve().parents[2]
TROUBLESHOOTING = (ROOT / "docs" / "troubleshooting.md").read_text()
ERRORS = {"RemoteCLError", "ActivationError", "ServerStartError", "ServerUnreachable"}
# Enough of a message to find its row by.
PREFIX = 20


def programs(page: str) -> list[str]:
    return re.findall(r"^```python\n(.*?)^```", (ROOT / page).read_text(), re.MULTILINE | re.DOTALL)


PROGRAMS = [
    pytest.param(program, id=f"{page}-{number}")
    for page in ("README.md", "docs/quickstart.md", "docs/where-and-why-slow.md")
    for number, program in enumerate(programs(page), 1)
]


@pytest.mark.parametrize("program", PROGRAMS)
def test_programs_run(program, cluster, tmp_path, monkeypatch):
    """As they are, but for the names of the servers."""
    for name, address in zip(('"gpu1"', '"gpu2:10991"'), cluster.addresses, strict=True):
        program = program.replace(name, repr(address))
    monkeypatch.chdir(tmp_path)  # some write files
    result = run_command([sys.executable, "-c", program])
    assert result.returncode == 0, result.stderr
    assert result.stderr == ""
    assert result.stdout


def without_row(texts: list[str]) -> bool:
    """Whether none of a message's longer pieces is in the page, up to where that shortens them."""
    pieces = [piece.strip(' ;:,"') for text in texts for piece in re.split(r"\{[^}]*\}", text)]
    pieces = [piece for piece in pieces if len(piece) >= 12]
    return bool(pieces) and not any(piece[:PREFIX] in TROUBLESHOOTING for piece in pieces)


def raised_texts(tree: ast.AST) -> list[list[str]]:
    calls = [
        node.exc
        for node in ast.walk(tree)
        if isinstance(node, ast.Raise) and isinstance(node.exc, ast.Call) and isinstance(node.exc.func, ast.Name)
    ]
    return [
        [part.value for part in ast.walk(call) if isinstance(part, ast.Constant) and isinstance(part.value, str)]
        for call in calls
        if call.func.id in ERRORS
    ]


def test_every_error_of_the_package_has_a_row():
    files = (ROOT / "python" / "remotecl").rglob("*.py")
    raised = [texts for file in files for texts in raised_texts(ast.parse(file.read_text()))]
    assert len(raised) > 8
    assert [texts for texts in raised if without_row(texts)] == []


def test_every_message_of_client_and_daemon_has_a_row():
    said = re.compile(
        r"(?:throw (?:ConnectionError|NoDevice)|\bnotice|log_(?:warning|error))\((?!const)(.*?)\);\n", re.DOTALL
    )
    literal = re.compile(r'"((?:[^"\\]|\\.)*)"')
    sources = [file.read_text() for file in (ROOT / "cpp").rglob("*.cpp")]
    messages = [literal.findall(call) for source in sources for call in said.findall(source)]
    assert len(messages) > 20
    assert [texts for texts in messages if without_row(texts)] == []


@pytest.mark.parametrize("name", sorted(set(remotecl.__all__) - {"__version__"}))
def test_help_answers(name):
    """What every public name is; an example for functions, and for classes that are made with arguments."""
    thing = getattr(remotecl, name)
    assert thing.__doc__
    assert not thing.__doc__.startswith(f"{name}("), "what dataclass writes itself"
    if not isinstance(thing, type) or "Args:" in thing.__doc__:
        assert "Example::" in thing.__doc__


def test_the_picture_is_what_the_script_draws():
    drawn = runpy.run_path(str(ROOT / "scripts" / "draw_pictures.py"))["overview"]()
    assert (ROOT / "docs" / "pictures" / "overview.svg").read_text() == drawn
