"""What a host says of its clock and of a package manager that is at work."""

import fcntl
import subprocess
import sys
import time
from pathlib import Path

import pytest

from tests.unit.playbooks.files import program

survey = program("roles/prepare/files/survey.py")
turn = program("roles/prepare/files/turn.py")
HOLD = """import fcntl, sys
lock = open(sys.argv[1], "w")
fcntl.lockf(lock, fcntl.LOCK_EX)
print("held", flush=True)
input()
"""
NOW = 1_800_000_000


@pytest.mark.parametrize(("off", "said"), [(60, False), (-60, False), (61, True), (-61, True)])
def test_a_clock_may_be_off_by_a_minute(monkeypatch: pytest.MonkeyPatch, off: int, said: bool) -> None:  # noqa: FBT001 -- a case
    monkeypatch.setattr(time, "time", lambda: NOW + off)
    assert bool(list(survey.clock_lacks(NOW, 60))) == said


def test_a_clock_that_is_off_is_told_with_both_times(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(time, "time", lambda: NOW - 7200)
    (said,) = survey.clock_lacks(NOW, 60)
    assert "its clock says 2027-01-15 06:00:00 UTC and the operator's 2027-01-15 08:00:00 UTC" in said
    assert "7200 s behind it" in said


def test_a_lock_is_told_with_who_holds_it(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    lock = tmp_path / "lock"
    monkeypatch.setattr(turn, "LOCKS", (str(lock),))
    assert turn.held() == ""
    lock.touch()
    assert turn.main("0") == 0
    with subprocess.Popen(
        [sys.executable, "-c", HOLD, lock], stdin=subprocess.PIPE, stdout=subprocess.PIPE
    ) as holder:
        assert holder.stdout
        holder.stdout.readline()
        assert turn.held().startswith(f"{lock} is held by process {holder.pid} ({sys.executable} -c import")
        assert turn.main("0") == turn.HELD
        assert lock.exists()
        holder.communicate(b"\n")
    assert turn.held() == ""


def test_a_long_command_is_cut_where_one_sees_it(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(Path, "read_bytes", lambda _: b"\0".join([b"apt-get", b"install", b"x" * 200]))
    assert turn.command(7) == f"apt-get install {'x' * 84}…"
    monkeypatch.setattr(Path, "read_bytes", lambda _: b"apt-get\0install\0")
    assert turn.command(7) == "apt-get install"


def test_asking_takes_no_lock(tmp_path: Path) -> None:
    lock = tmp_path / "lock"
    lock.touch()
    assert turn.holder(str(lock)) == 0
    with lock.open("w") as mine:
        fcntl.lockf(mine, fcntl.LOCK_EX | fcntl.LOCK_NB)
