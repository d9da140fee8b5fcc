"""`benchmarks.dnn`: networks learn, the same with each optimisation, in each place, and on several devices."""

import itertools
import json
import re
import time

import numpy as np
import pyopencl as cl
import pytest

import remotecl
from benchmarks.dnn.architectures import ALEXNET, CIFAR10_QUICK, LENET
from benchmarks.dnn.data import digits, generated
from benchmarks.dnn.layers import Dropout, ReLU
from benchmarks.dnn.machine import CACHED, COMPILED, REBUILT, Machine, Options
from benchmarks.dnn.network import Network
from benchmarks.dnn.places import PLACES
from benchmarks.dnn.replicas import Replicas
from benchmarks.dnn.run import ladder
from benchmarks.dnn.tensor import Shape
from benchmarks.start import start
from remotecl.bench.link import Link


def network_on(device: cl.Device, architecture, images: int, options: Options | None = None) -> Network:
    return Network(Machine(cl.Context([device]), device, options), architecture, images)


def losses_of(trained, data, batch: int, steps: int) -> list[float]:
    losses = []
    for number in range(steps):
        images = data.batch(number, batch)
        trained.load(images.images, images.labels)
        trained.step()
        losses.append(trained.mean_loss())
    return losses


@pytest.fixture
def device(connection) -> cl.Device:
    return connection.devices[0]


def test_lenet_learns_digits(device):
    train, test = digits()
    lenet = network_on(device, LENET, LENET.batch)
    losses = losses_of(lenet, train, LENET.batch, 100)
    assert losses[0] == pytest.approx(np.log(10), rel=0.2)
    assert np.mean(losses[-5:]) < 0.2
    assert (lenet.classes(test.images) == test.labels).mean() >= 0.95


def test_cifar10_quick_learns(device):
    batch = 10
    data = generated(CIFAR10_QUICK, batch)
    losses = losses_of(network_on(device, CIFAR10_QUICK, batch), data, batch, 8)
    assert losses[-1] < losses[0]


def test_alexnet_is_as_large_as_it_should_be(device):
    alexnet = network_on(device, ALEXNET, 1)
    assert alexnet.parameters.count == 60_965_224  # as Caffe's
    outputs = {layer.shape.features for layer in alexnet.layers}
    assert {96 * 55 * 55, 256 * 27 * 27, 384 * 13 * 13, 256 * 6 * 6, 4096, 1000} <= outputs
    assert [layer.seed for layer in alexnet.layers if isinstance(layer, Dropout)] == [1, 2]


def test_all_optimisations_learn_the_same(device):
    train, _ = digits()
    batch = 8
    expected = losses_of(network_on(device, LENET, batch), train, batch, 3)
    for kernels, batched, queues in itertools.product((CACHED, REBUILT), (True, False), (1, 2)):
        found = losses_of(network_on(device, LENET, batch, Options(kernels, batched, queues)), train, batch, 3)
        assert found == pytest.approx(expected, rel=1e-4)


def test_what_each_optimisation_saves(device):
    """Programs and launches of a step."""
    train, _ = digits()
    images = train.batch(0, 4)
    counts = {}
    for options in (Options(REBUILT), Options(), Options(batched=False)):
        network = network_on(device, LENET, 4, options)
        network.load(images.images, images.labels)
        network.step()
        machine = network.machine
        before = machine.builds, machine.launches
        network.step()
        counts[options] = machine.builds - before[0], machine.launches - before[1]
    builds, launches = counts[Options()]
    assert builds == 0
    assert counts[Options(REBUILT)][0] >= 2 * len(LENET.layers)  # in each pass
    assert counts[Options(REBUILT)][1] == launches
    assert counts[Options(batched=False)][1] > launches


@pytest.mark.parametrize(("kernels", "sources"), [(CACHED, 1), (REBUILT, 1), (COMPILED, 2)])
def test_only_what_is_compiled_is_new(device, monkeypatch, kernels, sources):
    """A driver or a server may remember the program of a rebuilt kernel."""
    seen = set()
    program = cl.Program
    monkeypatch.setattr(cl, "Program", lambda context, source: seen.add(source) or program(context, source))
    machine = Machine(cl.Context([device]), device, Options(kernels))
    layer = ReLU(machine, Shape(1, 1))
    for _ in range(2):
        machine.begin_pass()
        layer.forward(machine.buffer(1))
    assert len(seen) == sources
    assert machine.builds == (1 if kernels == CACHED else 2)


