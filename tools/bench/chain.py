"""The longest chain of a stack's own resource times, from the engine's event log."""

import json
import threading
import time
from collections.abc import Mapping
from functools import cache
from pathlib import Path
from typing import Any, Self

from tools.bench.project import Project
from tools.drive.session import STATE

_POLL = 0.02  # seconds; the log's own time stamps are whole seconds


def first_up(project: Project) -> tuple[float, dict[str, float]]:
    """Bring a project up; return the seconds of the whole and of each resource by URN."""
    log = STATE / "bench.events"
    log.unlink(missing_ok=True)
    with _Reader(log) as reader:
        wall = project.seconds("up", "--yes", "--skip-preview", "--event-log", str(log))
    return wall, reader.taken


def longest(seconds: Mapping[str, float], state: Mapping[str, Any]) -> float:
    """Return the longest sum of seconds along dependencies.

    Args:
        seconds: Resource → its own time.
        state: The stack's exported state.
    """
    resources = {each["urn"]: each for each in state["deployment"]["resources"]}

    @cache
    def until(urn: str) -> float:
        # A component "takes" as long as its children do: that time is theirs.
        own = seconds.get(urn, 0.0) if resources[urn].get("custom") else 0.0
        before = [*resources[urn].get("dependencies", []), resources[urn].get("parent")]
        return own + max((until(each) for each in before if each in resources), default=0.0)

    return max(map(until, resources))


class _Reader:
    """Follows the log while it grows, and notes when each resource began and ended."""

    def __init__(self, log: Path) -> None:
        self._log = log
        self._began: dict[str, float] = {}
        self.taken: dict[str, float] = {}
        self._done = threading.Event()
        self._thread = threading.Thread(target=self._follow)

    def __enter__(self) -> Self:
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._done.set()
        self._thread.join()

    def _follow(self) -> None:
        while not self._log.exists() and not self._done.wait(_POLL):
            pass
        if not self._log.exists():
            return
        with self._log.open() as file:
            line = ""
            while True:
                last = self._done.is_set()
                while chunk := file.readline():
                    line += chunk
                    if line.endswith("\n"):
                        self._note(json.loads(line))
                        line = ""
                if last:
                    return
                time.sleep(_POLL)

    def _note(self, event: Mapping[str, Any]) -> None:
        now = time.perf_counter()
        if begin := event.get("resourcePreEvent"):
            self._began[begin["metadata"]["urn"]] = now
        if end := event.get("resOutputsEvent"):
            urn = end["metadata"]["urn"]
            self.taken[urn] = now - self._began[urn]
