"""What a killed `pulumi` leaves in a backend of files: locks, notes cut off, a state file cut off."""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING, Any
from urllib.parse import unquote, urlsplit

from stacks.errors import Refusal

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from lifecycle.stack import Stack


def root(url: str) -> Path | None:
    """Return the folder of a backend of files; None for every other one."""
    place = urlsplit(url)
    if place.scheme != "file":
        return None
    return Path(unquote(place.netloc + place.path)).expanduser() / ".pulumi"


def locks(place: Path, stack: Stack) -> list[Path]:
    """Return the lock files of a stack; others may be worked on right now."""
    return sorted(place.glob(f"locks/**/{stack.project}/{stack.name}/*.json"))


def read(file: Path) -> Mapping[str, Any] | None:
    """Return the object in a JSON file; None where it is cut off or gone."""
    try:
        found: object = json.loads(file.read_text())
    except (OSError, ValueError):
        return None
    return found if isinstance(found, dict) else None


def remove_lock(lock: Path) -> bool:
    """Remove one lock and its note; return whether it was still there."""
    was_there = True
    try:
        lock.unlink()
    except FileNotFoundError:
        was_there = False
    lock.with_name(f"{lock.name}.attrs").unlink(missing_ok=True)
    return was_there


def clear_notes(stack: Stack) -> list[str]:
    """Remove the notes that a kill has cut off; return one line per note. Nobody may hold the stack.

    Beside each file the backend keeps a note, `NAME.attrs`, which it writes in place: a kill in that moment
    leaves it empty, and every later command fails with `EOF`. A note that is gone does no harm.
    """
    place = root(stack.backend)
    cut = [note for note in _notes(place, stack) if read(note) is None] if place else []
    for note in cut:
        note.unlink(missing_ok=True)
    return [f"removed {note.name}, a note of the backend that was cut off" for note in cut]


def require_whole(stack: Stack) -> None:
    """Refuse a state file that is cut off, or gone while its backup is there.

    Pulumi writes the state beside its place and renames, so this is a full disk's or a person's work.

    Raises:
        Refusal: The sentence names the file, the newest whole backup, and the command that brings it back.
    """
    place = root(stack.backend)
    state = place and place / "stacks" / stack.project / f"{stack.name}.json"
    if place is None or state is None or read(state) is not None:
        return
    spare = state.with_name(f"{state.name}.bak")
    older = sorted((place / "backups" / stack.project / stack.name).glob("*.json"), reverse=True)
    whole = next((each for each in (spare, *older) if read(each) is not None), None)
    # `stack rm` leaves a backup too, of a stack that holds nothing.
    if not state.exists() and (whole is None or not _resources(whole)):
        return
    how = "is cut off" if state.exists() else "is gone"
    up = f"`make up STACK={stack.name}`"
    if whole is None:
        raise Refusal(
            f"the state file {state} {how} and no backup of it is whole: remove it, and then {up} adopts "
            f"what exists, or `make sweep STACK={stack.name}` removes it"
        )
    raise Refusal(
        f"the state file {state} {how}, and its last whole backup is {whole}: `cp {whole} {state}` brings "
        f"that back, and {up} adopts what was made since"
    )


def _resources(backup: Path) -> bool:
    """Return whether a state file holds any resource."""
    match read(backup):
        case {"checkpoint": {"latest": {"resources": list(resources)}}}:
            return bool(resources)
    return False


def _notes(place: Path, stack: Stack) -> Iterator[Path]:
    yield from place.glob(f"stacks/{stack.project}/{stack.name}.json*.attrs")
    yield from place.glob(f"locks/**/{stack.project}/{stack.name}/*.attrs")
    yield from place.glob(f"*/{stack.project}/{stack.name}/*.attrs")
