"""The processes of this machine as /proc tells of them, and how those that belong together are ended. Linux.

Standard library only: the plugin watches with it before anything else is imported.
"""

from __future__ import annotations

import os
import signal
import time
from collections import defaultdict
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING, Final, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence

GRACE_SECONDS: Final = 3.0
"""From asking a process to end to killing it."""
KILLED_SECONDS: Final = 2.0
"""From killing a process to giving up on it; else the kernel takes milliseconds."""
POLL_SECONDS: Final = 0.05

_PROC: Final = Path("/proc")
_DEAD: Final = "ZX"


class Stat(NamedTuple):
    """What the kernel says of a living process.

    Attributes:
        parent: Its parent's process id.
        born: When it started, in clock ticks of this machine; with its id it is like no other process.
    """

    parent: int
    born: int


def pids() -> Iterator[int]:
    """Return the ids of all processes, those included that only wait for their parent to notice their end."""
    return (int(each.name) for each in _PROC.iterdir() if each.name.isdigit())


def stat(pid: int) -> Stat | None:
    """Return what the kernel says of a process; None where it has ended."""
    fields = (shown(pid, "stat") or b"").rpartition(b")")[2].decode().split()
    return None if not fields or fields[0] in _DEAD else Stat(int(fields[1]), int(fields[19]))


def arguments(pid: int) -> list[str]:
    """Return the words that a process was started with; none where it is gone."""
    return (shown(pid, "cmdline") or b"").decode(errors="replace").split("\0")


def shown(pid: int, name: str) -> bytes | None:
    """Return a file of a process's folder in /proc; None where it is gone or another user's."""
    try:
        return (_PROC / str(pid) / name).read_bytes()
    except OSError:
        return None


def descendants(pid: int) -> list[int]:
    """Return the living processes below one, each before its own children."""
    families: dict[int, list[int]] = defaultdict(list)
    for each in pids():
        if seen := stat(each):
            families[seen.parent].append(each)
    return list(_below(pid, families))


def send(number: signal.Signals, to: Iterable[int]) -> None:
    """Send a signal to processes, some of which may be gone."""
    for pid in to:
        with suppress(ProcessLookupError):
            os.kill(pid, number)


def end_all(find: Callable[[], list[int]]) -> list[int]:
    """End all processes that `find` returns until it returns none: with SIGTERM, after 3 s with SIGKILL.

    Returns:
        Those that neither signal has ended within a few seconds; a process that waits for a device or a dead
        mount cannot be ended by anybody.
    """
    began = time.monotonic()
    while left := find():
        passed = time.monotonic() - began
        if passed > GRACE_SECONDS + KILLED_SECONDS:
            return left
        send(signal.SIGTERM if passed < GRACE_SECONDS else signal.SIGKILL, left)
        time.sleep(POLL_SECONDS)
    return []


def _below(pid: int, families: Mapping[int, Sequence[int]]) -> Iterator[int]:
    for child in families.get(pid, ()):
        yield child
        yield from _below(child, families)
