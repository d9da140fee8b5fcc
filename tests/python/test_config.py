"""The configuration file: names, groups, and everything that is wrong with one."""

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

import remotecl
from conftest import CLEAN_ENVIRONMENT
from remotecl._loading import config

PIN = "sha256:" + "4c" * 32


@pytest.fixture
def configure(tmp_path, monkeypatch):
    """Writes a configuration and lets this process use it."""

    def write(text: str) -> str:
        file = tmp_path / "config.toml"
        file.write_text(text)
        monkeypatch.setenv("REMOTECL_CONFIG", str(file))
        return str(file)

    return write


def test_a_short_name_stands_for_all_that_it_takes(configure, tmp_path):
    configure(f"""
[servers.gpu1]
address = "gpu1.example.org:10991"
token-file = "keys, and more/token"
pin = "{PIN}"
certificate-file = "/c.pem"
key-file = "/k.pem"
streams = 4
exclusive = true

[servers.gpu2]
ca-file = "/ca.pem"
""")
    token = str(tmp_path / "keys%2C%20and%20more" / "token")
    assert config.resolve_all(["gpu1"]) == [
        f"gpu1.example.org:10991?token={token}&certificate=/c.pem&key=/k.pem&pin={PIN}&exclusive=yes&streams=4"
    ]
    assert config.resolve_all(["gpu2?streams=2"]) == ["gpu2?ca=/ca.pem&streams=2"]
    assert config.resolve_all(["gpu1:10990", "elsewhere", "10.0.0.1"]) == ["gpu1:10990", "elsewhere", "10.0.0.1"]


def test_options_behind_a_name_replace_those_of_the_file(configure):
    configure('[servers.gpu1]\ntoken-file = "/one"\nstreams = 4')
    assert config.resolve_all(["gpu1?streams=1"]) == ["gpu1?token=/one&streams=1"]


def test_a_group_stands_for_its_servers_each_once(configure):
    configure("""
default = ["@lab"]
[servers.gpu1]
address = "gpu1:1"
[groups]
lab = ["gpu1", "gpu2:2?exclusive=yes"]
all = ["gpu1", "gpu3"]
""")
    assert config.resolve_all(["@lab,@all"]) == ["gpu1:1", "gpu2:2?exclusive=yes", "gpu3"]
    assert config.default_servers() == ["gpu1:1", "gpu2:2?exclusive=yes"]


def test_tls_without_a_pin_asks_the_systems_authorities(configure, monkeypatch):
    configure("[servers.gpu1]\ntls = true")
    monkeypatch.setenv("SSL_CERT_FILE", str(config.config_file()))
    assert config.resolve_all(["gpu1"]) == [f"gpu1?ca={config.config_file()}"]


@pytest.mark.parametrize(
    "text, words",
    [
        ("servers = 1", "must be a section"),
        ("[server.gpu1]", "there is no server; there are default, servers, groups"),
        ("[servers.gpu1]\nport = 1", "servers.gpu1 has no key port"),
        ("[servers]\ngpu1 = 'gpu1:1'", "must be a section: [servers.gpu1]"),
        ("[servers.'gpu1:1']", "must have a name of letters, digits"),
        ("[servers.gpu1]\naddress = 'a,b'", "address of servers.gpu1 must be one server"),
        ("[servers.gpu1]\naddress = ''", "address of servers.gpu1 must be a text"),
        ("[servers.gpu1]\npin = 'sha256:1'", "64 hexadecimal digits"),
        (f"[servers.gpu1]\npin = '{PIN}'\ntls = false", "tls = false beside a pin"),
        ("[servers.gpu1]\ntls = 1", "must be true or false"),
        ("[servers.gpu1]\nstreams = 9", "must be a number from 1 to 8"),
        ("[groups]\nlab = [1]", "must be a list of names"),
        ("[groups]\nlab = ['@all']", "a group; name its servers"),
        ("[groups", "is not TOML"),
    ],
)
def test_what_is_wrong_is_said_with_file_and_remedy(configure, text, words):
    file = configure(text)
    with pytest.raises(remotecl.RemoteCLError) as error:
        remotecl.connect("gpu1")
    assert file in str(error.value)
    assert words in str(error.value)


def test_an_unknown_group_is_told_with_those_that_are_known(configure):
    configure('[groups]\nlab = ["gpu1"]')
    with pytest.raises(remotecl.RemoteCLError, match=r"has no group attic .*there are: @lab"):
        remotecl.connect("@attic")
    with pytest.raises(remotecl.RemoteCLError, match="takes no options"):
        remotecl.connect("@lab?exclusive=yes")


def test_no_file_is_no_error_unless_it_was_named(tmp_path, monkeypatch):
    monkeypatch.delenv("REMOTECL_CONFIG", raising=False)
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path))
    assert config.config_file() == tmp_path / "remotecl" / "config.toml"
    assert config.resolve_all(["gpu1"]) == ["gpu1"]
    monkeypatch.setenv("REMOTECL_CONFIG", str(tmp_path / "missing.toml"))
    with pytest.raises(remotecl.RemoteCLError, match="which REMOTECL_CONFIG names, is not there"):
        config.resolve_all(["gpu1"])
    assert config.resolve_all(["gpu1:10990"]) == ["gpu1:10990"]  # is no short name


