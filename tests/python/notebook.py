"""Runs cells in a real kernel."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import nbclient
import nbformat

from conftest import CLEAN_ENVIRONMENT


class _Client(nbclient.NotebookClient):
    """Keeps what was on display for a while, too: the text, and the index of the cell that ran."""

    def __init__(self, *arguments: Any, displayed: list[tuple[int, str]], **options: Any) -> None:
        super().__init__(*arguments, **options)
        self._displayed = displayed

    def process_message(self, msg: Any, cell: Any, cell_index: int) -> Any:
        if msg["msg_type"] in ("display_data", "update_display_data"):
            self._displayed.append((cell_index, msg["content"]["data"].get("text/plain", "")))
        return super().process_message(msg, cell, cell_index)


def run_notebook(
    cells: Sequence[str],
    environment: Mapping[str, str] | None = None,
    displayed: list[tuple[int, str]] | None = None,
) -> list[Any]:
    """The cells with their outputs; one that fails does not keep the others from running."""
    notebook = nbformat.v4.new_notebook(cells=[nbformat.v4.new_code_cell(cell) for cell in cells])
    return execute(notebook, environment, displayed=displayed)


def execute(
    notebook: nbformat.NotebookNode,
    environment: Mapping[str, str] | None = None,
    folder: Path | None = None,
    displayed: list[tuple[int, str]] | None = None,
) -> list[Any]:
    """The cells of a notebook with their outputs, run in `folder`; one that fails does not stop the others.

    `displayed` gets what was on display at any time: the index of the cell that ran, and the text.
    """
    resources = {"metadata": {"path": str(folder)}} if folder else {}
    seen = [] if displayed is None else displayed
    client = _Client(notebook, timeout=300, allow_errors=True, resources=resources, displayed=seen)
    client.execute(env={**CLEAN_ENVIRONMENT, **(environment or {})})
    return list(notebook.cells)
