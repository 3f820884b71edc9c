"""What a killed `pulumi` leaves in a backend of files: its lock, and notes that it was writing."""

import json
import os
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit


def recover(url: str, project: str, stack: str) -> bool:
    """Make what a killed run left readable again; return whether its lock still has to be cancelled.

    Beside each file the backend keeps a note, `NAME.attrs`, which it writes in place: a kill in that moment
    leaves it empty, and every later command fails with `EOF`. A note that is gone does no harm.

    Args:
        url: PULUMI_BACKEND_URL; only `file:` backends have anything to recover.
        project: Name of the project.
        stack: Name of the stack; others may be worked on right now.
    """
    root = _root(url)
    if root is None:
        return False
    locks = list(root.glob(f"locks/**/{project}/{stack}/*.json"))
    dead = [_owner_is_dead(_read(lock)) for lock in locks]
    if all(dead):
        for note in _notes(root, project, stack):
            if _read(note) is None:
                note.unlink(missing_ok=True)
    return any(dead)


def _root(url: str) -> Path | None:
    place = urlsplit(url)
    return Path(place.netloc + place.path).expanduser() / ".pulumi" if place.scheme == "file" else None


def _notes(root: Path, project: str, stack: str) -> Iterator[Path]:
    yield from root.glob(f"stacks/{project}/{stack}.json*.attrs")
    yield from root.glob(f"locks/**/{project}/{stack}/*.attrs")
    yield from root.glob(f"*/{project}/{stack}/*.attrs")


def _read(file: Path) -> Mapping[str, Any] | None:
    """Return the object in a JSON file; None where it is cut off."""
    try:
        read: object = json.loads(file.read_text())
    except ValueError:
        return None
    return read if isinstance(read, dict) else None


def _owner_is_dead(lock: Mapping[str, Any] | None) -> bool:
    """Return whether the process that holds a lock is known to be gone; who lives writes whole locks."""
    if lock is None:
        return True
    if lock.get("hostname") != os.uname().nodename:
        return False
    name = Path(f"/proc/{lock['pid']}/comm")
    return not name.exists() or name.read_text().strip() != "pulumi"
