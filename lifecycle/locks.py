"""Who holds a stack's lock, and whether that process lives."""

from __future__ import annotations

import fcntl
import os
import re
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import datetime
from enum import Enum
from pathlib import Path
from typing import TYPE_CHECKING, Final

from components import processes
from lifecycle import files
from stacks.errors import Refusal

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence
    from typing import Any

    from lifecycle.stack import Stack

ENGINE: Final = "pulumi"
# How the engine names the locks in its refusal (pulumi, pkg/backend/diy/lock.go).
_TOLD: Final = re.compile(
    r"(?P<place>\S+): created by (?P<user>.+?)@(?P<host>\S+) \(pid (?P<pid>\d+)\) at (?P<since>\S+)"
)


class Standing(Enum):
    """What can be known from here of the process that holds a lock."""

    LIVES = "lives"
    DEAD = "is dead"
    UNSEEN = "cannot be seen from here"


@dataclass(frozen=True)
class Lock:
    """One lock of a stack.

    Attributes:
        place: Where it lies, a path or a URL.
        user: Whose process holds it.
        host: Name of the machine that the process runs on.
        pid: The process; None where the lock was cut off while it was written.
        since: When it was taken, as it is written there.
    """

    place: str
    user: str = ""
    host: str = ""
    pid: int | None = None
    since: str = ""

    @property
    def owner(self) -> str:
        """Return the owner as the middle of a sentence."""
        if self.pid is None:
            return "a process that was killed while it wrote the lock"
        return f"process {self.pid} of {self.user} on {self.host}, since {_clock(self.since)}"

    @property
    def standing(self) -> Standing:
        """Judge whether the owner lives; who lives writes whole locks."""
        if self.pid is None:
            return Standing.DEAD
        if self.host != os.uname().nodename:
            return Standing.UNSEEN
        running = (processes.shown(self.pid, "comm") or b"").decode(errors="replace").strip()
        # Another pulumi that has the number by now counts as the owner: to be wrong that way costs a
        # question, to be wrong the other way costs a fleet.
        alive = processes.stat(self.pid) is not None and running == ENGINE
        return Standing.LIVES if alive else Standing.DEAD


def held(stack: Stack) -> list[Lock]:
    """Return the locks of a stack.

    A backend of files shows them. Every other one is asked by putting the state back as it is: the engine
    refuses that while somebody holds the stack, and names who.
    """
    place = files.root(stack.backend)
    if place is not None:
        return [_lock(file, files.read(file)) for file in files.locks(place, stack)]
    if not stack.exists():
        return []
    try:
        stack.replace(stack.export())
    except Refusal as refused:
        if found := told(str(refused)):
            return found
        raise
    return []


def told(text: str) -> list[Lock]:
    """Return the locks that the engine names when it refuses."""
    return [
        Lock(each["place"], each["user"], each["host"], int(each["pid"]), each["since"])
        for each in _TOLD.finditer(text)
    ]


def clear(stack: Stack, *, owner_is_dead: bool) -> list[str]:
    """Remove the locks of dead owners; return one line per lock.

    Whoever else clears up after the same kill may have started the next run since the locks were judged, and
    Pulumi's own `cancel` would remove that one's lock too. In a folder exactly the judged ones go. Elsewhere
    they are judged right before `cancel`, and one process of this checkout at a time does both; a run cannot
    begin while the lock of a dead one is there.

    Args:
        stack: The stack.
        owner_is_dead: A person says that an owner who cannot be seen from here is dead.

    Raises:
        Refusal: An owner lives, or nobody says that an unseen one is dead.
    """
    if files.root(stack.backend) is not None:
        found = judged(stack, owner_is_dead=owner_is_dead)
        gone = [lock for lock in found if files.remove_lock(Path(lock.place))]
    else:
        with _alone(stack.folder):
            gone = list(judged(stack, owner_is_dead=owner_is_dead))
            if gone:
                stack.cancel()
    return [f"removed the lock of {lock.owner}: {_why(lock)}" for lock in gone]


def judged(stack: Stack, *, owner_is_dead: bool = False) -> Sequence[Lock]:
    """Return the locks of a stack, all of which may be removed.

    Raises:
        Refusal: As `clear`.
    """
    found = held(stack)
    for lock in found:
        if lock.standing is Standing.LIVES:
            raise Refusal(_lives(stack, lock))
    for lock in found:
        if lock.standing is Standing.UNSEEN and not owner_is_dead:
            raise Refusal(_unseen(stack, lock))
    return found


@contextmanager
def _alone(folder: Path) -> Iterator[None]:
    """Wait until no other process clears the locks of this checkout, and keep them out."""
    handle = os.open(folder, os.O_RDONLY | os.O_DIRECTORY)
    try:
        fcntl.flock(handle, fcntl.LOCK_EX)
        yield
    finally:
        os.close(handle)


def _why(lock: Lock) -> str:
    if lock.standing is Standing.UNSEEN:
        return "you say that it is dead"
    return "it is dead"


def _lives(stack: Stack, lock: Lock) -> str:
    return (
        f"stack {stack.name} is locked by {lock.owner}, and that process lives; only one run may change a "
        f"fleet: `ps -o pid,lstart,args -p {lock.pid}` shows it; wait until it ends, or end it with "
        f"`kill -INT {lock.pid}` and run this again"
    )


def _unseen(stack: Stack, lock: Lock) -> str:
    return (
        f"stack {stack.name} is locked by {lock.owner}, and {os.uname().nodename} cannot see whether that "
        f"process lives: `ssh {lock.host} ps -o pid,lstart,args -p {lock.pid}` shows it; if it is gone, "
        f"`make recover STACK={stack.name} OPTIONS=--owner-is-dead` goes on"
    )


def _lock(file: Path, found: Mapping[str, Any] | None) -> Lock:
    match found:
        case {"pid": int(pid), "hostname": str(host), **more}:
            return Lock(str(file), str(more.get("username", "?")), host, pid, str(more.get("timestamp", "")))
    return Lock(str(file))


def _clock(written: str) -> str:
    """Return a time as a person reads it; as it is written where it is none."""
    try:
        return f"{datetime.fromisoformat(written[:19]):%Y-%m-%d %H:%M:%S}{written[19:].lstrip('.0123456789')}"
    except ValueError:
        return written or "an unknown time"
