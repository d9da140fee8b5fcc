"""Servers that speak TLS: the options, the names of servers, clients' certificates, keygen."""

import json
import shutil
import stat
import subprocess
from pathlib import Path
from typing import NamedTuple

import pytest

import remotecl
from remotecl._connect.connection import full_address, server_name
from remotecl._daemon.keygen import write_certificate
from test_tokens import LOOK_AT_ALL, SQUARES_ON_BOTH
from throttled_relay import ThrottledRelay


class Key(NamedTuple):
    certificate: Path
    key: Path
    pin: str


def make_key(directory: Path, name: str) -> Key:
    certificate, key = directory / f"{name}.pem", directory / f"{name}-key.pem"
    return Key(certificate, key, write_certificate(certificate, key))


@pytest.fixture(scope="module")
def keys(tmp_path_factory) -> list[Key]:
    directory = tmp_path_factory.mktemp("keys,&%")
    return [make_key(directory, name) for name in ("one", "other")]


@pytest.fixture(scope="module")
def token_file(tmp_path_factory) -> Path:
    file = tmp_path_factory.mktemp("token") / "token"
    file.write_text("what only friends know\n")
    file.chmod(0o600)
    return file


@pytest.fixture(scope="module")
def names(keys, token_file):
    """Two servers with a key of their own each, on an address that other machines could reach, as clients name them."""
    with (
        remotecl.Server("0.0.0.0:0", token_file=token_file, tls=(keys[0].certificate, keys[0].key)) as one,
        remotecl.Server("0.0.0.0:0", token_file=token_file, tls=(keys[1].certificate, keys[1].key)) as other,
    ):
        ports = [server.address.rpartition(":")[2] for server in (one, other)]
        yield [server_name(f"127.0.0.1:{port}", token_file, pin=key.pin) for port, key in zip(ports, keys, strict=True)]


def addresses(names: list[str]) -> list[str]:
    return [full_address(name) for name in names]


@pytest.mark.parametrize("memory", [None, "off"], ids=["shared memory", "connections only"])
def test_two_servers_with_tls_work_and_are_linked(run_program, names, token_file, memory):
    # The names say the token already.
    program = SQUARES_ON_BOTH.format(names=names, token_file="").replace(", token_file=''", "")
    assert run_program(program, REMOTECL_SHARED_MEMORY=memory).stdout.split() == [
        "connected",
        *sorted(addresses(names)),
    ]


MIGRATE = """
import numpy as np, pyopencl as cl, remotecl

context = remotecl.connect(*{names!r}).context()
first, second = (cl.CommandQueue(context, device) for device in (context.devices[0], context.devices[-1]))
words = np.frombuffer(b"text that is easy to find......." * (1 << 17), dtype=np.uint8)
buffer = cl.Buffer(context, cl.mem_flags.READ_WRITE, words.nbytes)
cl.enqueue_copy(first, buffer, words)
cl.enqueue_migrate_mem_objects(second, [buffer]).wait()
result = np.empty_like(words)
cl.enqueue_copy(second, result, buffer)
assert np.array_equal(result, words)
(link,) = remotecl.overview().links
assert link.state == "connected", link
assert remotecl.overview().stats.transfers.between_servers.bytes == words.nbytes, remotecl.overview().stats
"""


def test_what_travels_between_two_servers_is_encrypted(keys, run_program):
    # A relay in front of the second server sees what the client and the first server send to it.
    seen = bytearray()
    alone = {"REMOTECL_SHARED_MEMORY": "off"}
    with (
        remotecl.Server(tls=keys[0][:2], environment=alone) as one,
        remotecl.Server(tls=keys[1][:2], environment=alone) as other,
        ThrottledRelay(other.address, see=seen.extend) as relay,
    ):
        names = [server_name(one.address, None, pin=keys[0].pin), server_name(relay.address, None, pin=keys[1].pin)]
        run_program(MIGRATE.format(names=names), **alone)
    assert len(seen) > 3 << 20, "the data went another way"
    assert b"remotecl" not in seen
    assert b"text that is easy to find" not in seen