def test_names_work_wherever_servers_are_named(configure, cluster, run_program, run_remotecl):
    first, second = cluster.addresses
    file = configure(f"""
[servers.one]
address = "{first}"
[groups]
lab = ["one", "{second}"]
""")
    assert [status.address for status in remotecl.overview("@lab").status] == [first, second]
    program = "import remotecl; print(*remotecl.connect('@lab').servers)"
    assert run_program(program, REMOTECL_CONFIG=file).stdout.split() == [first, second]
    # What the program itself leaves to the client library.
    program = "import remotecl\nremotecl.devices()\nprint(*(server.address for server in remotecl.overview().servers))"
    assert run_program(program, REMOTECL_CONFIG=file, REMOTECL_SERVERS="@lab").stdout.split() == [first, second]
    top = run_remotecl("top", "@lab", "--once", "--json", REMOTECL_CONFIG=file)
    assert [server["address"] for server in json.loads(top.stdout)] == [first, second]
    devices = run_remotecl("devices", "--servers", "one", REMOTECL_CONFIG=file)
    assert devices.stdout.startswith(first)
    shown = run_remotecl("run", "--servers", "@lab", "sh", "-c", "echo $REMOTECL_SERVERS", REMOTECL_CONFIG=file)
    assert shown.stdout.strip() == f"{first},{second}"


def test_commands_take_the_default(configure, cluster, run_remotecl):
    file = configure(f'default = "{cluster.addresses[1]}"')
    assert run_remotecl("devices", REMOTECL_CONFIG=file).stdout.startswith(cluster.addresses[1])
    other = run_remotecl("devices", REMOTECL_CONFIG=file, REMOTECL_SERVERS=cluster.addresses[0])
    assert other.stdout.startswith(cluster.addresses[0])


@pytest.mark.parametrize("text", ['default = "{server}"', "[servers."], ids=["default", "broken"])
def test_closing_a_connection_does_not_ask_the_file(configure, cluster, run_program, text):
    program = f"""
import remotecl
remotecl.connect({cluster.addresses[0]!r}).close()
print(remotecl.overview().servers == [])
"""
    result = run_program(program, REMOTECL_CONFIG=configure(text.format(server=cluster.addresses[0])))
    assert result.stdout == "True\n"


def test_the_doctor_shows_the_file_and_what_is_wrong_with_it(configure, run_remotecl):
    file = configure('[servers.gpu1]\naddress = "127.0.0.1:1"\n[groups]\nlab = ["gpu1"]')
    findings = json.loads(run_remotecl("doctor", "--json", REMOTECL_CONFIG=file).stdout)
    assert {"ok": f"{file}: gpu1, @lab"} in [{one["status"]: one["text"]} for one in findings]
    file = configure("[wrong]")
    findings = json.loads(run_remotecl("doctor", "--json", REMOTECL_CONFIG=file).stdout)
    assert [one["status"] for one in findings if one["check"] == "configuration"] == ["problem"]


def test_a_wrong_file_is_a_warning_at_import(configure, run_program):
    file = configure("[wrong]")
    result = run_program("import remotecl", REMOTECL_CONFIG=file, REMOTECL_SERVERS="@lab")
    assert "RuntimeWarning" in result.stderr
    assert file in result.stderr
    assert os.environ["REMOTECL_CONFIG"] == file


def test_programs_without_python_are_told_who_knows_groups(run_program):
    result = run_program("import pyopencl; pyopencl.get_platforms()", REMOTECL_SERVERS="@lab")
    assert "remotecl run" in result.stderr


@pytest.mark.parametrize("servers", [(3,), ([None],)])
def test_servers_are_named_by_texts(servers):
    with pytest.raises(TypeError, match="a server is named by a text"):
        remotecl.connect(*servers)


def test_connecting_takes_lists_of_names(connection, cluster):
    assert remotecl.connect(cluster.addresses).servers == connection.servers


def test_keygen_writes_both_sides_parts(tmp_path, run_remotecl):
    environment = {"XDG_CONFIG_HOME": str(tmp_path), "REMOTECL_CONFIG": None}
    folder = tmp_path / "remotecl"
    for name in ("gpu1", "localhost"):
        made = run_remotecl("keygen", "--for", name, **environment)
        assert made.returncode == 0, made.stderr
        assert f"scp -pr {folder / name / 'server'} {name}:" in made.stdout
    assert not (folder / "gpu1" / "key.pem").exists()
    server = folder / "localhost" / "server"
    assert {file.name for file in server.iterdir()} == {"token", "certificate.pem", "key.pem", "pin", "serve.sh"}
    tools = {"PATH": f"{Path(sys.executable).parent}:{os.environ['PATH']}", "LISTEN": "127.0.0.1:0"}
    command = ["sh", server / "serve.sh", "--exit-on-stdin-eof"]
    with subprocess.Popen(
        command, env=CLEAN_ENVIRONMENT | tools, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    ) as daemon:
        address = next(line.split()[-1] for line in daemon.stdout if line.startswith("listening on "))
        file = folder / "config.toml"
        file.write_text(file.read_text() + f'address = "{address}"\n')  # the last section is this server's
        shown = run_remotecl("devices", "--servers", "localhost", **environment)
        assert shown.returncode == 0, shown.stderr
        assert shown.stdout.startswith(address)
        daemon.stdin.close()

    again = run_remotecl("keygen", "--for", "gpu1", **environment)
    assert again.returncode == 1
    assert "has [servers.gpu1] already" in again.stderr
    assert "is no short name" in run_remotecl("keygen", "--for", "gpu1:1", **environment).stderr
    assert run_remotecl("keygen", "--for", "gpu3", str(tmp_path), **environment).returncode == 1
