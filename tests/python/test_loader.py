"""What a program's OpenCL loader sees, with and without importing remotecl. Each program is a process of its own."""

import json
from pathlib import Path

import pytest

import remotecl

LIST_PLATFORMS = """
import collections, json
import pyopencl
try:
    names = [platform.name for platform in pyopencl.get_platforms()]
except pyopencl.Error:
    names = []
print(json.dumps(names))
"""
IMPORT_FIRST = "import remotecl\n" + LIST_PLATFORMS


def platforms(result) -> list[str]:
    return json.loads(result.stdout)


@pytest.fixture
def native(run_program) -> list[str]:
    """The platforms of this machine without remotecl."""
    names = platforms(run_program(LIST_PLATFORMS))
    assert names
    return names


@pytest.mark.parametrize("program", [LIST_PLATFORMS, IMPORT_FIRST])
def test_without_servers_nothing_changes(run_program, native, program):
    result = run_program(program)
    assert platforms(result) == native
    assert "remotecl" not in platforms(result)
    assert result.stderr == ""


@pytest.mark.parametrize("program", [LIST_PLATFORMS, IMPORT_FIRST])
def test_servers_in_the_environment_add_one_platform(run_program, addresses, native, program):
    result = run_program(program, REMOTECL_SERVERS=addresses)
    assert sorted(platforms(result)) == sorted([*native, "remotecl"])


@pytest.mark.parametrize(
    "setting",
    ["missing directory", "empty directory", "one library", "one icd file", "our library", "our directory"],
)
def test_importing_works_whatever_the_vendors_setting_names(run_program, run_remotecl, addresses, tmp_path, setting):
    (tmp_path / "empty").mkdir()
    (tmp_path / "one.icd").write_text(remotecl.icd_path() + "\n")
    value = {
        "missing directory": str(tmp_path / "missing"),
        "empty directory": str(tmp_path / "empty"),
        "one library": "libpocl.so.2",
        "one icd file": str(tmp_path / "one.icd"),
        "our library": remotecl.icd_path(),
        "our directory": run_remotecl("icd-path", "--vendors").stdout.strip(),
    }[setting]
    result = run_program(IMPORT_FIRST, REMOTECL_SERVERS=addresses, OCL_ICD_VENDORS=value)
    assert platforms(result).count("remotecl") == 1


def test_a_missing_system_directory_is_no_obstacle(run_program, addresses, tmp_path):
    for program in (LIST_PLATFORMS, IMPORT_FIRST):
        result = run_program(program, REMOTECL_SERVERS=addresses, OPENCL_VENDOR_PATH=str(tmp_path / "missing"))
        assert platforms(result).count("remotecl") == 1


def test_a_vendors_directory_with_remotecl_lists_it_once(run_program, run_remotecl, addresses):
    vendors = run_remotecl("icd-path", "--vendors").stdout.strip()
    assert (Path(vendors) / "remotecl.icd").is_file()
    result = run_program(LIST_PLATFORMS, REMOTECL_SERVERS=addresses, OCL_ICD_VENDORS=vendors)
    assert platforms(result).count("remotecl") == 1


def test_a_child_of_an_activated_program_lists_it_once(run_program, addresses):
    program = "import subprocess, sys, remotecl\n" + f"subprocess.run([sys.executable, '-c', {LIST_PLATFORMS!r}])"
    assert platforms(run_program(program, REMOTECL_SERVERS=addresses)).count("remotecl") == 1


def test_daemons_of_a_child_have_the_environment_before_the_parent_was_activated(run_program, addresses):
    tell = "import json, remotecl; print(json.dumps(remotecl._loading.activation.original_environment()))"
    program = f"""
import os, subprocess, sys
before = dict(os.environ)
import json, remotecl
assert os.environ["OCL_ICD_VENDORS"] != before.get("OCL_ICD_VENDORS")
def tell(**more):
    command = [sys.executable, "-c", {tell!r}]
    return json.loads(subprocess.run(command, env=os.environ | more, capture_output=True, check=True, text=True).stdout)
assert tell() == before, set(tell().items()) ^ set(before.items())
assert tell(OCL_ICD_VENDORS="/elsewhere") == before | {{"OCL_ICD_VENDORS": "/elsewhere"}}, "the program's own choice"
for nonsense in "", "1":  # a script has cleared or set it
    assert tell(REMOTECL_ACTIVATED=nonsense)["OCL_ICD_VENDORS"] == os.environ["OCL_ICD_VENDORS"]
"""
    run_program(program, REMOTECL_SERVERS=addresses)
    run_program(program, OCL_ICD_VENDORS="/etc/OpenCL/vendors", PYOPENCL_CTX="0")


