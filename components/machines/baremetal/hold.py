"""Take this machine's lease, or give it back, in one step that nobody can come between.

A program for the machine itself, which has no package of ours: it reads from standard input, and only the
standard library is there.

Usage: hold.py take LEASE [INCARNATION]   LEASE is JSON, INCARNATION that of the lease it replaces
       hold.py give KEY VALUE             if its KEY (incarnation, fleet) is VALUE

What was not done because somebody else holds the machine ends with status 3, and prints their lease.
"""

import fcntl
import json
import os
import pwd
import sys
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

LEASE = Path("/var/lib/rackstack-lease")
HELD = 3


def main(action: str, *words: str) -> int:
    """Run one action and return the exit status."""
    with alone():
        return take(*words) if action == "take" else give(*words)


@contextmanager
def alone() -> Iterator[None]:
    """Keep every other one of these programs out."""
    handle = os.open(LEASE.parent, os.O_RDONLY | os.O_DIRECTORY)
    try:
        fcntl.flock(handle, fcntl.LOCK_EX)
        yield
    finally:
        os.close(handle)


def take(lease: str, replaces: str = "") -> int:
    """Write a lease where there is none, or in the place of the one that is named."""
    held = standing()
    if held and said(held, "incarnation") != replaces:
        sys.stdout.write(held)
        return HELD
    draft = LEASE.with_name(f"{LEASE.name}.draft")
    with draft.open("w", encoding="utf-8") as file:
        file.write(lease)
        file.flush()
        os.fsync(file.fileno())
    draft.replace(LEASE)
    return 0


def give(key: str, value: str) -> int:
    """Remove the lease if it is the one that is meant; that there is none is as well."""
    held = standing()
    if held and said(held, key) != value:
        sys.stdout.write(held)
        return HELD
    LEASE.unlink(missing_ok=True)
    tidy(Path(pwd.getpwnam(os.environ.get("SUDO_USER", "root")).pw_dir))
    return 0


def tidy(home: Path) -> None:
    """Remove what Ansible has left empty in the home of the user who logs in; what is not empty stays."""
    with suppress(OSError):
        for folder in (".ansible/tmp", ".ansible"):
            (home / folder).rmdir()


def standing() -> str:
    """Return the lease as it is written; empty where there is none."""
    return LEASE.read_text(encoding="utf-8") if LEASE.exists() else ""


def said(lease: str, key: str) -> str | None:
    """Return a field of a lease; None where it cannot be read."""
    try:
        return str(json.loads(lease)[key])
    except (ValueError, KeyError, TypeError):
        return None


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
