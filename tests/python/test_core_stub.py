"""The stub _core.pyi says what the C++ module really has."""

from __future__ import annotations

import ast
import re
from pathlib import Path

import remotecl
import remotecl._core as core

STUB = Path(remotecl.__file__).with_name("_core.pyi")
# What releases of pybind11 call the types of arguments that convert to int, and lists.
SPELLINGS = {
    "typing.SupportsInt | typing.SupportsIndex": "int",
    "typing.SupportsInt": "int",
    "collections.abc.Sequence": "Sequence",
    "List": "Sequence",
    "list": "Sequence",
    "Tuple": "tuple",
}


def in_module() -> dict[str, str]:
    """Name and signature of every function, as pybind11 puts them into the first line of the docstring."""
    signatures = {}
    for name, value in vars(core).items():
        if name.startswith("__"):
            continue
        signature = value.__doc__.splitlines()[0]
        for spelling, plain in SPELLINGS.items():
            signature = re.sub(rf"(?<![\w.]){re.escape(spelling)}(?!\w)", plain, signature)
        signatures[name] = signature
    return signatures


def in_stub() -> dict[str, str]:
    signatures = {}
    for node in ast.parse(STUB.read_text()).body:
        if isinstance(node, ast.FunctionDef):
            ends = [None] * (len(node.args.args) - len(node.args.defaults)) + node.args.defaults
            arguments = [
                ast.unparse(argument) + (f" = {ast.unparse(default)}" if default else "")
                for argument, default in zip(node.args.args, ends, strict=True)
            ]
            signatures[node.name] = f"{node.name}({', '.join(arguments)}) -> {ast.unparse(node.returns)}"
    return signatures


def test_the_stub_has_every_name_and_signature_of_the_module():
    assert in_stub() == in_module()


def test_the_package_says_that_it_is_typed():
    assert STUB.with_name("py.typed").is_file()
