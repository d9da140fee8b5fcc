"""The five applications of `benchmarks.haocl`: right on one device, on several and natively; mistakes are found."""

import json
import sys

import numpy as np
import pyopencl as cl
import pytest

import remotecl
from benchmarks.haocl import bfs, cfd, knn, machine, matmul, mesh, run, spmv
from benchmarks.haocl.run import NAMES
from benchmarks.options import counts
from benchmarks.start import start

SCALE = 0.0005
KINDS = {
    "matmul": matmul.MatrixMul,
    "cfd": cfd.EulerSolver,
    "knn": knn.NearestNeighbours,
    "bfs": bfs.BreadthFirstSearch,
    "spmv": spmv.SparseProduct,
}


@pytest.fixture
def two_devices(connection) -> machine.Machine:
    return machine.Machine.of_devices(connection.devices[:2])


def run_on(two: machine.Machine, application) -> np.ndarray:
    return application.prepare(two).run(machine.Clock(two))


def test_all_applications_are_tested():
    assert sorted(KINDS) == sorted(NAMES)


def test_all_are_right_on_one_and_two_devices(run_in_checkout, addresses, tmp_path):
    file = tmp_path / "report.json"
    result = run_in_checkout(
        "-m", "benchmarks.haocl", "--servers", addresses, "--scale", str(SCALE), "--repetitions", "2", "--json",
        str(file),
    )  # fmt: skip
    assert result.returncode == 0, result.stdout + result.stderr
    assert result.stdout.rstrip().endswith("Everything is right.")
    report = json.loads(file.read_text())
    assert [device["server"] for device in report["devices"]] == addresses.split(",")
    rows = {(row["application"], row["where"], row["devices"]): row for row in report["results"]}
    for name in NAMES:
        one, two = rows[name, "remotecl", 1], rows[name, "remotecl", 2]
        automatic = rows[name, "automatic", 2]
        assert one["problem"] == two["problem"] == automatic["problem"] == ""
        assert len(two["shares"]) == 2 and min(two["shares"]) > 0
        assert sum(two["shares"]) == sum(one["shares"]) == next(iter(one["size"].values()))
        native = rows.get((name, "native", 1))
        for row in (one, two, automatic):
            assert min(row["data_create_s"], row["transfer_s"], row["compute_s"]) > 0
            assert row["end_to_end_s"] == pytest.approx(row["transfer_s"] + row["compute_s"])
            assert (row["speedup"] is None) == (native is None)
            if native:
                assert row["speedup"] == pytest.approx(native["end_to_end_s"] / row["end_to_end_s"])
                assert row["resident_speedup"] == pytest.approx(native["compute_s"] / row["compute_s"])
    assert (report["native_device"] is None) == (("knn", "native", 1) not in rows)


def test_it_starts_servers_and_takes_sizes_of_matrices(run_in_checkout, tmp_path):
    file = tmp_path / "report.json"
    result = run_in_checkout(
        "-m", "benchmarks.haocl", "matmul", "--devices", "1", "--sizes", "70..130:60,100", "--repetitions", "1",
        "--json", str(file),
    )  # fmt: skip
    assert result.returncode == 0, result.stdout + result.stderr
    rows = [row for row in json.loads(file.read_text())["results"] if row["where"] == "remotecl"]
    assert [(row["size"]["n"], row["devices"]) for row in rows] == [(70, 1), (130, 1), (100, 1)]


def test_wrong_kernels_are_exit_code_1(run_in_checkout, addresses):
    """One wrong sign, border or comparison in each application."""
    result = run_in_checkout(
        "-c",
        f"""
from benchmarks.haocl import bfs, cfd, knn, matmul, run, spmv
run.native_device = lambda device: None
mistakes = {{
    "matmul": (matmul, "row < rows && column < n) product", "row < rows && column < n - 1) product"),
    "cfd": (cfd, "neighbour - count)", "0)"),
    "knn": (knn, "part * part_rows; row < end", "part * part_rows + 1; row < end"),
    "bfs": (bfs, "other < others", "other < others - 1"),
    "spmv": (spmv, "other = 1; other < LANES", "other = 2; other < LANES"),
}}
for name in run.NAMES:
    module, right, wrong = mistakes[name]
    assert module.SOURCE.count(right) == 1, name
    module.SOURCE = module.SOURCE.replace(right, wrong)
    code = run.main([name], {addresses.split(",")!r}, devices=[2], scale={SCALE}, repetitions=1)
    print(name, "ends with", code)
""",
    )
    assert result.returncode == 0, result.stdout + result.stderr
    for name in NAMES:
        assert f"{name} ends with 1" in result.stdout
    assert result.stdout.count("WRONG RESULTS") == len(NAMES)