def test_a_program_that_knows_nothing_of_remotecl_names_the_pin_in_its_environment(run_program, names):
    program = "import pyopencl\nprint([len(p.get_devices()) for p in pyopencl.get_platforms() if p.name == 'remotecl'])"
    assert run_program(program, REMOTECL_SERVERS=",".join(names)).stdout.strip() == "[2]"


def test_looking_at_a_server_takes_the_pin_too(run_remotecl, names):
    looked = run_remotecl("top", "--once", "--json", "--servers", ",".join(names))
    states = [(server["address"], server["state"]) for server in json.loads(looked.stdout)]
    assert states == [(address, "connected") for address in addresses(names)]
    assert [status.address for status in remotecl.overview(*names).status] == addresses(names)


def test_servers_that_are_known_are_looked_at_with_their_pin(run_program, names):
    program = LOOK_AT_ALL.format(names=names, token_file="").replace(", token_file=''", "")
    run_program(program.replace(f"== {names!r}", f"== {addresses(names)!r}"))


def test_the_doctor_takes_the_pin_too(run_remotecl, names):
    found = json.loads(run_remotecl("doctor", "--json", "--servers", ",".join(names)).stdout)
    fine = {finding["check"] for finding in found if finding["status"] == "ok"}
    assert {f"server {address}: device" for address in addresses(names)} <= fine
    assert any(check.startswith("link ") for check in fine)


def test_another_key_than_the_pinned_one_is_refused_with_both(run_remotecl, names, keys, token_file):
    name = server_name(full_address(names[0]), token_file, pin=keys[1].pin)
    result = run_remotecl("devices", "--servers", name)
    assert result.returncode == 1
    assert f"{full_address(names[0])} has another key" in result.stderr
    assert keys[0].pin in result.stderr
    assert keys[1].pin in result.stderr


def test_without_a_pin_the_remedy_is_told(run_remotecl, names, token_file):
    result = run_remotecl("devices", "--servers", server_name(full_address(names[0]), token_file))
    assert result.returncode == 1
    assert "it speaks TLS only" in result.stderr


def test_a_pinned_name_is_never_spoken_to_in_plain_text(run_remotecl, cluster, keys):
    result = run_remotecl("devices", "--servers", server_name(cluster.addresses[0], None, pin=keys[0].pin))
    assert result.returncode == 1
    assert "it was started without --tls" in result.stderr


def test_the_doctor_says_what_is_wrong_with_tls(run_remotecl, names, keys, token_file):
    address = full_address(names[0])
    for name, cause in ((server_name(address, token_file, pin=keys[1].pin), "has another key"), (address, "TLS only")):
        found = json.loads(run_remotecl("doctor", "--json", "--servers", name).stdout)
        (problem,) = [one for one in found if one["status"] == "problem" and one["check"].startswith("server")]
        assert cause in problem["text"]


def test_connect_takes_a_pin_for_all_of_its_servers(run_program, keys, token_file):
    with remotecl.Server(token_file=token_file, tls=keys[0][:2]) as server:
        arguments = f"{server.address!r}, token_file={str(token_file)!r}, pin={keys[0].pin!r}"
        run_program(f"import remotecl\nremotecl.connect({arguments})")


def test_a_certificate_may_be_named_as_its_own_authority(run_program, keys):
    with remotecl.Server("localhost:0", tls=keys[0][:2]) as server:
        port = server.address.rpartition(":")[2]
        connect = f"import remotecl\nremotecl.connect('localhost:{port}', ca_file={str(keys[0].certificate)!r})"
        run_program(connect)
        failed = run_program(connect.replace("localhost", "127.0.0.1"), check=False)
    assert "IP address mismatch" in failed.stderr


