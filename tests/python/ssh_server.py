"""A real sshd of our own, on loopback, with temporary keys."""

from __future__ import annotations

import getpass
import os
import shutil
import subprocess
from contextlib import suppress
from pathlib import Path

import pytest

from conftest import CLEAN_ENVIRONMENT

ADDRESSES = {"one": "127.0.0.1", "two": "127.0.0.2"}
# sshd gives its sessions an environment of their own; what chooses drivers and sanitizers has to come along.
CARRIED = ("OCL_", "OPENCL_", "POCL_", "ASAN_", "TSAN_", "UBSAN_", "LSAN_", "LD_", "PYTHONPATH", "XDG_CACHE_HOME")


def sshd_program() -> str:
    """Path of sshd, which is in no user's PATH. Skips the test where there is none."""
    path = shutil.which("sshd", path=f"{os.environ.get('PATH', '')}:/usr/sbin:/usr/local/sbin")
    if path is None or shutil.which("ssh") is None:
        pytest.skip("sshd or ssh is missing: apt-get install openssh-server openssh-client")
    if os.geteuid() == 0:
        with suppress(OSError):
            Path("/run/sshd").mkdir(exist_ok=True)  # init does this where it starts one
    return path


def run(*command: str | Path) -> None:
    subprocess.run([str(word) for word in command], check=True, capture_output=True, timeout=60)


class SSHD:
    """The keys, the daemon, and a client's configuration with a host for each address that it listens on."""

    def __init__(self, directory: Path) -> None:
        self.program = sshd_program()
        self.directory = directory
        for name in ("host_key", "user_key"):
            run("ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-f", directory / name)
        shutil.copy(directory / "user_key.pub", directory / "authorized_keys")
        self._process: subprocess.Popen[str] | None = None
        for port in range(20000 + os.getpid() % 10000, 65000, 77):  # sshd cannot choose a port itself
            if self._start(port):
                break
        host_key = (directory / "host_key.pub").read_text()
        (directory / "known_hosts").write_text("".join(f"[{ip}]:{port} {host_key}" for ip in ADDRESSES.values()))
        self.client_config = directory / "ssh_config"
        self.client_config.write_text(
            "".join(f"Host {name}\n  HostName {ip}\n" for name, ip in ADDRESSES.items())
            + f"Host *\n  Port {port}\n  User {getpass.getuser()}\n  IdentityFile {directory}/user_key\n"
            f"  IdentitiesOnly yes\n  UserKnownHostsFile {directory}/known_hosts\n  GlobalKnownHostsFile /dev/null\n"
        )
        self.options = ["-F", str(self.client_config)]

    def server_config(self) -> str:
        """What every sshd with these keys needs."""
        carried = [f'{name}="{value}"' for name, value in CLEAN_ENVIRONMENT.items() if name.startswith(CARRIED)]
        lines = [
            f"HostKey {self.directory}/host_key",
            f"AuthorizedKeysFile {self.directory}/authorized_keys",
            f"PidFile {self.directory}/sshd.pid",
            "StrictModes no",
            "UsePAM no",
            "PasswordAuthentication no",
            "KbdInteractiveAuthentication no",
            "PermitRootLogin yes",
            "MaxStartups 100",
        ]
        if carried:
            lines.append(f"SetEnv {' '.join(carried)}")  # sshd takes the first such line only
        return "\n".join(lines) + "\n"

    def _start(self, port: int) -> bool:
        listen = "".join(f"ListenAddress {ip}:{port}\n" for ip in ADDRESSES.values())
        (self.directory / "sshd_config").write_text(self.server_config() + listen)
        # Not with a sanitizer's library: sshd locks its first stage up, with few system calls left.
        settings = {name: value for name, value in CLEAN_ENVIRONMENT.items() if not name.startswith("LD_")}
        self._process = subprocess.Popen(
            [self.program, "-D", "-e", "-f", self.directory / "sshd_config"],
            env=settings,
            stderr=subprocess.PIPE,
            text=True,
        )
        assert self._process.stderr is not None
        listening = 0
        lines = []
        for line in self._process.stderr:
            lines.append(line)
            listening += line.startswith("Server listening on ")
            if listening == len(ADDRESSES):
                return True
            if "Address already in use" in line:
                self.close()
                return False
        pytest.fail("sshd does not start: " + "".join(lines))

    def close(self) -> None:
        if self._process:
            self._process.terminate()
            self._process.communicate(timeout=30)