@pytest.mark.parametrize("name", NAMES)
def test_one_wrong_element_is_found(name, two_devices):
    application = KINDS[name](SCALE, 1)
    result = run_on(two_devices, application)
    assert application.problem(result) == ""
    wrong = result.copy()
    last = wrong.reshape(-1)[-1:]
    last[:] = last + 1 if wrong.dtype.kind in "iu" else last * 1.01 + 0.001
    assert application.problem(wrong)


@pytest.mark.parametrize("name", NAMES)
def test_data_is_the_seeds(name):
    one, again, other = (KINDS[name](SCALE, seed) for seed in (1, 1, 2))
    arrays = [
        [value for value in vars(each.mesh if name == "cfd" else each).values() if isinstance(value, np.ndarray)]
        for each in (one, again, other)
    ]
    assert arrays[0]
    assert all(np.array_equal(a, b) for a, b in zip(arrays[0], arrays[1], strict=True))
    assert not all(np.array_equal(a, b) for a, b in zip(arrays[0], arrays[2], strict=True))


@pytest.mark.parametrize("name", NAMES)
def test_the_papers_sizes_are_met(name):
    kind = KINDS[name]
    made = kind(0.02, 0)
    assert made.bytes == pytest.approx(0.02 * kind.PAPER_BYTES, rel=0.3 if name in ("cfd", "knn") else 0.03)


@pytest.mark.parametrize("name", ["cfd", "knn", "bfs", "spmv"])
def test_devices_exchange_data_without_this_process(name, two_devices):
    plan = KINDS[name](SCALE, 0).prepare(two_devices)
    with remotecl.trace() as t:
        plan.run(machine.Clock(two_devices))
    assert len({record.device for record in t if record.kind == "kernel"}) == 2
    between = [record for record in t if "client" not in (record.source, record.destination)]
    assert any(record.source != record.destination for record in between)


def test_rows_follow_measured_speeds(two_devices, monkeypatch):
    monkeypatch.setattr(matmul._Plan, "_speed", lambda self, share: [3.0, 1.0][share])
    product = matmul.MatrixMul(1, 0, n=256)
    plan = product.prepare(two_devices)
    assert plan.shares == [192, 64]
    assert product.problem(plan.run(machine.Clock(two_devices))) == ""


def test_speeds_are_measured(two_devices):
    plan = matmul.MatrixMul(1, 0, n=64 * 20).prepare(two_devices)
    assert sum(plan.shares) == 64 * 20
    assert all(share % 64 == 0 for share in plan.shares)
    assert all(plan._speed(share) > 0 for share in (0, 1))


def test_divide():
    def cut(*arguments):
        return [(part.start, part.stop) for part in machine.divide(*arguments)]

    assert cut(10, [1, 1]) == [(0, 5), (5, 10)]
    assert cut(100, [3, 1], 16) == [(0, 80), (80, 100)]
    assert cut(5, [1, 1000, 1]) == [(0, 1), (1, 4), (4, 5)]  # nobody is left out
    assert cut(3, [1000, 1, 1]) == [(0, 1), (1, 2), (2, 3)]
    with pytest.raises(remotecl.RemoteCLError, match="too small to divide it over 3 devices"):
        cut(32, [1, 1, 1], 16)


def test_one_kind_of_device_divides_and_another_multiplies():
    cpu, gpu, accelerator = cl.device_type.CPU, cl.device_type.GPU, cl.device_type.ACCELERATOR
    assert spmv.roles([gpu, cpu, gpu]) == spmv.Roles(1, [0, 2])
    assert spmv.roles([accelerator, gpu]) == spmv.Roles(1, [0])
    assert spmv.roles([cpu | cl.device_type.DEFAULT, gpu]) == spmv.Roles(0, [1])
    assert spmv.roles([gpu, gpu]) == spmv.Roles(0, [0, 1])
    assert spmv.roles([cpu]) == spmv.Roles(0, [0])


