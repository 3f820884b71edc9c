"""Files, modules, settings and units: what is not as wished is told, and brought about."""

import os
from pathlib import Path

import pytest

from tests.unit.playbooks.files import program

settle = program("roles/settle/files/settle.py")
RUNS = {
    "ActiveState": "active",
    "Result": "success",
    "UnitFileState": "enabled",
    "MainPID": "7",
    "ExecMainStartTimestamp": "Tue 2026-12-01 14:10:06.500000 UTC",
}


@pytest.fixture
def said(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> list[tuple[str, ...]]:
    """Lend a kernel below a folder, and remember the commands that were run."""
    commands: list[tuple[str, ...]] = []

    def output(*command: str) -> str:
        commands.append(command)
        if command[0] == "modprobe" and command[1] != "gone":
            (tmp_path / "module" / command[1]).mkdir()
        return ""

    (tmp_path / "module").mkdir()
    (tmp_path / "sys/vm").mkdir(parents=True)
    (tmp_path / "sys/vm/nr_hugepages").write_text("0\n")
    monkeypatch.setattr(settle, "FOUND", tmp_path / "found")
    monkeypatch.setattr(settle, "PROC", tmp_path)
    monkeypatch.setattr(settle, "MODULES", tmp_path / "module")
    monkeypatch.setattr(settle, "output", output)
    return commands


def test_all_that_is_not_as_wished_is_brought_about_and_then_nothing_is(
    said: list[tuple[str, ...]], tmp_path: Path
) -> None:
    path = tmp_path / "etc/some.conf"
    wish = {
        "files": {str(path): {"content": "a\n", "mode": "0640"}},
        "modules": ["ib-umad"],
        "settings": {"vm.nr_hugepages": "2"},
    }
    assert list(settle.stale(wish)) == [
        f"{path} is not the wished one",
        "kernel module ib_umad is not loaded",
        "vm.nr_hugepages is 0, the plan says 2",
    ]
    assert settle.change(wish) == [str(path), "ib_umad", "vm.nr_hugepages"]
    assert list(settle.stale(wish)) == settle.change(wish) == []
    assert path.stat().st_mode & 0o7777 == 0o640
    path.chmod(0o644)
    assert list(settle.stale(wish)) == [f"{path} is not the wished one"]
    assert said == [("modprobe", "ib_umad")]


@pytest.mark.usefixtures("said")
def test_what_the_kernel_has_not_stays_told() -> None:
    wish = {"modules": ["gone"], "settings": {"kernel.odd": "1"}}
    settle.change(wish)
    assert list(settle.stale(wish)) == [
        "kernel module gone is not loaded",
        "kernel.odd is unknown to this kernel, the plan says 1",
    ]


@pytest.mark.parametrize(
    ("state", "reason"),
    [
        ({}, ""),
        ({"ActiveState": "failed", "Result": "exit-code"}, "some.service is failed (exit-code)"),
        ({"UnitFileState": "disabled"}, "some.service is disabled at boot"),
        ({"ExecMainStartTimestamp": ""}, "FILE was written after some.service was started"),
    ],
)
@pytest.mark.usefixtures("said")
def test_when_a_unit_is_started_again(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, state: dict[str, str], reason: str
) -> None:
    path = tmp_path / "config"
    path.touch()
    os.utime(path, (1_000_000_000, 1_000_000_000))
    monkeypatch.setattr(settle, "unit_state", lambda _: RUNS | state)
    assert settle.stale_unit("some.service", [str(path)]) == reason.replace("FILE", str(path))


@pytest.mark.usefixtures("said")
def test_a_program_that_an_upgrade_replaced_is_started_again(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    (tmp_path / "7").mkdir()
    (tmp_path / "7/exe").symlink_to("/usr/bin/nvidia-imex (deleted)")
    monkeypatch.setattr(settle, "unit_state", lambda _: RUNS)
    assert settle.stale_unit("imex.service", []) == "imex.service runs a program that was replaced"


def test_a_failed_unit_is_told_with_its_own_last_words(monkeypatch: pytest.MonkeyPatch) -> None:
    lines = (
        '{"_COMM": "nv-fabricmanage", "MESSAGE": "interface version 1 don\'t match"}\n'
        '{"_COMM": "systemd", "MESSAGE": "Failed with result"}\n'
    )
    monkeypatch.setattr(settle, "output", lambda *_: lines)
    assert settle.last_words("a.service") == " and said last: interface version 1 don't match"


@pytest.mark.parametrize(
    ("found", "again"),
    [
        ({"UnitFileState": "", "ActiveState": "inactive"}, []),
        ({"UnitFileState": "disabled", "ActiveState": "failed"}, []),
        ({"UnitFileState": "disabled", "ActiveState": "active"}, ["start"]),
        ({"UnitFileState": "enabled", "ActiveState": "active"}, ["enable", "start"]),
    ],
)
def test_the_way_back_leads_to_units_as_they_were_found(
    said: list[tuple[str, ...]], monkeypatch: pytest.MonkeyPatch, found: dict[str, str], again: list[str]
) -> None:
    wish: dict[str, dict[str, list[str]]] = {"units": {"a.service": []}}
    monkeypatch.setattr(settle, "unit_state", lambda _: RUNS | {"Result": ""} | found)
    monkeypatch.setattr(settle, "stale_unit", lambda *_: "it is not as wished")
    settle.change(wish)
    monkeypatch.setattr(settle, "unit_state", lambda _: RUNS)
    settle.change(wish)
    said.clear()
    assert settle.remove([]) == ["a.service"]
    assert said == [
        ("systemctl", "disable", "--now", "a.service"),
        *(("systemctl", verb, "a.service") for verb in again),
    ]
    settle.forget()
    assert settle.remove([]) == []


@pytest.mark.usefixtures("said")
def test_a_unit_stays_with_the_packages_that_brought_it(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setattr(settle, "unit_state", lambda _: RUNS | {"ActiveState": "inactive"})
    assert settle.change({"units": {"a.service": [], "b.service": []}}) == ["a.service", "b.service"]
    assert settle.remove(["a.service"]) == ["b.service"]
    settle.forget()
    assert not (tmp_path / "found").exists()


def test_what_was_as_wished_already_is_a_person_s_own_and_stays(
    said: list[tuple[str, ...]], monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    path = tmp_path / "some.conf"
    path.write_text("a\n")
    path.chmod(0o644)
    monkeypatch.setattr(settle, "unit_state", lambda _: RUNS | {"ExecMainStartTimestamp": ""})
    wish = {
        "files": {str(path): {"content": "a\n", "mode": "0644"}},
        "settings": {"vm.nr_hugepages": "0"},
        "units": {"a.service": []},
    }
    assert settle.change(wish) == settle.remove([]) == []
    assert path.read_text() == "a\n"
    assert said == []


@pytest.mark.usefixtures("said")
def test_the_way_back_leads_to_the_file_that_was_found(tmp_path: Path) -> None:
    theirs, link, ours = (tmp_path / "etc" / name for name in ("theirs.cfg", "link.cfg", "ours.cfg"))
    theirs.parent.mkdir()
    theirs.write_text("SERVER_PORT=1\n")
    theirs.chmod(0o600)
    link.symlink_to("theirs.cfg")
    paths = [str(theirs), str(link), str(ours)]
    for content in ("a\n", "b\n"):
        wish = {"files": {path: {"content": content, "mode": "0644"} for path in paths}}
        assert settle.change(wish) == paths
    assert sorted(settle.remove([])) == sorted(paths)
    assert (theirs.read_text(), theirs.stat().st_mode & 0o777) == ("SERVER_PORT=1\n", 0o600)
    assert str(link.readlink()) == "theirs.cfg"
    assert not ours.exists()
    settle.forget()
    assert not (tmp_path / "found").exists()


@pytest.mark.usefixtures("said")
def test_the_way_back_leads_there_also_where_somebody_removed_what_was_written(tmp_path: Path) -> None:
    theirs, ours = tmp_path / "theirs/some.cfg", tmp_path / "ours.cfg"
    theirs.parent.mkdir()
    theirs.write_text("theirs\n")
    wish = {"files": {str(path): {"content": "a\n", "mode": "0644"} for path in (theirs, ours)}}
    settle.change(wish)
    for path in (theirs, ours):
        path.unlink()
    theirs.parent.rmdir()
    assert sorted(settle.remove([])) == sorted([str(theirs), str(ours)])
    assert theirs.read_text() == "theirs\n"
    assert not ours.exists()


@pytest.mark.usefixtures("said")
def test_a_copy_that_was_cut_short_is_not_taken_for_what_was_found(tmp_path: Path) -> None:
    path = tmp_path / "some.cfg"
    path.write_text("whole\n")
    draft = settle.kept(path).with_name(f".{settle.kept(path).name}")
    draft.mkdir(parents=True)
    (draft / "content").write_text("wh")
    wish = {"files": {str(path): {"content": "a\n", "mode": "0644"}}}
    settle.change(wish)
    settle.remove([])
    assert path.read_text() == "whole\n"


@pytest.mark.usefixtures("said")
def test_the_way_back_leads_to_the_setting_that_was_found(tmp_path: Path) -> None:
    place = tmp_path / "sys/vm/nr_hugepages"
    place.write_text("64\n")
    wish = {"settings": {"vm.nr_hugepages": "2", "kernel.odd": "1"}}
    settle.change(wish)
    settle.change({"settings": {"vm.nr_hugepages": "4"}})
    assert place.read_text() == "4\n"
    assert settle.remove([]) == ["vm.nr_hugepages"]
    assert place.read_text() == "64\n"
    settle.forget()
    assert not (tmp_path / "found").exists()


@pytest.mark.usefixtures("said")
def test_a_way_back_that_was_cut_short_is_taken_again_as_a_whole(tmp_path: Path) -> None:
    theirs, link, ours = (tmp_path / name for name in ("theirs.cfg", "link.cfg", "ours.cfg"))
    theirs.write_text("theirs\n")
    link.symlink_to("theirs.cfg")
    paths = sorted(map(str, (theirs, link, ours)))
    settle.change({"files": {path: {"content": "a\n", "mode": "0644"} for path in paths}})
    for _ in range(2):
        link.with_name(".link.cfg.rackstack").symlink_to("theirs.cfg")
        assert sorted(settle.remove([])) == paths
        assert (theirs.read_text(), str(link.readlink())) == ("theirs\n", "theirs.cfg")
    settle.forget()
    assert settle.remove([]) == []
    assert sorted(path.name for path in tmp_path.iterdir()) == ["link.cfg", "module", "sys", "theirs.cfg"]


def test_a_unit_that_was_brought_is_stopped_although_nobody_noted_it(
    said: list[tuple[str, ...]], monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setattr(settle, "UNITS", f"{tmp_path}/")
    theirs, ours, drop_in = (tmp_path / name for name in ("b.service", "a.service", "b.service.d/60.conf"))
    theirs.write_text("[Unit]\n")
    paths = sorted(map(str, (theirs, ours, drop_in)))
    settle.change({"files": {path: {"content": "a\n", "mode": "0644"} for path in paths}})
    said.clear()
    assert settle.remove([]) == ["a.service", *paths]
    assert said == [("systemctl", "disable", "--now", "a.service"), ("systemctl", "daemon-reload")]


@pytest.mark.usefixtures("said")
def test_a_setting_is_known_before_the_next_boot_could_read_its_file(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    def off(*_: object) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr(settle, "write", off)
    file = {str(tmp_path / "60.conf"): {"content": "vm.nr_hugepages = 2\n", "mode": "0644"}}
    with pytest.raises(KeyboardInterrupt):
        settle.change({"files": file, "settings": {"vm.nr_hugepages": "2"}})
    (tmp_path / "sys/vm/nr_hugepages").write_text("2\n")
    assert settle.remove([]) == ["vm.nr_hugepages"]
    assert (tmp_path / "sys/vm/nr_hugepages").read_text() == "0\n"
