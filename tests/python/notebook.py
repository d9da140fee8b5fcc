"""Runs cells in a real kernel."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import nbclient
import nbformat

from conftest import CLEAN_ENVIRONMENT


def run_notebook(cells: Sequence[str], environment: Mapping[str, str] | None = None) -> list[Any]:
    """The cells with their outputs; one that fails does not keep the others from running."""
    notebook = nbformat.v4.new_notebook(cells=[nbformat.v4.new_code_cell(cell) for cell in cells])
    return execute(notebook, environment)


def execute(
    notebook: nbformat.NotebookNode, environment: Mapping[str, str] | None = None, folder: Path | None = None
) -> list[Any]:
    """The cells of a notebook with their outputs, run in `folder`; one that fails does not stop the others."""
    resources = {"metadata": {"path": str(folder)}} if folder else {}
    client = nbclient.NotebookClient(notebook, timeout=120, allow_errors=True, resources=resources)
    client.execute(env={**CLEAN_ENVIRONMENT, **(environment or {})})
    return list(notebook.cells)
