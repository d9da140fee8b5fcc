"""Files that remotecl makes where the umask protects nothing: nobody else may change or replace them."""

import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

import remotecl
from conftest import CLEAN_ENVIRONMENT

WITHIN_S = 60.0


@pytest.fixture
def home(tmp_path: Path) -> Path:
    home = tmp_path / "home"
    home.mkdir(mode=0o700)
    return home


def run(home: Path, *command: str, until: str = "") -> str:
    """What a command prints, in an empty home and with umask 000; it is ended when it prints `until`."""
    settings = {**CLEAN_ENVIRONMENT, "HOME": str(home)}
    for name in ("XDG_CACHE_HOME", "XDG_CONFIG_HOME"):
        settings.pop(name, None)
    with subprocess.Popen(
        command, env=settings, umask=0, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    ) as process:
        try:
            printed = ""
            if until:
                for line in process.stdout:
                    printed += line
                    if line.startswith(until):
                        process.terminate()
                        break
            rest, errors = process.communicate(timeout=WITHIN_S)
        except BaseException:
            process.kill()
            raise
    assert until or process.returncode == 0, errors
    return printed + rest


def loose(folder: Path) -> Iterator[str]:
    """What others may change, below a folder."""
    for path in folder.rglob("*"):
        if not path.is_symlink() and path.stat().st_mode & 0o022:
            yield f"{path.relative_to(folder)} {path.stat().st_mode & 0o777:o}"


REMOTECL = (sys.executable, "-m", "remotecl")


def test_keygen(home: Path) -> None:
    run(home, *REMOTECL, "keygen")
    run(home, *REMOTECL, "keygen", str(home / "some" / "where"))
    run(home, *REMOTECL, "keygen", "--for", "gpu1")
    made = home / ".config" / "remotecl"
    assert (made / "pin").is_file()
    assert (made / "config.toml").is_file()
    assert (made / "gpu1" / "server" / "serve.sh").is_file()
    assert not list(loose(home))


def test_a_pin_that_others_could_change_is_replaced(home: Path) -> None:
    (home / "pin").write_text("somebody's\n")
    (home / "pin").chmod(0o666)
    printed = run(home, *REMOTECL, "keygen", str(home))
    assert (home / "pin").read_text().strip() in printed
    assert not list(loose(home))


def test_the_folder_of_drivers(home: Path) -> None:
    folder = Path(run(home, *REMOTECL, "icd-path", "--vendors").strip())
    assert folder.is_relative_to(home / ".cache" / "remotecl")
    assert list(folder.iterdir())
    assert not list(loose(home))


def test_what_a_daemon_makes(home: Path) -> None:
    server = remotecl._daemon.launcher.binary_path()
    run(home, server, "--listen", "127.0.0.1:0", until="listening on")
    assert (home / ".cache" / "remotecl" / "store").is_dir()
    run(home, server, "--make-certificate", str(home / "certificate.pem"), str(home / "key.pem"))
    assert (home / "key.pem").stat().st_mode & 0o777 == 0o600
    assert not list(loose(home))


def test_what_a_client_makes(home: Path, addresses: str) -> None:
    run(home, *REMOTECL, "devices", "--servers", addresses)
    secret = home / ".cache" / "remotecl" / "owner" / "secret"
    assert secret.stat().st_mode & 0o777 == 0o600
    assert secret.parent.stat().st_mode & 0o777 == 0o700
    assert secret.stat().st_size == 32
    assert not list(loose(home))
