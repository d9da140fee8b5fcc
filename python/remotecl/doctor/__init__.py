"""`remotecl doctor`: checks everything that remotecl needs, and says what is wrong and what helps."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from .._loading import activation
from . import environment, rdma
from .finding import Finding, as_json, findings_of, summary
from .local import LocalChecks
from .servers import ServerChecks

__all__ = ["Finding", "as_json", "examine", "summary"]


def examine(servers: Sequence[str] = (), timeout_s: float = 30.0) -> Iterator[Finding]:
    """Checks packages, environment, RDMA, ICD, loaders, drivers, and servers, one after the other.

    Drivers and connections are tried in processes of their own, so that a crash is just a finding. Nothing is changed.

    Args:
        servers: named as for `connect`; without any, those in ``REMOTECL_SERVERS`` or in the configuration.
        timeout_s: seconds that one probe may take.

    Example::

        for finding in remotecl.doctor.examine(["gpu1"]):
            print(finding.status, finding.check, finding.text, finding.remedy)
    """
    settings = activation.original_environment()
    local = LocalChecks(settings, timeout_s)
    configuration = environment.Configuration(servers)
    remote = ServerChecks(configuration.servers, settings, timeout_s)
    for name, check in (
        ("packages", environment.packages),
        ("variables", lambda: environment.variables(settings)),
        ("configuration", configuration.findings),
        ("limits", environment.limits),
        ("RDMA", lambda: rdma.findings(settings)),
        ("ICD", local.icd),
        ("loader of PyOpenCL", local.pyopencl_loader),
        ("loader of the system", local.system_loader),
        ("drivers", local.drivers),
        ("remotecl-server", local.daemon),
        ("containment of sessions", local.containment),
        ("servers", remote.all),
    ):
        yield from findings_of(name, check)
