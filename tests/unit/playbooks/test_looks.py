"""What the programs that look at a host conclude from what they see."""

import json
import os
from pathlib import Path
from typing import Any

import pytest

from tests.unit.playbooks.files import program

look = program("roles/serve/files/look.py")
survey = program("roles/prepare/files/survey.py")
ARGV = ["/opt/engine/bin/vllm", "serve"]
ACTIVE = {"ActiveState": "active", "ExecMainStartTimestamp": "Tue 2026-12-01 14:10:06.500000 UTC"}


@pytest.fixture
def file(tmp_path: Path) -> Path:
    path = tmp_path / "rank.env"
    path.touch()
    moment = look.timestamp(ACTIVE["ExecMainStartTimestamp"])
    os.utime(path, (moment - 0.1, moment - 0.1))
    return path


@pytest.mark.parametrize("argv", [ARGV, ["/opt/engine/bin/python", *ARGV]], ids=["binary", "script"])
def test_a_rank_that_runs_as_wanted_is_left_alone(file: Path, argv: list[str]) -> None:
    assert look.stale(ACTIVE, argv, ARGV, [str(file)]) == ""


@pytest.mark.parametrize("state", ["inactive", "failed", "activating"])
def test_a_rank_that_is_not_active_has_to_be_started(state: str) -> None:
    assert look.stale({"ActiveState": state}, [], ARGV, []) == f"it is {state}"


@pytest.mark.parametrize("argv", [[], [*ARGV, "--more"], ["/opt/other/bin/vllm", "serve"]])
def test_a_rank_with_other_arguments_has_to_be_started(argv: list[str]) -> None:
    assert look.stale(ACTIVE, argv, ARGV, []) == "it runs with other arguments"


def test_a_rank_older_than_what_it_was_started_from_has_to_be_started(file: Path) -> None:
    moment = look.timestamp(ACTIVE["ExecMainStartTimestamp"])
    os.utime(file, (moment + 0.1, moment + 0.1))
    assert look.stale(ACTIVE, ARGV, ARGV, [str(file)]) == f"{file} changed after it was started"
    file.unlink()
    assert look.stale(ACTIVE, ARGV, ARGV, [str(file)]) == f"{file} changed after it was started"


def test_a_rank_that_somebody_else_started_has_to_be_started(tmp_path: Path) -> None:
    marker = tmp_path / "serve.json"
    assert look.restarted("f01", marker) == ""
    for text in ("{", "[]", "{}", '{"facts": {"invocation": "f01"}}'):
        marker.write_text(text)
        assert look.restarted("f01", marker) == ""
    marker.write_text('{"facts": {"invocation": "f00"}}')
    assert look.restarted("f01", marker) == "it was started again by something else"


@pytest.mark.parametrize(
    ("freezer", "state", "reason"),
    [
        ("running", "S", ""),
        ("running", "T", "its process 12 is stopped"),
        ("frozen", "S", "its process 12 is stopped"),
    ],
)
def test_a_rank_with_a_process_that_is_stopped_has_to_be_started(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, freezer: str, state: str, reason: str
) -> None:
    group = tmp_path / "system.slice" / "rank.service"
    group.mkdir(parents=True)
    (group / "cgroup.procs").write_text("12\n")
    monkeypatch.setattr(look, "CGROUPS", (tmp_path / "absent", tmp_path))
    monkeypatch.setattr(look, "process_state", lambda _: state)
    assert look.held({"ControlGroup": "/system.slice/rank.service", "FreezerState": freezer}) == reason
    assert look.held({"ControlGroup": "", "FreezerState": freezer}) == ""


def test_all_lacks_of_a_machine_are_named_at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    wanted: dict[str, Any] = {"fleet": "lab", "memory_mib": 1 << 40, "brought": {"/opt/absent": 1 << 40}}
    wanted |= {"now": 0, "clock_seconds": 60}
    monkeypatch.setattr(survey, "systemd_version", lambda: 200)
    lacks = list(survey.machine_lacks(wanted))
    assert [lack.split()[0] for lack in lacks] == ["memory", "the", "its", "systemd"]
    assert lacks[0].endswith(f"the plan needs {1 << 40} MiB: give the machine more or plan for less")
    assert lacks[1].startswith("the disk of /opt has ")


def test_what_lies_on_a_disk_already_is_not_asked_for_again(tmp_path: Path) -> None:
    there, begun, absent = (tmp_path / name for name in ("there", "begun", "absent"))
    there.mkdir()
    (there / ".verified").touch()
    fetched = tmp_path / "begun.part"
    for folder, mib in ((begun, 1), (fetched, 2)):
        folder.mkdir()
        (folder / "file").write_bytes(bytes(mib << 20))
    assert [survey.still_to_come(each, 8) for each in (there, begun, absent)] == [0, 5, 8]
    (lack,) = survey.disk_lacks({str(there): 1 << 40, str(begun): (1 << 40) + 3, str(absent): 7})
    assert lack.startswith(f"the disk of {there} and {begun} and {tmp_path} has ")
    assert f"the plan needs {(1 << 40) + 7} MiB there: free some" in lack


def test_a_machine_that_is_claimed_is_asked_of_its_disks_alone(capsys: pytest.CaptureFixture[str]) -> None:
    survey.main("disks", json.dumps({"/opt/absent": 1 << 40, "/absent/too": 0}))
    assert len(json.loads(capsys.readouterr().out)) == 1


def test_a_missing_package_comes_with_its_reason_and_is_not_named_twice() -> None:
    reasons = {"g++": "kernels are compiled with it"}
    (lack,) = survey.package_lacks(["g++"], reasons)
    assert lack.startswith(
        "package g++ is missing and no package source has it: kernels are compiled with it;"
    )
    assert not any("g++" in lack for lack in survey.software_lacks(["g++", "python3-dev", "libnuma1"]))


def test_a_compiler_that_is_gone_from_under_its_package_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(survey.shutil, "which", lambda _: None)
    (lack,) = survey.software_lacks(["python3-dev", "libnuma1"])
    assert lack.startswith("command g++ is missing")
