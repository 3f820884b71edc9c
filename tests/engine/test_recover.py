"""Recovery after a kill, with the real engine."""

from __future__ import annotations

import json
import signal
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from components import processes
from lifecycle import locks, orphans
from lifecycle.recover import recover
from stacks.errors import Refusal

if TYPE_CHECKING:
    from tests.engine.conftest import Project
    from tests.factories.pulumi import Running


def _slow(project: Project, seconds: int = 300) -> Running:
    """Return an `up` that is in the middle of a create."""
    project.want({"name": "t", "size": seconds}, kind="slow")
    running = project.start_up()
    running.wait_for(r"child (\d+)")
    return running


def _killed(project: Project) -> None:
    running = _slow(project)
    running.process.kill()
    running.finish()


def _open(project: Project) -> list[str]:
    state = json.loads(project.run("stack", "export", "--stack", "s"))
    return [each["type"] for each in state["deployment"].get("pending_operations") or ()]


def _lock_file(project: Project) -> Path:
    [lock] = (project.home / "state/backend").rglob("locks/**/*.json")
    return lock


def test_recovery_tells_what_it_found_and_a_second_one_finds_nothing(project: Project) -> None:
    _killed(project)
    assert _open(project) == ["creating"]
    said = list(recover(project.known()))
    assert [line for line in said if line.startswith("removed the lock of process ")]
    assert "closed an operation that was broken off: creating t (rack:test:Slow)" in said
    assert _open(project) == []
    assert list(recover(project.known())) == []


def test_the_next_up_makes_it_once_and_destroy_leaves_nothing(project: Project) -> None:
    _killed(project)
    list(recover(project.known()))
    project.want({"name": "t", "size": 1}, kind="slow")
    assert "pending" not in project.up()
    assert sorted(project.state()) == ["t"]
    assert _open(project) == []
    project.destroy()
    assert project.state() == {}


def test_secrets_of_a_state_that_is_put_back_are_still_ciphertext_and_still_read(project: Project) -> None:
    project.want({"name": "a", "size": 1})
    project.up()
    project.run("config", "set", "things", json.dumps([
        {"kind": "thing", "inputs": {"name": "a", "size": 1}},
        {"kind": "slow", "inputs": {"name": "t", "size": 300}},
    ]))  # fmt: skip
    running = project.start_up()
    running.wait_for(r"child (\d+)")
    running.process.kill()
    running.finish()
    list(recover(project.known()))
    assert "t-secret" not in json.dumps(project.state())
    assert project.outputs()["a"]["token"] == "t-secret"  # noqa: S105 -- a test's
    assert project.state()["a"]["id"] == "a/i1"


def test_a_living_owner_is_named_and_nothing_is_touched(project: Project) -> None:
    running = _slow(project)
    with pytest.raises(Refusal, match=rf"process {running.process.pid} of .* and that process lives"):
        list(recover(project.known()))
    assert orphans.orphans(project.known()) == []
    running.process.send_signal(signal.SIGINT)
    running.finish()
    assert "stopped while it was made" in running.text


def test_an_owner_elsewhere_is_dead_only_if_a_person_says_so(project: Project) -> None:
    _killed(project)
    lock = _lock_file(project)
    lock.write_text(json.dumps(json.loads(lock.read_text()) | {"hostname": "far"}))
    with pytest.raises(Refusal, match=r"`ssh far ps -o pid,lstart,args -p \d+`.*--owner-is-dead"):
        list(recover(project.known()))
    assert lock.exists()
    said = list(recover(project.known(), owner_is_dead=True))
    assert any("you say that it is dead" in line for line in said)
    assert not lock.exists()


def test_what_works_for_a_dead_engine_is_ended_without_waiting_for_it(project: Project) -> None:
    running = _slow(project)
    running.process.kill()
    running.process.wait()
    found = orphans.orphans(project.known())
    assert found
    said = list(recover(project.known()))
    assert sum("whose engine is gone: " in line for line in said) >= 1
    assert [pid for pid in found if processes.stat(pid)] == []
    running.finish()


def test_what_the_engine_says_of_a_lock_is_read_where_the_backend_is_no_folder(
    project: Project, monkeypatch: pytest.MonkeyPatch
) -> None:
    _killed(project)
    expected = json.loads(_lock_file(project).read_text())
    monkeypatch.setattr("lifecycle.files.root", lambda _: None)
    [lock] = locks.held(project.known())
    assert (lock.user, lock.host, lock.pid) == (expected["username"], expected["hostname"], expected["pid"])
    list(recover(project.known()))
    assert locks.held(project.known()) == []


def test_a_state_file_that_is_cut_off_is_told_with_its_backup(project: Project) -> None:
    project.want({"name": "t", "size": 1})
    project.up()
    state = project.home / "state/backend/.pulumi/stacks/trial/s.json"
    state.write_text(state.read_text()[:100])
    with pytest.raises(
        Refusal, match=r"is cut off, and its last whole backup is .*s\.json\.bak: `cp "
    ) as refused:
        list(recover(project.known()))
    _, source, target = str(refused.value).split("`")[1].split()
    Path(target).write_bytes(Path(source).read_bytes())
    assert list(recover(project.known())) == []
    project.up()
