# ruff: noqa: INP001 - a program for the host, not part of a package
"""Wait until no package manager holds its locks, and say who does.

Usage: turn.py SECONDS

Exits with 0 when the locks are free. Where one is held for SECONDS, the last line printed says by whom, and
the exit status is 3. Nothing is ever done to a lock or to who holds it: a half-installed host is worse than
a late one.
"""

import fcntl
import struct
import sys
import time
from pathlib import Path

LOCKS = (
    "/var/lib/dpkg/lock-frontend",
    "/var/lib/dpkg/lock",
    "/var/lib/apt/lists/lock",
    "/var/cache/apt/archives/lock",
)
HELD = 3
POLL_SECONDS = 0.5
FLOCK = "hhqqi"  # struct flock: type, whence, start, length, process
LONGEST = 100  # characters of a command line


def main(seconds: str) -> int:
    """Wait and return the exit status."""
    end = time.monotonic() + float(seconds)
    while holder := held():
        if time.monotonic() > end:
            sys.stdout.write(f"{holder}\n")
            return HELD
        time.sleep(POLL_SECONDS)
    return 0


def held() -> str:
    """Return the first lock that is held and by whom, as part of a sentence; empty where all are free."""
    for path in LOCKS:
        if process := holder(path):
            return f"{path} is held by process {process} ({command(process)})"
    return ""


def holder(path: str) -> int:
    """Return the process that holds a lock, 0 where none does; asking takes nothing."""
    try:
        with Path(path).open("rb") as lock:
            wanted = struct.pack(FLOCK, fcntl.F_WRLCK, 0, 0, 0, 0)
            kind, *_, process = struct.unpack(FLOCK, fcntl.fcntl(lock, fcntl.F_GETLK, wanted))
    except FileNotFoundError:
        return 0
    return 0 if kind == fcntl.F_UNLCK else int(process)


def command(process: int) -> str:
    """Return the command line of a process."""
    try:
        words = Path(f"/proc/{process}/cmdline").read_bytes().decode(errors="replace").split("\0")
    except OSError:
        return "it has just ended"
    line = " ".join(words).strip()
    return line if len(line) <= LONGEST else f"{line[:LONGEST]}…"


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
