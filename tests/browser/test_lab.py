"""What people see in JupyterLab: no error, nothing on stderr that nobody needs, nothing cut off. Screenshots of all."""

from __future__ import annotations

import json
import shutil
from pathlib import Path

import pytest
from lab import THEMES, Notebook, chromium, lab, open_notebook, write_notebook
from story import STEPS

REPOSITORY = Path(__file__).parents[2]
PICTURES = REPOSITORY / "build" / "browser"
NOTEBOOKS = sorted((REPOSITORY / "notebooks").glob("*.ipynb"))


def shoot_all(notebook: Notebook, folder: str, names: list[str]) -> None:
    shutil.rmtree(PICTURES / folder, ignore_errors=True)
    for theme in THEMES:
        notebook.use_theme(theme)
        for number, name in enumerate(names):
            notebook.shoot(number, PICTURES / folder / f"{number + 1:02}-{name.replace(' ', '-')}-{theme}.png")


def test_the_story(tmp_path):
    write_notebook(tmp_path / "story.ipynb", [step.source for step in STEPS])
    wrong: list[str] = []
    with lab(tmp_path) as address, chromium() as page:
        notebook = open_notebook(page, address, "story.ipynb")
        for number, step in enumerate(STEPS):
            shown = notebook.run(number)
            wrong += [
                f"{step.name}: {text!r} is missing in:\n{shown.text}" for text in step.shows if text not in shown.text
            ]
            wrong += [f"{step.name}: nobody says {text!r}" for text in step.says if text not in shown.stderr]
            wrong += [f"{step.name}: {shown.error}"] * bool(shown.error)
            wrong += [f"{step.name}: on stderr: {shown.stderr}"] * (bool(shown.stderr) and not step.says)
            wrong += [f"{step.name}: {one}" for one in shown.overflows]
        shoot_all(notebook, "story", [step.name for step in STEPS])
    assert not wrong, "\n".join(wrong)


@pytest.mark.parametrize("path", NOTEBOOKS, ids=[path.stem for path in NOTEBOOKS])
def test_the_notebooks(path, tmp_path):
    shutil.copytree(path.parent, tmp_path, dirs_exist_ok=True)
    cells = [cell for cell in json.loads(path.read_text())["cells"] if cell["cell_type"] == "code"]
    wrong: list[str] = []
    with lab(tmp_path) as address, chromium() as page:
        notebook = open_notebook(page, address, path.name)
        for number in range(len(cells)):
            shown = notebook.run(number)
            wrong += [f"cell {number}: {text}" for text in (shown.error, shown.stderr, *shown.overflows) if text]
        shoot_all(notebook, path.stem, [f"cell-{number}" for number in range(len(cells))])
    assert not wrong, "\n".join(wrong)
