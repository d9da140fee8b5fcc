"""The commands `remotecl` and `remotecl-server`."""

import json
import os
import re
import signal
import subprocess
import sys
from pathlib import Path

import pytest

import remotecl
from conftest import CLEAN_ENVIRONMENT
from remotecl import bench


def test_version(run_remotecl):
    assert run_remotecl("--version").stdout.strip() == f"remotecl {remotecl.__version__}"


def test_devices_of_named_servers(run_remotecl, cluster, addresses):
    for result in (
        run_remotecl("devices", "--servers", addresses),
        run_remotecl("devices", REMOTECL_SERVERS=addresses),
    ):
        assert result.returncode == 0, result.stderr
        assert all(address in result.stdout for address in cluster.addresses)
        assert result.stdout.count("\n  0: ") == 2


def test_devices_without_servers_says_what_to_do(run_remotecl):
    result = run_remotecl("devices")
    assert result.returncode == 1
    assert "REMOTECL_SERVERS" in result.stderr


def test_devices_shows_what_is_reachable_and_fails(run_remotecl, cluster):
    result = run_remotecl("devices", "--servers", f"127.0.0.1:1,{cluster.addresses[0]}")
    assert result.returncode == 1
    assert cluster.addresses[0] in result.stdout
    assert "127.0.0.1:1" in result.stderr


def test_info_without_servers(run_remotecl):
    result = run_remotecl("info")
    assert result.returncode == 0, result.stderr
    assert remotecl.icd_path() in result.stdout
    assert "(not set)" in result.stdout


def test_info_with_servers(run_remotecl, cluster, addresses):
    result = run_remotecl("info", REMOTECL_SERVERS=addresses)
    assert result.returncode == 0, result.stderr
    assert all(result.stdout.count(address) >= 2 for address in cluster.addresses)
    assert f"{' - '.join(cluster.addresses)}: connected" in result.stdout


def test_icd_path(run_remotecl):
    assert run_remotecl("icd-path").stdout.strip() == remotecl.icd_path()
    assert Path(remotecl.icd_path()).is_file()


def test_icd_path_vendors_has_this_machines_drivers_too(run_remotecl, tmp_path):
    (tmp_path / "other.icd").write_text("libother.so\n")
    vendors = run_remotecl("icd-path", "--vendors", OCL_ICD_VENDORS=str(tmp_path)).stdout.strip()
    assert remotecl._loading.vendors.drivers_in(vendors) == ["libother.so", remotecl.icd_path()]


@pytest.mark.parametrize(
    "arguments",
    [
        [],
        ["nonsense"],
        ["demo", "--size", "17"],
        ["devices", "--quick"],
        ["discover", "--timeout", "-1"],
        ["discover", "--timeout", "nan"],
        ["run"],
        ["run", "--"],
        ["run", "--servers", "gpu1"],
    ],
)
def test_bad_usage_is_exit_code_2(run_remotecl, arguments):
    assert run_remotecl(*arguments).returncode == 2


def test_demo_on_an_unknown_platform(run_remotecl):
    result = run_remotecl("demo", "--platform", "no such platform")
    assert result.returncode == 1
    assert "no such platform" in result.stderr


def test_the_server_command_becomes_the_daemon(run_remotecl):
    process = subprocess.Popen(
        [sys.executable, "-m", "remotecl._daemon", "--listen", "127.0.0.1:0", "--devices", "all", "--no-store"],
        env=CLEAN_ENVIRONMENT, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
    )  # fmt: skip
    with process:
        lines = iter(process.stdout.readline, "")
        listening = next(line for line in lines if line.startswith("listening on "))
        assert Path(f"/proc/{process.pid}/exe").readlink().name == "remotecl-server"
        address = listening.removeprefix("listening on ").strip()
        assert run_remotecl("devices", "--servers", address).returncode == 0
        process.send_signal(signal.SIGINT)
        assert process.wait(30) == 0


