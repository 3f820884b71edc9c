"""What a host says of its driver, and what that means: a restart, a refusal, or nothing."""

from pathlib import Path
from typing import Any

import pytest
import yaml

from tests.factories.processes import deaf_to_signals
from tests.unit.playbooks.files import program

look = program("roles/nvidia_driver/files/look.py")
CASES = yaml.safe_load((Path(__file__).parents[2] / "cases/host_stack/driver.yaml").read_text())


@pytest.mark.parametrize("case", CASES, ids=[case["name"] for case in CASES])
def test_what_a_host_says_of_its_driver(
    case: dict[str, Any], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    version, nouveau = tmp_path / "version", tmp_path / "nouveau"
    if case.get("version"):
        version.write_text(case["version"])
    if case.get("nouveau"):
        nouveau.mkdir()
    monkeypatch.setattr(look, "VERSION", version)
    monkeypatch.setattr(look, "NOUVEAU", nouveau)
    monkeypatch.setattr(look, "asked", lambda *_: tuple(case["smi"]))
    loaded, is_open = look.kernel_module()
    assert list(look.reasons(case["release"], loaded, is_open=is_open)) == case["reasons"]
    lacks = [
        each.replace(str(version), "FILE") for each in look.lacks(case["release"], loaded, is_open=is_open)
    ]
    assert lacks == case["lacks"]


def test_another_way_of_installing_it_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(look, "INSTALLER", tmp_path / "nvidia-uninstall")
    assert list(look.refusals()) == []
    (tmp_path / "nvidia-uninstall").touch()
    (said,) = look.refusals()
    assert said.endswith("run `nvidia-uninstall`, restart the host, then run again")


def test_a_tool_that_is_not_there_says_so() -> None:
    code, said = look.asked("/no/such/nvidia-smi")
    assert (code, "No such file" in said) == (127, True)


def test_a_tool_that_hangs_in_the_driver_says_so(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(look, "PATIENCE", 0.01)
    monkeypatch.setattr(look, "END_PATIENCE", 0.01)
    with deaf_to_signals(monkeypatch) as left:
        assert look.asked("sleep", "60") == (124, "nothing for 0 s")
        assert [process.poll() for process in left] == [None]
