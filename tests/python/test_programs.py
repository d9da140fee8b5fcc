"""The catalogue of programs and how their outputs are compared; `make programs` runs them."""

import json
import re
import runpy
import sys
from pathlib import Path

import pytest

FOLDER = Path(__file__).parents[1] / "programs"
sys.path.insert(0, str(FOLDER))

from catalogue import PROGRAMS  # noqa: E402
from entry import Program, difference, problem_of, work_seconds  # noqa: E402

import programs  # noqa: E402

TABLES = runpy.run_path(str(FOLDER.parents[1] / "scripts" / "performance_tables.py"))


def test_the_catalogue_names_what_exists():
    names = [program.name for program in PROGRAMS]
    assert len(set(names)) == len(names)
    assert sum(program.short for program in PROGRAMS) >= 10
    used = set()
    for program in PROGRAMS:
        words = " ".join((program.command, program.build, program.two))
        found = re.findall(r"\$SOURCES/(\w+\.\w+)", words)
        assert all((FOLDER / "sources" / name).is_file() for name in found), program.name
        assert program.missing or program.command, program.name
        used.update(found)
    assert used == {path.name for path in (FOLDER / "sources").iterdir() if path.is_file()}


def test_recorded_ratios_are_those_of_programs_in_the_catalogue():
    recorded = json.loads(programs.RATIOS.read_text())
    names = {program.name for program in PROGRAMS}
    assert all(set(ratios) <= names for ratios in recorded.values())


@pytest.mark.parametrize(
    "check, native, remote, words",
    [
        ("same", "a 1\n", "a 1\nseconds: 3.5\n", ""),
        ("same", "a 1\n", "a 2\n", "prints 'a 2', natively 'a 1'"),
        ("same", "a\n", "a\nb\n", "prints 2 lines, natively 1"),
        ("close", "a 1.00001 b\n", "a 1.0 b\n", ""),
        ("close", "a 1.1 b\n", "a 1.0 b\n", "prints 'a 1.0 b', natively 'a 1.1 b'"),
        ("close", "a 1.0 b\n", "a 1.0 c\n", "prints 'a 1.0 c', natively 'a 1.0 b'"),
        ("close", "nan\n", "1.0\n", "prints '1.0', natively 'nan'"),
        ("own", "a\n", "b\n", ""),
        ("same", "noise 1\na\n", "noise 2\na\n", ""),
    ],
)
def test_outputs_are_compared(check, native, remote, words):
    assert difference(Program("p", "", check=check, ignore="^noise"), native, remote) == words


def test_a_programs_own_check_must_appear_and_its_own_time_counts():
    assert problem_of(Program("p", "", says="passed"), "12 passed\n") == ""
    assert "does not print /passed/: failed" in problem_of(Program("p", "", says="passed"), "failed\n")
    assert work_seconds("x\nseconds: 1.5e-3\n") == 0.0015
    assert work_seconds("x\n") is None


def test_a_program_is_too_slow_at_half_more_than_recorded_and_a_tenth_of_a_second():
    result = {"name": "p", "then_s": {"native": 1.0, "tcp": 1.9}, "ratios": {"tcp": 1.9}}
    assert programs.too_slow(result, {"tcp": 1.2}) == ["tcp takes 1.90 times the native time; 1.20 is recorded"]
    assert programs.too_slow(result, {"tcp": 1.3}) == []
    assert programs.too_slow(result, {}) == []
    short = {"name": "p", "then_s": {"native": 0.01, "tcp": 0.03}, "ratios": {"tcp": 3.0}}
    assert programs.too_slow(short, {"tcp": 1.2}) == []


def test_what_once_worked_must_work():
    absent = {"name": "p", "status": "not native", "reason": "exit code 1"}
    assert programs.problem_of_result(absent, None) == ""
    assert programs.problem_of_result(absent, {"tcp": 1.0}) == "not native: exit code 1"
    assert programs.problem_of_result(absent | {"status": "differs"}, None) == "differs: exit code 1"
    works = {"name": "p", "status": "works", "then_s": {"native": 1.0, "tcp": 1.9}, "ratios": {"tcp": 1.9}}
    assert programs.problem_of_result(works, {"tcp": 1.2}).startswith("tcp takes 1.90")
    assert programs.problem_of_result(works, {"tcp": 1.5}) == ""


def test_the_report_becomes_a_table():
    works = {"name": "a", "does": "sorts", "status": "works", "reason": "", "first_s": {"native": 2.0, "tcp": 3.0}}
    works |= {"then_s": {"native": 0.5, "tcp": 0.75, "memory": 0.6}, "ratios": {"tcp": 1.5, "memory": 1.2}}
    fails = {"name": "b", "does": "draws", "status": "fails", "reason": "tcp: exit code 1: a | b"}
    device = {"platform": "A platform", "device": "A device", "driver": "3.1"}
    report = {"native_device": device, "cpu": "A processor", "cores": 2, "load": 0.1, "date": "2026-11-23T02:00:00Z"}
    report |= {"quick": False, "programs": [works, fails], "failures": []}
    section = TABLES["make_section"](report, "0123abc")
    assert "1 of 2 programs work." in section
    none = "\N{EN DASH}"
    assert f"| a | sorts | 2.00 | 3.00 | 500 | 750 | 600 | {none} | 1.50 | 1.20 | works |\n" in section
    assert section.endswith("| fails: tcp: exit code 1: a / b |\n")
    assert TABLES["section_problems"]("programs-pocl", section) == []
