"""Ending processes that belong together, whoever their parent is by now. Linux."""

import os
import signal
import time
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path

GRACE_SECONDS = 3.0
POLL_SECONDS = 0.05


def end_all(find: Callable[[], list[int]]) -> None:
    """End all processes that `find` returns until it returns none: with SIGTERM, after 3 s with SIGKILL."""
    last = time.monotonic() + GRACE_SECONDS
    while left := find():
        for pid in left:
            try:
                os.kill(pid, signal.SIGTERM if time.monotonic() < last else signal.SIGKILL)
            except ProcessLookupError:
                continue
        time.sleep(POLL_SECONDS)


def descendants() -> list[int]:
    """Return the living processes below this one; a subreaper's orphans are among them."""
    return list(_below(os.getpid(), _families()))


def naming(folder: str) -> list[int]:
    """Return the living processes, but this one, whose environment or arguments name a folder.

    SSH's masters write their title over their environment, and name the folder there.
    """
    mark, own = folder.encode(), str(os.getpid())
    return [int(each.name) for each in _processes() if each.name != own and mark in _words(each)]


def _processes() -> Iterator[Path]:
    return (entry for entry in Path("/proc").iterdir() if entry.name.isdigit())


def _families() -> dict[int, list[int]]:
    """Return parent → children of every living process."""
    families: dict[int, list[int]] = {}
    for process in _processes():
        try:
            stat = (process / "stat").read_text(errors="replace")
        except OSError:
            continue  # it ended meanwhile
        state, parent = stat.rpartition(")")[2].split()[:2]
        if state != "Z":
            families.setdefault(int(parent), []).append(int(process.name))
    return families


def _below(pid: int, families: Mapping[int, list[int]]) -> Iterator[int]:
    for child in families.get(pid, ()):
        yield child
        yield from _below(child, families)


def _words(process: Path) -> bytes:
    try:
        return (process / "environ").read_bytes() + (process / "cmdline").read_bytes()
    except OSError:
        return b""  # it ended meanwhile, or is another user's
