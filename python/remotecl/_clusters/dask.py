"""Daemons next to the workers of a Dask cluster, wherever those run."""

from __future__ import annotations

import asyncio
import atexit
import importlib
import importlib.util
import threading
import time
import warnings
import weakref
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from functools import partial
from typing import TYPE_CHECKING, Any

from .._connect.connection import known_as
from .._daemon.fresh_token import FreshToken
from .._daemon.process import Devices, disconnect, expect_shutdown
from .._daemon.server import Server
from .._memory.drain import drain
from ..errors import RemoteCLError, ServerStartError
from .cluster import Cluster, _start_many, require_reachable

if TYPE_CHECKING:
    import distributed

_REPLY_TIMEOUT_S = 15.0
_START_TIMEOUT_S = 30.0  # of a daemon on its worker
_URGENT = 1000  # before all other tasks of the workers
# How long the end of a program waits for Dask.
_FORGETTING_S = 2.0
# How long a worker that leaves waits until the daemon's data has been moved.
_LEAVING_S = 30

DevicesOfWorker = Devices | Mapping[str, Devices] | Callable[[str], Devices]


class DaskServer:
    """One daemon beside a Dask worker, which owns it. `DaskCluster` makes them.

    Example::

        beside = {server.worker: server.address for server in cluster.servers}
    """

    def __init__(
        self,
        client: distributed.Client,
        worker: str,
        name: str,
        host: str,
        devices: DevicesOfWorker,
        token: str,
        *,
        tls: bool,
    ) -> None:
        self.worker = worker
        self.name = name
        self._address = ""
        self._pin = ""
        self._client = client
        # The worker keeps the task's result, and so the daemon, as long as this future exists, and drops it when this
        # process ends in any way. Retiring the worker moves the result, which is only a text, to another one. An actor
        # would keep Dask from retiring its worker.
        self._future = client.submit(
            _start_daemon,
            host,
            name,
            devices,
            token,
            tls,
            workers=[worker],
            allow_other_workers=False,
            pure=False,
            priority=_URGENT,
        )
        client.subscribe_topic(_topic(self._future.key), self._on_leaving)

    @property
    def address(self) -> str:
        """``host:port`` that the daemon listens on, with the host as Dask reaches the worker."""
        return self._address

    @property
    def pin(self) -> str:
        """``sha256:...``, the key that the daemon presents in TLS, as received through Dask; empty without TLS."""
        return self._pin

    @property
    def where(self) -> str:
        """The worker."""
        return f"Dask worker {self.name} ({self.worker})"

    @property
    def running(self) -> bool:
        """Whether the daemon runs and its worker answers.

        Asks the worker each time. That it has ended is known at once, that its machine has vanished after
        ``distributed.comm.timeouts.tcp`` (30 s). Nothing limits the wait while its process is stopped, or keeps
        Python's lock.
        """
        return self._future.status == "finished" and self._ask(_is_running) is True

    def stop(self) -> None:
        """Stops the daemon and waits for its end. Calling it again does nothing."""
        if self._future.status == "finished":
            expect_shutdown(self.address)
            self._ask(_stop_daemon)
        self._future.release()
        with suppress(Exception):  # Dask may have ended
            self._client.unsubscribe_topic(_topic(self._future.key))
        disconnect(self.address)

    def __repr__(self) -> str:
        return f"<remotecl.DaskServer {self.address} beside {self.where}>"

    def _await_ready(self, deadline: float) -> None:
        try:
            self._address, self._pin = self._future.result(timeout=max(deadline - time.monotonic(), 0.0))
        except (TimeoutError, asyncio.TimeoutError) as error:  # the same from Python 3.11 on
            raise ServerStartError(
                f"{self.where} did not start a daemon in time. Is it busy with long tasks? Start the cluster before "
                "them, or raise startup_timeout_s"
            ) from error
        except Exception as error:
            raise ServerStartError(f"no daemon beside {self.where}: {error}") from error
        require_reachable(
            self._address,
            f"the daemon beside {self.where}",
            "Run the client where Dask's workers can be reached, for example on the cluster's login node",
        )

    def _begin_stop(self) -> None:
        if self._future.status == "finished":
            expect_shutdown(self.address)
            with suppress(Exception):
                self._require_worker()
                self._client.run(_begin_stop, self._future.key, workers=[self.worker], wait=False)

    def _ask(self, function: Callable[[str], Any]) -> object:
        """The result of a function on the worker; None if the worker is gone, and the daemon with it."""
        try:
            self._require_worker()
            answers = self._client.run(function, self._future.key, workers=[self.worker], on_error="return")
        except Exception:  # whatever Dask raises for a worker that is gone
            return None
        answer = answers.get(self.worker)
        return None if isinstance(answer, Exception) else answer

    def _require_worker(self) -> None:
        """Raises if Dask has no such worker any more: its scheduler would try to connect to it for 30 s."""
        if not self._client.nthreads([self.worker]):
            raise LookupError(self.worker)

    # On Dask's event loop.
    def _on_leaving(self, _event: object) -> None:
        threading.Thread(target=self._leave, name="remotecl drain", daemon=True).start()

    def _leave(self) -> None:
        """The worker leaves, and its daemon waits for this: moves what only the daemon has to others."""
        try:
            stuck = drain(self.address) if known_as(self.address) else []
        except Exception as error:  # of a transfer, or of the daemon, whose worker waits no longer
            warnings.warn(f"data of {self.address} may be lost with {self.where}: {error}", stacklevel=2)
        else:
            if stuck:
                words = f"{len(stuck)} of the program's buffers are only there, and have no device elsewhere"
                warnings.warn(f"data of {self.address} is lost with {self.where}: {words}", stacklevel=2)
        expect_shutdown(self.address)
        disconnect(self.address)