SYSTEM_LOADER = """
import ctypes, json
try:
    opencl = ctypes.CDLL("libOpenCL.so.1")
except OSError:
    raise SystemExit("no system loader")
count = ctypes.c_uint()
opencl.clGetPlatformIDs(0, None, ctypes.byref(count))
ids = (ctypes.c_void_p * count.value)()
opencl.clGetPlatformIDs(count, ids, None)
name = ctypes.create_string_buffer(256)
names = []
for platform in ids:
    opencl.clGetPlatformInfo(ctypes.c_void_p(platform), 0x0902, 256, name, None)
    names.append(name.value.decode())
print(json.dumps(names))
"""


def test_importing_also_serves_the_systems_loader(run_program, addresses):
    result = run_program("import remotecl\n" + SYSTEM_LOADER, REMOTECL_SERVERS=addresses, check=False)
    if "no system loader" in result.stderr:
        pytest.skip("this machine has no libOpenCL.so.1 of its own")
    names = platforms(result)
    assert names.count("remotecl") == 1
    assert len(names) > 1, "the native drivers must stay visible"


def test_a_loader_that_looks_at_file_names_alone_is_told(run_program, run_remotecl):
    program = "import os, remotecl; print(os.environ['OCL_ICD_FILENAMES'])"
    ours = run_remotecl("icd-path").stdout.strip()
    assert run_program(program).stdout.strip() == ours
    assert run_program(program, OCL_ICD_FILENAMES="libother.so").stdout.strip() == f"libother.so:{ours}"
    assert run_program(program, OCL_ICD_FILENAMES=ours).stdout.strip() == ours


def test_two_loaders_in_one_process_share_one_library(run_program, addresses):
    program = """
import remotecl
exec(system)
import pyopencl
assert [p.name for p in pyopencl.get_platforms()].count("remotecl") == 1
maps = open("/proc/self/maps").read().split()
print(len({word for word in maps if word.endswith("/libremotecl.so")}))
"""
    program = f"system = {SYSTEM_LOADER!r}\n" + program
    result = run_program(program, REMOTECL_SERVERS=addresses, check=False)
    if "no system loader" in result.stderr:
        pytest.skip("this machine has no libOpenCL.so.1 of its own")
    assert result.returncode == 0, result.stderr
    assert result.stdout.splitlines()[-1] == "1"


TOO_LATE = """
import warnings
import pyopencl
pyopencl.get_platforms()
with warnings.catch_warnings(record=True) as caught:
    warnings.simplefilter("always")
    import remotecl
print(len(caught), caught[0].category.__name__ if caught else None)
for action in (remotecl.activate, lambda: remotecl.connect("127.0.0.1:1")):
    try:
        action()
    except remotecl.ActivationError as error:
        print(error)
"""


def test_importing_too_late_warns_and_activating_says_why(run_program):
    # One library as the setting hides PyOpenCL's own folder, so its loader cannot have found remotecl.
    result = run_program(TOO_LATE, OCL_ICD_VENDORS="libpocl.so.2", PYTHONWARNINGS=None)
    first, *messages = result.stdout.splitlines()
    assert first == "1 RuntimeWarning"
    assert len(messages) == 2
    for message in messages:
        assert "too late" in message
        assert "before the first OpenCL call" in message


def test_connecting_after_the_platforms_were_listed(run_program, cluster):
    """The loader does not list what it did not find at first, but its calls go through the handles."""
    program = f"""
import pyopencl
pyopencl.get_platforms()
import remotecl, numpy, pyopencl.array
try:
    remotecl.overview().devices
except remotecl.ActivationError as error:
    print(error)
connection = remotecl.connect({cluster.addresses[0]!r})
queue = pyopencl.CommandQueue(connection.context())
assert (pyopencl.array.arange(queue, 9, dtype=numpy.int32) * 2).get().sum() == 72
assert connection.platform.name == "remotecl" and remotecl.overview().devices
"""
    assert "because it knows no server" in run_program(program).stdout


def test_local_and_remote_devices_side_by_side(run_program, addresses):
    program = """
import numpy, pyopencl, pyopencl.array
sums = []
for platform in pyopencl.get_platforms():
    context = pyopencl.Context(platform.get_devices()[:1])
    try:
        pyopencl.Program(context, "kernel void probe() {}").build()
    except pyopencl.RuntimeError:
        continue  # PoCL's wheel does not know this processor
    queue = pyopencl.CommandQueue(context)
    array = pyopencl.array.arange(queue, 1000, dtype=numpy.int32) * 2
    sums.append((platform.name, int(array.get().sum())))
assert len(sums) >= 2 and {total for _, total in sums} == {999000}, sums
assert "remotecl" in dict(sums), sums
"""
    run_program(program, REMOTECL_SERVERS=addresses)
