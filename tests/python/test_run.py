"""`remotecl run` and REMOTECL_REQUIRED: a program computes on its servers, or not at all."""

import os
import signal
import subprocess
import sys

import pytest

import remotecl
from conftest import CLEAN_ENVIRONMENT
from daemon import WITHIN_S
from remotecl._cli import run
from test_loader import LIST_PLATFORMS, SYSTEM_LOADER, platforms

NOBODY = "127.0.0.1:1"
COMPUTE = """
import numpy, pyopencl, pyopencl.array
context = pyopencl.create_some_context(interactive=False)
array = pyopencl.array.arange(pyopencl.CommandQueue(context), 10, dtype=numpy.int32) * 2
print(context.devices[0].platform.name, int(array.get().sum()))
"""
FIRST_PLATFORM = """
import pyopencl
others = [platform for platform in pyopencl.get_platforms() if platform.name != "remotecl"]
pyopencl.Context(others[0].get_devices())
"""


@pytest.mark.parametrize("program", [LIST_PLATFORMS, SYSTEM_LOADER], ids=["PyOpenCL's loader", "the system's loader"])
def test_a_program_sees_the_servers_and_nothing_else(run_remotecl, addresses, program):
    result = run_remotecl("run", "--servers", addresses, sys.executable, "-c", program)
    if "no system loader" in result.stderr:
        pytest.skip("this machine has no libOpenCL.so.1 of its own")
    assert platforms(result) == ["remotecl"]


@pytest.mark.parametrize("program", [LIST_PLATFORMS, SYSTEM_LOADER], ids=["PyOpenCL's loader", "the system's loader"])
def test_it_sees_this_machines_drivers_too_when_asked_for(run_remotecl, addresses, program):
    result = run_remotecl("run", "--servers", addresses, "--with-local", sys.executable, "-c", program)
    if "no system loader" in result.stderr:
        pytest.skip("this machine has no libOpenCL.so.1 of its own")
    names = platforms(result)
    assert names.count("remotecl") == 1
    assert len(names) > 1


def test_a_program_computes_on_servers_of_its_own(run_remotecl):
    result = run_remotecl("run", "--local", "2", sys.executable, "-c", COMPUTE)
    assert (result.returncode, result.stdout) == (0, "remotecl 90\n"), result.stderr
    assert result.stderr == ""


@pytest.mark.parametrize("how", [("--servers", NOBODY), ()], ids=["option", "variable"])
def test_without_its_servers_a_program_is_not_started(run_remotecl, how):
    result = run_remotecl("run", *how, sys.executable, "-c", "print('started')", REMOTECL_SERVERS=NOBODY)
    assert result.returncode == 1
    assert result.stdout == ""
    assert "not started" in result.stderr
    assert NOBODY in result.stderr


def test_one_server_of_several_is_not_enough(run_remotecl, cluster):
    result = run_remotecl("run", "--servers", f"{cluster.addresses[0]},{NOBODY}", "true")
    assert result.returncode == 1
    assert NOBODY in result.stderr


def test_it_says_what_it_lacks(run_remotecl):
    nothing = {"REMOTECL_CONFIG": None, "XDG_CONFIG_HOME": "/nowhere"}
    assert "no program" in run_remotecl("run", "--servers", "gpu1", **nothing).stderr
    assert "no server is named" in run_remotecl("run", "true", **nothing).stderr
    assert run_remotecl("run", "--local", "0", "true").returncode == 2
    assert run_remotecl("run", "--local", "1", "--auto", "true").returncode == 2


@pytest.mark.parametrize("where", ["servers", "local"])
def test_exit_codes_and_arguments_are_the_programs(run_remotecl, addresses, where):
    option = ("--servers", addresses) if where == "servers" else ("--local", "1")
    assert run_remotecl("run", *option, "--", "sh", "-c", "exit $1", "--servers", "7").returncode == 7
    missing = run_remotecl("run", *option, "/no/such/program")
    assert missing.returncode == 127
    assert "not found" in missing.stderr
    assert run_remotecl("run", *option, "/").returncode == 126


def test_a_signal_for_the_command_is_for_the_program():
    source = "import os, signal, sys\nsignal.signal(15, lambda *_: os._exit(9))\nprint(0, flush=True)\nsignal.pause()"
    command = [sys.executable, "-m", "remotecl", "run", "--local", "1", sys.executable, "-c", source]
    with subprocess.Popen(command, env=CLEAN_ENVIRONMENT, stdout=subprocess.PIPE, text=True) as running:
        assert running.stdout.readline() == "0\n"
        running.send_signal(signal.SIGTERM)
        assert running.wait(WITHIN_S) == 9


