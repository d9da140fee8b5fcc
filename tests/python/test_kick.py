"""Ending somebody's session; and names of clients that would like to write lines of their own."""

import io
import json
import os
import subprocess
import sys
import sysconfig

import pytest

import remotecl
from client import Client
from conftest import CLEAN_ENVIRONMENT
from daemon import WITHIN_S, Daemon
from remotecl._cli import top
from remotecl._display.table import Table
from remotecl._observe import live
from remotecl._observe.watch import WatchedServer

# Has a session, and says what it is told when that has ended.
HAS_A_SESSION = """
import sys
import numpy as np
import pyopencl as cl
import remotecl

context = remotecl.connect(sys.argv[1]).context()
queue = cl.CommandQueue(context)
buffer = cl.Buffer(context, cl.mem_flags.READ_WRITE, 64)
print("there", flush=True)
sys.stdin.readline()
try:
    cl.enqueue_fill_buffer(queue, buffer, np.int32(1), 0, 64)
    queue.finish()
    print("goes on")
except cl.Error as error:
    print(error.code)
"""


@pytest.mark.parametrize("options", [(), ("--isolate",)], ids=["one process", "isolated"])
def test_an_operator_ends_a_session(run_remotecl, options):
    with Daemon(*options, "--log-level", "info") as daemon, Client(HAS_A_SESSION, daemon.address) as client:
        (session,) = remotecl.overview(daemon.address).status[0].sessions
        assert session.user == "default"
        assert session.over_s is None
        assert session.weight == 1
        shown = run_remotecl("top", "--once", "--servers", daemon.address, "--interval", "0.1")
        assert session.session in shown.stdout
        kicked = run_remotecl("kick", daemon.address, session.session)
        assert kicked.returncode == 0, kicked.stderr
        assert kicked.stdout == f"session {session.session} of {daemon.address} has ended\n"
        output, errors = client.leave()
        assert "goes on" not in output
        assert "this session was ended by hand (remotecl kick)" in errors
        again = run_remotecl("kick", daemon.address, session.session)
        assert again.returncode == 1
        assert "there is none that you may end" in again.stderr
        assert "was ended by an operator (remotecl kick)" in daemon.end()[1]


def test_a_server_has_its_short_name(run_remotecl, tmp_path):
    config = tmp_path / "config.toml"
    with Daemon() as daemon, Client(HAS_A_SESSION, daemon.address) as client:
        config.write_text(f'[servers.gpu1]\naddress = "{daemon.address}"\n[groups]\nlab = ["gpu1", "gpu2"]\n')
        (session,) = remotecl.overview(daemon.address).status[0].sessions
        refused = run_remotecl("kick", "@lab", session.session, REMOTECL_CONFIG=str(config))
        assert refused.returncode == 1
        assert "@lab stands for 2 servers" in refused.stderr
        kicked = run_remotecl("kick", "gpu1", session.session, REMOTECL_CONFIG=str(config))
        assert kicked.stdout == f"session {session.session} of {daemon.address} has ended\n", kicked.stderr
        client.leave()


@pytest.mark.parametrize("number", ["", "x", "-1", "1" * 17])
def test_what_is_no_number_of_a_session(run_remotecl, number):
    with Daemon() as daemon:
        result = run_remotecl("kick", "--", daemon.address, number)
    assert result.returncode == 1
    assert "is no session's number; remotecl top shows them" in result.stderr


FORGED = "python3\x1b[2J\n  gpu1:10990  0000000000000000  root\x9b\u202e"
SHOWN = r"python3\x1b[2J\n  gpu1:10990  0000000000000000  root\x9b\u202e"


def test_names_of_clients_write_no_lines(run_remotecl):
    # Python finds its packages by its name; those that are tested may be elsewhere.
    places = [CLEAN_ENVIRONMENT.get("PYTHONPATH", ""), sysconfig.get_path("purelib")]
    environment = CLEAN_ENVIRONMENT | {"PYTHONPATH": os.pathsep.join(filter(None, places))}
    with Daemon() as daemon:
        client = subprocess.Popen(
            [FORGED, "-c", HAS_A_SESSION, daemon.address], executable=sys.executable, env=environment,
            stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True,
        )  # fmt: skip
        assert client.stdout.readline() == "there\n"
        for options in (("--once",), ("--once", "--json")):
            shown = run_remotecl("top", *options, "--servers", daemon.address, "--interval", "0.1").stdout
            assert "python3" in shown
            assert all(character.isprintable() for character in shown.replace("\n", "")), shown
            assert not any(line.startswith("  gpu1") for line in shown.splitlines()), shown
        client.communicate("\n", timeout=WITHIN_S)


def test_tables_show_control_characters():
    table = Table("of\n" + FORGED, ("name",), ((FORGED,),))
    assert table.rows == ((SHOWN,),)
    assert table.title == "of\\n" + SHOWN
    assert Table("µ", ("name",), (("naïve café 猫",),)).rows == (("naïve café 猫",),)


def test_the_live_view_shows_control_characters():
    rich = pytest.importorskip("rich.console")
    server = WatchedServer(address=FORGED, state="lost", error=FORGED)
    console = rich.Console(width=400, file=io.StringIO(), force_terminal=True, record=True)
    console.print(top._drawn([server], 400))
    assert SHOWN in console.export_text()
    assert SHOWN in live.text([server])
    assert json.loads(live.json_line([server]))[0]["address"] == FORGED
