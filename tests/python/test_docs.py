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
PUBLIC = [
    ROOT / "README.md",
    ROOT / "SECURITY.md",
    ROOT / "CONTRIBUTING.md",
    ROOT / "benchmarks" / "README.md",
    *sorted((ROOT / "docs").rglob("*.md")),
    *sorted((ROOT / "examples").rglob("README.md")),
]


@pytest.fixture(scope="module")
def words_of_the_code() -> set[str]:
    files = [file for folder in ("cmake", "cpp", "python", "tests") for file in (ROOT / folder).rglob("*")]
    files = [file for file in files if file.suffix in {".h", ".cl", ".cpp", ".def", ".py", ".map", ".cmake", ".txt"}]
    names = {file.name for file in files}
    return names.union(*(re.findall(r"\w+", file.read_text()) for file in files))


@pytest.mark.parametrize("page", INSIDE, ids=lambda page: str(page.relative_to(ROOT)))
def test_what_a_page_names_is_in_the_code(page, words_of_the_code):
    """Classes, functions and files; text between three back quotes is none."""
    spans = re.findall(r"`([^`\n]+)`", re.sub(r"```.*?```", "", page.read_text(), flags=re.DOTALL))
    names = [name for span in spans for name in re.findall(r"^[\w.:]+(?=\(.*\)$|$)", span)]
    files = [name for name in names if re.fullmatch(r"\w+\.(h|cl|cpp|def|py|map)", name)]
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


TABLES = runpy.run_path(str(ROOT / "scripts" / "performance_tables.py"))
REPORT = {
    "date": "2026-11-23T02:00:00Z",
    "cpu": "A processor",
    "cores": 2,
    "load": 0.1,
    "quick": False,
    "remotecl_device": None,
    "native_device": {"platform": "A platform", "device": "A device", "version": "OpenCL 3.0", "driver": "3.1"},
    "failures": [],
    "results": [
        {"name": "noop-finish", "unit": "us", "remotecl": 33.44, "p99": 78.2, "max": 131.4, "native": 18.0}
        | {"raw": 9.996, "ceiling": 28.0, "ratio": 1.194, "target": 47.8, "met": True},
        {"name": "write-64MiB", "unit": "GB/s", "remotecl": 5.0, "p99": 4.9, "max": 4.8, "native": None}
        | {"raw": 6.0, "ceiling": 6.0, "ratio": 0.83, "target": 5.4, "met": False},
        {"name": "build-new", "unit": "ms", "remotecl": 209.1, "p99": 219, "max": 219, "native": 210}
        | {"raw": None, "ceiling": 210, "ratio": 0.99, "target": None, "met": None},
    ],
}


@pytest.mark.parametrize("page", TABLES["PAGES"], ids=lambda page: page.name)
def test_the_tables_are_in_the_generators_format(page):
    assert TABLES["page_problems"](page.read_text()) == []


def test_a_section_is_found_on_its_page():
    assert TABLES["page_with"]("pocl").name == "performance.md"
    assert TABLES["page_with"]("training-pocl").name == "applications.md"
    with pytest.raises(SystemExit, match="one section between markers of the name nothing"):
        TABLES["page_with"]("nothing")


def test_a_reports_section_replaces_the_one_of_its_name():
    pages = [f"text\n<!-- begin: {name} -->\nold\n<!-- end: {name} -->\nmore\n" for name in ("one", "two")]
    section = TABLES["make_section"](REPORT, "0123abc")
    page = TABLES["replace_section"]("".join(pages), "one", section)
    assert page == pages[0].replace("old\n", section) + pages[1]
    assert TABLES["page_problems"](page.replace("old\n", section)) == []
    assert "| noop-finish | us | 33.4 | 78.2 | 131 | 18.0 | 10.0 | 28.0 | 1.19 | 47.8 met |\n" in section
    assert "| build-new | ms | 209 | 219 | 219 | 210 | \N{EN DASH} | 210 | 0.99 |  |\n" in section
    assert "loaded" not in section
    assert "**a loaded machine**" in TABLES["make_section"](REPORT | {"load": 2.8}, "0123abc")


TRAINING_REPORT = REPORT | {
    "delay_ms": 1.0,
    "gbit_per_s": 1.0,
    "places": [{"name": "native", "round_trip_s": 4.4e-6}, {"name": "far", "round_trip_s": 2.31e-3}],
    "results": [
        {
            "network": "lenet",
            "batch": 4,
            "launches": 63,
            "builds": builds,
            "where": where,
            "met": target and step <= target,
        }
        | {"options": {"kernels": kernels, "batched": False, "queues": 1}, "step_s": step, "target_s": target}
        | {"gain": gain, "speedup": gain}
        for kernels, builds, where, step, gain, target in (
            ("compiled", 33, "native", 3.2, None, None),
            ("compiled", 33, "far", 3.3, None, None),
            ("cached", 0, "native", 0.0125, 256, None),
            ("cached", 0, "far", 0.0151, 218.5, 0.01606),
        )
    ],
}