def test_devices_learn_together_what_one_learns(connection):
    """The whole batch on one device, and its parts on devices of two servers that send each other their gradients."""
    train, _ = digits()
    batch, steps = 16, 4
    one = network_on(connection.devices[0], LENET, batch)
    expected = losses_of(one, train, batch, steps)
    devices = {remotecl.server_of(device): device for device in connection.devices}
    replicas = Replicas(list(devices.values()), LENET, batch)
    with remotecl.trace() as t:
        assert losses_of(replicas, train, batch, steps) == pytest.approx(expected, rel=1e-4)
    first, *others = (network.parameters.array() for network in replicas.networks)
    assert all(np.array_equal(first, other) for other in others)
    np.testing.assert_allclose(first, one.parameters.array(), atol=1e-5)
    between = [record for record in t if record.source != record.destination]
    between = [record for record in between if "client" not in (record.source, record.destination)]
    # Each step half of the gradients and half of the parameters go each way.
    assert sum(record.bytes for record in between) == pytest.approx(steps * 2 * first.nbytes, rel=0.01)


def test_dropped_numbers_are_the_same_on_several_devices(connection):
    devices = list({remotecl.server_of(device): device for device in connection.devices}.values())
    layers = (*LENET.layers[:6], Dropout, LENET.layers[6])
    architecture = type(LENET)("dropping", 1, 8, 10, 8, 0.01, layers)
    train, _ = digits()
    expected = losses_of(network_on(devices[0], architecture, 8), train, 8, 2)
    assert losses_of(Replicas(devices, architecture, 8), train, 8, 2) == pytest.approx(expected, rel=1e-4)


def test_a_batch_must_come_out_even(connection):
    devices = connection.devices[:2]
    with pytest.raises(remotecl.RemoteCLError, match="7 images cannot be divided evenly between 2 devices"):
        Replicas(devices, LENET, 7)


def test_the_command(run_in_checkout, tmp_path):
    """In all places, and on two devices."""
    file = tmp_path / "report.json"
    result = run_in_checkout(
        "-m", "benchmarks.dnn", "lenet", "--batch", "4", "--steps", "2", "--layout", "images,batched", "--devices", "2",
        "--json", str(file),
    )  # fmt: skip
    assert result.returncode == 0, result.stdout + result.stderr
    # The native PoCL writes the number of its compiler's remarks into this process's error stream.
    assert re.sub(r"\d+ warnings? generated\.\n", "", result.stderr) == ""
    assert result.stdout.rstrip().endswith("Everything is right.")
    report = json.loads(file.read_text())
    trips = {place["name"]: place["round_trip_s"] for place in report["places"]}
    assert trips["far"] > 2e-3 > trips["remotecl"]  # 1 ms each way
    rows = {(row["where"], row["options"]["batched"]): row for row in report["results"]}
    assert list(rows) == [
        *itertools.product(PLACES, (False,)),
        *itertools.product(PLACES, (True,)),
        ("2 devices", True),
    ]
    for (where, batched), row in rows.items():
        assert row["problem"] == ""
        assert row["builds"] == 0 < row["launches"]
        assert (row["speedup"] is None) == (not batched or where == "2 devices")
        assert row["gain"] == row["speedup"]  # the second row of its place differs from the first in one choice
        assert (row["target_s"] is None) == (where in ("native", "2 devices"))
        assert (row["sent"] is None) == (where in ("native", "2 devices"))
        assert len(row["losses"]) == 6
    native, near, far = (rows[where, True] for where in PLACES)
    assert far["step_s"] > trips["far"] / 2
    assert near["target_s"] == pytest.approx(1.05 * native["step_s"])
    assert far["target_s"] == pytest.approx(1.1 * native["step_s"] + trips["far"])
    assert all(row["met"] == (row["step_s"] <= row["target_s"]) for row in (near, far))


# One layer, because its kernels are compiled in each step.
LADDER = """
from functools import partial
from benchmarks.dnn import run
from benchmarks.dnn.architectures import Architecture
from benchmarks.dnn.layers import Convolution

layers = (partial(Convolution, filters=3, size=6),)
run.ARCHITECTURES["tiny"] = Architecture("tiny", 1, 6, 3, 6, 0.01, layers)
raise SystemExit(run.main(["tiny"], where=run.PLACES[:2], json_file="FILE"))
"""


