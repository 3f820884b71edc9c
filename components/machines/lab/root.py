"""Where the lab keeps what belongs to a fleet, and who may work on it.

```
/var/lib/rackstack-lab/<fleet>/
├── network/            marker.json, the fleet's client key
└── machines/<name>/    marker.json, leader (process id), console.log, upper/ work/ root/ (the disk)
```

The last thing that goes takes the folders above it along. Locks are held on folders: no lock file stays.
"""

from __future__ import annotations

import fcntl
import json
import os
import time
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from stacks.errors import Refusal

if TYPE_CHECKING:
    import threading
    from collections.abc import Iterator

LAB: Final = Path("/var/lib/rackstack-lab")
LONGEST_HOLD: Final = 90.0
"""Seconds to wait for another process; the longest that one works on a host."""
_POLL: Final = 0.1
MARKER: Final = "marker.json"


def fleet_folder(fleet: str) -> Path:
    """Return the folder of a fleet.

    Raises:
        Refusal: The name leads elsewhere; everything below this folder is ours to remove.
    """
    folder = LAB / fleet
    if folder.parent != LAB or folder.name == "..":
        raise Refusal(f"fleet {fleet!r} is no folder's name; rename the stack")
    return folder


def network_folder(fleet: str) -> Path:
    """Return the folder of a fleet's network."""
    return fleet_folder(fleet) / "network"


def machines_folder(fleet: str) -> Path:
    """Return the folder that holds the machines of a fleet."""
    return fleet_folder(fleet) / "machines"


def machine_folder(fleet: str, name: str) -> Path:
    """Return the folder of a host."""
    return machines_folder(fleet) / name


def client_key(fleet: str) -> Path:
    """Return the path of the private key that opens every host of a fleet."""
    return network_folder(fleet) / "id_ed25519"


@contextmanager
def machine_wide() -> Iterator[None]:
    """Keep every other lab process of this machine out, for moments only. Not to be nested."""
    handle = os.open(LAB.parent, os.O_RDONLY | os.O_DIRECTORY)
    try:
        fcntl.flock(handle, fcntl.LOCK_EX)
        yield
    finally:
        os.close(handle)


@contextmanager
def held(folder: Path, stop: threading.Event | None = None) -> Iterator[None]:
    """Make a folder and hold it against other processes; it goes afterwards if it is empty.

    Raises:
        Refusal: Another process holds it too long, or the engine asks to stop.
    """
    handle = _hold(folder, stop)
    try:
        yield
    finally:
        _drop_if_empty(folder)
        os.close(handle)


def read_marker(folder: Path) -> dict[str, Any] | None:
    """Return the marker of a thing; None where it is not (wholly) made."""
    try:
        marker = json.loads((folder / MARKER).read_text())
    except (OSError, ValueError):
        return None
    return marker if isinstance(marker, dict) else None


def incarnation(folder: Path) -> str | None:
    """Return the nonce on a thing; None where it is not (wholly) made."""
    marker = read_marker(folder)
    return marker.get("incarnation") if marker else None


def write_marker(folder: Path, marker: dict[str, Any]) -> None:
    """Write the marker of a thing, all of it or nothing."""
    draft = folder / f"{MARKER}.draft"
    draft.write_text(json.dumps(marker, indent=2))
    draft.replace(folder / MARKER)


def _hold(folder: Path, stop: threading.Event | None) -> int:
    until = time.monotonic() + LONGEST_HOLD
    while time.monotonic() < until:
        if stop is not None and stop.is_set():
            raise Refusal(f"stopped before work on {folder} began; run `pulumi up` again")
        handle = _try_to_hold(folder)
        if handle is not None:
            return handle
        time.sleep(_POLL)
    raise Refusal(
        f"{folder} has been held by another process for {LONGEST_HOLD:.0f} s; end the other `pulumi`"
    )


def _try_to_hold(folder: Path) -> int | None:
    with machine_wide():
        LAB.mkdir(mode=0o700, exist_ok=True)
        folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        handle = os.open(folder, os.O_RDONLY | os.O_DIRECTORY)
        try:
            fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            os.close(handle)
            return None
        return handle


def _drop_if_empty(folder: Path) -> None:
    """Remove the folder, and those above it, where they are empty."""
    with machine_wide(), suppress(OSError):
        for each in (folder, *folder.parents):
            if each == LAB.parent:
                break
            each.rmdir()
