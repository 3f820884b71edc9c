"""One look per host serves all who ask meanwhile, also where it fails."""

from __future__ import annotations

import threading
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

import pytest

from components.hosts import looking, ssh
from stacks.errors import Unreachable
from tests.factories.hosts import host

if TYPE_CHECKING:
    from components.hosts.record import HostRecord

ALL = 5


@dataclass
class Line:
    """A host that answers when it is let."""

    fault: Exception | None = None
    asked: list[str] = field(default_factory=list)
    begun: threading.Event = field(default_factory=threading.Event)
    may_answer: threading.Event = field(default_factory=threading.Event)

    def run(self, host: HostRecord, command: str, *, deadline: float, stdin: str) -> ssh.Answer:
        """Answer, or fail."""
        assert "look f" in command
        assert "def main" in stdin
        self.asked.append(host.name)
        self.begun.set()
        assert self.may_answer.wait(deadline)
        if self.fault:
            raise self.fault
        return ssh.Answer(0, f"{len(self.asked)}", "")


@pytest.fixture
def line(monkeypatch: pytest.MonkeyPatch) -> Line:
    line = Line()
    monkeypatch.setattr(ssh, "run", line.run)
    return line


def _asked_together(line: Line, monkeypatch: pytest.MonkeyPatch) -> list[ssh.Answer | BaseException]:
    joined = threading.Semaphore(0)

    class Joined(Future[ssh.Answer]):
        def result(self, timeout: float | None = None) -> ssh.Answer:
            joined.release()
            return super().result(timeout)

    monkeypatch.setattr(looking, "Future", Joined)
    with ThreadPoolExecutor(ALL) as pool:
        asked = [pool.submit(looking.look, host("a"), "f", 30.0)]
        assert line.begun.wait(30)
        asked += [pool.submit(looking.look, host("a"), "f", 30.0) for _ in range(ALL - 1)]
        for _ in range(ALL - 1):
            assert joined.acquire(timeout=30)
        line.may_answer.set()
        return [each.exception() or each.result() for each in asked]


def test_all_who_ask_meanwhile_get_one_answer(line: Line, monkeypatch: pytest.MonkeyPatch) -> None:
    assert _asked_together(line, monkeypatch) == [ssh.Answer(0, "1", "")] * ALL
    assert line.asked == ["a"]
    assert looking.look(host("a"), "f", 30.0).out == "2"


def test_all_who_ask_meanwhile_hear_of_its_failure(line: Line, monkeypatch: pytest.MonkeyPatch) -> None:
    line.fault = Unreachable("host a is dark")
    assert {str(each) for each in _asked_together(line, monkeypatch)} == {"host a is dark"}
    line.fault = None
    assert looking.look(host("a"), "f", 30.0).out == "2"


def test_hosts_are_looked_at_apart(line: Line) -> None:
    line.may_answer.set()
    assert [looking.look(host(name), "f", 30.0).out for name in "ab"] == ["1", "2"]
