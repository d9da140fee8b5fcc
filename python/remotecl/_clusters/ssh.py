"""Daemons on other machines, started over the user's own ssh."""

from __future__ import annotations

import os
import re
import shlex
import socket
import subprocess
import tempfile
import weakref
from collections.abc import Callable, Mapping, Sequence
from functools import partial

from .._daemon.fresh_token import FreshToken
from .._daemon.process import DaemonProcess, Devices, devices_option, disconnect, expect_shutdown
from ..errors import ServerStartError, ServerUnreachable
from .cluster import Cluster, _start_many, require_reachable

_SSH_FAILED = 255  # the exit code of ssh if ssh itself failed, not the remote command
_COMMAND_NOT_FOUND = 127
_FORWARD_ATTEMPTS = 5

# There is nobody to answer a question. A tunnel whose other end has vanished must end too.
_SSH_DEFAULTS = [
    "-T",
    *("-o", "BatchMode=yes"),
    *("-o", "ConnectTimeout=15"),
    *("-o", "ServerAliveInterval=15"),
    *("-o", "RemoteCommand=none"),
    *("-o", "ClearAllForwardings=yes"),
]

# A running master connection of the user's is used; becoming one would end other sessions with the daemon.
_JOIN_MASTER = ["-o", "ControlMaster=no"]

# What to do about a failure of ssh itself, by its message.
_SSH_REMEDIES = [
    (
        r"Permission denied|Too many authentication failures",
        "nobody can be asked for a password here: add your key to the agent (ssh-add) and to that machine "
        "(ssh-copy-id {host}), until `ssh -o BatchMode=yes {host} true` works",
    ),
    (r"Host key verification failed", "run `ssh {host}` once in a terminal, and compare and accept its host key"),
    (r"Could not resolve hostname", "check the spelling, or add the host to ~/.ssh/config"),
    (r"Connection refused", "is an SSH server running there, on this port?"),
    (r"timed out|No route to host|Network is unreachable", "is the machine up, and is there a route to it?"),
]


class SSHServer:
    """One daemon on another machine, as long as its ssh connection lasts. `SSHCluster` makes them.

    Example::

        for server in cluster.servers:
            print(server.where, server.address, server.running)
    """

    def __init__(
        self,
        host: str,
        command: str,
        devices: Devices,
        ssh_options: Sequence[str],
        token: str,
        *,
        tunnel: bool,
        tls: bool,
    ) -> None:
        self.host = host
        self._address = ""
        self._tunnel = _Tunnel(host, ssh_options) if tunnel else None
        control = self._tunnel.master_options if self._tunnel else _JOIN_MASTER
        words = ["ssh", *control, *ssh_options, *_SSH_DEFAULTS, host, _remote_command(command, devices, tunnel, tls)]
        try:
            self._daemon = DaemonProcess(words, terminate=False, token=token)
        except FileNotFoundError:
            raise _no_ssh() from None

    @property
    def address(self) -> str:
        """``host:port`` at which this computer reaches the daemon: this end of the tunnel, if there is one."""
        return self._address

    @property
    def remote_address(self) -> str:
        """``host:port`` that the daemon listens on, as its own machine sees it."""
        return self._daemon.address

    @property
    def pin(self) -> str:
        """``sha256:...``, the key that the daemon presents in TLS, as received through ssh; empty without TLS."""
        return self._daemon.pin

    @property
    def where(self) -> str:
        """The host, and whether there is a tunnel to it."""
        return f"{self.host}, through a tunnel" if self._tunnel else self.host

    @property
    def running(self) -> bool:
        """Whether the ssh connection that keeps the daemon alive exists."""
        return self._daemon.exit_code is None

    def stop(self) -> None:
        """Stops the daemon and its tunnel, and waits for their end. Calling it again does nothing."""
        self._begin_stop()
        self._daemon.stop()
        disconnect(self.address)  # with a tunnel, the daemon itself has another address

    def __repr__(self) -> str:
        return f"<remotecl.SSHServer {self.address} on {self.where}, {'running' if self.running else 'stopped'}>"

    def _await_ready(self, deadline: float) -> None:
        failure = self._daemon.await_ready(deadline)
        if failure:
            raise _start_error(self.host, failure, self._daemon.exit_code, self._daemon.words())
        if self._tunnel:
            self._address = self._tunnel.open(self._daemon.address)
        else:
            self._address = self._daemon.address
            require_reachable(
                self._address,
                f"remotecl-server on {self.host}",
                "A firewall, a jump host or address translation lies between: use SSHCluster(..., tunnel=True)",
            )

    def _begin_stop(self) -> None:
        if self.running:
            expect_shutdown(self.address)
        if self._tunnel:
            self._tunnel.close()
        self._daemon.begin_stop()


