"""Processes that end as they do where a driver hangs: not at all."""

from __future__ import annotations

import os
import signal
import subprocess
from contextlib import contextmanager
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterator

    import pytest


@contextmanager
def deaf_to_signals(monkeypatch: pytest.MonkeyPatch) -> Iterator[list[subprocess.Popen[str]]]:
    """Let no process be killed; give those that were to be, and end them afterwards."""
    left: list[subprocess.Popen[str]] = []

    def kill(process: subprocess.Popen[str]) -> None:
        left.append(process)

    monkeypatch.setattr(subprocess.Popen, "kill", kill)
    try:
        yield left
    finally:
        for process in left:
            os.kill(process.pid, signal.SIGKILL)
            process.wait()