def test_another_device_than_the_one_that_divides_can_multiply(two_devices, monkeypatch):
    monkeypatch.setattr(spmv, "roles", lambda kinds: spmv.Roles(1, [0]))
    product = spmv.SparseProduct(SCALE, 0)
    plan = product.prepare(two_devices)
    assert product.problem(plan.run(machine.Clock(two_devices))) == ""
    assert plan.shares == [len(product.vector), 0]


def test_the_mesh_is_closed():
    made = mesh.make_mesh(4, 0)
    elements = np.arange(len(made))
    assert len(made) == 6 * 4**3
    assert np.abs(made.normals.sum(axis=0)).max() < 1e-6  # around each element
    for face in range(4):
        inside = made.neighbours[face] >= 0
        back = made.neighbours[:, made.neighbours[face, inside]]
        assert (back == elements[inside]).any(axis=0).all()
    # Two triangles a cell on each of the six sides of the cube.
    assert (made.neighbours == mesh.WALL).sum() == 2 * 2 * 4**2
    assert (made.neighbours == mesh.FAR_FIELD).sum() == 4 * 2 * 4**2


@pytest.mark.parametrize(
    ("arguments", "code", "says"),
    [
        (["--seed", "-1"], 2, "it must be at least 0"),
        (["knn", "--scale", "0.0005", "--json", "/nowhere/file"], 2, "/nowhere/file cannot be written"),
        (["knn", "--scale", "0.0005", "--json", "/"], 2, "/ cannot be written"),
        (["nonsense"], 2, "no application is named 'nonsense'; there are matmul, "),
        (["--scale", "0"], 2, "it must be more than 0"),
        (["--devices", "0"], 2, "it must be at least 1"),
        (["--devices", "2..1"], 2, "2..1 has no number in it"),
        (["--repetitions", "0"], 2, "it must be at least 1"),
        (["knn", "--sizes", "100"], 1, "--sizes is for matmul, which is not among knn"),
        (["knn", "--devices", "1..3"], 1, "--devices asks for 3 devices, and the servers have 2"),
        (["matmul", "--sizes", "40", "--devices", "2"], 1, "too small to divide it over 2 devices"),
    ],
)
def test_bad_options_have_clear_errors(arguments, code, says, connection, capsys):
    try:
        ended = start("benchmarks.haocl", ["--servers", ",".join(connection.servers), *arguments])
    except SystemExit as usage:
        ended = usage.code
    errors = capsys.readouterr().err
    assert (ended, says in errors) == (code, True), errors


def test_numbers_of_devices():
    assert counts("1..4") == [1, 2, 3, 4]
    assert counts("1,2,8..10") == [1, 2, 8, 9, 10]
    assert counts("1000..10000:3000") == [1000, 4000, 7000, 10000]


def test_without_scipy_it_says_what_needs_it(monkeypatch):
    monkeypatch.setitem(sys.modules, "scipy", None)
    with pytest.raises(remotecl.RemoteCLError, match="SciPy, which checks bfs and spmv, is not installed: pip install"):
        run.main()


@pytest.mark.parametrize(
    ("missing", "says"),
    [
        ("remotecl", "benchmarks.haocl needs remotecl, which is not installed: `make package`"),
        ("numpy", "benchmarks.haocl needs numpy, which is not installed: pip install numpy"),
        ("pyopencl", "benchmarks.haocl: this needs PyOpenCL, which is not installed: pip install pyopencl"),
    ],
)
def test_what_is_missing_is_said_in_one_line(missing, says, run_in_checkout):
    """Before anything that needs it is imported."""
    hidden = f"""
import importlib.machinery, runpy, sys
find = importlib.machinery.PathFinder.find_spec
def find_others(name, path=None, target=None):
    return None if name == {missing!r} else find(name, path, target)
importlib.machinery.PathFinder.find_spec = find_others
sys.argv[1:] = ["--help"]
runpy.run_module("benchmarks.haocl", run_name="__main__")
"""
    result = run_in_checkout("-c", hidden)
    assert (result.returncode, result.stdout) == (1, "")
    assert result.stderr.splitlines()[-1].startswith(says), result.stderr
