"""Nothing outlives the engine: what is left of a killed `pulumi` ends with it."""

from __future__ import annotations

import os
import signal
import threading
import time
from pathlib import Path
from typing import Final

LANGUAGE_HOST: Final = "pulumi-language-python"
POLL: Final = 0.5
"""Seconds between looks at the parent."""
GRACE: Final = 4.0
"""Seconds for running calls to notice that they should stop; the engine allows five."""


def watch_parent(engine: str, stop: threading.Event) -> None:
    """End this process, its children and the engine's language host once the engine is gone."""
    parent = os.getppid()
    threading.Thread(target=_watch, args=(parent, engine, stop), daemon=True).start()


def _watch(parent: int, engine: str, stop: threading.Event) -> None:
    while os.getppid() == parent:
        time.sleep(POLL)
    stop.set()
    for host in _language_hosts(engine):
        _end([*descendants(host), host])
    time.sleep(GRACE)
    _end(descendants(os.getpid()))
    os._exit(1)


def descendants(pid: int) -> list[int]:
    """Return the processes below one, deepest last."""
    return [each for child in _children(pid) for each in (child, *descendants(child))]


def _children(pid: int) -> list[int]:
    return [int(each.name) for each in _processes() if _parent(each) == pid]


def _language_hosts(engine: str) -> list[int]:
    """Return the language hosts whose engine this was; the engine's address is an argument of theirs."""
    return [int(each.name) for each in _processes() if _serves(_arguments(each), engine)]


def _serves(arguments: list[str], engine: str) -> bool:
    return bool(arguments) and Path(arguments[0]).name == LANGUAGE_HOST and engine in arguments


def _processes() -> list[Path]:
    return [each for each in Path("/proc").iterdir() if each.name.isdigit()]


def _parent(process: Path) -> int | None:
    try:
        return int((process / "stat").read_text().rsplit(")", 1)[1].split()[1])
    except (OSError, IndexError):
        return None


def _arguments(process: Path) -> list[str]:
    try:
        return (process / "cmdline").read_bytes().decode(errors="replace").split("\0")
    except OSError:
        return []


def _end(pids: list[int]) -> None:
    for pid in pids:
        try:
            os.kill(pid, signal.SIGTERM)
        except ProcessLookupError:
            continue
