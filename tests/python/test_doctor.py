"""`remotecl doctor`: every problem is provoked for real."""

import json
import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

import remotecl
from conftest import CLEAN_ENVIRONMENT, PROGRAM_TIMEOUT_S, run_command
from remotecl._loading import vendors
from remotecl.doctor import environment, examine
from remotecl.doctor.finding import findings_of
from remotecl.doctor.local import LocalChecks, device_finding
from remotecl.doctor.variables import VARIABLES

ROOT = Path(__file__).resolve().parents[2]
TIMEOUT_S = PROGRAM_TIMEOUT_S
# A truncated library ends the process that opens it, which is no report of a sanitizer.
UNREPORTED = {
    name: f"{CLEAN_ENVIRONMENT[name]}:handle_sigbus=0"
    for name in ("ASAN_OPTIONS", "TSAN_OPTIONS")
    if name in CLEAN_ENVIRONMENT
}


def local(method: str, timeout_s: float = TIMEOUT_S, **settings: str):
    return list(getattr(LocalChecks({**CLEAN_ENVIRONMENT, **settings}, timeout_s), method)())


def variable(name: str, value: str):
    (finding,) = environment.variables({name: value})
    return finding


@pytest.fixture
def package(tmp_path):
    """A copy of the installed package, to be damaged; programs with the given PYTHONPATH import it."""
    copy = tmp_path / "site" / "remotecl"
    shutil.copytree(vendors.PACKAGE, copy, ignore=shutil.ignore_patterns("__pycache__", "remotecl-bench"))
    return copy


def doctor(*arguments: str, **settings: str | None) -> tuple[int, dict]:
    command = [
        sys.executable,
        "-W",
        "ignore",
        "-m",
        "remotecl",
        "doctor",
        "--json",
        "--timeout",
        str(TIMEOUT_S),
        *arguments,
    ]
    result = run_command(command, settings)
    assert result.stderr == ""
    return result.returncode, {entry["check"]: entry for entry in json.loads(result.stdout)}


def test_nothing_is_wrong_with_a_working_cluster(run_remotecl, cluster, addresses):
    code, findings = doctor("--servers", addresses)
    assert [entry for entry in findings.values() if entry["status"] == "problem"] == []
    assert code == 0
    for address in cluster.addresses:
        assert findings[f"server {address}: protocol"]["text"].endswith(f"(remotecl {remotecl.__version__})")
        assert "a kernel ran" in findings[f"server {address}: device"]["text"]
        assert findings[f"server {address}: round trip"]["text"].endswith(" us")
    assert "connected" in findings[f"link {' - '.join(cluster.addresses)}"]["text"]
    assert remotecl.icd_path() in findings["ICD"]["text"]
    assert re.search(r", build (RelWithDebInfo|Release|Demo|Debug) \(-O?.*\)$", findings["ICD"]["text"])
    assert "it finds remotecl" in findings["loader of PyOpenCL"]["text"]


def test_a_problem_is_said_with_its_remedy_and_counts(run_remotecl):
    result = run_remotecl("doctor", REMOTECL_SERVERS="127.0.0.1:1", REMOTECL_SERVRES="gpu1")
    assert result.returncode == 1
    *lines, last = result.stdout.splitlines()
    at = next(i for i, line in enumerate(lines) if line.startswith("problem  server 127.0.0.1:1: port"))
    assert "->" in lines[at + 1]
    assert "remotecl-server --listen 127.0.0.1:1" in lines[at + 1]
    assert "did you mean REMOTECL_SERVERS?" in result.stdout
    assert re.fullmatch(r"2 problems, \d+ notes?, \d+ ok", last)


# Environment


@pytest.mark.parametrize(
    "name, value, status, words",
    [
        ("REMOTECL_SERVER", "gpu1", "problem", "REMOTECL_SERVERS"),
        ("REMOTECL_COLOUR", "red", "problem", "REMOTECL_SERVERS, "),
        ("REMOTECL_PEERS", "maybe", "problem", "on or off"),
        ("REMOTECL_PEERS", "No", "ok", "goes through the client"),
        ("REMOTECL_SHARED_MEMORY", "0", "ok", "shared memory"),
        ("REMOTECL_SHARED_MEMORY", "", "note", "empty"),
        ("REMOTECL_RECONNECT", "abc", "problem", "0 to 86400"),
        ("REMOTECL_RECONNECT", "off", "ok", "lost connection"),
        ("REMOTECL_BUSY_POLL", "fast", "problem", "0 to 1000000"),
        ("REMOTECL_BUSY_POLL", "50", "ok", "microseconds"),
        ("REMOTECL_BULK_CHANNELS", "2", "ok", "channels"),
        ("REMOTECL_BULK_STREAMS", "4", "ok", "connections"),
        ("REMOTECL_BULK_STREAMS", "9", "problem", "1 to 8"),
        ("REMOTECL_HOST_POINTERS", "Coherent", "ok", "need not be mapped"),
        ("REMOTECL_HOST_POINTERS", "on", "problem", "coherent or off"),
        ("REMOTECL_DISABLE", "1", "note", "unset it"),
        ("REMOTECL_DISABLE", "0", "ok", "no platform"),
        ("REMOTECL_DISABLE", "please", "problem", "on or off"),
        ("OCL_ICD_VENDORS", "/does/not/exist", "problem", "/does/not/exist"),
        ("OCL_ICD_VENDORS", "libpocl.so.2", "ok", "libpocl.so.2"),
        ("OCL_ICD_FILENAMES", "/does/not/exist.so", "problem", "/does/not/exist.so"),
        ("OCL_ICD_FILENAMES", "libany.so", "note", "OCL_ICD_VENDORS"),
        ("PYOPENCL_CTX", "1:0", "note", "PYOPENCL_CTX=remotecl"),
        ("PYOPENCL_CTX", "remotecl", "ok", "remotecl"),
    ],
)
def test_variables_are_judged(name, value, status, words):
    finding = variable(name, value)
    assert finding.check == f"variable {name}"
    assert finding.status == status
    assert words in finding.text + finding.remedy