class DaskCluster(Cluster[DaskServer]):
    """Starts a daemon beside each worker of a Dask cluster, and stops them together.

    So remotecl's servers run wherever Dask puts its workers: under Slurm and PBS (dask-jobqueue), Kubernetes
    (dask-kubernetes), YARN (dask-yarn), on your own machines. It takes the workers that are there now. A daemon listens
    on its worker's address, which Dask has found reachable, and has its worker's environment, so that
    ``CUDA_VISIBLE_DEVICES`` applies to it too. It ends with `stop()`, with the end of a ``with`` block, with its
    worker, and when this process ends or loses Dask's scheduler. Before a worker leaves that Dask retires, the data
    that only its daemon has moves to others.

    The daemons admit only clients that know a token made for this cluster, and speak TLS with keys of their own. Token
    and pins are sent through Dask: anybody who can read its traffic (anybody on the network, unless Dask uses TLS) can
    use the daemons too, and anybody who can change it can pose as one.

    Args:
        client: a synchronous ``distributed.Client``. Its scheduler and workers need ``remotecl`` installed, too.
        devices: which devices a daemon serves, see `Server`; or a mapping to that from each worker's name or address
            (or host, with ``per="host"``); or a function of the worker's name, which runs on the worker.
        per: ``"worker"``, or ``"host"`` for one daemon on each machine, beside one of its workers.
        tls: whether data between this process and the daemons, and between daemons, is encrypted.
        startup_timeout_s: seconds that it may take until all daemons listen.

    Raises:
        TypeError: `client` is not a client, but for example a Dask cluster.
        ValueError: there are no workers, a mapping lacks one, or `per` is something else.
        RemoteCLError: Dask is not installed, or the client is asynchronous.
        ServerStartError: a daemon did not start. No daemon stays behind.
        ServerUnreachable: a daemon cannot be reached from here.

    Example::

        client = distributed.Client(dask_jobqueue.SLURMCluster(queue="gpu", cores=8, memory="32GB"))
        client.cluster.scale(4)
        client.wait_for_workers(4)
        with remotecl.DaskCluster(client) as cluster:
            context = cluster.connect().context()
    """

    def __init__(
        self,
        client: distributed.Client,
        *,
        devices: DevicesOfWorker = "all",
        per: str = "worker",
        tls: bool = True,
        startup_timeout_s: float = 60.0,
    ) -> None:
        if importlib.util.find_spec("distributed") is None:
            raise RemoteCLError("this needs Dask, which is not installed: pip install 'remotecl[dask]'")
        if not isinstance(client, importlib.import_module("distributed").Client):
            raise TypeError(
                f"DaskCluster takes a distributed.Client, not {type(client).__name__}; try cluster.get_client()"
            )
        if client.asynchronous:
            raise RemoteCLError("the Dask client is asynchronous; make one with Client(..., asynchronous=False)")
        self._client = client
        self._devices = devices
        self._per = per
        self._tls = tls
        super().__init__([], FreshToken())
        # Dask ends its workers when the interpreter ends, before the platform's own end. As this comes after the import
        # of Dask, it runs before that.
        atexit.register(_expect_end, weakref.ref(self))
        self._servers += _start_many(self._launches(len(_workers(client, per))), startup_timeout_s)

    def _launches(self, count: int) -> Sequence[Callable[[], DaskServer]]:
        used = {server.worker for server in self._servers}
        free = [worker for worker in _workers(self._client, self._per) if worker[0] not in used][:count]
        if count > len(free):
            raise ValueError(
                f"Dask has {len(free)} workers without a server, where {count} are wanted: scale Dask's cluster, and "
                "call client.wait_for_workers(n), first"
            )
        _require_remotecl(self._client, [address for address, _, _ in free])
        assert self._token is not None
        return [
            partial(
                DaskServer, self._client, worker, name, host,
                _devices_of(self._devices, worker, name, host), self._token.text, tls=self._tls,
            )
            for worker, name, host in free
        ]  # fmt: skip


def _expect_end(reference: weakref.ref[DaskCluster]) -> None:
    cluster = reference()
    if cluster is None:
        return
    keys = {server._future.key for server in cluster.servers}
    for server in cluster.servers:
        expect_shutdown(server.address)
        server._future.release()
    # Dask complains about results that are lost with their workers, so its scheduler has to forget these first.
    deadline = time.monotonic() + _FORGETTING_S
    with suppress(Exception):
        while cluster._client.status == "running" and time.monotonic() < deadline:
            if keys.isdisjoint(key for key, workers in cluster._client.who_has().items() if workers):
                break
            time.sleep(0.01)


