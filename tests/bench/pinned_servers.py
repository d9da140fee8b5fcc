"""Servers for a measurement on this machine, each on cores of its own."""

import contextlib
import os
import subprocess
from collections.abc import Iterator

from remotecl._loading import activation, vendors


@contextlib.contextmanager
def started(servers: str) -> Iterator[list[str]]:
    """Addresses of servers that end with the block. This process and those that it starts keep the cores that are left.

    Args:
        servers: KIND:CORES of each, as in ``"gpu:2,cpu:6"``. `gpu` serves all GPUs; `cpu` serves the CPU with as many
            of PoCL's threads as it has cores.
    """
    free = sorted(os.sched_getaffinity(0))
    processes = []
    try:
        for kind, count in (server.split(":") for server in servers.split(",")):
            cores, free = free[: int(count)], free[int(count) :]
            if len(cores) < int(count):
                raise SystemExit(f"--start {servers} needs more cores than there are")
            processes.append(launch(kind, cores))
        if free:
            os.sched_setaffinity(0, free)
        yield [address_of(process) for process in processes]
    finally:
        for process in processes:
            process.terminate()
            process.wait(30)


def launch(kind: str, cores: list[int]) -> subprocess.Popen:
    binary = str(vendors.PACKAGE / "bin" / "remotecl-server")
    environment = activation.original_environment() | {"POCL_MAX_PTHREAD_COUNT": str(len(cores))}
    listed = subprocess.run([binary, "--list-devices"], env=environment, capture_output=True, text=True, check=True)
    indices = [line.split(":")[0].split()[-1] for line in listed.stdout.splitlines() if kind_of(line) == kind]
    if not indices:
        raise SystemExit(f"there is no {kind} among these devices:\n{listed.stdout}")
    command = [binary, "--listen", "127.0.0.1:0", "--no-store", "--no-isolate", "--devices", ",".join(indices)]
    return subprocess.Popen(
        command,
        env=environment,
        stdout=subprocess.PIPE,
        text=True,
        preexec_fn=lambda: os.sched_setaffinity(0, cores),  # noqa: PLW1509  no thread runs yet
    )


def kind_of(line: str) -> str:
    """Of a device as the server lists it."""
    return "gpu" if any(word in line.lower() for word in ("gpu", "nvidia", "geforce", "radeon", "cuda")) else "cpu"


def address_of(process: subprocess.Popen) -> str:
    for line in process.stdout:
        if line.startswith("listening on "):
            return line.split()[-1]
    raise SystemExit("a server did not start")
