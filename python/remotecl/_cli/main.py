"""The command `remotecl`."""

from __future__ import annotations

import argparse
import contextlib
import importlib.util
import os
import sys
import time
from collections.abc import Sequence
from pathlib import Path
from types import ModuleType

import remotecl

from .._connect.connection import (
    all_devices,
    configured_servers,
    connect_servers,
    import_pyopencl,
    named_servers,
    native,
)
from .._daemon.keygen import keygen, keygen_for
from .._display import table
from .._loading import activation, config, vendors
from .._observe.inspect import ServerInfo, links, native_platform_of, server_of, servers
from .._observe.stats import rdma_words
from ..errors import RemoteCLError, ServerUnreachable
from . import bench, run, store
from .options import CONFIGURED, add_servers, count, matrix_size, positive


def main(arguments: Sequence[str] | None = None) -> int:
    """Runs one subcommand and returns its exit code: 0, 1 after an error or a wrong result, 2 for bad usage."""
    parser = _parser()
    options = parser.parse_args(arguments)
    # The variable is for programs that compute. These commands report what is missing themselves, and go on if they
    # can.
    required = os.environ.get("REMOTECL_REQUIRED")
    os.environ["REMOTECL_REQUIRED"] = "0"
    try:
        code: int = options.run(options)
    except RemoteCLError as error:
        print(f"remotecl: {error}", file=sys.stderr)
        return 1
    except BrokenPipeError:  # the reader of our output has seen enough
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return 1
    finally:  # for a program that calls this function
        if required is None:
            os.environ.pop("REMOTECL_REQUIRED", None)
        else:
            os.environ["REMOTECL_REQUIRED"] = required
    return code


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="remotecl", description="OpenCL devices of other machines, as if they were local."
    )
    parser.add_argument("--version", action="version", version=f"remotecl {remotecl.__version__}")
    commands = parser.add_subparsers(required=True, metavar="COMMAND")

    _add_run(commands)
    devices = commands.add_parser("devices", help="list servers and their devices")
    add_servers(devices, CONFIGURED)
    devices.set_defaults(run=_devices)

    discover = commands.add_parser("discover", help="find servers on the local network and list their devices")
    discover.add_argument(
        "--timeout", type=positive, default=2.0, metavar="SECONDS", help="how long to wait for answers (default: 2)"
    )
    discover.set_defaults(run=_discover)

    info = commands.add_parser("info", help="show versions, loader, drivers and servers")
    info.set_defaults(run=_info)

    doctor = commands.add_parser(
        "doctor", help="look for what is wrong with this installation and its servers, and say what helps"
    )
    add_servers(doctor, CONFIGURED)
    doctor.add_argument("--json", action="store_true", help="print a list of objects instead")
    doctor.add_argument(
        "--timeout", type=positive, default=30.0, metavar="SECONDS", help="how long one probe may take (default: 30)"
    )
    doctor.set_defaults(run=_doctor)
    top = commands.add_parser("top", help="watch servers: load, memory, sessions, traffic, RDMA")
    top.add_argument("names", nargs="*", metavar="SERVER", help=f"servers or groups to watch; {CONFIGURED}")
    add_servers(top, "the same")
    top.add_argument("--interval", type=positive, default=1.0, metavar="SECONDS", help="between two looks (default: 1)")
    top.add_argument("--once", action="store_true", help="look once, which takes one interval, and end")
    top.add_argument("--json", action="store_true", help="print a line of JSON for each look")
    top.set_defaults(run=_top)
    kick = commands.add_parser(
        "kick", help="end somebody's session; for those who run the server, and own sessions of users with a token"
    )
    kick.add_argument("server", metavar="SERVER", help="host[:port], with its options, or its short name")
    kick.add_argument("session", metavar="SESSION", help="its number, as remotecl top shows it")
    kick.set_defaults(run=_kick)
    keys = commands.add_parser(
        "keygen", help="make a token and a certificate, so that a server and its clients can be sure of each other"
    )
    keys.add_argument("directory", nargs="?", type=Path, metavar="DIRECTORY", help="default: ~/.config/remotecl")
    keys.add_argument(
        "--for",
        dest="server",
        metavar="NAME",
        help="for one server: both sides' parts, and its section in the configuration",
    )
    keys.set_defaults(run=_keygen)

    stored = commands.add_parser(
        "store", help="show or clear what servers on this machine keep of programs and uploads"
    )
    stored.add_argument("action", choices=["ls", "clear"], help="show what is there, or remove it")
    stored.add_argument("--store", type=Path, metavar="DIR", help="the server's --store (default: the user's)")
    stored.add_argument("--kind", choices=["builds", "uploads"], help="what clear removes (default: both)")
    stored.set_defaults(run=_store)

    icd_path = commands.add_parser("icd-path", help="print the path of the ICD, for other loaders and programs")
    icd_path.add_argument(
        "--vendors", action="store_true", help="print a vendors directory that has this machine's drivers too"
    )
    icd_path.set_defaults(run=_icd_path)

    bench.add(commands)

    demo = commands.add_parser("demo", help="run a real job on several servers and check it")
    add_servers(demo, "none starts two daemons on loopback")
    demo.add_argument("--platform", metavar="NAME", help="run on another OpenCL platform instead")
    demo.add_argument("--size", type=matrix_size, default=1024, help="rows of the matrices (default: 1024)")
    demo.set_defaults(run=_demo)
    return parser