# The daemons of this process, a worker, by the key of the task that started each.
_daemons: dict[str, Server] = {}


def _topic(key: str) -> str:
    """Of the event that says that the worker with a daemon leaves."""
    return f"remotecl-{key}"


class _Keeper:
    """A worker's plugin: ends the daemon with the task's result there, and with the worker.

    A worker that is retired closes when its results are elsewhere, or goes on without them. First the daemon's data
    must have moved, too: its owner hears that the worker leaves, moves it, and disconnects.
    """

    def __init__(self, key: str) -> None:
        self._key = key
        self._leaving = threading.Thread()

    def setup(self, worker: distributed.Worker) -> None:
        self._worker = worker

    def transition(self, key: str, start: str, finish: str, **_: object) -> None:
        if key == self._key and start == "memory" and finish != "memory":
            self._end(is_leaving=self._worker.status.name == "closing_gracefully")

    async def teardown(self, worker: distributed.Worker) -> None:
        self._end(is_leaving=not worker.batched_stream.comm.closed())
        if self._leaving.ident is not None:
            await asyncio.to_thread(self._leaving.join)

    def _end(self, *, is_leaving: bool) -> None:
        server = _daemons.pop(self._key, None)
        if server is None:
            return
        # Not on the worker's event loop, which the wait for its end would block.
        if not is_leaving:
            threading.Thread(target=server.stop, name="remotecl stop").start()
            return
        self._worker.log_event(_topic(self._key), "leaving")
        self._leaving = threading.Thread(target=server._drain, args=(_LEAVING_S,), name="remotecl drain")
        self._leaving.start()


def _start_daemon(
    host: str, name: str, devices: Devices | Callable[[str], Devices], token: str, tls: bool
) -> tuple[str, str]:
    """The task on a worker. Returns the daemon's address and pin."""
    dask = importlib.import_module("distributed")
    worker = dask.get_worker()
    key = str(worker.get_current_task())
    chosen = devices(name) if callable(devices) else devices
    server = Server._launched(
        f"[{host}]:0" if ":" in host else f"{host}:0", chosen, token=token, tls=tls, drain_s=_LEAVING_S
    )
    server._await_ready(time.monotonic() + _START_TIMEOUT_S)
    _daemons[key] = server
    # Dask is only imported where it is used, so the class is defined here.
    keeper = type("Keeper", (_Keeper, dask.WorkerPlugin), {})(key)
    adding = worker.plugin_add(plugin=keeper, name=f"remotecl-{key}")
    asyncio.run_coroutine_threadsafe(adding, worker.loop.asyncio_loop).result(_REPLY_TIMEOUT_S)
    return server.address, server.pin


def _is_running(key: str) -> bool:
    return key in _daemons and _daemons[key].running


# Dask requires a coroutine if the answer is not awaited.
async def _begin_stop(key: str) -> None:
    if key in _daemons:
        _daemons[key]._begin_stop()


async def _stop_daemon(key: str) -> None:
    server = _daemons.pop(key, None)
    if server is not None:
        await asyncio.to_thread(server.stop)


def _workers(client: distributed.Client, per: str) -> list[tuple[str, str, str]]:
    """Address, name and host of each worker that gets a daemon."""
    if per not in ("worker", "host"):
        raise ValueError(f'per is "worker" or "host", not {per!r}')
    known: Mapping[str, Mapping[str, Any]] = client.scheduler_info(n_workers=-1)["workers"]
    workers = [(address, str(worker["name"]), str(worker["host"])) for address, worker in known.items()]
    if not workers:
        raise ValueError("the Dask client has no workers yet: call client.wait_for_workers(n) first")
    if per == "host":
        workers = list({host: (address, name, host) for address, name, host in reversed(workers)}.values())
    return workers


def _require_remotecl(client: distributed.Client, workers: list[str]) -> None:
    # A worker that receives an object of a package that it lacks loses its connection to the scheduler, and ends. So
    # this uses only Python's own objects.
    version = "__import__('remotecl').__version__"
    found = client.run(eval, version, workers=workers, on_error="return")
    try:
        client.run_on_scheduler(eval, version)
    except Exception as error:
        found["scheduler"] = error
    for place, answer in found.items():
        if isinstance(answer, Exception):
            who = place if place == "scheduler" else f"worker {place}"
            raise ServerStartError(
                f"Dask's {who} cannot import remotecl ({answer}): install it there (pip install remotecl)"
            )


def _devices_of(devices: DevicesOfWorker, *names: str) -> Devices | Callable[[str], Devices]:
    if not isinstance(devices, Mapping):
        return devices
    for name in names:
        if name in devices:
            return devices[name]
    raise ValueError(f"devices does not say which devices of the worker {' / '.join(names)} to serve")
