"""What a kind may use of the engine, in memory."""

from __future__ import annotations

import threading
from dataclasses import dataclass, field


@dataclass
class FakeRun:
    """Remembers what was said; fulfils `components.plugin.kind.Run`."""

    name: str = "thing"
    stop: threading.Event = field(default_factory=threading.Event)
    deadline: float | None = None
    said: list[str] = field(default_factory=list)

    @property
    def changes(self) -> list[str]:
        """What was said of roles that changed something."""
        return [line for line in self.said if ": done on " in line and not line.endswith(" 0 changed")]

    def progress(self, message: str) -> None:
        """Remember a line of progress."""
        self.said.append(message)

    def note(self, message: str) -> None:
        """Remember a note."""
        self.said.append(message)

    def warn(self, message: str) -> None:
        """Remember a warning."""
        self.said.append(message)
