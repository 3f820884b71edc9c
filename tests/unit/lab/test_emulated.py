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
    from pathlib import Path
    from types import ModuleType

ONE, TWO = "10.0.0.1", "10.0.0.2"
LIST, OTHER = "both", "one alone"


@pytest.mark.parametrize(("accelerator", "gpus"), [("gb300", 4), ("b200", 8), ("b300", 8)])
def test_what_tools_of_a_machine_that_is_well_say_passes_the_gates(accelerator: str, gpus: int) -> None:
    says = {
        tool: {"code": 0, "out": text.replace(seen.DRIVER, RELEASE)}
        for tool, text in seen.says(gpus, accelerator).items()
    }
    wants = sights.wants(seen.FABRICS[accelerator])
    verdict = judge(sights.sights(wants, {"all": says}), wants, catalog.load().fabrics)
    assert verdict.refused == ()


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


@pytest.mark.parametrize("words", [["-N", "-j"], ["-N"]], ids=["json", "table"])
@pytest.mark.parametrize(
    ("other", "word", "letter", "status"),
    [
        ({"version": RELEASE, "map": LIST}, "CONNECTED", "C", "UP"),
        ({"version": RELEASE, "map": OTHER}, "NODE_MAP_MISMATCH", "!M!", "DEGRADED"),
        ({"version": OLDER, "map": LIST}, "VERSION_MISMATCH", "!V!", "DEGRADED"),
        (None, "NEVER_CONNECTED", "N", "DEGRADED"),
    ],
    ids=["well", "other-list", "other-release", "silent"],
)
def test_a_domain_is_told_in_the_forms_that_the_gate_knows(  # noqa: PLR0913, PLR0917 -- one case, and two ways to ask
    words: list[str],
    other: dict[str, str] | None,
    word: str,
    letter: str,
    status: str,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    own: dict[str, Any] = {"version": RELEASE, "map": LIST, "nodes": [ONE, TWO]}
    tool = loaded("nvidia-imex-ctl")
    monkeypatch.setattr(tool, "config", dict)
    monkeypatch.setattr(tool, "asked", lambda address, _port: other if address == TWO else own)
    monkeypatch.setattr("sys.argv", ["nvidia-imex-ctl", *words])
    assert tool.main() == 0
    domain = imex.read(Said(code=0, out=capsys.readouterr().out))
    assert domain.status == status
    assert domain.nodes[ONE].links == {
        ONE: "C",
        TWO: ("C" if word == "CONNECTED" else word) if "-j" in words else letter,
    }
    assert domain.nodes[TWO].status == ("READY" if other else "UNAVAILABLE")
    if other == {"version": RELEASE, "map": LIST}:
        release = {f"{address} version": RELEASE for address in (ONE, TWO)}
        assert domain == imex.read(Said(code=0, out=sights.imex(sights.wants("nvlink"), "", release)))


def loaded(name: str) -> ModuleType:
    """Return a tool of emulated machines as a module; none of them is named as one."""
    loader = SourceFileLoader(name.replace("-", "_"), str(packages.TOOLS / name))
    spec = importlib.util.spec_from_loader(loader.name, loader)
    assert spec
    tool = importlib.util.module_from_spec(spec)
    loader.exec_module(tool)
    return tool