def test_the_ladder(run_in_checkout, tmp_path):
    """From none of the optimisations to all: the same losses, and what each of them brings."""
    file = tmp_path / "report.json"
    result = run_in_checkout("-c", LADDER.replace("FILE", str(file)))
    assert result.returncode == 0, result.stdout + result.stderr
    assert result.stdout.rstrip().endswith("Everything is right.")
    report = json.loads(file.read_text())
    rows = {(Options(**row["options"]), row["where"]): row for row in report["results"]}
    rungs = ladder()
    assert list(rows) == list(itertools.product(rungs, PLACES[:2]))
    expected = rows[rungs[-1], "native"]["losses"]
    assert len(expected) == 12 and len(set(expected)) == 12
    for (options, where), row in rows.items():
        assert len(row["losses"]) == {COMPILED: 1, REBUILT: 6, CACHED: 12}[options.kernels]
        assert row["losses"] == pytest.approx(expected[: len(row["losses"])], rel=1e-4)
        assert (row["builds"] == 0) == (options.kernels == CACHED)
        assert (row["loading_step_s"] is None) == (options.kernels == COMPILED)
        below = {  # the last rung before it that differs in one choice
            rungs[0]: None, rungs[1]: rungs[0], rungs[2]: rungs[1], rungs[3]: rungs[2], rungs[4]: rungs[2],
            rungs[5]: rungs[4],
        }[options]  # fmt: skip
        assert row["gain"] == (below and pytest.approx(rows[below, where]["step_s"] / row["step_s"]))
        assert row["speedup"] == (below and pytest.approx(rows[rungs[0], where]["step_s"] / row["step_s"]))
    for where in PLACES[:2]:
        assert rows[rungs[0], where]["step_s"] > 3 * rows[rungs[2], where]["step_s"]  # compiling takes far longer
        assert rows[rungs[2], where]["launches"] > rows[rungs[4], where]["launches"]
        assert rows[rungs[0], where]["target_s"] is None


@pytest.mark.parametrize("queues", [1, 2])
def test_a_far_step_takes_one_round_trip(cluster, queues):
    """Where nothing limits it but the way: however many kernels and queues there are, the loss alone is waited for."""
    delay_s = 0.05
    train, _ = digits()
    images = train.batch(0, 2)
    with Link(cluster.addresses[0], delay_s * 1e3, 100) as link, remotecl.connect(link.address) as far:
        network = network_on(far.devices[0], LENET, 2, Options(batched=False, queues=queues))
        network.load(images.images, images.labels)
        for _ in range(2):
            start = time.monotonic()
            network.step()
            network.mean_loss()
            seconds = time.monotonic() - start
    assert network.machine.launches > 50
    assert 2 * delay_s <= seconds < 4 * delay_s


def test_other_losses_are_exit_code_1(run_in_checkout):
    result = run_in_checkout(
        "-c",
        """
from benchmarks.dnn import run
honest = run._on_place
def mistaken(task, place, options):
    task.seed += 1
    return honest(task, place, options)
run._on_place = mistaken
code = run.main(["lenet"], where=["native", "remotecl"], options=[run.Options()], batch=4, steps=1)
print("ends with", code)
""",
    )
    assert "ends with 1" in result.stdout
    assert "losses differ by" in result.stdout


@pytest.mark.parametrize(
    ("arguments", "code", "says"),
    [
        (["--seed", "-1"], 2, "it must be at least 0"),
        (
            ["lenet", "--places", "native", "--kernels", "cached", "--json", "/nowhere/file"],
            2,
            "/nowhere/file cannot be written",
        ),
        (["nonsense"], 2, "no network is named 'nonsense'; there are lenet, cifar10, alexnet"),
        (["--places", "moon"], 2, "'moon' is none of native, remotecl, far"),
        (["--kernels", "cached,none"], 2, "'none' is none of cached, rebuilt, compiled"),
        (["--queues", "0"], 2, "it must be at least 1"),
        (["--gbit", "0"], 2, "it must be more than 0"),
        (["--devices", "3", "--places", "native"], 1, "--devices asks for 3 devices, and the servers have 2"),
    ],
)
def test_bad_options_have_clear_errors(arguments, code, says, connection, capsys):
    try:
        ended = start("benchmarks.dnn", ["--servers", ",".join(connection.servers), *arguments])
    except SystemExit as usage:
        ended = usage.code
    errors = capsys.readouterr().err
    assert (ended, says in errors) == (code, True), errors


def test_a_link_is_late_and_slow():
    """Bytes come when the link has had the time for them, and the delay after that."""
    import socket
    import threading

    with socket.create_server(("127.0.0.1", 0)) as listener:
        port = listener.getsockname()[1]
        with Link(f"127.0.0.1:{port}", delay_ms=20, gbit_per_s=0.08) as link:  # 10 MB/s
            host, _, link_port = link.address.rpartition(":")
            start = time.monotonic()
            with socket.create_connection((host, int(link_port))) as near:
                far, _ = listener.accept()
                sender = threading.Thread(target=near.sendall, args=(bytes(1_000_000),))
                sender.start()
                received = 0
                while received < 1_000_000:
                    received += len(far.recv(1 << 16))
                assert time.monotonic() - start >= 0.12
                sender.join()
                far.close()
                assert near.recv(1) == b""
