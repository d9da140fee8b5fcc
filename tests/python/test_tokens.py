"""Servers that let in only who knows their token: the option, the names of servers, keygen."""

import json
from pathlib import Path

import pytest

import remotecl
from remotecl._connect.connection import full_address, server_name

SQUARES_ON_BOTH = """
import numpy as np, pyopencl as cl, remotecl

context = remotecl.connect(*{names!r}, token_file={token_file!r}).context()
first, second = (cl.CommandQueue(context, device) for device in (context.devices[0], context.devices[-1]))
assert remotecl.server_of(first.device) != remotecl.server_of(second.device)
program = cl.Program(context, "kernel void square(global int* x) {{ x[get_global_id(0)] *= x[get_global_id(0)]; }}")
square = program.build().square
values = np.arange(1 << 20, dtype=np.int32) % 30
buffer = cl.Buffer(context, cl.mem_flags.COPY_HOST_PTR, hostbuf=values)
done = square(first, values.shape, None, buffer)
square(second, values.shape, None, buffer, wait_for=[done])
result = np.empty_like(values)
cl.enqueue_copy(second, result, buffer)
assert np.array_equal(result, values**4)
(link,) = remotecl.overview().links
print(link.state, *sorted({{remotecl.server_of(device) for device in context.devices}}))
"""


@pytest.fixture(scope="module")
def token_file(tmp_path_factory) -> Path:
    file = tmp_path_factory.mktemp("keys") / "a,b&c%d token"
    file.write_text("what only friends know\n")
    file.chmod(0o600)
    return file


@pytest.fixture(scope="module")
def guarded(token_file):
    """Two servers with a token, on an address that other machines could reach."""
    with (
        remotecl.Server("0.0.0.0:0", token_file=token_file) as one,
        remotecl.Server("0.0.0.0:0", token_file=token_file) as other,
    ):
        yield [f"127.0.0.1:{server.address.rpartition(':')[2]}" for server in (one, other)]


def test_two_servers_with_tokens_work_and_are_linked(run_program, guarded, token_file):
    program = SQUARES_ON_BOTH.format(names=guarded, token_file=str(token_file))
    assert run_program(program).stdout.split() == ["connected", *sorted(guarded)]


def test_a_program_that_knows_nothing_of_remotecl_names_the_token_in_its_environment(run_program, guarded, token_file):
    names = ",".join(server_name(address, token_file) for address in guarded)
    program = "import pyopencl\nprint([len(p.get_devices()) for p in pyopencl.get_platforms() if p.name == 'remotecl'])"
    assert run_program(program, REMOTECL_SERVERS=names).stdout.strip() == "[2]"


def test_commands_take_the_token_too(run_remotecl, guarded, token_file):
    result = run_remotecl("devices", "--servers", server_name(guarded[0], token_file))
    assert result.returncode == 0, result.stderr
    assert result.stdout.startswith(f"{guarded[0]} connected")


def test_looking_at_a_server_takes_the_token_too(run_remotecl, guarded, token_file):
    names = [server_name(address, token_file) for address in guarded]
    looked = run_remotecl("top", "--once", "--json", "--servers", ",".join(names))
    assert [(server["address"], server["state"]) for server in json.loads(looked.stdout)] == [
        (address, "connected") for address in guarded
    ]
    assert [status.address for status in remotecl.overview(*names).status] == guarded


LOOK_AT_ALL = """
import remotecl

remotecl.connect(*{names!r}, token_file={token_file!r})
assert [status.address for status in remotecl.overview().status] == {names!r}
with remotecl.monitor() as view:
    view._watch.wait(1, 30.0)
    assert [server.state for server in view._watch.latest()] == ["connected", "connected"], view
"""


def test_servers_that_are_known_are_looked_at_with_their_token(run_program, guarded, token_file):
    run_program(LOOK_AT_ALL.format(names=guarded, token_file=str(token_file)))


def test_the_doctor_takes_the_token_too(run_remotecl, guarded, token_file):
    names = ",".join(server_name(address, token_file) for address in guarded)
    found = json.loads(run_remotecl("doctor", "--json", "--servers", names).stdout)
    fine = {finding["check"] for finding in found if finding["status"] == "ok"}
    assert {f"server {address}: device" for address in guarded} <= fine


@pytest.mark.parametrize(
    ("text", "remedy"),
    [(None, "put ?token=FILE behind"), ("what strangers may think of", "the token is not the server's")],
    ids=["none", "wrong"],
)
def test_strangers_are_kept_out_and_told_why(run_remotecl, guarded, tmp_path, text, remedy):
    name = guarded[0]
    if text is not None:
        (tmp_path / "token").write_text(text)
        (tmp_path / "token").chmod(0o600)
        name = server_name(name, tmp_path / "token")
    result = run_remotecl("devices", "--servers", name)
    assert result.returncode == 1
    assert guarded[0] in result.stderr
    assert remedy in result.stderr


def test_a_server_that_merely_accepts_fools_nobody(run_remotecl, cluster, token_file):
    result = run_remotecl("devices", "--servers", server_name(cluster.addresses[0], token_file))
    assert result.returncode == 1
    assert f"{cluster.addresses[0]} accepts the connection without knowing the token" in result.stderr


def test_a_token_file_that_others_may_read_is_refused(run_remotecl, guarded, tmp_path):
    (tmp_path / "token").write_text("what only friends know")
    (tmp_path / "token").chmod(0o644)
    result = run_remotecl("devices", "--servers", server_name(guarded[0], tmp_path / "token"))
    assert result.returncode == 1
    assert f"chmod 600 {tmp_path}/token" in result.stderr
    with pytest.raises(remotecl.ServerStartError, match="chmod 600"):
        remotecl.Server(token_file=tmp_path / "token")


def test_a_server_does_not_listen_to_everybody():
    with pytest.raises(remotecl.ServerStartError, match=r"refusing to listen on 0\.0\.0\.0:0.*--token-file"):
        remotecl.Server("0.0.0.0:0")


def test_a_name_is_its_address_and_options(token_file):
    name = server_name("[::1]:7", token_file)
    assert "," not in name
    assert name.count("&") == 0
    assert full_address(name) == "[::1]:7"
    assert full_address(server_name("gpu1", token_file)) == "gpu1:10990"
    assert server_name("gpu1", None) == "gpu1"


def test_keygen_never_replaces_a_token(run_remotecl, tmp_path):
    first = run_remotecl("keygen", XDG_CONFIG_HOME=str(tmp_path))
    assert first.returncode == 0, first.stderr
    before = (tmp_path / "remotecl" / "token").read_bytes()
    second = run_remotecl("keygen", XDG_CONFIG_HOME=str(tmp_path))
    assert second.returncode == 1
    assert "is there already" in second.stderr
    assert (tmp_path / "remotecl" / "token").read_bytes() == before


def test_keygen_says_where_it_cannot_write(run_remotecl):
    result = run_remotecl("keygen", "/proc/keys")
    assert result.returncode == 1
    assert "cannot make /proc/keys" in result.stderr
