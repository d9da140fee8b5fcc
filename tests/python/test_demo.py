"""The demo, on two daemons and natively."""

import itertools

import numpy as np
import pytest

from remotecl.demo import knn, matmul


def test_demo_on_two_servers(run_remotecl):
    result = run_remotecl("demo", "--size", "256")
    assert result.returncode == 0, result.stdout + result.stderr
    assert "0 predictions differ" in result.stdout
    assert "Everything is right." in result.stdout
    assert result.stdout.count("device ") >= 2
    assert "Where every buffer is now" in result.stdout


def test_demo_on_named_servers(run_remotecl, addresses, cluster):
    result = run_remotecl("demo", "--size", "64", "--servers", addresses)
    assert result.returncode == 0, result.stdout + result.stderr
    assert all(address in result.stdout for address in cluster.addresses)


def test_demo_on_a_native_platform(run_remotecl):
    result = run_remotecl("demo", "--size", "64", "--platform", "portable", OCL_ICD_VENDORS="libpocl.so.2")
    if "no OpenCL platform" in result.stderr or "PLATFORM_NOT_FOUND" in result.stderr:
        pytest.skip("this machine has no PoCL of its own")
    assert result.returncode == 0, result.stdout + result.stderr


def test_a_wrong_result_is_exit_code_1(run_program):
    result = run_program(
        """
import sys
from remotecl.demo import knn, run
right = knn.reference_predictions
knn.reference_predictions = lambda digits: right(digits) + (digits.query_labels == 3)
sys.exit(run.main(size=64))
""",
        check=False,
    )
    assert result.returncode == 1, result.stderr
    assert "WRONG RESULTS" in result.stdout


def test_the_error_measure_finds_one_wrong_element():
    random = np.random.default_rng(0)
    a, b = (random.standard_normal((64, 64), np.float32) for _ in range(2))
    product = a @ b
    assert matmul.worst_error(a, b, product) < 1
    product[3, 5] += 0.01
    assert matmul.worst_error(a, b, product) > 1


def test_no_tie_decides_a_vote():
    """scikit-learn's choice among equal distances is unspecified, so none may matter for the comparison."""
    digits = knn.load_digits()
    for query in digits.queries:
        distances = ((digits.training - query) ** 2).sum(axis=1)
        order = np.argsort(distances, kind="stable")
        last = distances[order[knn.NEIGHBOURS - 1]]
        sure = digits.training_labels[distances < last]
        tied = digits.training_labels[distances == last]
        free = knn.NEIGHBOURS - len(sure)
        winners = {
            np.bincount([*sure, *chosen], minlength=knn.CLASSES).argmax()
            for chosen in itertools.combinations(tied, free)
        }
        assert len(winners) == 1


def test_it_ends_with_a_comparison_and_what_to_try(run_remotecl):
    result = run_remotecl("demo", "--size", "64")
    assert result.returncode == 0, result.stderr
    table, rest = result.stdout.split("From arrays to results")[1].split("What to try next:")
    heading, digits, product = table.splitlines()[1:4]
    assert "2 servers" in heading
    assert "this machine's" in heading
    assert digits.count(" ms") == product.count(" ms") == 2
    assert "run --local 2" in rest
    assert result.stdout.rstrip().endswith("Everything is right.")
