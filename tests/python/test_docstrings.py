"""help() answers for every public name: what it is, its arguments, what it raises, an example that compiles."""

from __future__ import annotations

import ast
import dataclasses
import inspect
import pkgutil
import re
import textwrap

import pytest

import remotecl
from remotecl import types

PUBLIC = {name: getattr(remotecl, name) for name in remotecl.__all__ if name not in ("__version__", "types")}
PUBLIC |= {name: getattr(types, name) for name in types.__all__}
NAMES = list(PUBLIC)
FUNCTIONS = [name for name in NAMES if inspect.isfunction(PUBLIC[name])]
CLASSES = [name for name in NAMES if inspect.isclass(PUBLIC[name])]
ERRORS = [name for name in CLASSES if issubclass(PUBLIC[name], Exception)]
# Errors are shown where they are raised.
WITH_EXAMPLES = [name for name in NAMES if name not in ERRORS]
# What the package makes, and nobody else.
MADE_BY_FUNCTIONS = ["Cluster", "Connection", "DaskServer", "Overview", "SSHServer"]
MADE_BY_FUNCTIONS += [name for name in CLASSES if issubclass(PUBLIC[name], list)]


def doc(value: object) -> str:
    return inspect.getdoc(value) or ""


def section(text: str, title: str) -> str:
    """What is indented below a title such as "Args:"; empty when there is none."""
    found = re.search(rf"^{title}\n((?:[ ]+\S.*\n?|\n)+)", text + "\n", re.MULTILINE)
    return textwrap.dedent(found.group(1)) if found else ""


def public_members(kind: type) -> list[str]:
    own = vars(kind)
    members = (property, classmethod, staticmethod)
    return [
        name
        for name, value in own.items()
        if not name.startswith("_") and (isinstance(value, members) or inspect.isfunction(value))
    ]


def test_nothing_public_was_forgotten():
    assert sorted(FUNCTIONS + CLASSES) == sorted(NAMES)


def test_no_module_takes_the_place_of_a_public_name():
    assert {module.name for module in pkgutil.iter_modules(remotecl.__path__)}.isdisjoint(NAMES)


@pytest.mark.parametrize("name", NAMES)
def test_the_first_line_says_what_it_is(name):
    first = doc(PUBLIC[name]).split("\n\n")[0].replace("\n", " ")
    assert re.search(r"\w.*[.:]", first), first
    # What dataclasses write by themselves is no answer.
    assert not first.startswith(f"{name}(")


@pytest.mark.parametrize("name", WITH_EXAMPLES)
def test_the_example_compiles(name):
    example = section(doc(PUBLIC[name]), "Examples?::")
    assert example.strip(), f"{name} has no Example::"
    ast.parse(example)


@pytest.mark.parametrize("name", [name for name in WITH_EXAMPLES if name not in MADE_BY_FUNCTIONS])
def test_every_argument_is_explained(name):
    value = PUBLIC[name]
    text = doc(value)
    if dataclasses.is_dataclass(value):
        parameters = [field.name for field in dataclasses.fields(value)]
        explained = section(text, "Attributes:")
    else:
        parameters = [p for p in inspect.signature(value).parameters if p not in ("self", "args", "kwargs")]
        explained = section(text, "Args:")
    missing = [p for p in parameters if not re.search(rf"^(\w+, )*{p}\b.*:", explained, re.MULTILINE)]
    assert not missing, f"{name} does not explain {missing}"


@pytest.mark.parametrize("name", [name for name in FUNCTIONS if inspect.signature(PUBLIC[name]).parameters])
def test_functions_with_arguments_say_what_they_raise(name):
    assert section(doc(PUBLIC[name]), "Raises:").strip()


@pytest.mark.parametrize("name", CLASSES)
def test_public_members_have_docstrings(name):
    kind = PUBLIC[name]
    assert [member for member in public_members(kind) if not doc(vars(kind)[member])] == []


@pytest.mark.parametrize("name", ERRORS)
def test_errors_are_caught_as_one(name):
    assert issubclass(PUBLIC[name], remotecl.RemoteCLError)
