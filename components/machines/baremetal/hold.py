"""Take this machine's lease, or give it back, in one step that nobody can come between.

A program for the machine itself, which has no package of ours: it reads from standard input, and only the
standard library is there.

Usage: hold.py take LEASE [INCARNATION]   LEASE is JSON, INCARNATION that of the lease it replaces
       hold.py give KEY VALUE             if its KEY (incarnation, fleet) is VALUE

What was not done because somebody else holds the machine ends with status 3, and prints their lease. Where
another process keeps this one out for too long, the last line says which.
"""

import fcntl
import json
import os
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

LEASE = Path("/var/lib/rackstack-lease")
HELD = 3
LONGEST = 8.0
"""Seconds of waiting: whoever asks is still there then, and no lease is written after they gave up."""
POLL = 0.1
WORDS = 60


def main(action: str, *words: str) -> int:
    """Run one action and return the exit status."""
    with alone():
        return take(*words) if action == "take" else give(*words)


@contextmanager
def alone() -> Iterator[None]:
    """Keep every other one of these programs out."""
    handle = os.open(LEASE.parent, os.O_RDONLY | os.O_DIRECTORY)
    try:
        end = time.monotonic() + LONGEST
        while not locked(handle):
            if time.monotonic() > end:
                sys.exit(f"{holder(handle)} has locked {LEASE.parent} for more than {LONGEST:g} s")
            time.sleep(POLL)
        yield
    finally:
        os.close(handle)


def locked(handle: int) -> bool:
    """Lock the folder if nobody else does, and return whether it is ours."""
    try:
        fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    return True


def holder(handle: int) -> str:
    """Return which process has the lock, as the kernel lists it by the number of the folder."""
    number = os.fstat(handle).st_ino
    for line in Path("/proc/locks").read_text(encoding="utf-8").splitlines():
        words = line.split()
        if words[1] == "FLOCK" and words[5].rpartition(":")[2] == str(number):
            return f"process {words[4]} ({command(words[4])})"
    return "a process that is not seen from here"


def command(process: str) -> str:
    """Return the command line of a process; it may have ended."""
    try:
        words = Path(f"/proc/{process}/cmdline").read_bytes().decode(errors="replace").split("\0")
    except OSError:
        return "it has just ended"
    return " ".join(words).strip()[:WORDS]


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
    return 0


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
