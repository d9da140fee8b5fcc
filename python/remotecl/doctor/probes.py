"""The probes that run in processes of their own and import remotecl, as a user's program does.

``python -m remotecl.doctor.probes NAME ARGUMENT... DESCRIPTOR`` writes what it has found to the descriptor, as JSON.
"""

from __future__ import annotations

import importlib
import json
import os
import sys
import time
from pathlib import Path
from typing import Any

from remotecl._connect.connection import native
from remotecl._loading import activation, vendors
from remotecl._observe.stats import rdma_words

from .opencl import OpenCL, device_report

LINK_TIMEOUT_S = 10.0


def icd() -> dict[str, Any]:
    """The library's version, and the protocol's."""
    return {"version": native().version(), "protocol": native().protocol_version(), "build": native().build()}


def pyopencl() -> dict[str, Any]:
    """Which loader PyOpenCL uses and which drivers that has opened."""
    cl = importlib.import_module("pyopencl")
    try:
        names = [platform.name for platform in cl.get_platforms()]
    except cl.Error:  # no platform at all is an error in OpenCL
        names = []
    return {"version": cl.VERSION_TEXT, "platforms": names, **_loader_report()}


def system() -> dict[str, Any]:
    """The same for programs in C: the loader of this name on this machine."""
    try:
        cl = OpenCL("libOpenCL.so.1")
    except OSError as error:
        return {"error": str(error)}
    return {"platforms": [cl.platform_name(platform) for platform in cl.platforms()], **_loader_report()}


def server(address: str) -> dict[str, Any]:
    """Connects to one server: its devices, what a kernel does there, the round trip, and how bulk data goes."""
    cl = _connected(address)
    if isinstance(cl, str):
        return {"error": cl}
    devices = [device_report(cl, device) for platform in cl.platforms() for device in cl.devices(platform)]
    trips = [json.loads(native().servers_json())[0].get("round_trip_us") for _ in range(5)]
    shared = any(file.startswith("/memfd:remotecl") for file in _mapped_names())
    trip = min(filter(None, trips), default=None)
    return {
        "devices": devices,
        "round_trip_us": trip,
        "shared_memory": shared,
        "rdma": next(iter(rdma_words().values()), "off"),
    }


def links(addresses: str) -> dict[str, Any]:
    """Makes all servers link to each other, which they otherwise do when they first need it."""
    cl = _connected(addresses)
    if isinstance(cl, str):
        return {"error": cl}
    devices = [device for platform in cl.platforms() for device in cl.devices(platform)]
    context = cl.context(devices)
    native().link_servers(context)
    end = time.monotonic() + LINK_TIMEOUT_S
    while True:
        found = json.loads(native().stats_json())["links"]
        if all(link["state"] != "connecting" for link in found) or time.monotonic() > end:
            return {"links": found, "context": context}
        time.sleep(0.02)  # there is no notification of a new link


def _connected(addresses: str) -> OpenCL | str:
    """OpenCL with remotecl as its only driver and these servers connected, or why that failed."""
    for name in ("REMOTECL_SERVERS", "REMOTECL_DISABLE", "OCL_ICD_FILENAMES"):
        os.environ.pop(name, None)
    os.environ["OCL_ICD_VENDORS"] = activation.icd_path()
    if error := native().connect(addresses):
        return str(json.loads(error))
    return OpenCL(str(vendors.LOADER))


def _loader_report() -> dict[str, Any]:
    files = _mapped_names()
    loader = next((file for file in sorted(files) if Path(file).name.startswith("libOpenCL")), "")
    drivers = [file for file in files if vendors.is_remotecl(file)]
    return {"path": loader, "loader": OpenCL(loader).loader() if loader else "", "sees_remotecl": bool(drivers)}


def _mapped_names() -> set[str]:
    with Path("/proc/self/maps").open(errors="surrogateescape") as maps:
        fields = (line.rstrip("\n").split(None, 5) for line in maps)
        return {parts[5] for parts in fields if len(parts) == 6}


PROBES = {function.__name__: function for function in (icd, pyopencl, system, server, links)}

if __name__ == "__main__":
    name, *arguments, descriptor = sys.argv[1:]
    os.write(int(descriptor), json.dumps(PROBES[name](*arguments)).encode())