class SSHCluster(Cluster[SSHServer]):
    """Starts a daemon on each of several machines over ssh, and stops them together.

    It runs your own ``ssh``, so that ``~/.ssh/config``, agents, jump hosts and running master connections work as they
    do in a terminal; but it cannot ask for a password. A daemon ends with `stop()`, with the end of a ``with`` block,
    when the object is collected, and with its ssh connection, so also when this process ends in any way.

    The daemons admit only clients that know a token, which is made for this cluster and sent over ssh. Without a tunnel
    a daemon listens on the address at which ssh has reached its machine, and speaks TLS with a key of its own, whose
    pin arrives over ssh. With a tunnel it listens on its machine's loopback only. Servers behind tunnels do not reach
    each other, so data between them goes through this computer.

    Args:
        hosts: the machines, as ssh takes them: aliases, ``user@host``.
        devices: which devices a daemon serves, see `Server`; or a mapping from each host to that.
        tunnel: whether to reach the daemons through ssh.
        tls: whether data is encrypted by TLS; None: if there is no tunnel. Without either, anybody who controls the
        network can read and change it.
        command: the command that runs the daemon there, for the shell there; its options are appended. Searched in
        ``PATH`` and ``~/.local/bin``.
        python: a Python there whose ``remotecl`` is used instead of `command`, such as ``"~/venv/bin/python"``.
        ssh_options: put before the host, for example ``["-p", "2222", "-J", "gateway"]``. They override the options
        that are always given (``BatchMode=yes``, ``ConnectTimeout=15``, ``ServerAliveInterval=15``).
        startup_timeout_s: seconds that it may take until all daemons listen.

    Raises:
        ValueError: no host, an invalid host, a mapping that lacks one of the hosts, both `command` and `python`.
        ServerUnreachable: ssh cannot log in or connect; or the daemon's port cannot be reached from here.
        ServerStartError: there is no ssh here, no remotecl there, or the daemon did not start. No daemon stays behind.

    Example::

        with remotecl.SSHCluster(["gpu1", "gpu2"], tunnel=True) as cluster:
            context = cluster.connect().context()
    """

    def __init__(
        self,
        hosts: Sequence[str],
        *,
        devices: Devices | Mapping[str, Devices] = "all",
        tunnel: bool = False,
        tls: bool | None = None,
        command: str | None = None,
        python: str | None = None,
        ssh_options: Sequence[str] = (),
        startup_timeout_s: float = 60.0,
    ) -> None:
        names = [hosts] if isinstance(hosts, str) else list(hosts)
        _check_hosts(names, devices)
        if command and python:
            raise ValueError("command and python both say what to run there; give one of them")
        run = command or (f"{python} -m remotecl._daemon" if python else "remotecl-server")

        token = FreshToken()
        has_tls = not tunnel if tls is None else tls

        def launch(host: str) -> SSHServer:
            chosen = devices[host] if isinstance(devices, Mapping) else devices
            return SSHServer(host, run, chosen, ssh_options, token.text, tunnel=tunnel, tls=has_tls)

        self._hosts = names
        self._launch = launch
        super().__init__(_start_many([partial(launch, name) for name in names], startup_timeout_s), token)

    def _launches(self, count: int) -> Sequence[Callable[[], SSHServer]]:
        used = {server.host for server in self._servers}
        free = [host for host in self._hosts if host not in used]
        if count > len(free):
            raise ValueError(f"the cluster has {len(self._hosts)} hosts, and a server for each at most")
        return [partial(self._launch, host) for host in free[:count]]


