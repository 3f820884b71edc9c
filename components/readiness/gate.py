"""The gate: wait until the fleet generates, or until it cannot any more."""

from __future__ import annotations

import time
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final, Protocol

from components.readiness.verdict import Answer, Failed, Ready, Seen, judge, judge_silence, overdue, progress
from components.readiness.watch import Watch
from stacks.errors import Refusal, Unreachable

if TYPE_CHECKING:
    import threading
    from collections.abc import Callable, Sequence

    from components.plugin.kind import Run

TICK_SECONDS: Final = 0.5
TELL_SECONDS: Final = 10.0
SILENCE_SECONDS: Final = 5.0
"""How long a completion may take before the journals are read for a rank that keeps its peers waiting."""
FIRST_LOOK_SECONDS: Final = 3.0
"""How long a host may take for its first answer before that is worth telling."""
SETTLE_SECONDS: Final = 1.0
"""From the first sign of a failure to reading the journals: the peers of a dead rank fall one by one."""


class Watched(Protocol):
    """The ranks of a fleet, as `components.readiness.ranks.Ranks` shows them."""

    def seen(self) -> list[Seen]:
        """Return the latest sight of every rank, at once."""

    def examined(self, stop: threading.Event) -> list[Seen]:
        """Return every rank as it is now, with its journal."""


@dataclass(frozen=True)
class Goal:
    """What is waited for.

    Attributes:
        endpoint: Base URL, ending in /v1.
        model: Served name of the model.
        seconds: The deadline.
    """

    endpoint: str
    model: str
    seconds: float


def wait(goal: Goal, ranks: Watched, ask: Callable[[], Answer], run: Run) -> Ready | Failed:
    """Wait for the verdict.

    Args:
        goal: What is waited for.
        ranks: The ranks.
        ask: Asks for a completion; raises `Unreachable` where nothing answers yet.
        run: Where progress is shown, and what ends the wait.

    Raises:
        Refusal: The engine asked to finish, or `ask` says that waiting is of no use.
    """
    began = time.monotonic()
    question = _Question(ask)
    asking = Watch(question.put)
    silence, report = _Silence(goal, ranks, run), _Report(run, goal.seconds)
    try:
        while True:
            verdict = _verdict(goal, ranks, asking, run) or silence.verdict(asking.pending)
            if verdict is not None:
                return verdict
            seen, passed = ranks.seen(), time.monotonic() - began
            if passed > goal.seconds:
                return overdue(goal.endpoint, seen, goal.seconds, question.silence)
            report.tell(seen, passed)
            _pause(run, TICK_SECONDS)
    finally:
        asking.close()


def _verdict(goal: Goal, ranks: Watched, asking: Watch[Answer], run: Run) -> Ready | Failed | None:
    """Return the verdict at this moment; a failure is judged again by the journals."""
    answer = asking.sight
    verdict = judge(goal.endpoint, goal.model, ranks.seen(), answer)
    if isinstance(verdict, Failed):
        _pause(run, SETTLE_SECONDS)
        return judge(goal.endpoint, goal.model, ranks.examined(run.stop), answer)
    return verdict


def _pause(run: Run, seconds: float) -> None:
    if run.stop.wait(seconds):
        raise Refusal(
            "the wait for the first completion was interrupted; run `pulumi up` again to go on waiting"
        )


class _Question:
    """Remembers why the last question had no answer; None while one is waited for."""

    def __init__(self, ask: Callable[[], Answer]) -> None:
        self._ask = ask
        self.silence: str | None = None

    def put(self) -> Answer:
        try:
            return self._ask()
        except Unreachable as silent:
            self.silence = str(silent)
            raise


class _Silence:
    """Reads the journals every few seconds while a completion is not answered."""

    def __init__(self, goal: Goal, ranks: Watched, run: Run) -> None:
        self._goal, self._ranks, self._run = goal, ranks, run
        self._next = SILENCE_SECONDS

    def verdict(self, pending: float) -> Failed | None:
        if pending < SILENCE_SECONDS:
            self._next = SILENCE_SECONDS
        if pending < self._next:
            return None
        self._next = pending + SILENCE_SECONDS
        return judge_silence(self._goal.endpoint, self._ranks.examined(self._run.stop), pending, time.time())


class _Report:
    """Shows what the ranks do: at once when a state changes, else every few seconds."""

    def __init__(self, run: Run, seconds: float) -> None:
        self._run = run
        self._seconds = seconds
        self._states: list[tuple[str, str] | None] = []
        self._next = 0.0

    def tell(self, seen: Sequence[Seen], passed: float) -> None:
        states = [(rank.unit.active, rank.unit.sub) if rank.unit else None for rank in seen]
        asked_but_now = None in states and passed < FIRST_LOOK_SECONDS
        if asked_but_now or (states == self._states and passed < self._next):
            return
        self._states, self._next = states, passed + TELL_SECONDS
        self._run.progress(f"{passed:.0f} s of {self._seconds:.0f} s: {progress(seen)}")
