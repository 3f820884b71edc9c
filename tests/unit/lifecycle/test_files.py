"""What a killed `pulumi` leaves in a backend of files."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

import pytest

from lifecycle import files
from lifecycle.stack import Stack
from stacks.errors import Refusal

if TYPE_CHECKING:
    from tests.unit.lifecycle.conftest import Written

FULL = json.dumps({"version": 3, "checkpoint": {"latest": {"resources": [{"urn": "a"}]}}})
EMPTY = json.dumps({"version": 3, "checkpoint": {"latest": {}}})


def test_a_note_that_was_cut_off_goes_and_whole_ones_and_other_stacks_stay(stack: Written) -> None:
    folder = stack.state_file.parent
    (folder / "lab.json.attrs").touch()
    (folder / "lab.json.bak.attrs").write_text("{}")
    (folder / "other.json.attrs").touch()
    assert files.clear_notes(stack) == ["removed lab.json.attrs, a note of the backend that was cut off"]
    assert sorted(path.name for path in folder.iterdir()) == ["lab.json.bak.attrs", "other.json.attrs"]


def test_a_backend_that_is_no_folder_has_nothing_to_recover() -> None:
    far = Stack("lab", {"PULUMI_BACKEND_URL": "https://backend.example"})
    assert files.clear_notes(far) == []
    files.require_whole(far)


def test_a_folder_with_a_space_is_found() -> None:
    place = files.root("file:///a%20b")
    assert str(place) == "/a b/.pulumi"


def test_a_whole_state_and_none_at_all_are_well(stack: Written) -> None:
    files.require_whole(stack)
    stack.state_file.write_text(FULL)
    files.require_whole(stack)


def test_a_state_that_is_cut_off_or_gone_is_told_with_its_last_whole_backup(stack: Written) -> None:
    backups = stack.files / "backups/rackstack/lab"
    backups.mkdir(parents=True)
    for name in ("lab.1.json", "lab.2.json"):
        (backups / name).write_text(FULL)
    stack.state_file.with_name("lab.json.bak").write_text(FULL[:20])
    with pytest.raises(Refusal, match=rf"lab\.json is gone, .*: `cp {backups}/lab\.2\.json "):
        files.require_whole(stack)
    stack.state_file.write_text("")
    with pytest.raises(Refusal, match=r"lab\.json is cut off, and its last whole backup is "):
        files.require_whole(stack)


def test_a_state_without_a_whole_backup_can_only_be_adopted_or_swept(stack: Written) -> None:
    stack.state_file.write_text("{")
    with pytest.raises(Refusal, match=r"no backup of it is whole: remove it, and then `make up STACK=lab`"):
        files.require_whole(stack)


def test_the_backup_of_a_stack_that_was_taken_away_is_no_loss(stack: Written) -> None:
    stack.state_file.with_name("lab.json.bak").write_text(EMPTY)
    files.require_whole(stack)
