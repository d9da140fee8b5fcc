"""DaskCluster on a real Dask cluster of several processes on this machine."""

import json
import os
import signal
import subprocess
import sys
from pathlib import Path

import distributed
import pytest

import remotecl
from conftest import CLEAN_ENVIRONMENT, PROGRAM_TIMEOUT_S
from test_server import can_connect, is_alive, wait_until_gone
from test_ssh_cluster import wait_until_closed

WORKERS = 3

JOB = """
import json, os
import numpy as np
import pyopencl as cl
import distributed, remotecl

client = distributed.Client(os.environ["SCHEDULER"])
with remotecl.DaskCluster(client) as cluster:
    context = cluster.connect().context()
    source = "kernel void square(global float* a) { size_t i = get_global_id(0); a[i] = a[i] * a[i]; }"
    program = cl.Program(context, source).build()
    host = np.arange(3 * 4096, dtype=np.float32)
    whole = cl.Buffer(context, cl.mem_flags.READ_WRITE | cl.mem_flags.COPY_HOST_PTR, hostbuf=host)
    used = set()
    for address, part in zip(cluster.addresses, range(3)):  # each server squares a third of one buffer
        device = next(device for device in context.devices if remotecl.server_of(device) == address)
        queue = cl.CommandQueue(context, device)
        third = whole.get_sub_region(part * 4096 * 4, 4096 * 4)
        cl.Kernel(program, "square")(queue, (4096,), None, third)
        queue.finish()
        used.add(remotecl.server_of(device))
    result = np.empty_like(host)
    cl.enqueue_copy(queue, result, whole)
    assert (result == host * host).all()
    links = {link.state for link in remotecl.overview().links}
    print(json.dumps({"used": sorted(used), "links": sorted(links), "addresses": cluster.addresses}))
"""


@pytest.fixture(scope="module")
def dask_cluster():
    with distributed.LocalCluster(n_workers=WORKERS, threads_per_worker=1, dashboard_address=":0") as cluster:
        yield cluster


@pytest.fixture
def client(dask_cluster):
    with distributed.Client(dask_cluster) as client:
        client.wait_for_workers(WORKERS, timeout=60)
        yield client


def daemons_of(client: distributed.Client) -> dict[str, list[int]]:
    """Process ids of the daemons below each worker."""

    def children() -> list[int]:
        pids = [int(pid) for file in Path("/proc/self/task").glob("*/children") for pid in file.read_text().split()]
        return [pid for pid in pids if b"--exit-on-stdin-eof" in Path(f"/proc/{pid}/cmdline").read_bytes()]

    found: dict[str, list[int]] = client.run(children)
    return found


def test_a_job_over_all_workers(dask_cluster, run_program):
    result = run_program(JOB, SCHEDULER=dask_cluster.scheduler_address)
    report = json.loads(result.stdout)
    assert len(report["used"]) == WORKERS
    assert sorted(report["addresses"]) == report["used"]
    assert report["links"] == ["connected"]
    assert not any(map(can_connect, report["addresses"]))
    assert not result.stderr


def test_daemons_belong_to_their_workers_and_stop_with_the_cluster(client, run_remotecl):
    with remotecl.DaskCluster(client) as cluster:
        friend = run_remotecl("devices", "--servers", ",".join(cluster.names))
        assert friend.returncode == 0, friend.stderr
        stranger = run_remotecl("devices", "--servers", cluster.addresses[0])
        assert "it speaks TLS only" in stranger.stderr
        stranger = run_remotecl("devices", "--servers", f"{cluster.addresses[0]}?pin={cluster.servers[0].pin}")
        assert "asks for a token" in stranger.stderr
        owners = daemons_of(client)
        assert [len(owners[server.worker]) for server in cluster.servers] == [1] * WORKERS
        assert all(server.running for server in cluster.servers)
        assert "Dask worker" in cluster._repr_html_()
    assert not any(server.running for server in cluster.servers)
    assert not any(is_alive(pid) for pids in owners.values() for pid in pids)
    cluster.stop()


def test_daemons_end_with_a_client_that_is_killed(dask_cluster):
    program = """
import os, sys, distributed, remotecl
cluster = remotecl.DaskCluster(distributed.Client(os.environ["SCHEDULER"]))
print(*cluster.addresses, flush=True)
sys.stdin.read()
"""
    settings = {**CLEAN_ENVIRONMENT, "SCHEDULER": dask_cluster.scheduler_address}
    with subprocess.Popen(
        [sys.executable, "-c", program], env=settings, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    ) as owner:
        addresses = owner.stdout.readline().split()
        owner.kill()
    assert len(addresses) == WORKERS
    wait_until_closed(addresses)