@pytest.mark.skipif(shutil.which("openssl") is None, reason="needs the program openssl to sign certificates")
def test_clients_may_show_certificates_in_place_of_tokens(run_remotecl, keys, tmp_path):
    authority, client = sign_client(tmp_path)
    with remotecl.Server("0.0.0.0:0", tls=keys[0][:2], tls_client_ca=authority) as server:
        address = f"127.0.0.1:{server.address.rpartition(':')[2]}"
        stranger = server_name(address, None, pin=keys[0].pin)
        friend = f"{stranger}&certificate={client}"
        assert run_remotecl("devices", "--servers", friend).returncode == 0
        refused = run_remotecl("devices", "--servers", stranger)
    assert refused.returncode == 1
    assert "it asks for a client's certificate" in refused.stderr


def sign_client(directory: Path) -> tuple[Path, Path]:
    """A file of an authority, and one with a certificate that it has signed and the key of that."""
    new = ["openssl", "req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256", "-nodes", "-days", "2"]
    authority, authority_key, key, client = (directory / name for name in ("ca", "ca-key", "key", "client"))
    subprocess.run(
        [*new, "-subj", "/CN=ca", "-keyout", authority_key, "-out", authority], check=True, capture_output=True
    )
    signing = ["-CA", authority, "-CAkey", authority_key]
    subprocess.run([*new, "-subj", "/CN=me", *signing, "-keyout", key, "-out", client], check=True, capture_output=True)
    client.write_bytes(client.read_bytes() + key.read_bytes())
    client.chmod(0o600)
    return authority, client


def test_a_key_that_others_may_read_is_refused(keys, tmp_path):
    readable = tmp_path / "key.pem"
    readable.write_bytes(keys[0].key.read_bytes())
    readable.chmod(0o644)
    with pytest.raises(remotecl.ServerStartError, match=f"chmod 600 {readable}"):
        remotecl.Server(tls=(keys[0].certificate, readable))
    with pytest.raises(remotecl.ServerStartError, match="is not the key of"):
        remotecl.Server(tls=(keys[0].certificate, keys[1].key))


def test_a_certificate_alone_keeps_nobody_out(keys):
    with pytest.raises(remotecl.ServerStartError, match=r"refusing to listen on 0\.0\.0\.0:0.*--tls-client-ca"):
        remotecl.Server("0.0.0.0:0", tls=keys[0][:2])


def test_keygen_makes_what_servers_and_clients_take(run_remotecl, tmp_path):
    result = run_remotecl("keygen", str(tmp_path / "keys"))
    assert result.returncode == 0, result.stderr
    lines = dict(line.split(":", 1) for line in result.stdout.splitlines() if line[:7] in ("Server:", "Client:"))
    options = lines["Server"].split()
    certificate, key = (Path(file) for file in options[options.index("--tls") + 1 :][:2])
    token = Path(options[options.index("--token-file") + 1])
    assert stat.S_IMODE(token.parent.stat().st_mode) == 0o700
    assert {stat.S_IMODE(file.stat().st_mode) for file in (token, key)} == {0o600}
    name = lines["Client"].split("'")[1]
    assert "&pin=sha256:" in name
    with remotecl.Server("0.0.0.0:0", token_file=token, tls=(certificate, key)) as server:
        port = server.address.rpartition(":")[2]
        listed = run_remotecl("devices", "--servers", name.replace("HOST", f"127.0.0.1:{port}"))
    assert listed.returncode == 0, listed.stderr


def test_keygen_keeps_a_token_that_has_no_certificate_yet(run_remotecl, tmp_path):
    (tmp_path / "token").write_text("what only friends know\n")
    assert run_remotecl("keygen", str(tmp_path)).returncode == 0
    assert (tmp_path / "token").read_text() == "what only friends know\n"
    before = (tmp_path / "key.pem").read_bytes()
    again = run_remotecl("keygen", str(tmp_path))
    assert again.returncode == 1
    assert f"{tmp_path}/certificate.pem is there already" in again.stderr
    assert (tmp_path / "key.pem").read_bytes() == before


def test_a_certificate_that_cannot_be_written_is_named(tmp_path):
    with pytest.raises(remotecl.RemoteCLError, match="cannot write"):
        write_certificate(tmp_path / "none" / "certificate.pem", tmp_path / "none" / "key.pem")