def test_the_table_has_every_variable_that_is_read():
    sources = [*ROOT.glob("cpp/**/*.cpp"), *ROOT.glob("python/**/*.py"), *ROOT.glob("python/**/*.c*")]
    reads = re.compile(r"""(?:getenv\(|environ\.get\(|environ\[|environ, |settings::\w+\()["'](REMOTECL_\w+)""")
    read = {name for file in sources for name in reads.findall(file.read_text())}
    assert read - set(VARIABLES) == set()
    assert {name for name in VARIABLES if name not in (ROOT / "docs" / "environment.md").read_text()} == set()


def test_few_open_files_are_noted():
    program = "import json, remotecl.doctor.environment as e; print([f for f in e.limits() if f.status == 'note'])"
    command = ["bash", "-c", f'ulimit -n 100; exec {sys.executable} -c "$0"', program]
    assert "100 files may be open" in run_command(command).stdout


# ICD and daemon


def of_damaged(package: Path, method: str):
    """What the damaged package says of itself."""
    program = f"""
import json, os
from remotecl.doctor.local import LocalChecks
print(json.dumps([vars(finding) for finding in LocalChecks(os.environ, {TIMEOUT_S}).{method}()]))
"""
    result = run_command(
        [sys.executable, "-W", "ignore", "-c", program], {"PYTHONPATH": str(package.parent), **UNREPORTED}
    )
    (finding,) = json.loads(result.stdout)
    assert finding["status"] == "problem"
    assert "pip install" in finding["remedy"]
    return finding["text"]


@pytest.mark.parametrize("damage", ["missing", "truncated"])
def test_a_broken_icd_is_a_problem(package, damage):
    library = package / "lib" / "libremotecl.so"
    library.unlink() if damage == "missing" else library.write_bytes(library.read_bytes()[:5000])
    assert str(library) in of_damaged(package, "icd")


def test_parts_of_other_versions_are_problems(package):
    version = package / "_version.py"
    version.write_text(version.read_text().replace(f'"{remotecl.__version__}"', '"9.9.9"'))
    assert "9.9.9" in of_damaged(package, "icd")
    assert "9.9.9" in of_damaged(package, "daemon")


def test_a_daemon_that_is_not_there_is_a_problem(package):
    (package / "bin" / "remotecl-server").unlink()
    assert "remotecl-server is missing" in of_damaged(package, "daemon")


def test_what_sessions_are_kept_from_is_said():
    findings = doctor()[1]
    told = subprocess.run(
        [remotecl._daemon.launcher.binary_path(), "--containment"],
        env=remotecl._daemon.launcher.daemon_environment(CLEAN_ENVIRONMENT), capture_output=True, text=True, check=True,
    ).stdout.splitlines()  # fmt: skip
    finding = findings["containment of sessions"]
    assert finding["status"] == ("note" if told else "ok")
    assert (told[-1] if told else "sockets and other processes are kept from") in finding["text"]


# Loaders and drivers


def test_a_pyopencl_without_loader_is_a_problem(tmp_path):
    original = vendors.pyopencl_package()
    if vendors.bundled_vendors() is None:
        pytest.skip("this PyOpenCL uses the system's loader")
    shutil.copytree(original, tmp_path / "pyopencl", ignore=shutil.ignore_patterns("libOpenCL*", "__pycache__"))
    program = "from remotecl.doctor import *; print(*[f for f in examine() if 'PyOpenCL' in f.check])"
    # Where sanitizers are, the loader would be found in a folder of LD_LIBRARY_PATH.
    places = os.pathsep.join(filter(None, [str(tmp_path), CLEAN_ENVIRONMENT.get("PYTHONPATH", "")]))
    settings = {"PYTHONPATH": places, "LD_LIBRARY_PATH": None}
    text = run_command([sys.executable, "-c", program], settings).stdout
    assert text.startswith("problem  loader of PyOpenCL")
    assert "pip install --force-reinstall pyopencl" in text


