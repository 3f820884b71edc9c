"""A pin takes the place of `unpinned`, and nothing else in the file changes."""

import re
from pathlib import Path

import pytest
import yaml

from stacks.catalog.loader import FOLDER
from stacks.errors import Refusal
from tools.lock import edits

SHA = "9f62e4e9fffbd0a83ddd60e1c209d828994b3569"
TEXT = """\
# The top.
sources: {recipe: "an address"}   # kept as it is

checkpoints:
  one:   # a comment
    repository: null
    revision:
      unpinned: seen, but not in full   # why
    manifest: {unpinned: not read}

    # before the warning
    warning: >-
      folded
      text
  two:
    revision: &nowhere
      unpinned: >-
        nowhere
        written

    # before the number
    shards: 213
  three:
    revision: *nowhere
    flags: [1, {a: b, c: d}]
"""


@pytest.fixture
def file(tmp_path: Path) -> Path:
    """Return a file with pins of every style."""
    path = tmp_path / "model.yaml"
    path.write_text(TEXT)
    return path


@pytest.mark.parametrize("at", ["one.revision", "one.manifest", "two.revision", "three.revision"])
def test_one_value_changes_and_no_comment_is_lost(file: Path, at: str) -> None:
    checkpoint, key = at.split(".")
    edits.pin(file, {("checkpoints", checkpoint, key): SHA})
    wanted = yaml.safe_load(TEXT)
    wanted["checkpoints"][checkpoint] |= {key: SHA}
    text = file.read_text()
    assert yaml.safe_load(text) == wanted
    assert re.findall(r"#.*|^$", text, re.MULTILINE) == re.findall(r"#.*|^$", TEXT, re.MULTILINE)


def test_a_text_that_others_refer_to_stays_with_them(file: Path) -> None:
    edits.pin(file, {("checkpoints", "two", "revision"): SHA})
    changed = yaml.safe_load(file.read_text())["checkpoints"]
    assert changed["two"] == {"revision": SHA, "shards": 213}
    assert changed["three"]["revision"] == {"unpinned": "nowhere written"}
    assert f"    revision: {SHA}\n\n    # before the number\n    shards: 213\n" in file.read_text()


def test_a_missing_key_comes_behind_the_revision(file: Path) -> None:
    edits.pin(file, {("checkpoints", "three", "manifest"): "manifests/x.yaml"})
    assert file.read_text().endswith(
        "revision: *nowhere\n    manifest: manifests/x.yaml\n    flags: [1, {a: b, c: d}]\n"
    )


def test_digits_alone_stay_text(file: Path) -> None:
    edits.pin(file, {("checkpoints", "one", "revision"): "1" * 40})
    assert yaml.safe_load(file.read_text())["checkpoints"]["one"]["revision"] == "1" * 40


def test_a_pin_is_never_replaced(file: Path) -> None:
    edits.pin(file, {("checkpoints", "one", "revision"): SHA})
    before = file.read_text()
    with pytest.raises(
        Refusal, match=rf"^model\.yaml: checkpoints\.one\.revision is pinned to {SHA}, and `make"
    ):
        edits.pin(file, {("checkpoints", "one", "revision"): "0" * 40})
    assert file.read_text() == before


@pytest.mark.parametrize("path", sorted(FOLDER.glob("[em]*s/*.yaml")), ids=lambda path: path.stem)
def test_the_catalogs_own_files_come_out_as_they_went_in(path: Path, tmp_path: Path) -> None:
    copy = tmp_path / path.name
    copy.write_text(path.read_text() + "lock_test:\n  revision:\n    unpinned: x\n")
    edits.pin(copy, {("lock_test", "revision"): SHA})
    assert copy.read_text() == path.read_text() + f"lock_test:\n  revision: {SHA}\n"