def test_the_server_command_refuses_a_bad_option():
    command = [sys.executable, "-m", "remotecl._daemon", "--nonsense"]
    result = subprocess.run(command, env=CLEAN_ENVIRONMENT, capture_output=True, text=True, timeout=60, check=False)
    assert result.returncode != 0
    assert "nonsense" in result.stderr


def test_bench_writes_json(run_remotecl, tmp_path):
    """Only that it runs against daemons of its own; what it measures is its own business."""
    if os.environ.get("LD_PRELOAD"):
        pytest.skip("times of a sanitized build mean nothing")
    file = tmp_path / "result.json"
    result = run_remotecl("bench", "--quick", "--json", str(file))
    assert result.returncode == 0, result.stderr
    report = json.loads(file.read_text())
    assert report["results"]
    assert not report["failures"]
    for row in report["results"]:
        assert {"name", "unit", "remotecl", "native", "raw", "ratio"} <= set(row)
    # Rows of one server and of several, in one report.
    names = {row["name"] for row in report["results"]}
    assert {"noop-finish", "migrate-4B", "fan-out-256MiB-to-3"} <= names
    for row in ("concurrent-kernels", "halo-64KiB-read", "halo-10MiB-write", "scatter-gather"):
        assert {row, f"{row}-several"} <= names
    assert {"write-64MiB-tcp", "read-1MiB-tcp", "halo-512KiB-write-tcp", "noop-finish-tcp"} <= names
    assert report["build"].split()[0] in ("RelWithDebInfo", "Release", "Demo", "Debug")


def test_bench_measures_chosen_rows():
    if os.environ.get("LD_PRELOAD"):
        pytest.skip("times of a sanitized build mean nothing")
    rows = bench.measure(["noop-finish", "read-4B"], quick=True)
    # One name is the beginning of another one's.
    assert {"noop-finish", "read-4B"} <= {row.name for row in rows}
    for row in rows:
        assert row.unit and row.remotecl > 0 and row.repetitions > 0


def test_bench_measures_over_tcp_what_it_measures_through_memory(run_remotecl, addresses):
    if os.environ.get("LD_PRELOAD"):
        pytest.skip("times of a sanitized build mean nothing")
    result = run_remotecl("bench", "--quick", "--servers", addresses, "--only", "write-64MiB")
    assert result.returncode == 0, result.stderr
    memory, tcp = (re.search(rf"^{row} .*$", result.stdout, re.MULTILINE) for row in ("write-64MiB", "write-64MiB-tcp"))
    assert memory and memory[0].rstrip().endswith("70 % of native")
    assert tcp and tcp[0].rstrip().endswith("95 % of raw, 1 stream")


@pytest.mark.parametrize("name", ["haocl", "dnn", "ar"])
def test_bench_says_where_the_benchmarks_of_programs_are(run_remotecl, name):
    result = run_remotecl("bench", name, "--seed", "1")
    assert (result.returncode, result.stdout) == (2, "")
    assert result.stderr == f"remotecl: `bench {name}` is now `python -m benchmarks.{name}` in the checkout\n"


def test_bench_takes_no_word(run_remotecl):
    result = run_remotecl("bench", "--quick", "nonsense")
    assert result.returncode == 2
    assert "unrecognized arguments: nonsense" in result.stderr


def test_bench_says_which_rows_it_does_not_have():
    with pytest.raises(remotecl.RemoteCLError, match='no case is named "nonsense"'):
        bench.measure("nonsense")


def test_bench_says_which_rows_need_more_servers(run_remotecl, addresses):
    if os.environ.get("LD_PRELOAD"):
        pytest.skip("times of a sanitized build mean nothing")
    result = run_remotecl(
        "bench", "--quick", "--servers", addresses, "--rows", "several", "--only", "fan-out,migrate-4B"
    )
    assert result.returncode == 0, result.stderr
    assert "fan-out-256MiB-to-3: needs 4 servers" in result.stderr
    assert "migrate-4B " in result.stdout