def test_a_report_of_training_makes_a_table():
    section = TABLES["make_section"](TRAINING_REPORT, "0123abc")
    assert "Far: 1 Gbit/s, 1 ms each way. A read of 4 bytes: native 4.40 us, far 2310 us.\n" in section
    none = "\N{EN DASH}"
    rows = section.partition("\n\n")[2].splitlines()[2:]
    assert rows == [
        f"| lenet | 4 | compiled | images | 1 | 63 | 33 | 3200 | {none} | {none} | {none} |  | 3300 | {none} |  |",
        f"| lenet | 4 | cached | images | 1 | 63 | 0 | 12.5 | 256 | {none} | {none} |  | 15.1 | 218 | 16.1 met |",
        f"| lenet | 4 | all |  |  |  |  | {none} | 256 | {none} | {none} |  | {none} | 218 |  |",
    ]
    page = f"<!-- begin: one -->\n{section}<!-- end: one -->\n"
    assert TABLES["page_problems"](page) == []
    near = TRAINING_REPORT | {"places": TRAINING_REPORT["places"][:1]}
    section = TABLES["make_section"](near, "0123abc")
    assert "`0123abc`. A read of 4 bytes: native 4.40 us.\n" in section
    assert TABLES["page_problems"](f"<!-- begin: one -->\n{section}<!-- end: one -->\n") == []
    for changed in (page.replace("16.1 met", "16.1 missed"), page.replace("| 12.5 |", "| 12.54 |")):
        assert changed != page
        assert TABLES["page_problems"](changed) != []


PIPELINE_REPORT = REPORT | {
    "client": "one core, of which it has 10 % (control group: 1 of every 10 ms)",
    "codec": "h264",
    "video_mbit_per_s": 3.21,
    "points": 12_880,
    "capacity": 98_304,
    "pixels": 256,
    "in_flight": 4,
    "links": {"20m": "20 Mbit/s, 30 ms each way, 1 % of packets later, network namespaces"},
    "targets": {
        "20m": [
            {"name": "frames per second of local", "times": 11.26, "least": 10.0, "paper": 19.0, "met": True},
            {"name": "less processor time", "times": 9.5, "least": 10.0, "paper": None, "met": False},
        ]
    },
    "results": [
        {"link": "20m", "configuration": name, "frames_per_s": rate, "alone_s": 0.0715, "latency_p50_s": 0.0812}
        | {"latency_p99_s": 0.1, "client_bytes": count, "peer_bytes": 0, "processor_s": 0.001, "servers_s": count / 1e7}
        | {"energy_j": None}
        for name, rate, count in (("local", 4.123, 0), ("complete", 46.43, 131_499))
    ],
}


def test_the_pipelines_section_has_rows_and_targets():
    section = TABLES["make_section"](PIPELINE_REPORT, "0123abc")
    page = f"<!-- begin: one -->\n{section}<!-- end: one -->\n"
    assert TABLES["page_problems"](page) == []
    none = "\N{EN DASH}"
    assert f"| 20m | local | 4.12 | 71.5 | 81.2 | 100 | {none} | {none} | 1.00 | {none} | {none} |\n" in section
    assert f"| 20m | complete | 46.4 | 71.5 | 81.2 | 100 | 131 | {none} | 1.00 | 13.1 | {none} |\n" in section
    assert "| 20m | frames per second of local | 11.3 | 10.0 met | 19.0 |\n" in section
    assert f"| 20m | less processor time | 9.50 | 10.0 missed | {none} |\n" in section
    for changed in (page.replace("10.0 met", "10.0 missed"), page.replace("| 46.4 |", "| 46.44 |")):
        assert changed != page
        assert TABLES["page_problems"](changed) != []


def test_the_pipelines_section_names_other_devices_of_servers():
    near = PIPELINE_REPORT | {"remotecl_device": REPORT["native_device"]}
    assert TABLES["make_section"](near, "0123abc") == TABLES["make_section"](PIPELINE_REPORT, "0123abc")
    other = PIPELINE_REPORT | {"remotecl_device": REPORT["native_device"] | {"device": "A GPU"}}
    section = TABLES["make_section"](other, "0123abc")
    assert " 10 ms). Servers: `A GPU`. Links: `20m`" in section
    assert TABLES["page_problems"](f"<!-- begin: one -->\n{section}<!-- end: one -->\n") == []


def test_a_section_may_wait_for_its_machine():
    page = "<!-- begin: one -->\nNot measured yet: `make training SECTION=one`.\n<!-- end: one -->\n"
    assert TABLES["page_problems"](page) == []
    assert TABLES["page_problems"](page.replace("Not measured", "Nothing")) != []


@pytest.mark.parametrize(
    ("written", "changed"),
    [
        ("33.4", "33.44"),
        ("33.4", "fast"),
        ("47.8 met", "47.8 missed"),
        ("5.40 missed", "5.40 met"),
        ("47.8 met", "47.8"),
        ("| ratio ", ""),
        (" 0.99 |", ""),
        ("commit `0123abc`", "today"),
        ("A processor", ""),
        ("<!-- end: one -->", ""),
    ],
)
def test_what_was_changed_by_hand_is_noticed(written, changed):
    section = TABLES["make_section"](REPORT, "0123abc")
    page = f"<!-- begin: one -->\n{section}<!-- end: one -->\n"
    assert TABLES["page_problems"](page) == []
    assert page.count(written) >= 1
    assert TABLES["page_problems"](page.replace(written, changed, 1)) != []


def test_sizes_count_code_only():
    sizes = runpy.run_path(str(ROOT / "scripts" / "sizes.py"))
    assert sizes["c_lines"]('// one\n/* two\n three */\nint a;  // "\n\nconst char* b = "// text";\n') == 2
    assert sizes["python_lines"]('"""Doc."""\n\n# one\ndef a():\n    """Doc."""\n    return (\n        1\n    )\n') == 4