def test_what_a_program_is_told(cluster, monkeypatch):
    monkeypatch.setenv("REMOTECL_DISABLE", "1")
    environment = run.environment_for(cluster.addresses, with_local=False)
    assert environment["REMOTECL_SERVERS"] == ",".join(cluster.addresses)
    assert environment["REMOTECL_REQUIRED"] == "1"
    assert "REMOTECL_DISABLE" not in environment
    assert environment["OCL_ICD_VENDORS"] == environment["OCL_ICD_FILENAMES"] == remotecl.icd_path()


def test_drivers_of_a_conda_environment_stay_visible(tmp_path, monkeypatch):
    vendors = tmp_path / "etc" / "OpenCL" / "vendors"
    vendors.mkdir(parents=True)
    (vendors / "conda.icd").write_text("libconda.so\n")
    monkeypatch.setattr(remotecl._loading.activation, "original_environment", lambda: {"CONDA_PREFIX": str(tmp_path)})
    environment = run.environment_for(["gpu1"], with_local=True)
    drivers = remotecl._loading.vendors.drivers_in(environment["OCL_ICD_VENDORS"])
    assert "libconda.so" in drivers
    assert drivers[-1] == remotecl.icd_path()


def test_auto_takes_what_is_configured(run_remotecl, addresses):
    result = run_remotecl("run", "--auto", sys.executable, "-c", LIST_PLATFORMS, REMOTECL_SERVERS=addresses)
    assert platforms(result) == ["remotecl"]


def test_auto_takes_found_servers_that_let_it_in(cluster, monkeypatch, capfd):
    def found(address: str) -> remotecl.types.DiscoveredServer:
        return remotecl.types.DiscoveredServer("one", address, "0", 1, ())

    monkeypatch.setattr(run, "configured_servers", list)
    monkeypatch.setattr(run, "discover", lambda _: [found(NOBODY), found(cluster.addresses[0])])
    monkeypatch.setenv("XDG_CONFIG_HOME", "/nowhere")
    assert run.found_servers() == cluster.addresses[:1]
    assert f"left out: {NOBODY}" in capfd.readouterr().err
    monkeypatch.setattr(run, "discover", lambda _: [found(NOBODY)])
    with pytest.raises(remotecl.RemoteCLError, match="--auto finds no server"):
        run.found_servers()


@pytest.mark.parametrize("servers", [NOBODY, "", "gpu1?colour=red"], ids=["unreachable", "none", "wrong"])
def test_a_program_that_requires_its_servers_ends_without_them(run_program, servers):
    result = run_program(
        "print('before', flush=True)\n" + COMPUTE, check=False, REMOTECL_SERVERS=servers, REMOTECL_REQUIRED="1"
    )
    assert result.returncode == 1
    assert result.stdout == "before\n"
    (line,) = result.stderr.splitlines()
    assert "REMOTECL_REQUIRED is on, so the program ends here" in line
    assert (servers or "names no server").partition("?")[0] in line


def test_requiring_servers_that_are_there_changes_nothing(run_program, addresses):
    result = run_program("import remotecl\n" + COMPUTE, REMOTECL_SERVERS=addresses, REMOTECL_REQUIRED="1")
    assert (result.stdout, result.stderr) == ("remotecl 90\n", "")
    result = run_program(LIST_PLATFORMS, REMOTECL_REQUIRED="1", REMOTECL_DISABLE="1")
    assert "remotecl" not in platforms(result)


def test_a_program_that_connects_itself_may_require_servers(run_program, cluster):
    program = f"import remotecl; print(len(remotecl.connect({cluster.addresses!r}).devices))"
    assert int(run_program(program, REMOTECL_REQUIRED="1").stdout) >= 2


def test_a_program_whose_servers_are_all_unreachable_is_told_what_is_left(run_program):
    result = run_program(LIST_PLATFORMS, REMOTECL_SERVERS=NOBODY)
    assert "this machine's devices only" in result.stderr
    assert result.stderr.count("\n") == 1


def test_a_program_that_computes_elsewhere_is_told_so(run_program, addresses):
    result = run_program(FIRST_PLATFORM, REMOTECL_SERVERS=addresses)
    (line,) = result.stderr.splitlines()
    assert "has made no context on the servers" in line
    assert run_program(FIRST_PLATFORM, REMOTECL_SERVERS=addresses, REMOTECL_LOG="off").stderr == ""
    assert run_program("import remotecl\n" + COMPUTE, REMOTECL_SERVERS=addresses).stderr == ""


def test_a_program_that_lists_devices_is_told_nothing(run_program, addresses):
    program = "import pyopencl; print([d.name for p in pyopencl.get_platforms() for d in p.get_devices()])"
    assert run_program(program, REMOTECL_SERVERS=addresses).stderr == ""


def test_the_commands_do_not_end_for_want_of_servers(run_remotecl):
    result = run_remotecl("info", REMOTECL_SERVERS=NOBODY, REMOTECL_REQUIRED="1")
    assert "PyOpenCL" in result.stdout
    assert result.returncode == 0
    assert os.environ.get("REMOTECL_REQUIRED") is None
