# ruff: noqa: INP001 - a program for the host, not part of a package
"""Say how fast this host reads its checkpoint: measured once, and again where it was slower than wanted.

Usage: speed.py HOME RECORD LEAST   (the verified checkpoint, a file to remember it in, bytes per second)

As the engine reads: through the page cache, several files at once, but nothing that lies in memory already.
Prints JSON: `read` in bytes per second, null of a checkpoint that is too small to tell, and whether it was
`measured` now.
"""

import json
import os
import sys
import time
from collections import deque
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from itertools import islice
from pathlib import Path
from typing import Any

VERIFIED = ".verified"
SMALLEST = 1 << 28
"""Bytes; less than this tells how long a file takes to open."""
LIMIT = 1 << 34
"""Bytes, and seconds: whichever comes first."""
SECONDS = 10.0
AT_ONCE = 4
"""Readers; a tray has as many ranks."""
PIECE = 1 << 26
BLOCK = 1 << 23

Piece = tuple[Path, int]
"""A file, and where in it a reader begins."""


def main(home: str, record: str, least: str) -> None:
    """Print how fast it is."""
    known = recorded(Path(home), Path(record))
    if known is not None and known >= int(least):
        said: dict[str, Any] = {"read": known, "measured": False}
    else:
        speed = measure(Path(home))
        remember(Path(home), Path(record), speed)
        said = {"read": speed, "measured": speed is not None}
    sys.stdout.write(json.dumps(said))


def identity(home: Path) -> list[int]:
    """Return what changes when the checkpoint is verified anew, or another disk is mounted there."""
    facts = (home / VERIFIED).stat()
    return [facts.st_dev, facts.st_ino, facts.st_mtime_ns]


def recorded(home: Path, record: Path) -> int | None:
    """Return what was measured of this very checkpoint; None: nothing was."""
    with suppress(OSError, ValueError, LookupError, TypeError):
        known = json.loads(record.read_text(encoding="utf-8"))
        if known["of"] == identity(home):
            return int(known["read"])
    return None


def remember(home: Path, record: Path, speed: int | None) -> None:
    """Write it down."""
    if speed is not None:
        record.write_text(json.dumps({"of": identity(home), "read": speed}), encoding="utf-8")


def measure(home: Path) -> int | None:
    """Return bytes per second; None where there is too little to read."""
    todo = deque(pieces(home))
    if sum(min(PIECE, path.stat().st_size - start) for path, start in todo) < SMALLEST:
        return None
    for path in {path for path, _start in todo}:
        forget(path)
    begin = time.monotonic()
    with ThreadPoolExecutor(AT_ONCE) as pool:
        read = sum(pool.map(lambda _reader: read_on(todo, begin + SECONDS), range(AT_ONCE)))
    return max(1, int(read / (time.monotonic() - begin)))


def pieces(home: Path) -> Iterator[Piece]:
    """Yield as much of the checkpoint as is read, piece by piece."""
    found = ((path, start) for path in sorted(home.rglob("*")) if path.is_file() for start in starts(path))
    yield from islice(found, LIMIT // PIECE)


def starts(path: Path) -> range:
    """Return where the pieces of a file begin."""
    return range(0, path.stat().st_size, PIECE)


def forget(path: Path) -> None:
    """Let a file go from the memory of this host."""
    with path.open("rb") as file:
        os.posix_fadvise(file.fileno(), 0, 0, os.POSIX_FADV_DONTNEED)


def read_on(todo: deque[Piece], end: float) -> int:
    """Read pieces until none is left or it is late; return the bytes."""
    read, block = 0, memoryview(bytearray(BLOCK))
    with suppress(IndexError):
        while time.monotonic() < end:
            path, start = todo.popleft()
            with path.open("rb", buffering=0) as file:
                file.seek(start)
                while start + PIECE > (at := file.tell()) and time.monotonic() < end:
                    if not (count := file.readinto(block[: min(BLOCK, start + PIECE - at)])):
                        break
                    read += count
    return read


if __name__ == "__main__":
    main(*sys.argv[1:])
