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


ROOMS = runpy.run_path(str(ROOT / "scripts" / "layers.py"))
ARCHITECTURE = ROOT / "docs" / "architecture.md"
INSIDE = [ARCHITECTURE, ROOT / "python" / "README.md", *sorted((ROOT / "cpp").rglob("README.md"))]
PUBLIC = [ROOT / "README.md", ROOT / "SECURITY.md", ROOT / "CONTRIBUTING.md", *sorted((ROOT / "docs").rglob("*.md"))]


@pytest.fixture(scope="module")
def words_of_the_code() -> set[str]:
    files = [file for folder in ("cmake", "cpp", "python", "tests") for file in (ROOT / folder).rglob("*")]
    files = [file for file in files if file.suffix in {".h", ".cpp", ".def", ".py", ".map", ".cmake", ".txt"}]
    names = {file.name for file in files}
    return names.union(*(re.findall(r"\w+", file.read_text()) for file in files))


@pytest.mark.parametrize("page", INSIDE, ids=lambda page: str(page.relative_to(ROOT)))
def test_what_a_page_names_is_in_the_code(page, words_of_the_code):
    """Classes, functions and files; text between three back quotes is none."""
    spans = re.findall(r"`([^`\n]+)`", re.sub(r"```.*?```", "", page.read_text(), flags=re.DOTALL))
    names = [name for span in spans for name in re.findall(r"^[\w.:]+(?=\(.*\)$|$)", span)]
    files = [name for name in names if re.fullmatch(r"\w+\.(h|cpp|def|py|map)", name)]
    others = [word for name in names if "." not in name for word in name.split("::")]
    classes = [word for word in others if re.search(r"[a-z]", word) and re.search(r"[A-Z_]|^tcp$", word)]
    of_opencl = ("cl_", "CL_", "__")
    unknown = [name for name in files + classes if name not in words_of_the_code]
    assert [name for name in unknown if not name.startswith(of_opencl)] == []


@pytest.mark.parametrize("page", INSIDE + PUBLIC, ids=lambda page: str(page.relative_to(ROOT)))
def test_links_lead_somewhere(page):
    text = re.sub(r"```.*?```", "", page.read_text(), flags=re.DOTALL)
    for target in re.findall(r"\]\(([^)\s]+)\)", text):
        if target.startswith(("http:", "https:")):
            continue
        path, _, anchor = target.partition("#")
        file = page.parent / path if path else page
        assert file.exists(), target
        if anchor:
            heads = re.findall(r"^#+ (.*)$", file.read_text(), re.MULTILINE)
            assert anchor in {re.sub(r"[^\w -]", "", head.lower()).replace(" ", "-") for head in heads}, target


def test_every_room_has_a_readme_and_its_row():
    """The row says what the room may include: what it names, and what these may include."""
    rooms = ROOMS["read_rooms"]()
    rows = dict(re.findall(r"^\| `([\w/]+)` \|[^|]*\|([^|]*)\|$", ARCHITECTURE.read_text(), re.MULTILINE))
    for folder, room in rooms.items():
        assert (ROOT / "cpp" / folder / "README.md").exists(), folder
        through = {lower for use in room.uses for lower in ROOMS["all_below"](rooms[use], rooms)}
        said = set(re.findall(r"[\w/]+", rows[folder])) if folder in rows else None
        assert said == room.uses - through, folder
