"""How fast a checkpoint is read: what is read, and when it is measured again."""

import json
from collections import deque
from pathlib import Path
from typing import Any

import pytest

from tests.unit.playbooks.files import program

speed = program("roles/checkpoint/files/speed.py")


@pytest.fixture
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Lay a checkpoint of two files, five pieces and 4500 bytes."""
    monkeypatch.setattr(speed, "PIECE", 1000)
    monkeypatch.setattr(speed, "BLOCK", 300)
    monkeypatch.setattr(speed, "SMALLEST", 4500)
    folder = tmp_path / "home"
    (folder / "sub").mkdir(parents=True)
    (folder / "a").write_bytes(bytes(2500))
    (folder / "sub/b").write_bytes(bytes(2000))
    (folder / ".verified").write_text("")
    return folder


def said(home: Path, least: int, capsys: pytest.CaptureFixture[str]) -> dict[str, Any]:
    """Return what the program prints."""
    speed.main(str(home), str(home.parent / "record"), str(least))
    answer: dict[str, Any] = json.loads(capsys.readouterr().out)
    return answer


def test_every_byte_is_read_once(home: Path) -> None:
    todo = deque(speed.pieces(home))
    assert speed.read_on(todo, float("inf")) == 4500
    assert not todo


def test_no_more_is_read_than_the_limit(home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(speed, "LIMIT", 3000)
    assert speed.read_on(deque(speed.pieces(home)), float("inf")) <= 3000


def test_nothing_is_read_when_the_time_is_over(home: Path) -> None:
    assert speed.read_on(deque(speed.pieces(home)), float("-inf")) == 0


def test_it_is_measured_once(home: Path, capsys: pytest.CaptureFixture[str]) -> None:
    first = said(home, 0, capsys)
    assert first["measured"]
    assert said(home, 0, capsys) == first | {"measured": False}


def test_it_is_measured_again_where_it_was_too_slow_or_the_checkpoint_is_another(
    home: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    first = said(home, 0, capsys)
    assert said(home, first["read"] + 1, capsys)["measured"]
    (home / ".verified").unlink()
    (home / "sub/.verified").write_text("")
    (home / "sub/.verified").rename(home / ".verified")
    assert said(home, 0, capsys)["measured"]


def test_a_record_that_cannot_be_read_is_none(home: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (home.parent / "record").write_text('{"of": ')
    assert said(home, 0, capsys)["measured"]


def test_a_small_checkpoint_tells_nothing(
    home: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(speed, "SMALLEST", 4501)
    assert said(home, 10**12, capsys) == {"read": None, "measured": False}
    assert not (home.parent / "record").exists()
