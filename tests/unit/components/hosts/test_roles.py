"""One digest per role: its files and its playbook count, nothing else does."""

import os
import shutil
from pathlib import Path

import pytest

from components.hosts import roles

PLAYBOOK = """
- hosts: fleet
  roles: [first, {role: second}, marker]
  tasks:
    - block:
        - ansible.builtin.import_role: {name: third}
      always:
        - include_role: {name: first}
"""


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    folder = tmp_path / "playbooks"
    for name in ("first", "second", "third", "marker"):
        (folder / "roles" / name / "tasks").mkdir(parents=True)
        (folder / "roles" / name / "tasks" / "main.yml").write_text(f"- name: {name}\n")
    (folder / "some.yml").write_text(PLAYBOOK)
    monkeypatch.setattr(roles, "PLAYBOOKS", folder)
    return folder


@pytest.mark.usefixtures("folder")
def test_roles_are_found_wherever_they_are_called_and_the_marker_is_left_out() -> None:
    assert list(roles.digests("some")) == ["first", "second", "third", "plugins"]


def test_only_the_role_that_changed_differs(folder: Path) -> None:
    before = roles.digests("some")
    (folder / "roles" / "second" / "tasks" / "main.yml").write_text("- name: other\n")
    after = roles.digests("some")
    assert {name for name in after if after[name] != before[name]} == {"second"}


def test_a_file_that_only_got_another_name_is_a_change(folder: Path) -> None:
    before = roles.digests("some")
    tasks = folder / "roles" / "third" / "tasks"
    (tasks / "main.yml").rename(tasks / "other.yml")
    assert roles.digests("some")["third"] != before["third"]


def test_the_playbook_belongs_to_each_of_its_roles(folder: Path) -> None:
    before = roles.digests("some")
    (folder / "some.yml").write_text(PLAYBOOK + "# more\n")
    after = roles.digests("some")
    assert {name for name in after if after[name] == before[name]} == {"plugins"}


def test_a_role_that_a_role_calls_counts(folder: Path) -> None:
    (folder / "roles" / "fourth" / "tasks").mkdir(parents=True)
    (folder / "roles" / "fourth" / "tasks" / "main.yml").write_text("- name: fourth\n")
    calling = "- ansible.builtin.include_role: {name: fourth}\n"
    (folder / "roles" / "second" / "tasks" / "run.yml").write_text(calling)
    assert "fourth" in roles.digests("some")


def test_what_all_playbooks_share_counts_by_itself(folder: Path) -> None:
    before = roles.digests("some")
    (folder / "filter_plugins" / "__pycache__").mkdir(parents=True)
    (folder / "filter_plugins" / "__pycache__" / "own.pyc").write_bytes(b"compiled")
    assert roles.digests("some") == before
    (folder / "filter_plugins" / "own.py").write_text("# a filter\n")
    after = roles.digests("some")
    assert {name for name in after if after[name] != before[name]} == {"plugins"}


def test_neither_time_nor_place_counts(folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    before = roles.digests("some")
    copy = tmp_path / "another" / "checkout"
    shutil.copytree(folder, copy)
    os.utime(copy / "roles" / "first" / "tasks" / "main.yml", (0, 0))
    monkeypatch.setattr(roles, "PLAYBOOKS", copy)
    assert roles.digests("some") == before


@pytest.mark.parametrize("playbook", ["prepare", "engine", "checkpoint", "serve"])
def test_every_playbook_has_its_own_role(playbook: str) -> None:
    assert playbook in roles.digests(playbook)
