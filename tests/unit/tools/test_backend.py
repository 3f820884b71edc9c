"""What a killed `pulumi` leaves in a backend of files."""

import json
import os
import subprocess
from pathlib import Path

import pytest

from tools.drive import backend


@pytest.fixture
def stacks(tmp_path: Path) -> Path:
    """Return the folder of the project's stacks in a backend."""
    made = tmp_path / ".pulumi/stacks/rackstack"
    made.mkdir(parents=True)
    return made


def recovered(stacks: Path) -> bool:
    return backend.recover(f"file://{stacks.parents[2]}", "rackstack", "lab")


def lock(stacks: Path, text: str) -> None:
    folder = stacks.parents[1] / "locks/organization/rackstack/lab"
    folder.mkdir(parents=True)
    (folder / "one.json").write_text(text)


def owner(pid: int, hostname: str = os.uname().nodename) -> str:
    return json.dumps({"pid": pid, "hostname": hostname})


def dead_pid() -> int:
    child = subprocess.Popen(["true"])
    child.wait()
    return child.pid


def test_a_lock_of_a_dead_process_has_to_be_cancelled(stacks: Path) -> None:
    lock(stacks, owner(dead_pid()))
    assert recovered(stacks)


def test_a_lock_that_was_cut_off_is_a_dead_one(stacks: Path) -> None:
    lock(stacks, '{"pid": 1')
    assert recovered(stacks)


def test_a_lock_of_another_machine_is_left_alone_with_all_notes(stacks: Path) -> None:
    lock(stacks, owner(dead_pid(), "elsewhere"))
    note = stacks / "lab.json.attrs"
    note.touch()
    assert not recovered(stacks)
    assert note.exists()


def test_a_note_that_was_cut_off_goes_and_whole_ones_and_other_stacks_stay(stacks: Path) -> None:
    lock(stacks, owner(dead_pid()))
    (stacks / "lab.json.attrs").touch()
    (stacks / "lab.json.bak.attrs").write_text("{}")
    (stacks / "other.json.attrs").touch()
    assert recovered(stacks)
    assert sorted(path.name for path in stacks.iterdir()) == ["lab.json.bak.attrs", "other.json.attrs"]


def test_a_backend_that_is_no_folder_has_nothing_to_recover() -> None:
    assert not backend.recover("https://backend.example", "rackstack", "lab")
