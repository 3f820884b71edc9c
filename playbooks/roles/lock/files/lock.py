# ruff: noqa: INP001 - a program for the host, not part of a package
"""Take or release a fleet's lock on this host.

Usage: lock.py take|release FLEET NAME OWNER [CONTROLLER [ENDED-OWNER…]]

One file per playbook below /run/lock/rackstack/FLEET says who holds it. `engine`, `checkpoint` and `access`
may be held side by side, every other pair excludes one another. `take` prints what is held by others (JSON)
and exits with 3 when it was refused; owners named as ended are displaced.
"""

import fcntl
import json
import os
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

ROOT = Path("/run/lock/rackstack")
SIDE_BY_SIDE = {"engine", "checkpoint", "access"}
REFUSED = 3


def main(action: str, fleet: str, name: str, owner: str, controller: str = "", *ended: str) -> int:
    """Run one action and return the exit status."""
    with alone(ROOT / fleet) as folder:
        if action == "release":
            release(folder, name, owner)
            return 0
        held = obstacles(folder, name, owner, ended)
        if held:
            sys.stdout.write(json.dumps(held))
            return REFUSED
        take(folder, name, owner, controller)
        return 0


@contextmanager
def alone(folder: Path) -> Iterator[Path]:
    """Hold the folder itself, so that looking and taking are one step."""
    while True:
        try:
            folder.mkdir(parents=True, exist_ok=True)
            handle = os.open(folder, os.O_RDONLY | os.O_DIRECTORY)
        except FileNotFoundError:
            continue
        fcntl.flock(handle, fcntl.LOCK_EX)
        if os.fstat(handle).st_nlink:  # else it was removed while we waited for it
            break
        os.close(handle)
    try:
        yield folder
    finally:
        os.close(handle)


def obstacles(folder: Path, name: str, owner: str, ended: tuple[str, ...]) -> list[dict[str, str]]:
    """Return what others hold that excludes `name`; each with its age in minutes."""
    found = []
    for file in folder.glob("*.json"):
        holder = json.loads(file.read_text(encoding="utf-8"))
        if holder["owner"] in (owner, *ended) or side_by_side(name, holder["name"]):
            continue
        age = int(time.time() - file.stat().st_mtime) // 60
        found.append({**holder, "minutes": str(age), "file": str(file)})
    return found


def side_by_side(one: str, other: str) -> bool:
    """Return whether two playbooks may be run at the same time."""
    return one != other and {one, other} <= SIDE_BY_SIDE


def take(folder: Path, name: str, owner: str, controller: str) -> None:
    """Write who holds the lock; what ended owners left for the same or an excluded name goes."""
    for file in folder.glob("*.json"):
        if not side_by_side(name, file.stem):
            file.unlink()
    draft = folder / f"{name}.draft"
    draft.write_text(json.dumps({"name": name, "owner": owner, "controller": controller}), encoding="utf-8")
    draft.rename(folder / f"{name}.json")


def release(folder: Path, name: str, owner: str) -> None:
    """Remove the lock if it is the owner's, and the folders with the last lock."""
    file = folder / f"{name}.json"
    if file.exists() and json.loads(file.read_text(encoding="utf-8"))["owner"] == owner:
        file.unlink()
    if not any(folder.iterdir()):
        folder.rmdir()
        with suppress(OSError):  # another fleet has a lock there
            folder.parent.rmdir()


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