def test_a_broken_system_loader_is_noted(tmp_path):
    (tmp_path / "libOpenCL.so.1").write_bytes(b"not a library at all" * 100)
    (finding,) = local("system_loader", LD_LIBRARY_PATH=str(tmp_path))
    assert finding.status == "note"
    assert "ocl-icd-libopencl1" in finding.remedy


def test_a_loader_that_cannot_see_remotecl_is_a_problem(package):
    # What goes wrong when something else makes its OpenCL calls while Python starts.
    early = "import pyopencl\ntry: pyopencl.get_platforms()\nexcept pyopencl.Error: pass\n"
    (package.parent / "sitecustomize.py").write_text(early)
    (finding,) = local("pyopencl_loader", PYTHONPATH=str(package.parent), OCL_ICD_VENDORS="libpocl.so.2")
    assert finding.status == "problem"
    assert "import remotecl before the first OpenCL call" in finding.remedy


@pytest.fixture
def vendors_folder(tmp_path, monkeypatch):
    """Makes a vendors directory with one driver, compiled from C where it has a source."""
    monkeypatch.setattr(vendors, "wheel_pocl", lambda: None)

    def make(driver: str | None = None, source: str = "") -> str:
        if source:
            driver = str(tmp_path / "libdriver.so")
            command = ["c++", "-x", "c", "-shared", "-fPIC", "-o", driver, "-"]
            subprocess.run(command, input=source, text=True, check=True)
        directory = tmp_path / "vendors"
        directory.mkdir()
        (directory / "one.icd").write_text(f"{driver}\n" if driver else "")
        return str(directory)

    return make


CRASHES = "#include <stdlib.h>\n__attribute__((constructor)) static void start(void) { abort(); }"
HANGS = "#include <unistd.h>\n__attribute__((constructor)) static void start(void) { for (;;) pause(); }"


def test_a_driver_that_crashes_is_a_problem_and_nothing_more(vendors_folder):
    code, findings = doctor(OCL_ICD_VENDORS=vendors_folder(source=CRASHES))
    assert code == 1
    (driver,) = [entry for check, entry in findings.items() if check.endswith("libdriver.so")]
    assert driver["status"] == "problem"
    assert "SIGABRT" in driver["text"]
    assert findings["remotecl-server"]["status"] == "ok"  # a later check


def test_a_driver_that_hangs_is_a_problem(vendors_folder):
    (driver,) = local("drivers", timeout_s=1.0, OCL_ICD_VENDORS=vendors_folder(source=HANGS))
    assert driver.status == "problem"
    assert "did not end within 1 s" in driver.text


@pytest.mark.parametrize(
    "driver, status, words",
    [
        ("libdoes-not-exist.so", "problem", "libdoes-not-exist.so: cannot open shared object file"),
        ("libm.so.6", "note", "offers no device"),
        (None, "problem", "one.icd names no driver"),
    ],
    ids=["missing library", "no driver", "empty file"],
)
def test_broken_registrations_are_named(vendors_folder, driver, status, words):
    finding = local("drivers", OCL_ICD_VENDORS=vendors_folder(driver))[0]
    assert finding.status == status
    assert words in finding.text
    assert finding.remedy


def test_no_driver_is_noted(tmp_path, monkeypatch):
    monkeypatch.setattr(vendors, "wheel_pocl", lambda: None)
    (finding,) = local("drivers", OCL_ICD_VENDORS=str(tmp_path))
    assert finding.status == "note"
    assert "pocl-opencl-icd" in finding.remedy


def test_a_pocl_older_than_the_processor_has_its_own_remedy(vendors_folder, monkeypatch):
    pocl = vendors.wheel_pocl()
    for finding in local("drivers", OCL_ICD_VENDORS=vendors_folder(pocl)) if pocl else []:
        assert finding.status == "ok" or "pocl-opencl-icd" in finding.remedy
    finding = device_finding("driver", "device", "clBuildProgram failed with -11: error: unknown target CPU 'generic'")
    assert "pocl-opencl-icd" in finding.remedy


def test_a_check_that_fails_is_a_finding():
    def broken():
        raise PermissionError("no entry")

    (finding,) = findings_of("broken", broken)
    assert finding.status == "problem"
    assert "PermissionError: no entry" in finding.text


def test_examining_leaves_the_process_as_it_was(run_program):
    run_program("""
import os, sys
import remotecl.doctor
before = dict(os.environ)
findings = list(remotecl.doctor.examine())
assert findings and dict(os.environ) == before
assert "remotecl._core" not in sys.modules and "pyopencl" not in sys.modules
""")
    assert callable(examine)
