"""Who holds a stack, and whether that process lives."""

from __future__ import annotations

import contextlib
import fcntl
import json
import os
import shutil
import subprocess
from typing import TYPE_CHECKING

import pytest

from components import processes
from lifecycle import locks
from lifecycle.locks import Lock, Standing
from lifecycle.recover import free
from stacks.errors import Refusal

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence
    from pathlib import Path

    from tests.unit.lifecycle.conftest import Written

HERE = os.uname().nodename
REFUSAL = (
    "`pulumi stack import` failed: could not import deployment: the stack is currently locked by 1 lock(s). "
    "Either wait for the other process(es) to end or delete the lock file with `pulumi cancel`.\n"
    "  s3://bucket/.pulumi/locks/organization/rackstack/lab/a.json: "
    "created by jo@laptop (pid 812) at 2026-12-01T21:00:00Z"
)


def _owner(pid: int, hostname: str = HERE) -> str:
    return json.dumps(
        {"pid": pid, "hostname": hostname, "username": "jo", "timestamp": "2026-12-01T21:31:39.2449Z"}
    )


@contextlib.contextmanager
def _running(program: Path) -> Iterator[int]:
    """Run a program until it has its own name, which comes a moment after it was started."""
    with subprocess.Popen([program, "600"]) as running:
        try:
            while processes.shown(running.pid, "comm") != f"{program.name}\n".encode():
                pass
            yield running.pid
        finally:
            running.kill()


def _dead() -> int:
    child = subprocess.Popen(["true"])
    child.wait()
    return child.pid


def _is_alone(folder: Path) -> bool:
    """Return whether somebody keeps others out of a folder."""
    handle = os.open(folder, os.O_RDONLY)
    try:
        fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return True
    finally:
        os.close(handle)
    return False


def test_a_lock_of_a_dead_process_is_removed_with_a_line(stack: Written) -> None:
    pid = _dead()
    stack.lock(_owner(pid))
    assert locks.clear(stack, owner_is_dead=False) == [
        f"removed the lock of process {pid} of jo on {HERE}, since 2026-12-01 21:31:39Z: it is dead"
    ]
    assert stack.locks() == []
    assert stack.asked == []


def test_in_a_folder_a_run_that_begins_after_the_judgement_keeps_its_lock(
    stack: Written, monkeypatch: pytest.MonkeyPatch
) -> None:
    dead = stack.lock(_owner(_dead()))
    dead.with_name("one.json.attrs").write_text("{}")

    def judge_and_be_overtaken(stack: Written, *, owner_is_dead: bool = False) -> Sequence[Lock]:
        found = judged(stack, owner_is_dead=owner_is_dead)
        dead.unlink()  # another recovery was quicker, and the next `up` has begun
        stack.lock(_owner(os.getpid()), "two")
        return found

    judged = locks.judged
    monkeypatch.setattr(locks, "judged", judge_and_be_overtaken)
    assert locks.clear(stack, owner_is_dead=False) == []
    assert [path.name for path in stack.locks()] == ["two.json"]
    assert stack.asked == []


def test_the_note_of_a_removed_lock_goes_with_it_and_other_stacks_keep_theirs(stack: Written) -> None:
    lock = stack.lock(_owner(_dead()))
    note = lock.with_name("one.json.attrs")
    note.write_text("{}")
    other = lock.parents[1] / "other/one.json"
    other.parent.mkdir()
    other.write_text(_owner(_dead()))
    locks.clear(stack, owner_is_dead=False)
    assert (lock.exists(), note.exists(), other.exists()) == (False, False, True)


def test_elsewhere_locks_are_judged_again_once_the_orphans_are_ended(
    stack: Written, monkeypatch: pytest.MonkeyPatch
) -> None:
    answers = [Lock("s3://b/one", "jo", HERE, _dead())], [Lock("s3://b/two", "jo", "laptop", 812)]
    left = iter(answers)
    monkeypatch.setattr("lifecycle.files.root", lambda _: None)
    monkeypatch.setattr(locks, "held", lambda _: next(left))
    monkeypatch.setattr("lifecycle.orphans.end", lambda _: [])
    with pytest.raises(Refusal, match="is locked by process 812 of jo on laptop"):
        list(free(stack))
    assert stack.asked == []


def test_elsewhere_the_judgement_and_cancel_are_one_step_for_this_checkout(
    stack: Written, monkeypatch: pytest.MonkeyPatch
) -> None:
    kept_out: list[str] = []

    def held(asked: Written) -> list[Lock]:
        kept_out.append("judged" if _is_alone(asked.folder) else "open")
        return [Lock("s3://b/one", "jo", HERE, _dead())]

    def cancel() -> None:
        kept_out.append("cancelled" if _is_alone(stack.folder) else "open")

    monkeypatch.setattr("lifecycle.files.root", lambda _: None)
    monkeypatch.setattr(locks, "held", held)
    monkeypatch.setattr(stack, "cancel", cancel)
    assert len(locks.clear(stack, owner_is_dead=False)) == 1
    assert kept_out == ["judged", "cancelled"]
    assert not _is_alone(stack.folder)


def test_a_lock_that_was_cut_off_is_a_dead_one(stack: Written) -> None:
    stack.lock('{"pid": 1')
    assert [each.standing for each in locks.held(stack)] == [Standing.DEAD]


def test_a_process_with_the_number_of_the_owner_that_is_no_engine_is_not_the_owner() -> None:
    assert Lock("a", "jo", HERE, os.getpid()).standing is Standing.DEAD


def test_an_engine_lives(stack: Written) -> None:
    engine = stack.folder / "pulumi"
    shutil.copy(str(shutil.which("sleep")), engine)
    with _running(engine) as pid:
        stack.lock(_owner(pid))
        with pytest.raises(Refusal, match=rf"`ps -o pid,lstart,args -p {pid}` shows it; wait until"):
            locks.clear(stack, owner_is_dead=True)
    assert len(stack.locks()) == 1


def test_an_owner_on_another_machine_needs_the_word_of_a_person(stack: Written) -> None:
    stack.lock(_owner(812, "laptop"))
    with pytest.raises(Refusal, match=r"`ssh laptop ps .* -p 812` shows it; .*--owner-is-dead` goes on"):
        locks.clear(stack, owner_is_dead=False)
    assert len(stack.locks()) == 1
    assert locks.clear(stack, owner_is_dead=True)[0].endswith("you say that it is dead")
    assert stack.locks() == []


def test_what_the_engine_says_of_its_locks_is_read() -> None:
    [lock] = locks.told(REFUSAL)
    assert (lock.user, lock.host, lock.pid) == ("jo", "laptop", 812)
    assert lock.owner == "process 812 of jo on laptop, since 2026-12-01 21:00:00Z"


def test_no_lock_is_nothing_to_do(stack: Written) -> None:
    assert locks.clear(stack, owner_is_dead=False) == []
    assert stack.asked == []