def test_a_daemon_ends_with_its_worker(client):
    with remotecl.DaskCluster(client) as cluster:
        first, *others = cluster.servers
        worker_pid = client.run(os.getpid, workers=[first.worker])[first.worker]
        daemons = daemons_of(client)[first.worker]
        os.kill(worker_pid, signal.SIGKILL)
        wait_until_gone(daemons)
        assert not first.running
        assert all(server.running for server in others)
        client.wait_for_workers(WORKERS, timeout=PROGRAM_TIMEOUT_S)  # Dask starts another one
        cluster.scale(WORKERS)
        assert [server.running for server in cluster.servers] == [True] * WORKERS


def test_daemons_have_their_workers_environment(client):
    numbers = dict(zip(client.nthreads(), "210", strict=True))
    setting = "CUDA_VISIBLE_DEVICES"

    def choose(numbers: dict[str, str], dask_worker: distributed.Worker) -> None:
        os.environ[setting] = numbers[dask_worker.address]

    client.run(choose, numbers)
    try:
        with remotecl.DaskCluster(client):
            for worker, (pid,) in daemons_of(client).items():
                assert f"{setting}={numbers[worker]}".encode() in Path(f"/proc/{pid}/environ").read_bytes().split(b"\0")
    finally:
        client.run(exec, f"import os; del os.environ[{setting!r}]")


def chosen_devices(client: distributed.Client) -> dict[str, str]:
    """What each worker's daemon was started with as its devices."""
    words = {
        worker: Path(f"/proc/{pids[0]}/cmdline").read_text().split("\0") for worker, pids in daemons_of(client).items()
    }
    return {worker: line[line.index("--devices") + 1] for worker, line in words.items()}


def test_each_worker_may_have_devices_of_its_own(client):
    workers = list(client.nthreads())
    mapping = {workers[0]: "all", workers[1]: [0], workers[2]: "0"}
    with remotecl.DaskCluster(client, devices=mapping):
        assert chosen_devices(client) == dict(zip(workers, ["all", "0", "0"], strict=True))

    names = {address: str(worker["name"]) for address, worker in client.scheduler_info(n_workers=-1)["workers"].items()}

    def choose(name: str) -> list[int] | str:
        assert name == str(distributed.get_worker().name), "it runs on the worker"
        return "all" if name == names[workers[0]] else [0]

    with remotecl.DaskCluster(client, devices=choose):
        assert chosen_devices(client) == dict(zip(workers, ["all", "0", "0"], strict=True))


def test_one_daemon_for_each_host(client):
    with remotecl.DaskCluster(client, per="host") as cluster:
        assert len(cluster) == 1
        assert sum(map(len, daemons_of(client).values())) == 1


def test_a_daemon_that_does_not_start_is_quoted_and_the_others_are_stopped(client):
    worker = list(client.nthreads())[1]
    devices = dict.fromkeys(client.nthreads(), "all") | {worker: "no such device"}
    with pytest.raises(remotecl.ServerStartError, match=f"no daemon beside Dask worker .*{worker}.*no such device"):
        remotecl.DaskCluster(client, devices=devices)
    wait_until_gone([pid for pids in daemons_of(client).values() for pid in pids])


def test_a_worker_without_remotecl_is_told(client):
    hide = """
import sys
sys.hidden = {name: sys.modules.pop(name) for name in list(sys.modules) if name.partition(".")[0] == "remotecl"}
sys.modules["remotecl"] = None
"""
    worker = next(iter(client.nthreads()))
    client.run(exec, hide, workers=[worker])
    try:
        with pytest.raises(remotecl.ServerStartError, match=rf"worker {worker} cannot import.*pip install remotecl"):
            remotecl.DaskCluster(client)
        assert len(client.nthreads()) == WORKERS, "it survives the question"
    finally:
        client.run(exec, "import sys; del sys.modules['remotecl']; sys.modules.update(sys.hidden)", workers=[worker])


def test_a_scheduler_without_remotecl_is_told(client, monkeypatch):
    def refuse(*_):
        raise ModuleNotFoundError("No module named 'remotecl'")

    monkeypatch.setattr(client, "run_on_scheduler", refuse)
    with pytest.raises(remotecl.ServerStartError, match=r"scheduler cannot import.*pip install remotecl"):
        remotecl.DaskCluster(client)


