"""What the lab's resource kinds say without touching the machine."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from components.machines.lab import cgroups, links, machine, root
from components.machines.lab.booted import MachineInputs, MachineOutputs
from components.machines.lab.host import Host
from components.machines.lab.network import Network, NetworkInputs
from components.machines.lab.origin import Origin, OriginInputs
from stacks.errors import Refusal
from tests.factories.hosts import host
from tests.factories.run import FakeRun

if TYPE_CHECKING:
    from pathlib import Path

HOST = MachineInputs(
    fleet="lab-3fa2c1",
    name="lab-1",
    network="n1",
    subnet="10.213.7.0/24",
    bridge="rs-00000000",
    image="/cache/images/bookworm",
    index=2,
    cpus=1,
    memory_mib=4096,
)
ORIGIN = OriginInputs(**HOST.model_dump(), wheels="/cache/wheels/ab", checkpoints="/cache/checkpoints")


def test_sound_inputs_have_no_faults() -> None:
    assert list(Host().faults(HOST)) == []
    assert list(Origin().faults(ORIGIN)) == []
    assert list(Network().faults(NetworkInputs(fleet="lab-3fa2c1"))) == []


@pytest.mark.parametrize(
    ("wrong", "word"),
    [
        ({"fleet": "../x"}, "fleet"),
        ({"name": "Lab"}, "name"),
        ({"index": 0}, "index"),
        ({"cpus": 0}, "cpus"),
        ({"memory_mib": 64}, "memory_mib"),
        ({"image": "images/x"}, "image"),
        ({"image": "/a:b"}, "image"),
        ({"image": "/a,b"}, "image"),
    ],
)
def test_each_fault_names_its_input(wrong: dict[str, object], word: str) -> None:
    (fault,) = Host().faults(HOST.model_copy(update=wrong))
    assert fault.startswith(word)


def test_the_paths_that_the_origin_serves_are_judged_too() -> None:
    (fault,) = Origin().faults(ORIGIN.model_copy(update={"wheels": "/a:b"}))
    assert "'/a:b'" in fault


def test_only_limits_change_on_a_running_machine() -> None:
    assert set(MachineInputs.model_fields) - Host.replace_on == {"cpus", "memory_mib"}
    assert set(OriginInputs.model_fields) - Origin.replace_on == {"cpus", "memory_mib"}


def test_a_preview_knows_what_follows_from_names() -> None:
    assert Origin().foresee(ORIGIN) == {"url": "http://10.213.7.12"}
    assert Network().foresee(NetworkInputs(fleet="lab-3fa2c1"))["user"] == "root"


def test_a_folder_outside_the_lab_is_never_a_fleets() -> None:
    for fleet in ("..", "../etc", "a/b", ""):
        with pytest.raises(Refusal, match="rename the stack"):
            root.fleet_folder(fleet)


def test_a_limit_that_was_never_set_is_drift(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "memory.max").write_text(f"{256 << 20}\n")
    monkeypatch.setattr(cgroups, "find", lambda _: [tmp_path])
    monkeypatch.setattr(root, "incarnation", lambda _: "1")
    monkeypatch.setattr(machine, "is_running", lambda _: True)
    monkeypatch.setattr(machine, "silent_ports", lambda _: [])
    monkeypatch.setattr(links, "is_attached", lambda *_: True)
    record = host("lab-1")
    seen = Host().read(
        HOST.model_copy(update={"image": str(tmp_path)}),
        MachineOutputs(incarnation="1", record=record),
        FakeRun(),
    )
    assert seen is not None
    assert seen.drift == {
        "lab-1": {"memory": f"its limit is {256 << 20} (memory.max), not {4096 << 20}"},
    }
