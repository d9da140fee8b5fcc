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
    "typing.SupportsFloat | typing.SupportsIndex": "float",
    "typing.SupportsFloat": "float",
    "collections.abc.Sequence": "Sequence",
    "List": "Sequence",
    "list": "Sequence",
    "Tuple": "tuple",
}


def signature_of(function: object) -> str:
    """As pybind11 puts it into the first line of the docstring."""
    signature = (function.__doc__ or "").splitlines()[0]
    signature = re.sub(r"\(self: [\w.]+(, )?", r"(self\1", signature)
    for spelling, plain in SPELLINGS.items():
        signature = re.sub(rf"(?<![\w.]){re.escape(spelling)}(?!\w)", plain, signature)
    return signature


def in_module() -> dict[str, str]:
    """What every public name is: a signature, or the type of a value."""
    found = {}
    for name, value in vars(core).items():
        if name.startswith("__"):
            continue
        if isinstance(value, type):
            for method, function in vars(value).items():
                if method == "__init__" or not method.startswith("_"):
                    found[f"{name}.{method}"] = signature_of(function)
        else:
            found[name] = signature_of(value) if callable(value) else type(value).__name__
    return found


def stub_signature(node: ast.FunctionDef) -> str:
    ends = [None] * (len(node.args.args) - len(node.args.defaults)) + node.args.defaults
    arguments = [
        ast.unparse(argument) + (f" = {ast.unparse(default)}" if default else "")
        for argument, default in zip(node.args.args, ends, strict=True)
    ]
    return f"{node.name}({', '.join(arguments)}) -> {ast.unparse(node.returns)}"


def in_stub() -> dict[str, str]:
    found = {}
    for node in ast.parse(STUB.read_text()).body:
        if isinstance(node, ast.FunctionDef):
            found[node.name] = stub_signature(node)
        elif isinstance(node, ast.AnnAssign):
            found[ast.unparse(node.target)] = ast.unparse(node.annotation)
        elif isinstance(node, ast.ClassDef):
            for method in node.body:
                if isinstance(method, ast.FunctionDef):
                    found[f"{node.name}.{method.name}"] = stub_signature(method)
    return found


def test_the_stub_has_every_name_and_signature_of_the_module():
    assert in_stub() == in_module()


def test_the_package_says_that_it_is_typed():
    assert STUB.with_name("py.typed").is_file()
