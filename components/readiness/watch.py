"""Slow calls that must hold nobody up: each runs in a daemon thread, and the caller looks at what it has."""

from __future__ import annotations

import threading
import time
from typing import TYPE_CHECKING, Generic, TypeVar

from stacks.errors import Unreachable

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

T = TypeVar("T")
Key = TypeVar("Key")

POLL_SECONDS = 1.0
TICK_SECONDS = 0.05


class Watch(Generic[T]):
    """Looks again and again, and keeps the latest sight.

    Attributes:
        since: When it was last answered, on the monotonic clock; the start before that.
    """

    def __init__(self, look: Callable[[], T]) -> None:
        """Start looking; `look` raises `Unreachable` where there is no answer."""
        self.since = time.monotonic()
        self._look = look
        self._began: float | None = None
        self._sight: T | None = None
        self._broken: Exception | None = None
        self._closed = threading.Event()
        threading.Thread(target=self._loop, daemon=True).start()

    @property
    def sight(self) -> T | None:
        """What was seen last; None before the first answer and after one that did not come."""
        if self._broken is not None:
            raise self._broken
        return self._sight

    @property
    def pending(self) -> float:
        """Seconds for which the look that is under way has not been answered; 0 between two looks."""
        began = self._began
        return 0.0 if began is None else time.monotonic() - began

    def close(self) -> None:
        """Look no more; a look that is under way is left alone."""
        self._closed.set()

    def _loop(self) -> None:
        while not self._closed.is_set():
            self._began = time.monotonic()
            try:
                self._sight = self._look()
                self.since = time.monotonic()
            except Unreachable:
                self._sight = None
            except Exception as error:  # noqa: BLE001 -- raised again where the sight is asked for
                self._broken = error
                return
            self._began = None
            self._closed.wait(POLL_SECONDS)


def in_parallel(
    calls: Iterable[tuple[Key, Callable[[], T]]], seconds: float, stop: threading.Event
) -> dict[Key, T]:
    """Make calls side by side; return the answers that came within the time and before `stop`.

    Args:
        calls: Name of a call and the call; it raises `Unreachable` where there is no answer.
        seconds: How long to wait.
        stop: Set when nobody wants to wait any longer.
    """
    answers: dict[Key, T] = {}
    threads = [_started(key, call, answers) for key, call in calls]
    end = time.monotonic() + seconds
    while any(thread.is_alive() for thread in threads) and time.monotonic() < end and not stop.is_set():
        time.sleep(TICK_SECONDS)
    return dict(answers)


def _started(key: Key, call: Callable[[], T], answers: dict[Key, T]) -> threading.Thread:
    def answer() -> None:
        try:
            answers[key] = call()
        except Unreachable:
            return

    thread = threading.Thread(target=answer, daemon=True)
    thread.start()
    return thread
