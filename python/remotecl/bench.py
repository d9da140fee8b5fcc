"""`remotecl bench`: runs the benchmark program against servers, by default against one daemon on loopback."""

from __future__ import annotations

import subprocess
from collections.abc import Sequence

from . import _daemon, _loader, _vendors
from .cluster import LocalCluster
from .errors import RemoteCLError

BINARY = _vendors.PACKAGE / "bin" / "remotecl-bench"


def run(servers: Sequence[str] = (), arguments: Sequence[str] = ()) -> int:
    """Runs the benchmark and returns its exit code.

    Args:
        servers: ``host[:port]`` of the servers to measure; none starts a daemon on loopback.
        arguments: further arguments for the program, for example ``["--json", "result.json"]``.

    Raises:
        RemoteCLError: the program is not installed.
        ServerStartError: the daemon did not start.
    """
    if not BINARY.is_file():
        raise RemoteCLError(f"{BINARY} is missing: remotecl was built without its benchmark; install it with pip")
    if not servers:
        with LocalCluster(servers=1) as cluster:
            return run(cluster.addresses, arguments)
    # The program compares with the native driver, so its loader must show that beside remotecl.
    environment = _daemon.daemon_environment(_loader.original_environment())
    native = _vendors.drivers_in(_vendors.vendors_setting(environment))
    environment["OCL_ICD_VENDORS"] = _vendors.directory_with([*native, _loader.icd_path()])
    command = [str(BINARY), "--servers", ",".join(servers), *arguments]
    return subprocess.run(command, env=environment, check=False).returncode
