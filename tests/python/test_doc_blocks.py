"""The shell blocks of README and docs: those of a first day run in order, in one shell; others are real commands."""

import argparse
import contextlib
import io
import os
import re
import shlex
import subprocess
import sys
from pathlib import Path

import pytest

import remotecl
from conftest import CLEAN_ENVIRONMENT
from remotecl._cli import main as cli
from remotecl._daemon import launcher

ROOT = Path(__file__).resolve().parents[2]
PAGES = ["README.md", "CONTRIBUTING.md", *(f"docs/{page.name}" for page in sorted((ROOT / "docs").glob("*.md")))]
IN_ORDER = ["README.md", "docs/quickstart.md"]

# What a reader has and this machine has not: other machines, a network to install from, a clinfo.
READER = """
set -eu
cd "$HOME"
git() { mkdir -p remotecl/notebooks; }
make() { :; }
pip() { :; }
python3() { mkdir -p ~/remotecl-venv/bin; touch ~/remotecl-venv/bin/activate; }
scp() { mkdir -p "$HOME/there"; cp -r "$2" "$HOME/there/${3#*:}"; }
ssh() {
  shift
  (cd "$HOME/there" && LISTEN=127.0.0.1:0 exec "$@" --exit-on-stdin-eof) < "$HOME/alive" > "$HOME/said" &
  until address=$(sed -n 's/^listening on //p' "$HOME/said") && [ -n "$address" ]; do kill -0 $!; sleep 0.05; done
  echo "address = \\"$address\\"" >> ~/.config/remotecl/config.toml
}
clinfo() { python -c 'import ctypes; ctypes.CDLL("libOpenCL.so.1").clGetPlatformIDs(0, None, ctypes.c_uint(0))'; }
mkfifo alive
sleep 600 > alive &
alive=$!
trap 'kill $alive; wait' EXIT
cp program.py program
"""
PROGRAM = f"""#!{sys.executable}
import pyopencl
assert any(platform.get_devices() for platform in pyopencl.get_platforms() if platform.name == "remotecl")
"""


def blocks(page: str, language: str = "sh") -> list[str]:
    return re.findall(rf"^```{language}\n(.*?)^```", (ROOT / page).read_text(), re.MULTILINE | re.DOTALL)


@pytest.mark.parametrize("page", IN_ORDER)
def test_a_readers_first_day(page, cluster, tmp_path):
    first, second = cluster.addresses
    # gpu1 is there from the moment on that its keys are made; before, a server is what the text says it is.
    script = READER + "\n".join(blocks(page)).replace("gpu2:10991", second)
    before, made, after = script.partition("remotecl keygen --for gpu1")
    if page == "README.md":
        before = re.sub(r"--servers gpu1\b", f"--servers {first}", before)
        after = re.sub(r"(SERVERS=|--servers )gpu1,", rf"\1{first},", after)
    after = after.replace("REMOTECL_SERVERS=gpu1\n", f"REMOTECL_SERVERS={first}\n")
    program = tmp_path / "program.py"
    program.write_text(PROGRAM)
    program.chmod(0o755)
    for source in blocks(page, "c"):  # its first line names the file
        (tmp_path / re.match(r"// (\w+\.c):", source)[1]).write_text(source)
    environment = CLEAN_ENVIRONMENT | {
        "HOME": str(tmp_path),
        "PATH": f"{Path(sys.executable).parent}:{os.environ['PATH']}",
        "XDG_CACHE_HOME": str(tmp_path / "cache"),
    }
    environment.pop("XDG_CONFIG_HOME", None)
    result = subprocess.run(
        ["bash", "-c", before + made + after],
        env=environment,
        capture_output=True,
        text=True,
        timeout=240,
        check=False,
    )
    assert result.returncode == 0, result.stdout + result.stderr
    assert "problem" not in re.findall(r"^(\w+) +server", result.stdout, re.MULTILINE)


def test_every_c_block_is_run():
    """The shell blocks of a reader's first day compile and run those of their pages."""
    for page in PAGES:
        for source in blocks(page, "c"):
            assert page in IN_ORDER
            assert f"cc {source.split()[1].rstrip(':')} " in "".join(blocks(page))


def commands(page: str, program: str) -> list[str]:
    """Lines that call a program, without the variables before it and what comes after a pipe or comment."""
    lines = "\n".join(blocks(page)).replace("\\\n", " ").splitlines()
    found = [
        re.search(rf"(?:^|&& |gpu1 |\$\(|; |bin/)({program}(?: [^|;&)#>]*)?)(?=$|[|;&)#>])", line.strip())
        for line in lines
    ]
    return [one[1].strip() for one in found if one]


def test_there_are_commands_to_check():
    assert sum(len(commands(page, "remotecl")) for page in PAGES) > 15
    assert sum(len(commands(page, "remotecl-server")) for page in PAGES) >= 3


@pytest.mark.parametrize("page", PAGES)
def test_shell_blocks_are_well_formed(page):
    for block in blocks(page):
        subprocess.run(["bash", "-n", "-c", block], check=True)


@pytest.mark.parametrize("page", PAGES)
def test_the_commands_take_what_the_text_gives_them(page):
    for command in commands(page, "remotecl"):
        words = shlex.split(command)[1:]
        errors = io.StringIO()
        with contextlib.redirect_stderr(errors):
            try:
                options, further = cli._parser().parse_known_args(words)
            except SystemExit as end:
                assert end.code == 0, f"{command}: {errors.getvalue()}"  # --version, --help
                continue
        assert not further or options.run is cli._bench, f"{command}: {further}"
        assert isinstance(options, argparse.Namespace)


@pytest.mark.parametrize("page", PAGES)
def test_the_daemon_has_the_options_that_the_text_gives_it(page):
    shown = subprocess.run([launcher.binary_path(), "--help"], capture_output=True, text=True, check=True).stdout
    for command in commands(page, "remotecl-server"):
        for option in re.findall(r"--[a-z-]+", command):
            assert option in shown, command


def test_the_version_in_names_of_wheels_is_this_one():
    named = [name for page in PAGES for name in re.findall(r"remotecl-(\d+\.\d+\.\d+)-", (ROOT / page).read_text())]
    assert named
    assert set(named) == {remotecl.__version__}
