"""Nothing outlives the engine: what is left of a killed `pulumi` ends with it."""

from __future__ import annotations

import os
import signal
import threading
import time
from pathlib import Path
from typing import Final

from components import processes

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
        processes.send(signal.SIGTERM, [*processes.descendants(host), host])
    time.sleep(GRACE)
    processes.send(signal.SIGTERM, processes.descendants(os.getpid()))
    os._exit(1)


def _language_hosts(engine: str) -> list[int]:
    """Return the language hosts whose engine this was; the engine's address is an argument of theirs."""
    return [pid for pid in processes.pids() if _serves(processes.arguments(pid), engine)]


def _serves(arguments: list[str], engine: str) -> bool:
    return Path(arguments[0]).name == LANGUAGE_HOST and engine in arguments
