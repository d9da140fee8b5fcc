"""`benchmarks.ar`: each configuration shows the right picture; links and the weak client are what they say."""

import json
import shutil
import socket
import subprocess
import sys
import threading
import time
from pathlib import Path

import numpy as np
import pytest

from benchmarks.ar import links, run
from benchmarks.ar.pipelines import CONFIGURATIONS
from benchmarks.ar.throttle import throttled
from benchmarks.start import start
from remotecl.bench.link import Link

pytestmark = pytest.mark.skipif(shutil.which("ffmpeg") is None, reason="the command ffmpeg is missing")
SMALL = {"patch": 32, "pixels": 64, "frames": 8, "seconds": 0.3, "client_part": 1.0}


def measured(folder, link, *configurations):
    """Exit code and results of a small run in this process."""
    file = folder / "report.json"
    code = run.main([link] if link else [], configurations=configurations, json_file=str(file), **SMALL)
    return code, json.loads(file.read_text())


def test_the_command(run_in_checkout, tmp_path):
    file = tmp_path / "report.json"
    small = [word for name, value in SMALL.items() for word in (f"--{name.replace('_', '-')}", str(value))]
    result = run_in_checkout("-m", "benchmarks.ar", *small, "--configurations", "complete", "--json", str(file))
    assert result.returncode == 0, result.stdout + result.stderr
    assert result.stdout.rstrip().endswith("Everything is right.")
    (row,) = json.loads(file.read_text())["results"]
    assert (row["link"], row["configuration"], row["problem"]) == ("loopback", "complete", "")


def test_all_configurations(monkeypatch, tmp_path):
    """Only the points that there are travel where they have a content size."""
    monkeypatch.setenv("REMOTECL_COMPRESSION", "off")  # room that no point uses would become small in another way
    code, report = measured(tmp_path, "", *CONFIGURATIONS)
    assert code == 0
    rows = {row["configuration"]: row for row in report["results"]}
    assert list(rows) == list(CONFIGURATIONS)
    for row in rows.values():
        assert row["problem"] == ""
        assert row["frames"] >= 6
        assert row["alone_s"] > 0
        assert 0 < row["latency_p50_s"] <= row["latency_p99_s"]
        assert row["processor_s"] > 0
        assert (row["servers_s"] > 0) == (row["client_bytes"] > 0) == (row["configuration"] != "local")
    capacity, points = report["capacity"], report["points"]
    assert capacity == 6144 > 5 * points
    of_client = {name: row["client_bytes"] for name, row in rows.items()}
    assert of_client["remote-sort"] > of_client["two-servers"] > of_client["two-servers-content"] > 4 * points
    assert of_client["two-servers-content"] < 4 * capacity
    between = {name: row["peer_bytes"] for name, row in rows.items()}
    assert between["two-servers"] > 2 * between["two-servers-content"] > 15 * points
    assert between["one-server"] == between["complete"] == 0
    assert 2 * 64 * 64 < of_client["complete"] < 2 * 64 * 64 + 8000
    compared = {target["name"]: target["times"] for target in report["targets"]["loopback"]}
    assert list(compared.values()) == [
        pytest.approx(rows["complete"]["frames_per_s"] / rows["local"]["frames_per_s"]),
        pytest.approx(rows["complete"]["frames_per_s"] / rows["remote-sort"]["frames_per_s"]),
        pytest.approx(rows["local"]["processor_s"] / rows["complete"]["processor_s"]),
    ]


def test_a_wrong_picture_is_exit_code_1(monkeypatch, tmp_path):
    honest = run._expected

    def mistaken(*arguments):
        points, image = honest(*arguments)
        return points, image[::-1]

    monkeypatch.setattr(run, "_expected", mistaken)
    code, report = measured(tmp_path, "", "local")
    assert code == 1
    assert "of its pixels differ" in report["results"][0]["problem"]
    assert report["failures"] == [f"loopback, local: {report['results'][0]['problem']}"]


def test_without_root_relays_are_the_link(monkeypatch, tmp_path):
    monkeypatch.setattr(links, "_why_no_namespaces", lambda: "network namespaces need root")
    code, report = measured(tmp_path, "100m", "two-servers-content")
    assert code == 0
    assert "a relay's own limits (network namespaces need root)" in report["links"]["100m"]
    assert report["results"][0]["alone_s"] > 0.01


def test_a_link_of_namespaces(tmp_path):
    """Far away for the client, and servers reach each other without it; nothing is left behind."""
    if why := links._why_no_namespaces():
        pytest.skip(why)
    code, report = measured(tmp_path, "20m", "two-servers-content", "complete")
    assert code == 0
    assert report["links"]["20m"].endswith("network namespaces")
    for row in report["results"]:
        assert row["alone_s"] > 0.06
    assert report["results"][0]["peer_bytes"] > 1000
    left = subprocess.run(["ip", "netns", "list"], capture_output=True, text=True, check=True).stdout
    assert not [name for name in left.split() if name.startswith(f"remotecl-{run.os.getpid()}-")]


@pytest.mark.parametrize(
    ("arguments", "code", "says"),
    [
        (["--link", "56k"], 2, "'56k' is none of 1g, 100m, 20m"),
        (["--configurations", "nowhere"], 2, "'nowhere' is none of local"),
        (["--patch", "48"], 2, "it must be a power of two, at least 16"),
        (["--codec", "vp8"], 2, "invalid choice"),
    ],
)
def test_bad_options_have_clear_errors(arguments, code, says, capsys):
    try:
        ended = start("benchmarks.ar", arguments)
    except SystemExit as usage:
        ended = usage.code
    errors = capsys.readouterr().err
    assert (ended, says in errors) == (code, True), errors


def test_a_weak_client_has_a_part_of_a_core():
    program = "import sys, time\nsys.stdin.readline()\nend = time.monotonic() + 1\nwhile time.monotonic() < end: pass\n"
    program += "print(time.process_time())"
    with throttled(0.1) as (group, words):
        if not group:
            assert "NOT throttled" in words
            pytest.skip(words)
        with subprocess.Popen(
            [sys.executable, "-c", program], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
        ) as busy:
            Path(group, "cgroup.procs").write_text(str(busy.pid))
            used, _ = busy.communicate("go on\n")
    assert 0.02 < float(used) < 0.4, "with what it had used before"
    assert not Path(group).exists()


def test_some_packets_are_late():
    """And what follows them waits, as in TCP."""
    with socket.create_server(("127.0.0.1", 0)) as listener:
        address = f"127.0.0.1:{listener.getsockname()[1]}"
        with Link(address, delay_ms=20, gbit_per_s=1, late_part=0.5) as link:
            host, _, port = link.address.rpartition(":")
            with socket.create_connection((host, int(port))) as near:
                far, _ = listener.accept()
                seconds = []
                for number in range(20):
                    start = time.monotonic()
                    threading.Thread(target=near.sendall, args=(bytes([number]),)).start()
                    assert far.recv(1) == bytes([number])
                    seconds.append(time.monotonic() - start)
                far.close()
    assert min(seconds) >= 0.02
    assert 2 <= np.count_nonzero(np.array(seconds) > 0.04) <= 18
