"""The examples of sockets inside kernels, as a user runs them: each checks its own results and says so."""

import os
import re
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

import remotecl
from conftest import PROGRAM_TIMEOUT_S, run_command

ROOT = Path(__file__).parents[2]
EXAMPLES = ROOT / "examples/kernel_sockets"
# Each of several servers compiles the kernels for itself.
TIMEOUT_S = 2 * PROGRAM_TIMEOUT_S


def run_example(name: str, *arguments: object, **environment: str) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, str(EXAMPLES / name), *map(str, arguments)]
    return run_command(command, environment, timeout_s=TIMEOUT_S)


def output_of(name: str, *arguments: object) -> str:
    result = run_example(name, *arguments)
    assert result.returncode == 0, result.stdout + result.stderr
    return result.stdout


def path_with(folder: Path) -> str:
    return os.pathsep.join(filter(None, [str(folder), os.environ.get("PYTHONPATH")]))


def test_echo_with_socat_and_between_kernels():
    assert re.findall(r"(.*): equal", output_of("echo.py")) == [
        "socat and a server in a kernel",
        "a client in a kernel and socat",
        "kernel and kernel",
    ]


def test_echo_measures_messages_larger_than_a_ring_on_several_connections():
    table = output_of("echo.py", "--bench", "--sizes", "64,200000", "--connections", "1,5", "--time", "0.05")
    rows = [[float(cell) for cell in line.split()] for line in table.splitlines()[2:]]
    assert [row[:2] for row in rows] == [[64, 1], [200000, 1], [64, 5], [200000, 5]]
    assert all(figure > 0 for row in rows for figure in row[2::2])


@pytest.mark.parametrize("devices", [1, 2, 4])
def test_words_are_counted_as_the_reference_counts_them(devices):
    files = [ROOT / "README.md", ROOT / "docs/architecture.md", EXAMPLES / "word_count.cl"]
    lines = output_of("word_count.py", "--devices", devices, *files).splitlines()
    assert lines[-1] == "equal to the reference"
    assert f"{devices} devices" in lines[-2]


def test_words_at_the_edges_of_parts_and_of_what_is_told_apart(tmp_path):
    texts = {
        "long": b"x" * 27 + b"y " + b"x" * 27 + b"z " + b"x" * 26,  # The first two are the same word.
        "edges": b"first middle Middle MIDDLE m\xc3\xbcnchen M\xc3\xbcnchen last",
        "nothing": b" .\n" * 10,
        "empty": b"",
    }
    for name, text in texts.items():
        (tmp_path / name).write_bytes(text)
    assert "4 different words" in output_of("word_count.py", "--devices", 1, tmp_path / "edges")
    assert "2 different words" in output_of("word_count.py", "--devices", 1, tmp_path / "long")
    assert "0 different words" in output_of("word_count.py", "--devices", 1, tmp_path / "nothing")
    assert "0 different words" in output_of("word_count.py", "--devices", 2, tmp_path / "empty", tmp_path / "empty")


def test_words_of_files_that_are_longer_than_a_piece_and_come_twice(tmp_path):
    (tmp_path / "long").write_bytes(b"one two three " * ((17 << 20) // 14))
    lines = output_of("word_count.py", "--devices", 1, "--repeat", 2, tmp_path / "long").splitlines()
    assert lines[-2].endswith("read by the servers")
    assert lines[-1] == "equal to the reference"


@pytest.mark.parametrize("reader", ["server", "client"])
def test_either_side_reads_the_files(tmp_path, reader):
    words = tmp_path / "words"
    words.write_bytes(b"".join(b"word%d " % (number % 999) for number in range(20000)))
    lines = output_of("word_count.py", "--read-by", reader, words).splitlines()
    assert f"read by the {reader}" in lines[-2]
    assert lines[-1] == "equal to the reference"
    points = tmp_path / "points"
    points.write_bytes(np.random.default_rng(1).integers(0, 4096, (3000, 2), np.int32).astype("<i4").tobytes())
    lines = output_of("kmeans.py", "--read-by", reader, "--file", points, "--dimensions", 2).splitlines()
    assert f"read by the {reader}" in lines[-2]
    assert lines[-1] == "equal to the reference"


def test_bytes_that_servers_read_do_not_pass_the_client(tmp_path, run_program):
    file = tmp_path / "text"
    file.write_bytes(b"word " * (8 << 20))
    source = f"""
import pathlib, remotecl, common, inputs, word_count
files = [pathlib.Path({str(file)!r})]
with common.devices(None, 2, files) as devices:
    print(word_count.count_words(devices, inputs.ServerFiles(files)))
    print(sum(server.bytes_sent for server in remotecl.overview().stats))
"""
    counts, sent = run_program(source, PYTHONPATH=path_with(EXAMPLES)).stdout.splitlines()
    assert counts == f"Counter({{b'word': {8 << 20}}})"
    assert int(sent) < file.stat().st_size / 2  # tables of zeros


def test_servers_of_others_read_files_only_when_they_are_told_to(tmp_path):
    file = tmp_path / "text"
    file.write_bytes(b"not all words are words")
    allowed = {"kernel_connect": ["127.0.0.1:*"], "kernel_bind": ["127.0.0.1:*"]}
    with (
        remotecl.Server(**allowed, streams=[f"read:{tmp_path}"]) as reading,
        remotecl.Server(**allowed) as other,
    ):
        options = ["--devices", 1, "--servers", reading.address, "--"]
        assert "read by the client" in output_of("word_count.py", *options, file)
        options[:0] = ["--read-by", "server"]
        assert "read by the servers" in output_of("word_count.py", *options, file)
        result = run_example("word_count.py", *options, tmp_path / "none")
        assert result.returncode != 0
        assert "No such file" in result.stderr
        result = run_example(
            "word_count.py", "--read-by", "server", "--devices", 1, "--servers", other.address, "--", file
        )
        assert result.returncode != 0
        assert "--plugin-allow read:PATH" in result.stderr


@pytest.mark.parametrize("devices", [1, 2, 4])
def test_centroids_are_those_of_the_reference(devices):
    options = ["--points", 5000, "--clusters", 7, "--dimensions", 3, "--iterations", 6]
    lines = output_of("kmeans.py", "--devices", devices, *options).splitlines()
    assert lines[-1] == "equal to the reference"


def test_faces_are_verified_alike_by_all_three_designs():
    text = output_of("faces.py", "--clients", 6, "--requests", 16, "--people", 10)
    for design in ("kernel", "host-driven", "host"):
        assert re.search(rf"^{design} +[1-9]", text, re.MULTILINE), text
    assert "the same person 60, another one 24, unknown 12" in text
    assert "all designs gave the same answers" in text


def test_what_is_missing_is_named():
    empty = os.fspath(EXAMPLES)
    result = run_example("echo.py", PATH=empty)
    assert result.returncode != 0
    assert "apt-get install socat" in result.stderr
