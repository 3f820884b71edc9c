"""What emulated machines say is what the factory of the gates' cases says, and passes the gates."""

from __future__ import annotations

import importlib.util
from importlib.machinery import SourceFileLoader
from typing import TYPE_CHECKING, Any

import pytest

from components.machines.baremetal import survey
from components.readiness.gates import collect, imex
from components.readiness.gates.judge import judge
from components.readiness.gates.sight import Said
from stacks import catalog
from tests.factories import sights
from tests.lab.emulated import packages, seen
from tests.lab.emulated.packages import OLDER, RELEASE

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path
    from types import ModuleType

    Ask = Callable[..., str]

ONE, TWO = "10.0.0.1", "10.0.0.2"
HEAD: dict[str, Any] = {"version": RELEASE, "map": "one list", "nodes": [ONE, TWO]}


@pytest.mark.parametrize(("accelerator", "gpus"), [("gb300", 4), ("b200", 8), ("b300", 8)])
def test_what_tools_of_a_machine_that_is_well_say_passes_the_gates(accelerator: str, gpus: int) -> None:
    says = {
        tool: {"code": 0, "out": text.replace(seen.DRIVER, RELEASE)}
        for tool, text in seen.says(gpus, accelerator).items()
    }
    wants = sights.wants(seen.FABRICS[accelerator])
    verdict = judge(sights.sights(wants, {"all": says}), wants, catalog.load().fabrics)
    assert verdict.refused == ()


@pytest.mark.parametrize(
    ("accelerator", "memory"),
    [("gb300", "284208 MiB"), ("b200", "183359 MiB"), ("b300", "275040 MiB")],
)
def test_each_gpu_has_its_own_memory(accelerator: str, memory: str) -> None:
    assert f"<total>{memory}</total>" in seen.says(1, accelerator)["smi"]


@pytest.mark.parametrize(("accelerator", "gpus"), [("gb300", 4), ("b300", 8)])
def test_the_bus_and_the_nics_lie_as_claims_and_gates_read_them(
    accelerator: str, gpus: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name, text in seen.machine(gpus, accelerator).items():
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_text(text)
    monkeypatch.setattr(survey, "DEVICES", tmp_path / "bus")
    monkeypatch.setattr(collect, "INFINIBAND", tmp_path / "infiniband")
    assert survey.on_bus() == {"10de": gpus}
    assert collect.nics() == sights.nics(sights.wants(seen.FABRICS[accelerator]), {})


def test_a_domain_that_is_well_is_told_as_the_factory_tells_it(ask: Ask) -> None:
    release = {f"{address} version": RELEASE for address in (ONE, TWO)}
    usual = sights.imex(sights.wants("nvlink"), "", release)
    assert domain(ask(HEAD, "-j")) == domain(usual)
    assert domain(ask(HEAD)) == domain(usual)


@pytest.mark.parametrize(
    ("peer", "word", "letter"),
    [
        ({**HEAD, "map": "another list"}, "NODE_MAP_MISMATCH", "!M!"),
        ({**HEAD, "version": OLDER}, "VERSION_MISMATCH", "!V!"),
    ],
    ids=["another-list", "another-release"],
)
def test_a_peer_that_differs_is_told_in_both_forms(
    ask: Ask, peer: dict[str, Any], word: str, letter: str
) -> None:
    for told, status in ((ask(peer, "-j"), word), (ask(peer), letter)):
        assert domain(told).status == "DEGRADED"
        assert domain(told).nodes[ONE].links == {ONE: "C", TWO: status}


def test_a_peer_that_is_silent_is_unavailable(ask: Ask) -> None:
    # How the table shows it is in no document that we know.
    seen_ = domain(ask(None, "-j"))
    assert (seen_.nodes[ONE].status, seen_.nodes[TWO].status) == ("READY", "UNAVAILABLE")
    assert seen_.nodes[ONE].links == {ONE: "C", TWO: "NEVER_CONNECTED"}


@pytest.fixture
def ask(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Ask:
    """Return what asks the first of two nodes, with what the second one says of itself."""
    tool = loaded("nvidia-imex-ctl")
    monkeypatch.setattr(tool, "config", dict)

    def told(peer: dict[str, Any] | None, *words: str) -> str:
        monkeypatch.setattr(tool, "asked", lambda address, _port: peer if address == TWO else HEAD)
        monkeypatch.setattr("sys.argv", ["nvidia-imex-ctl", "-N", *words])
        assert tool.main() == 0
        return capsys.readouterr().out

    return told


def domain(told: str) -> imex.Domain:
    """Read an answer as the gate does."""
    return imex.read(Said(code=0, out=told))


def loaded(name: str) -> ModuleType:
    """Return a tool of emulated machines as a module; none of them is named as one."""
    loader = SourceFileLoader(name.replace("-", "_"), str(packages.TOOLS / name))
    spec = importlib.util.spec_from_loader(loader.name, loader)
    assert spec
    tool = importlib.util.module_from_spec(spec)
    loader.exec_module(tool)
    return tool