class _Tunnel:
    """A port of this machine that ssh forwards to a daemon's, over the connection that keeps the daemon alive.

    The daemon chooses its port, so the forwarding is requested when the connection exists already, through its control
    socket. If the user has a master connection, that one forwards the port, so that no second login is needed.
    """

    def __init__(self, host: str, ssh_options: Sequence[str]) -> None:
        self._host = host
        self._directory: tempfile.TemporaryDirectory[str] | None = None
        self._cancel: weakref.finalize[[list[str], int], _Tunnel] | None = None
        self._control_path = _running_master(host, ssh_options)
        self.master_options = _JOIN_MASTER  # for the ssh that starts the daemon
        if not self._control_path:
            self._directory = tempfile.TemporaryDirectory(prefix="remotecl-")
            self._control_path = f"{self._directory.name}/control"
            self.master_options = ["-o", "ControlMaster=yes", "-S", self._control_path, "-o", "ControlPersist=no"]

    def open(self, remote: str) -> str:
        """Forwards a port of this machine to the daemon at `remote`; returns this end's address."""
        refusal = ""
        for _ in range(_FORWARD_ATTEMPTS):  # another program may take the port before ssh does
            local = f"127.0.0.1:{_free_port()}"
            done = _run_ssh(self._control("forward", local, remote))
            if done.returncode == 0:
                break
            refusal = done.stderr.strip()
        else:
            raise ServerUnreachable(f"ssh does not forward a port to {self._host}: {refusal}")
        if self._directory:
            self._directory.cleanup()  # the forwarding ends with the connection, which is ours
        else:
            self._cancel = weakref.finalize(self, _cancel, self._control("cancel", local, remote), os.getpid())
        return local

    def close(self) -> None:
        """Ends the forwarding in the user's own master connection, which goes on."""
        if self._cancel:
            self._cancel()

    def _control(self, request: str, local: str, remote: str) -> list[str]:
        return ["-F", "none", "-S", self._control_path, "-O", request, "-L", f"{local}:{remote}", self._host]


def _running_master(host: str, ssh_options: Sequence[str]) -> str:
    """Control socket of the user's master connection to a host, or nothing if there is none."""
    settings = _run_ssh([*ssh_options, "-G", host])
    found = re.search(r"^controlpath (.+)$", settings.stdout, re.MULTILINE)
    if not found or found[1] == "none":
        return ""
    running = _run_ssh(["-F", "none", "-S", found[1], "-O", "check", host]).returncode == 0
    return found[1] if running else ""


def _cancel(arguments: list[str], owner: int) -> None:
    if os.getpid() == owner:
        _run_ssh(arguments)


def _run_ssh(arguments: Sequence[str]) -> subprocess.CompletedProcess[str]:
    """Runs an ssh that only looks something up or uses a control socket."""
    try:
        return subprocess.run(
            ["ssh", *arguments], stdin=subprocess.DEVNULL, capture_output=True, text=True, errors="replace", check=False
        )
    except FileNotFoundError:
        raise _no_ssh() from None


def _free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port: int = probe.getsockname()[1]
        return port


def _remote_command(command: str, devices: Devices, tunnel: bool, tls: bool) -> str:
    """A command for sh, quoted for whatever login shell is there."""
    # SSH_CONNECTION: the client's address and port, and those at which it has reached the machine.
    listen = "set -- _ _ 127.0.0.1" if tunnel else "set -- $SSH_CONNECTION"
    script = (
        f'PATH="$PATH:$HOME/.local/bin"; {listen}; '
        'case $3 in *:*) listen="[$3]:0";; *) listen="$3:0";; esac; '
        f'{command} --listen "$listen" --devices {shlex.quote(devices_option(devices))} '
        f"--token-file - --no-isolate {'--tls-new ' * tls}--exit-on-stdin-eof"
    )
    return f"exec sh -c {shlex.quote(script)}"


def _check_hosts(hosts: Sequence[str], devices: Devices | Mapping[str, Devices]) -> None:
    if not hosts:
        raise ValueError('name at least one host: remotecl.SSHCluster(["gpu1"])')
    for host in hosts:
        if not host or host.startswith("-") or any(map(str.isspace, host)):
            raise ValueError(f"{host!r} is not a host; options for ssh go into ssh_options")
        if isinstance(devices, Mapping) and host not in devices:
            raise ValueError(f"devices does not say which devices of {host} to serve")


def _no_ssh() -> ServerStartError:
    return ServerStartError("there is no ssh on this machine: install it (Debian: apt-get install openssh-client)")


def _start_error(host: str, failure: str, exit_code: int | None, words: str) -> ServerStartError | ServerUnreachable:
    if exit_code == _SSH_FAILED:
        remedies = (remedy for pattern, remedy in _SSH_REMEDIES if re.search(pattern, words))
        remedy = next(remedies, "does `ssh {host} true` work in a terminal?").format(host=host)
        return ServerUnreachable(f"ssh could not connect to {host}: {words}. Remedy: {remedy}")
    if exit_code == _COMMAND_NOT_FOUND or "No module named" in words:
        return ServerStartError(
            f"there is no remotecl-server on {host}, or not where it was looked for: {words}. Install it there (pip "
            'install remotecl), or say where it is, for example python="~/venv/bin/python"'
        )
    return ServerStartError(f"remotecl-server on {host} {failure}: {words}")
