"""The systemd unit below systemd: this machine's files, booted in a container whose changes are in memory."""

from __future__ import annotations

import os
import re
import shutil
import socket
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path

import pytest

import remotecl
from conftest import CLEAN_ENVIRONMENT
from test_operations import UNIT

pytestmark = pytest.mark.namespaces

WITHIN_S = 60
KEYS = "/etc/remotecl"  # as the unit names it
TOKEN = f"{KEYS}/users/alice"
DROP_IN = f"/run/systemd/system/{UNIT.name}.d/test.conf"

# In a mount namespace of its own, so that nothing is left. An empty folder, the daemon, the unit, further options.
BOOT = """
set -e
folder=$1 daemon=$2 unit=$3
shift 3
mount -t tmpfs tmpfs "$folder"
mkdir "$folder/upper" "$folder/work" "$folder/tree"
mount -t overlay -o "lowerdir=/,upperdir=$folder/upper,workdir=$folder/work" overlay "$folder/tree"
install -D "$daemon" "$folder/tree/usr/local/bin/remotecl-server"
install -D -m 644 "$unit" "$folder/tree/etc/systemd/system/${unit##*/}"
exec systemd-nspawn --quiet --directory="$folder/tree" --register=no --link-journal=no --private-network \
  --console=pipe --notify-ready=yes "$@" --boot -- --unit=basic.target
"""

# Doubles numbers when its stdin has ended.
VISITOR = """
import sys
import numpy as np
import remotecl
import pyopencl as cl

context = cl.Context(remotecl.overview().devices)
queue = cl.CommandQueue(context)
numbers = np.arange(1 << 20, dtype=np.int32)
buffer = cl.Buffer(context, cl.mem_flags.COPY_HOST_PTR, hostbuf=numbers)
program = cl.Program(context, "kernel void twice(global int* x) { x[get_global_id(0)] *= 2; }").build()
print("there", flush=True)
sys.stdin.read()
program.twice(queue, numbers.shape, None, buffer)
result = np.empty_like(numbers)
cl.enqueue_copy(queue, result, buffer)
print(np.array_equal(result, 2 * numbers))
"""


class Machine:
    """A container with the unit, and with what `remotecl keygen` makes for it."""

    def __init__(self, folder: Path) -> None:
        options = [f"--bind-ro={path}" for path in {sys.prefix, sys.base_prefix}]
        if not Path("/run/systemd/system").exists():
            options.append("--keep-unit")  # nobody to ask for another one
        (folder / "empty").mkdir()
        files = [folder / "empty", remotecl._daemon.launcher.binary_path(), UNIT]
        settings = {"NOTIFY_SOCKET": str(folder / "notify"), "SYSTEMD_NSPAWN_UNIFIED_HIERARCHY": "1"}
        with socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as manager:
            manager.bind(settings["NOTIFY_SOCKET"])
            manager.settimeout(0.5)
            self._process = subprocess.Popen(
                ["unshare", "--mount", "--propagation", "private", "sh", "-c", BOOT, "sh", *files, *options],
                env={**CLEAN_ENVIRONMENT, **settings}, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL,
            )  # fmt: skip
            words, end = "", time.monotonic() + WITHIN_S
            while "READY=1" not in words:
                if self._process.poll() is not None or time.monotonic() > end:
                    self._process.kill()
                    pytest.skip("systemd does not boot in a container here; systemd-nspawn's words are above")
                with suppress(TimeoutError):
                    words += manager.recv(1000).decode() + "\n"
        (leader,) = re.findall(r"^X_NSPAWN_LEADER_PID=(\d+)$", words, re.MULTILINE)
        self._inside = ["nsenter", "--all", "--target", leader, "--"]
        self.run("sh", "-c", "getent group render || groupadd --system render")  # udev's
        made = self.run(sys.executable, "-m", "remotecl", "keygen", KEYS)
        (self._servers,) = re.findall(r"(REMOTECL_SERVERS=)'HOST(.*)'", made.replace(f"{KEYS}/token", TOKEN))
        self.run("install", "-D", "-m", "600", f"{KEYS}/token", TOKEN)
        self.run("tee", f"{KEYS}/limits.toml", text='[users.alice]\ntoken-file = "users_alice"\n')

    def run(self, *command: str, text: str = "") -> str:
        return subprocess.run(
            [*self._inside, *command], input=text, stdout=subprocess.PIPE, env=CLEAN_ENVIRONMENT, text=True,
            timeout=WITHIN_S, check=True,
        ).stdout  # fmt: skip

    def systemctl(self, verb: str, *options: str) -> str:
        return self.run("systemctl", verb, *options, UNIT.name)

    def wait_for(self, *wanted: str) -> None:
        end = time.monotonic() + WITHIN_S
        while not {*wanted} <= {*self.systemctl("show").splitlines()}:
            assert time.monotonic() < end, self.systemctl("show")
            time.sleep(0.1)

    def visitor(self) -> subprocess.Popen[str]:
        """A client that names the server as keygen has told."""
        visitor = subprocess.Popen(
            [*self._inside, "env", "127.0.0.1".join(self._servers), sys.executable, "-c", VISITOR],
            env=CLEAN_ENVIRONMENT, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True,
        )  # fmt: skip
        assert visitor.stdout.readline() == "there\n"
        return visitor

    def close(self) -> None:
        self._process.terminate()
        self._process.wait(WITHIN_S)


@pytest.fixture(scope="module")
def machine(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Machine]:
    if os.geteuid() != 0:
        pytest.skip("containers need root")
    for tool in ("systemd-nspawn", "systemctl", "nsenter"):
        if shutil.which(tool) is None:
            pytest.skip(f"{tool} is missing: apt-get install systemd-container systemd-sysv")
    if not any(Path("/etc/OpenCL/vendors").glob("*.icd")):
        pytest.skip("the system has no OpenCL driver: apt-get install pocl-opencl-icd")
    made = Machine(tmp_path_factory.mktemp("machine"))
    yield made
    made.close()


@pytest.mark.parametrize("option", ["", "--no-isolate"])
def test_it_serves_and_drains(machine, option):
    start = re.search(r"\nExecStart=(.*?) *\n(?! )", UNIT.read_text(), re.DOTALL)[1]
    changed = f"[Service]\nExecStart=\nExecStart={start} {option}\n"
    machine.run("install", "-D", "/dev/stdin", DROP_IN, text=changed)
    machine.run("systemctl", "daemon-reload")
    machine.systemctl("start")
    visitor = machine.visitor()
    machine.systemctl("stop", "--no-block")
    machine.wait_for("ActiveState=deactivating")
    assert visitor.communicate(timeout=WITHIN_S)[0] == "True\n"
    machine.wait_for("ActiveState=inactive", "Result=success")


def test_it_starts_anew_when_it_is_killed(machine):
    machine.systemctl("start")
    machine.systemctl("kill", "--signal=KILL")
    machine.wait_for("ActiveState=active", "NRestarts=1")
    assert machine.visitor().communicate(timeout=WITHIN_S)[0] == "True\n"


def test_a_daemon_that_cannot_start_is_a_start_that_fails(machine):
    token = machine.run("cat", TOKEN)
    machine.run("tee", TOKEN, text="short")
    with pytest.raises(subprocess.CalledProcessError):
        machine.systemctl("restart")
    machine.run("tee", TOKEN, text=token)
    machine.systemctl("restart")
