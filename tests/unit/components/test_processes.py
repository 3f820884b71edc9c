"""Seeing and ending processes that belong together, with real ones."""

from __future__ import annotations

import os
import subprocess
from typing import TYPE_CHECKING

from components import processes

if TYPE_CHECKING:
    import pytest


def test_descendants_are_children_and_theirs_each_before_its_own() -> None:
    with subprocess.Popen(["sh", "-c", "sleep 60 & echo $!; wait"], stdout=subprocess.PIPE) as child:
        assert child.stdout is not None
        family = [child.pid, int(child.stdout.readline())]
        below = processes.descendants(os.getpid())
        assert [pid for pid in below if pid in family] == family
        assert processes.end_all(lambda: processes.descendants(child.pid)) == []


def test_a_process_that_refuses_is_ended_too(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(processes, "GRACE_SECONDS", 0.1)
    program = "trap '' TERM; echo ready; while :; do sleep 0.1; done"
    with subprocess.Popen(["sh", "-c", program], stdout=subprocess.PIPE) as stubborn:
        assert stubborn.stdout is not None
        stubborn.stdout.readline()
        assert processes.end_all(lambda: [stubborn.pid] if processes.stat(stubborn.pid) else []) == []


def test_what_nothing_ends_is_given_up_and_returned(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(processes, "GRACE_SECONDS", 0.1)
    monkeypatch.setattr(processes, "KILLED_SECONDS", 0.1)
    assert processes.end_all(lambda: [_ended()]) != []


def test_a_process_is_known_by_its_parent_its_birth_and_its_words() -> None:
    with subprocess.Popen(["sleep", "60"]) as child:
        born, own = processes.stat(child.pid), processes.stat(os.getpid())
        assert born is not None
        assert own is not None
        assert born.parent == os.getpid()
        assert born.born >= own.born
        child.kill()
    assert processes.stat(child.pid) is None
    assert processes.arguments(child.pid) == [""]


def _ended() -> int:
    """Return the id of a process that is gone; a signal to it goes nowhere."""
    with subprocess.Popen(["true"]) as gone:
        pass
    return gone.pid