def _add_run(commands: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
    command = commands.add_parser(
        "run",
        help="run any OpenCL program on servers, or not at all",
        description="Runs any OpenCL program, in whatever language, with the devices of servers and no others. Where "
        "one of them cannot be had, the program is not started, and the exit code is 1; else it is the program's.",
    )
    which = command.add_mutually_exclusive_group()
    add_servers(which, CONFIGURED)
    which.add_argument("--local", type=count, metavar="N", help="start N servers on this machine for the program")
    which.add_argument(
        "--auto",
        action="store_true",
        help="those in REMOTECL_SERVERS or of the configuration, else those announced on the local network",
    )
    command.add_argument("--with-local", action="store_true", help="show the program this machine's own drivers, too")
    command.add_argument("program", nargs=argparse.REMAINDER, metavar="PROGRAM ARGUMENT...", help="what to run")
    command.set_defaults(run=_run_program, refuse=command.error)


def _named_servers(options: argparse.Namespace) -> list[str]:
    names = named_servers(options.servers) or configured_servers()
    if not names:
        raise RemoteCLError(
            "no server is named: use --servers host[:port],... or set REMOTECL_SERVERS, or have a default in "
            f"{config.config_file()}"
        )
    return names


def _run_program(options: argparse.Namespace) -> int:
    program = options.program[1:] if options.program[:1] == ["--"] else options.program
    if not program:
        options.refuse("no program is named: remotecl run --servers gpu1 PROGRAM ARGUMENT...")
    if options.local:
        return run.run_locally(program, options.local, with_local=options.with_local)
    servers = run.found_servers() if options.auto else _named_servers(options)
    return run.run(program, servers, with_local=options.with_local)


def _top(options: argparse.Namespace) -> int:
    from . import top

    options.servers = [*options.servers, *options.names]
    names = _named_servers(options)
    return top.run(names, interval_s=options.interval, once=options.once, as_json=options.json)


def _kick(options: argparse.Namespace) -> int:
    from .._observe.status import Asker

    names = named_servers(options.server)
    if len(names) != 1:
        raise RemoteCLError(f"{options.server} stands for {len(names)} servers; name the one that has the session")
    with contextlib.closing(Asker(names[0])) as asker:
        print(asker.kick(options.session))
    return 0


def _devices(options: argparse.Namespace) -> int:
    unreachable = _connect_each(_named_servers(options))
    rdma = rdma_words()
    for server in servers():
        if server.status != "connected":
            continue
        print(_server_line(server))
        if (line := rdma.get(server.address)) is not None:
            print(f"  RDMA {table.visible(line)}")
        for number, device in enumerate(server.devices):
            print(f"  {number}: {table.visible(str(device))}")
    for error in unreachable:
        print(f"remotecl: {error}", file=sys.stderr)
    return 1 if unreachable else 0


def _discover(options: argparse.Namespace) -> int:
    for server in remotecl.discover(options.timeout):
        print(f"{server.address} {server.name}, remotecl {server.version}")
        for number, device in enumerate(server.devices):
            print(f"  {number}: {device}")
        if server.device_count > len(server.devices):
            print(f"  and {server.device_count - len(server.devices)} more")
    return 0


def _info(_: argparse.Namespace) -> int:
    # Connecting comes first: it must precede the platform query below.
    unreachable = _connect_each(configured_servers())
    setting = vendors.vendors_setting(activation.original_environment())
    bundled = vendors.bundled_vendors()
    print(f"remotecl           {remotecl.__version__} (libremotecl {native().version()})")
    print(f"ICD                {activation.icd_path()}")
    print(f"vendors            {setting}")
    for driver in vendors.drivers_in(setting):
        print(f"  driver           {driver}")
    if bundled:
        print(f"PyOpenCL's own     {bundled}")
        for driver in vendors.drivers_in(str(bundled)):
            print(f"  driver           {driver}")
    print(f"REMOTECL_SERVERS   {os.environ.get('REMOTECL_SERVERS') or '(not set)'}")
    for server in servers():
        print(f"  {_server_line(server)}")
    for error in unreachable:
        print(f"  {error}")
    if vendors.pyopencl_package() is None:
        print("PyOpenCL           not installed (pip install pyopencl)")
        return 0
    cl = import_pyopencl()
    print(f"PyOpenCL           {cl.VERSION_TEXT}")
    if any(server.status == "connected" for server in servers()):
        for device in all_devices(cl):
            print(f"  {device.name.strip()}")
            print(f"    server         {server_of(device)}")
            print(f"    platform       {native_platform_of(device)}")
            print(f"    version        {device.version.strip()}, driver {device.driver_version.strip()}")
            print(f"    compute units  {device.max_compute_units}")
            print(f"    memory         {device.global_mem_size / 2**20:.0f} MiB")
        _print_links(cl)
    return 0


def _print_links(cl: ModuleType) -> None:
    # Without this, servers are linked when they first need it.
    context = cl.Context(all_devices(cl))
    native().link_servers(context.int_ptr)
    end = time.monotonic() + 5
    while any(link.state == "connecting" for link in links()) and time.monotonic() < end:
        time.sleep(0.02)
    for link in links():
        print(f"link               {' - '.join(link.servers)}: {link.state} {link.reason}".rstrip())
    del context


def _doctor(options: argparse.Namespace) -> int:
    from .. import doctor

    findings = []
    for finding in doctor.examine(options.servers, options.timeout):
        findings.append(finding)
        if not options.json:
            print(finding, flush=True)
    print(doctor.as_json(findings) if options.json else doctor.summary(findings))
    return 1 if any(finding.status == "problem" for finding in findings) else 0


def _keygen(options: argparse.Namespace) -> int:
    if options.server is not None:
        if options.directory:
            raise RemoteCLError("keygen --for writes beside the configuration; name no other directory")
        print(keygen_for(options.server))
        return 0
    print(keygen(options.directory or config.default_folder()))
    return 0


def _store(options: argparse.Namespace) -> int:
    folder = options.store or store.default_folder()
    print(store.clear(folder, options.kind) if options.action == "clear" else store.show(folder))
    return 0


def _icd_path(options: argparse.Namespace) -> int:
    path = activation.icd_path()
    if options.vendors:
        drivers = vendors.drivers_in(vendors.vendors_setting(activation.original_environment()))
        others = [driver for driver in drivers if not vendors.is_remotecl(driver)]
        path = vendors.directory_with([*others, path])
    print(path)
    return 0


def _demo(options: argparse.Namespace) -> int:
    import_pyopencl()
    for module in ("numpy", "sklearn"):
        if importlib.util.find_spec(module) is None:
            raise RemoteCLError(f"the demo needs {module}, which is not installed: pip install 'remotecl[demo]'")
    from .. import demo

    return demo.main(named_servers(options.servers), options.platform, options.size)


def _connect_each(names: Sequence[str]) -> list[str]:
    """Connects to what can be reached; returns what is wrong with the others."""
    errors = []
    for name in names:
        try:
            connect_servers([name])
        except ServerUnreachable as error:
            errors.append(str(error))
    return errors


def _server_line(server: ServerInfo) -> str:
    round_trip = f", round trip {server.round_trip_us:.0f} us" if server.round_trip_us else ""
    reason = f": {server.error}" if server.error else ""
    return f"{server.address} {server.status}{round_trip}{reason}"
