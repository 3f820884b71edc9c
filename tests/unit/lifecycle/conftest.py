"""A stack in a backend of files, without an engine."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from lifecycle.stack import Stack

if TYPE_CHECKING:
    from pathlib import Path


class Written(Stack):
    """A stack that remembers what it was asked, and answers from memory."""

    def __init__(self, folder: Path) -> None:
        super().__init__("lab", {"PULUMI_BACKEND_URL": f"file://{folder}/backend"}, folder)
        self.files = folder / "backend/.pulumi"
        (self.files / "stacks/rackstack").mkdir(parents=True)
        self.asked: list[tuple[str, ...]] = []

    @property
    def state_file(self) -> Path:
        """Where the engine keeps the state."""
        return self.files / "stacks/rackstack/lab.json"

    def locks(self) -> list[Path]:
        """Return everything that lies where the locks are."""
        return sorted(self.files.glob("locks/organization/rackstack/lab/*"))

    def lock(self, text: str, name: str = "one") -> Path:
        """Write a lock file."""
        lock = self.files / f"locks/organization/rackstack/lab/{name}.json"
        lock.parent.mkdir(parents=True, exist_ok=True)
        lock.write_text(text)
        return lock

    def ask(self, *words: str, folder: Path | None = None, stdin: str = "") -> str:
        """Remember the words."""
        del folder, stdin
        self.asked.append(words)
        return "[]"


@pytest.fixture
def stack(tmp_path: Path) -> Written:
    """Return a stack of nobody's."""
    return Written(tmp_path)
