"""The wheel's registration for PyOpenCL's loader must not look like PyOpenCL where that is not installed."""

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

STUB = Path(__file__).resolve().parents[2] / "python" / "icd" / "pyopencl.py"
IMPORT = "import pyopencl; print(pyopencl.__name__, getattr(pyopencl, 'VERSION', None), pyopencl.__file__)"


@pytest.fixture
def site(tmp_path):
    """A folder of packages with what our wheel puts there for PyOpenCL's loader."""
    (tmp_path / "site" / "pyopencl" / ".libs").mkdir(parents=True)
    shutil.copy(STUB, tmp_path / "site")
    return tmp_path / "site"


def run(*path: Path) -> subprocess.CompletedProcess[str]:
    environment = os.environ | {"PYTHONPATH": os.pathsep.join(map(str, path))}
    return subprocess.run(
        [sys.executable, "-S", "-c", IMPORT], env=environment, capture_output=True, text=True, check=False
    )


def make_pyopencl(folder: Path) -> None:
    (folder / "pyopencl").mkdir(parents=True, exist_ok=True)
    (folder / "pyopencl" / "__init__.py").write_text("from .inner import VERSION")
    (folder / "pyopencl" / "inner.py").write_text("VERSION = 7")


def test_without_pyopencl_importing_it_fails(site):
    result = run(site)
    assert result.stderr.splitlines()[-1] == "ModuleNotFoundError: No module named 'pyopencl'"


def test_pyopencl_beside_it_is_imported(site):
    make_pyopencl(site)
    assert run(site).stdout.split() == ["pyopencl", "7", str(site / "pyopencl" / "__init__.py")]


def test_pyopencl_elsewhere_is_imported(site, tmp_path):
    make_pyopencl(tmp_path / "other")
    for path in ((site, tmp_path / "other"), (tmp_path / "other", site)):
        assert run(*path).stdout.split() == ["pyopencl", "7", str(tmp_path / "other" / "pyopencl" / "__init__.py")]
