"""`remotecl doctor` and RDMA: devices, ports, libraries and limits, as the kernel would describe them."""

import resource
from pathlib import Path

import pytest

from remotecl.doctor import rdma

V4 = "0000:0000:0000:0000:0000:ffff:0a09:0001"
LINK_LOCAL = "fe80:0000:0000:0000:5054:00ff:fe12:3456"
UNUSED = "0000:0000:0000:0000:0000:0000:0000:0000"


class Machine:
    """Folders like the kernel's."""

    def __init__(self, folder: Path) -> None:
        self.devices = folder / "sys"
        self.nodes = folder / "dev"
        self.missing: set[str] = set()
        self.devices.mkdir()
        self.nodes.mkdir()
        (self.nodes / "rdma_cm").touch()

    def add_port(self, name: str, state: str = "4: ACTIVE", link_layer: str = "Ethernet", gids=(V4,)) -> None:
        device, _, number = name.partition(":")
        port = self.devices / device / "ports" / number
        (port / "gids").mkdir(parents=True)
        (port / "gid_attrs" / "ndevs").mkdir(parents=True)
        (port / "state").write_text(f"{state}\n")
        (port / "link_layer").write_text(f"{link_layer}\n")
        for index, gid in enumerate(gids):
            (port / "gids" / str(index)).write_text(f"{gid}\n")
            (port / "gid_attrs" / "ndevs" / str(index)).write_text("eth1\n")

    def load(self, name: str) -> None:
        if name in self.missing:
            raise OSError(f"{name}: cannot open shared object file")

    def findings(self, use: str = "") -> dict:
        found = rdma.findings({"REMOTECL_RDMA": use}, self.devices, self.nodes, self.load)
        return {finding.check: finding for finding in found}


@pytest.fixture
def machine(tmp_path):
    return Machine(tmp_path)


@pytest.mark.parametrize("use", ["", "off", "auto"])
def test_a_machine_without_rdma_has_one_quiet_line(machine, use):
    (finding,) = machine.findings(use).values()
    assert (finding.check, finding.status, finding.remedy) == ("RDMA", "ok", "")
    assert "no RDMA device" in finding.text


def test_a_kernel_without_rdma_has_no_folder(tmp_path):
    (finding,) = rdma.findings({}, tmp_path / "none", tmp_path)
    assert finding.status == "ok"


def test_what_is_required_and_missing_is_a_problem(machine):
    (finding,) = machine.findings("require").values()
    assert finding.status == "problem"
    assert "REMOTECL_RDMA=require" in finding.text
    assert "rdma link" in finding.remedy


def test_a_port_has_its_state_kind_and_addresses(machine):
    machine.add_port("mlx5_0:1", gids=(LINK_LOCAL, LINK_LOCAL, V4, V4, UNUSED))
    machine.add_port("mlx5_1:1", link_layer="InfiniBand", gids=(LINK_LOCAL,))
    found = machine.findings("auto")
    first, second = found["RDMA port mlx5_0:1"], found["RDMA port mlx5_1:1"]
    assert first.status == second.status == "ok"
    assert first.text == "ACTIVE, RoCE on eth1, fe80::5054:ff:fe12:3456, 10.9.0.1"
    assert second.text.startswith("ACTIVE, InfiniBand")
    assert found["RDMA use"].status == "ok"
    assert found["RDMA libraries"].status == "ok"
    assert "RDMA connections" not in found


@pytest.mark.parametrize("use, status", [("auto", "note"), ("require", "problem")])
def test_a_port_that_is_down_matters_where_no_other_is_up(machine, use, status):
    machine.add_port("mlx5_0:1", state="1: DOWN")
    down = machine.findings(use)["RDMA port mlx5_0:1"]
    assert down.status == status
    assert down.text.startswith("DOWN")
    assert "ip link set eth1 up" in down.remedy
    machine.add_port("mlx5_1:1")
    assert machine.findings(use)["RDMA port mlx5_0:1"].status == "ok"


def test_who_has_turned_rdma_off_is_told_how_to_use_it(machine):
    machine.add_port("mlx5_0:1")
    assert machine.findings()["RDMA use"].status == "ok", "it is used unless it is turned off"
    use = machine.findings("off")["RDMA use"]
    assert use.status == "note"
    assert "unset REMOTECL_RDMA" in use.remedy


def test_libraries_that_are_missing_have_packages(machine):
    machine.add_port("mlx5_0:1")
    machine.missing = {"librdmacm.so.1"}
    finding = machine.findings("auto")["RDMA libraries"]
    assert finding.status == "note"
    assert "librdmacm.so.1 cannot be loaded" in finding.text
    assert finding.remedy.endswith("apt-get install librdmacm1")
    assert machine.findings("require")["RDMA libraries"].status == "problem"


def test_no_node_to_make_connections_by(machine):
    machine.add_port("mlx5_0:1")
    (machine.nodes / "rdma_cm").unlink()
    finding = machine.findings("auto")["RDMA connections"]
    assert finding.status == "note"
    assert "modprobe rdma_ucm" in finding.remedy


@pytest.mark.parametrize(
    "limit, may_lock_all, status, words",
    [
        (resource.RLIM_INFINITY, False, "ok", "unlimited"),
        (8 << 20, True, "ok", "may lock more"),
        (8 << 20, False, "note", "ulimit -l is 8192 KiB"),
        (1 << 30, False, "ok", "ulimit -l is 1048576 KiB"),
    ],
)
def test_memory_that_may_be_locked(limit, may_lock_all, status, words):
    finding = rdma.locked_memory(limit, may_lock_all)
    assert finding.status == status
    assert words in finding.text
    assert ("LimitMEMLOCK=infinity" in finding.remedy) == (status == "note")
