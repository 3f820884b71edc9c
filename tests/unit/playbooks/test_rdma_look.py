"""Ports, flow control and the way to GPU memory, as the host's tools tell them."""

import json
import os
from pathlib import Path
from typing import Any

import pytest

from tests.unit.playbooks.files import program

look = program("roles/rdma/files/look.py")
# Laid out as the manual page of ibstat describes; the values are made up.
PORT = """CA '{name}'
\tCA type: MT4129
\tNumber of ports: 1
\tPort 1:
\t\tState: {state}
\t\tPhysical state: LinkUp
\t\tRate: 400
\t\tLink layer: {layer}
"""
LOSSLESS = "pfc-cap 8 macsec-bypass off delay 0\nprio-pfc 0:off 1:off 2:off 3:on 4:off 5:off 6:off 7:off\n"


@pytest.fixture
def host(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> dict[str, str]:
    """Lend a host with two RoCE adapters; tool → what it prints."""
    says = {
        "ibstat": PORT.format(name="mlx5_0", state="Active", layer="Ethernet")
        + PORT.format(name="mlx5_1", state="Down", layer="Ethernet"),
        "dcb": LOSSLESS,
    }
    for number in range(2):
        (tmp_path / f"ib/mlx5_{number}/device/net/eth{number}").mkdir(parents=True)
        (tmp_path / f"net/eth{number}").mkdir(parents=True)
        (tmp_path / f"net/eth{number}/mtu").write_text("9000\n")
    (tmp_path / "version").write_text("NVRM version: NVIDIA UNIX Open Kernel Module for x86_64  580.95.05\n")
    (tmp_path / "module").mkdir()
    for name, folder in (("CLASS", "ib"), ("NET", "net"), ("DRIVER", "version"), ("MODULES", "module")):
        monkeypatch.setattr(look, name, tmp_path / folder)
    monkeypatch.setattr(look, "output", lambda *command: says[command[0]])
    return says


def lacks(host: dict[str, str]) -> list[str]:
    """Return what a host with its tools lacks."""
    roce = {name: look.interface(name) for name in look.parsed(host["ibstat"])}
    return [*look.port_lacks(look.parsed(host["ibstat"])), *look.pfc_lacks(roce, 3)]


def test_a_host_as_planned_lacks_nothing(host: dict[str, str]) -> None:
    assert lacks(host) == []
    assert look.parsed(host["ibstat"])["mlx5_1"]["State"] == "Down"
    assert list(look.gpudirect_lacks("dma-buf")) == []


def seen(capsys: pytest.CaptureFixture[str], *nics: str) -> dict[str, Any]:
    """Return what is said of a host where a person listed these adapters."""
    look.main(json.dumps({"gpudirect": "dma-buf", "nics": nics, "priority": 3}))
    found: dict[str, Any] = json.loads(capsys.readouterr().out)
    return found


@pytest.mark.usefixtures("host")
def test_only_the_adapters_that_are_listed_are_judged(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "net/eth1/mtu").write_text("1500\n")
    assert seen(capsys) == {
        "lacks": [],
        "mtu": {"eth0": "9000", "eth1": "1500"},
        "ecn": {"eth0": "unknown", "eth1": "unknown"},
    }
    assert seen(capsys, "mlx5_0") == {"lacks": [], "mtu": {"eth0": "9000"}, "ecn": {"eth0": "unknown"}}
    assert seen(capsys, "mlx5_1")["lacks"] == [
        "no RDMA port is Active (mlx5_1 Down): see cables, switches and the subnet manager"
    ]


@pytest.mark.usefixtures("host")
def test_an_adapter_that_is_listed_and_not_there_is_told(capsys: pytest.CaptureFixture[str]) -> None:
    gone = "ibstat does not show mlx5_7: correct nics: of machines.hosts, or find it with `lspci`"
    assert seen(capsys, "mlx5_0", "mlx5_7")["lacks"] == [gone]
    assert seen(capsys, "mlx5_7")["lacks"] == [gone]


def test_adapters_that_carry_nothing_are_told_with_their_states(host: dict[str, str]) -> None:
    host["ibstat"] = host["ibstat"].replace("Active", "Initializing")
    assert lacks(host)[0].startswith(
        "no RDMA port is Active (mlx5_0 Initializing, mlx5_1 Down): see cables, switches"
    )
    host["ibstat"] = ""
    assert lacks(host)[0].startswith("ibstat shows no adapter")


def test_a_lossy_interface_is_told_with_what_dcb_says(host: dict[str, str]) -> None:
    host["dcb"] = LOSSLESS.replace("3:on", "3:off")
    first, second = lacks(host)
    assert first.startswith(
        "interface eth0 has no priority flow control on priority 3 (`dcb pfc show` says pfc-cap"
    )
    assert second.startswith("interface eth1 ")


@pytest.mark.usefixtures("host")
def test_congestion_notification_is_unknown_where_the_driver_does_not_tell(tmp_path: Path) -> None:
    assert look.ecn("eth0", 3) == "unknown"
    for end in ("roce_np", "roce_rp"):
        (tmp_path / f"net/eth0/ecn/{end}/enable").mkdir(parents=True)
        (tmp_path / f"net/eth0/ecn/{end}/enable/3").write_text("1\n")
    assert look.ecn("eth0", 3) == "on"
    (tmp_path / "net/eth0/ecn/roce_rp/enable/3").write_text("0\n")
    assert look.ecn("eth0", 3) == "off"
    (tmp_path / "net/eth0/ecn/roce_np/enable/3").unlink()
    assert look.ecn("eth0", 3) == "off"


@pytest.mark.usefixtures("host")
def test_the_way_to_gpu_memory(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (peermem,) = look.gpudirect_lacks("nvidia_peermem")
    assert peermem.startswith("kernel module nvidia_peermem is not loaded: see `dmesg")
    (tmp_path / "module/nvidia_peermem").mkdir()
    assert list(look.gpudirect_lacks("nvidia_peermem")) == []
    (tmp_path / "version").write_text("NVRM version: NVIDIA UNIX x86_64 Kernel Module  550.135\n")
    old: Any = type("Name", (), {"release": "5.4.0-100-generic"})
    monkeypatch.setattr(os, "uname", lambda: old)
    kernel, driver = look.gpudirect_lacks("dma-buf")
    assert kernel.startswith("kernel 5.4.0-100-generic is older than 5.12")
    assert kernel.endswith("rdma_gpudirect: nvidia_peermem in playbooks/roles/rdma/defaults/main.yml")
    assert driver.startswith(
        "the NVIDIA driver's open kernel modules are not loaded, and dma-buf needs them: "
    )
