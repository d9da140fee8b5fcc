"""JupyterLab in headless Chromium: runs cells one by one, as people do, and looks at what they show."""

from __future__ import annotations

import contextlib
import json
import os
import secrets
import socket
import subprocess
import sys
import time
import urllib.request
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import nbformat
from playwright.sync_api import Locator, Page, sync_playwright

THEMES = {"light": "JupyterLab Light", "dark": "JupyterLab Dark"}
_SETTINGS = {
    # Or it asks the network for news, and covers the page with the question whether it may.
    "apputils-extension/notification": {"fetchNews": "false", "checkForUpdates": False},
    # Or cells that cannot be seen are not there.
    "notebook-extension/tracker": {"windowingMode": "none"},
}
_CELL_TIMEOUT_S = 180


@dataclass(frozen=True)
class Shown:
    """What a cell shows."""

    text: str
    stderr: str
    error: str
    overflows: tuple[str, ...]  # what is wider than the cell


class Notebook:
    """An open notebook."""

    def __init__(self, page: Page) -> None:
        self._page = page

    def run(self, number: int) -> Shown:
        """Runs a cell that has not been run, and waits for its end."""
        cell = self.cell(number)
        cell.scroll_into_view_if_needed()
        cell.locator(".cm-content").first.click()
        self._page.keyboard.press("Shift+Enter")
        self._page.wait_for_function(
            "number => /\\[\\d+\\]/.test(document.querySelectorAll('.jp-Notebook .jp-CodeCell')[number]"
            ".querySelector('.jp-InputPrompt').textContent)",
            arg=number,
            timeout=_CELL_TIMEOUT_S * 1000,
        )
        return self.shown(number)

    def shown(self, number: int) -> Shown:
        """What a cell shows now."""
        cell = self.cell(number)
        outputs = cell.locator(".jp-OutputArea-output")
        return Shown(
            text="\n".join(outputs.all_inner_texts()),
            stderr=_texts(cell, "application/vnd.jupyter.stderr"),
            error=_texts(cell, "application/vnd.jupyter.error"),
            overflows=tuple(cell.evaluate(_OVERFLOWS)),
        )

    def cell(self, number: int) -> Locator:
        """A code cell."""
        return self._page.locator(".jp-Notebook .jp-CodeCell").nth(number)

    def use_theme(self, theme: str) -> None:
        """Changes all of the page to ``light`` or ``dark``."""
        self._page.evaluate(
            "theme => window.jupyterapp.commands.execute('apputils:change-theme', {theme})", THEMES[theme]
        )
        self._page.wait_for_selector(f"body[data-jp-theme-name='{THEMES[theme]}']", state="attached")

    def shoot(self, number: int, path: Path) -> None:
        """A screenshot of a cell."""
        path.parent.mkdir(parents=True, exist_ok=True)
        self._page.mouse.move(0, 0)
        self.cell(number).screenshot(path=path, animations="disabled")


# Elements of the output that are wider than the room they have.
_OVERFLOWS = """cell => [...cell.querySelectorAll('.jp-OutputArea-output')].flatMap(output =>
    [output, ...output.querySelectorAll('table, svg, img, pre')]
        .filter(each => each.scrollWidth > each.clientWidth + 1 && each.clientWidth > 0
                     || each.getBoundingClientRect().right > output.getBoundingClientRect().right + 1)
        .map(each => `${each.tagName.toLowerCase()} of ${each.scrollWidth} in ${output.clientWidth} pixels`))"""


def _texts(cell: Locator, kind: str) -> str:
    return "\n".join(cell.locator(f'.jp-OutputArea-output[data-mime-type="{kind}"]').all_inner_texts())


@contextlib.contextmanager
def lab(folder: Path) -> Iterator[str]:
    """A JupyterLab for notebooks below `folder`; its address, with ``{}`` where the notebook's name goes."""
    settings = folder / ".settings"
    for name, values in _SETTINGS.items():
        file = settings / "@jupyterlab" / f"{name}.jupyterlab-settings"
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(json.dumps(values))
    with socket.create_server(("127.0.0.1", 0)) as probe:
        port = probe.getsockname()[1]
    token = secrets.token_hex(16)
    command = [sys.executable, "-m", "jupyterlab", "--no-browser", "--allow-root", "--expose-app-in-browser"]
    command += [f"--ServerApp.root_dir={folder}", f"--ServerApp.port={port}", "--ServerApp.port_retries=0"]
    command += [f"--IdentityProvider.token={token}", f"--LabServerApp.user_settings_dir={settings}"]
    command += [f"--LabServerApp.workspaces_dir={folder / '.workspaces'}"]  # or it opens what it had open before
    environment = {**os.environ, "JUPYTERLAB_SETTINGS_DIR": str(settings), "JUPYTER_RUNTIME_DIR": str(folder / ".run")}
    environment.pop("PYTEST_CURRENT_TEST", None)  # or kernels keep what libraries write to stderr to themselves
    with (folder / "jupyterlab.log").open("w") as log:
        process = subprocess.Popen(command, env=environment, stdout=log, stderr=log, start_new_session=True)
        try:
            _await(f"http://127.0.0.1:{port}/api?token={token}", process)
            yield f"http://127.0.0.1:{port}/lab/tree/{{}}?token={token}"
        finally:
            process.terminate()
            process.wait(30)


def _await(url: str, process: subprocess.Popen[bytes]) -> None:
    end = time.monotonic() + 60
    while process.poll() is None and time.monotonic() < end:
        with contextlib.suppress(OSError), urllib.request.urlopen(url, timeout=5):
            return
        time.sleep(0.1)
    raise RuntimeError("JupyterLab did not start; see jupyterlab.log")


@contextlib.contextmanager
def chromium() -> Iterator[Page]:
    """A page of Debian's Chromium, with the room that a laptop has."""
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path="/usr/bin/chromium", args=["--no-sandbox"])
        try:
            yield browser.new_page(viewport={"width": 1280, "height": 900})
        finally:
            browser.close()


def open_notebook(page: Page, address: str, name: str) -> Notebook:
    """Opens a notebook and waits for its kernel."""
    page.goto(address.format(name))
    page.wait_for_selector(".jp-Notebook .jp-CodeCell", timeout=60_000)
    page.get_by_text("| Idle").wait_for(timeout=60_000)  # before that a cell that is run is forgotten
    page.evaluate("window.jupyterapp.shell.collapseLeft()")
    return Notebook(page)


def write_notebook(path: Path, sources: list[str]) -> None:
    """A notebook of code cells."""
    cells = [nbformat.v4.new_code_cell(source.strip()) for source in sources]
    kernel = {"name": "python3", "display_name": "Python 3", "language": "python"}
    nbformat.write(nbformat.v4.new_notebook(cells=cells, metadata={"kernelspec": kernel}), path)