def test_mistakes_are_named(client, dask_cluster):
    with pytest.raises(TypeError, match="get_client"):
        remotecl.DaskCluster(dask_cluster)
    with pytest.raises(ValueError, match='"worker" or "host"'):
        remotecl.DaskCluster(client, per="rack")
    with pytest.raises(ValueError, match="which devices of the worker"):
        remotecl.DaskCluster(client, devices={"nobody": "all"})


def test_a_busy_worker_is_told(client):
    from distributed import Event

    release = Event("release", client=client)
    tasks = [
        client.submit(lambda: Event("release").wait(60), workers=[worker], pure=False) for worker in client.nthreads()
    ]
    try:
        with pytest.raises(remotecl.ServerStartError, match="busy with long tasks"):
            remotecl.DaskCluster(client, startup_timeout_s=0.5)
    finally:
        release.set()
        distributed.wait(tasks)


def test_a_worker_can_be_retired_and_takes_its_server_along():
    with (
        distributed.LocalCluster(n_workers=2, threads_per_worker=1, dashboard_address=":0") as workers,
        distributed.Client(workers) as client,
        remotecl.DaskCluster(client) as cluster,
    ):
        owners = daemons_of(client)
        first, second = cluster.servers
        retired = client.retire_workers([first.worker], close_workers=False, remove=False)
        assert first.worker in retired, "Dask does not retire workers that hold actors"
        wait_until_gone(owners[first.worker])
        assert not first.running
        assert second.running
    assert not any(is_alive(pid) for pids in owners.values() for pid in pids)


RETIRE = """
import json, time
import numpy as np
import pyopencl as cl
import distributed, remotecl

if __name__ == "__main__":
    with distributed.LocalCluster(n_workers=2, threads_per_worker=1, dashboard_address=":0") as workers:
        with distributed.Client(workers) as client:
            cluster = remotecl.DaskCluster(client)
            context = cluster.connect().context()
            leaving, staying = cluster.servers
            queues = {{remotecl.server_of(each): cl.CommandQueue(context, each) for each in context.devices}}
            source = "kernel void add(global int* a) {{ a[get_global_id(0)] += get_global_id(0); }}"
            add = cl.Kernel(cl.Program(context, source).build(), "add")
            host = np.zeros(1 << 20, np.int32)
            buffer = cl.Buffer(context, cl.mem_flags.READ_WRITE | cl.mem_flags.COPY_HOST_PTR, hostbuf=host)
            add(queues[leaving.address], host.shape, None, buffer)
            queues[leaving.address].finish()
            client.retire_workers([leaving.worker], {how})
            begin = time.monotonic()
            while any(
                each.address == leaving.address and each.status == "connected" for each in remotecl.overview().servers
            ):
                assert time.monotonic() < begin + 60
                time.sleep(0.05)
            cl.enqueue_copy(queues[staying.address], host, buffer)
            assert (host == np.arange(1 << 20)).all()
            begin = time.monotonic()
            assert [server.running for server in cluster.servers] == [False, True]
            cluster.stop()
            print(time.monotonic() - begin)
"""


@pytest.mark.parametrize("how", ["", "close_workers=False, remove=False"], ids=["closed", "kept"])
def test_the_data_beside_a_retired_worker_moves_first(run_program, how):
    result = run_program(RETIRE.format(how=how))
    assert float(result.stdout) < 15, "Dask tries for 30 s to reach a worker that has gone"
    assert "remotecl: " not in result.stderr


def test_nobody_complains_when_it_is_stopped(run_program):
    result = run_program("""
import distributed, remotecl
if __name__ == "__main__":
    with distributed.LocalCluster(n_workers=2, threads_per_worker=1, dashboard_address=":0") as dask:
        with distributed.Client(dask) as client, remotecl.DaskCluster(client) as cluster:
            cluster.connect()
""")
    assert "Exception" not in result.stderr
    assert "remotecl: " not in result.stderr


def test_the_end_of_a_program_that_stops_nothing_is_quiet(run_program):
    result = run_program("""
import distributed, remotecl
if __name__ == "__main__":
    dask = distributed.LocalCluster(n_workers=2, threads_per_worker=1, dashboard_address=":0")
    cluster = remotecl.DaskCluster(distributed.Client(dask))
    connection = cluster.connect()
""")
    assert result.stdout == ""
    # On a loaded machine Dask's workers may complain that their scheduler has gone, with or without daemons.
    assert "remotecl: " not in result.stderr
    assert "already computed task" not in result.stderr
