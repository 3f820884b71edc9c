# ruff: noqa: INP001 - a program for the host, not part of a package
"""Bring a checkpoint: every file checked against its SHA-256 before any of them is visible.

Usage: fetch.py look|fetch MANIFEST (JSON file: url, home, patience, user, files: [{path, size, sha256}])

Files arrive below HOME.part as NAME.partial, lose the suffix once they are verified, and become HOME in one
step when all of them are. A partial file is resumed where it ended. `look` prints JSON: `complete`, and the
bytes that are `missing` and `free`. The last line written on a failure is one sentence.

HOME may be on a share of several machines: one that holds a lock on HOME.lock fetches, and the others wait.
"""

import errno
import fcntl
import hashlib
import json
import os
import shutil
import sys
import time
import urllib.error
import urllib.request
from collections import deque
from collections.abc import Iterator
from concurrent.futures import FIRST_EXCEPTION, ThreadPoolExecutor, wait
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from http import HTTPStatus
from http.client import HTTPException
from pathlib import Path
from typing import IO, Any
from urllib.parse import quote

VERIFIED = ".verified"
PARTIAL = ".partial"
AT_ONCE = 4
BLOCK = 1 << 20
PATIENCE = 60  # seconds without a byte, where the manifest says nothing else
ATTEMPTS = 5  # connections that break off, per file, without one byte of progress
PAUSE = 1.0  # seconds after the first of them, then twice as many each time: a mirror may be starting
# What a mirror says of a file now, not for good; all from 500 on are such too.
TRANSIENT = {HTTPStatus.REQUEST_TIMEOUT, HTTPStatus.TOO_EARLY, HTTPStatus.TOO_MANY_REQUESTS}
WAYS_OUT = dict.fromkeys((errno.ENOSPC, errno.EDQUOT), "free some space there")
WAYS_OUT[errno.ENOLCK] = "let its NFS server give locks, as NFSv4 does"


class FetchError(Exception):
    """The sentence to show."""


@dataclass(frozen=True)
class File:
    """One file of the checkpoint: path below it, size in bytes, SHA-256 in hex."""

    path: str
    size: int
    sha256: str


@dataclass(frozen=True)
class Checkpoint:
    """Where a checkpoint comes from and goes to."""

    url: str
    home: Path
    files: tuple[File, ...]
    digest: str
    patience: int
    user: str

    @property
    def part(self) -> Path:
        """Return the folder of what is not complete yet."""
        return self.home.with_name(f"{self.home.name}.part")

    @property
    def lock(self) -> Path:
        """Return the file that one of all machines has locked."""
        return self.home.with_name(f"{self.home.name}.lock")


def main(action: str, manifest: str) -> int:
    """Run one action and return the exit status."""
    checkpoint = read(Path(manifest))
    if action == "look":
        sys.stdout.write(json.dumps(look(checkpoint)))
        return 0
    try:
        with stored(checkpoint.lock), turn(checkpoint), stored(checkpoint.part):
            bring(checkpoint)
    except FetchError as error:
        say(str(error))
        os._exit(1)  # what other files still wait for would hold the process
    return 0


def say(line: str) -> None:
    """Write a line for whoever waits, now."""
    sys.stdout.write(f"{line}\n")
    sys.stdout.flush()


def read(manifest: Path) -> Checkpoint:
    """Return the checkpoint that the manifest describes."""
    raw = json.loads(manifest.read_text(encoding="utf-8"))
    files = tuple(File(**entry) for entry in raw["files"])
    digest = hashlib.sha256(json.dumps(raw["files"], sort_keys=True).encode()).hexdigest()
    patience, user = raw.get("patience", PATIENCE), raw.get("user", "")
    return Checkpoint(raw["url"], Path(raw["home"]), files, digest, patience, user)


@contextmanager
def turn(checkpoint: Checkpoint) -> Iterator[None]:
    """Be the only one of all machines on a share who changes it: for a POSIX lock NFS asks the server."""
    checkpoint.lock.parent.mkdir(parents=True, exist_ok=True)
    while True:
        with checkpoint.lock.open("a+b", buffering=0) as lock:
            await_turn(lock, checkpoint)
            if not current(lock, checkpoint.lock):
                continue
            leave_word(lock, checkpoint, failed=False)
            try:
                yield
            except FetchError:
                with suppress(OSError):  # the disk may be full
                    leave_word(lock, checkpoint, failed=True)
                raise
            return


def await_turn(lock: IO[bytes], checkpoint: Checkpoint) -> None:
    """Take the lock, or fail with who had it and failed: this machine would too, after as long."""
    if taken(lock):
        return
    say(f"{word(lock).get('user') or 'another machine'} fetches {checkpoint.home}, and this one waits for it")
    fcntl.lockf(lock, fcntl.LOCK_EX)
    found = word(lock)
    if found.get("failed") and found.get("url") == checkpoint.url:
        raise FetchError(
            f"{found['user']} fetched {checkpoint.home} for all that share it, and failed: mend what it says,"
            f" then run again"
        )


def taken(lock: IO[bytes]) -> bool:
    """Return whether nobody has the lock, and this process does now."""
    try:
        fcntl.lockf(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except (BlockingIOError, PermissionError):  # POSIX leaves open which
        return False
    return True


def current(lock: IO[bytes], place: Path) -> bool:
    """Return whether a file is still that of its name; to open and close it again would end the lock."""
    ask_anew(place.parent)
    return place.exists() and os.path.samestat(os.fstat(lock.fileno()), place.stat())


def leave_word(lock: IO[bytes], checkpoint: Checkpoint, *, failed: bool) -> None:
    """Tell those who wait, elsewhere, who has the lock and whether that one failed."""
    lock.truncate(0)
    lock.write(json.dumps({"user": checkpoint.user, "url": checkpoint.url, "failed": failed}).encode())
    os.fsync(lock.fileno())


def word(lock: IO[bytes]) -> dict[str, Any]:
    """Return what the last holder left; nothing where that is cut off, or not there yet."""
    try:
        return dict(json.loads(os.pread(lock.fileno(), BLOCK, 0)))
    except (ValueError, TypeError):
        return {}


def look(checkpoint: Checkpoint) -> dict[str, Any]:
    """Return whether all is there, and how many bytes are missing and free."""
    ask_anew(checkpoint.home.parent)
    place = next(parent for parent in checkpoint.home.parents if parent.exists())
    return {
        "complete": complete(checkpoint),
        "missing": sum(left(checkpoint, file) for file in checkpoint.files),
        "free": shutil.disk_usage(place).free,
    }


def ask_anew(folder: Path) -> None:
    """Open all folders below one: on NFS what another machine did is seen then, not a minute later."""
    deque(os.walk(folder), maxlen=0)


def complete(checkpoint: Checkpoint) -> bool:
    """Return whether this very checkpoint was verified here and nobody touched a file since."""
    known = verified(checkpoint)
    return known is not None and all(
        known.get(file.path) == stamp(checkpoint.home / file.path) for file in checkpoint.files
    )


def verified(checkpoint: Checkpoint) -> dict[str, list[int]] | None:
    """Return path → stamp of each file as it was verified; None where that was for another manifest."""
    try:
        known = json.loads((checkpoint.home / VERIFIED).read_text(encoding="utf-8"))
        return dict(known["files"]) if known["manifest"] == checkpoint.digest else None
    except (OSError, ValueError, LookupError, TypeError):
        return None


def stamp(path: Path) -> list[int]:
    """Return what changes when a file is written or replaced; opened, because NFS asks the server then."""
    try:
        with path.open("rb") as file:
            facts = os.fstat(file.fileno())
    except OSError:
        return []
    return [facts.st_size, facts.st_mtime_ns, facts.st_ino]


def left(checkpoint: Checkpoint, file: File) -> int:
    """Return the bytes of the file that are neither here nor arriving."""
    names = (file.path, file.path + PARTIAL)
    places = [folder / name for folder in (checkpoint.part, checkpoint.home) for name in names]
    there = [size for size, *_ in filter(None, map(stamp, places))]
    return max(file.size - max(there, default=0), 0)


def bring(checkpoint: Checkpoint) -> None:
    """Fetch what is missing and show the checkpoint when it is whole."""
    if complete(checkpoint):
        return
    doubt(checkpoint)
    checkpoint.part.mkdir(parents=True, exist_ok=True)
    workers = ThreadPoolExecutor(AT_ONCE)
    arrivals = [workers.submit(ensure, checkpoint, file) for file in checkpoint.files]
    wait(arrivals, return_when=FIRST_EXCEPTION)
    workers.shutdown(wait=False, cancel_futures=True)
    for arrival in arrivals:
        if arrival.done() and not arrival.cancelled():
            arrival.result()
    show(checkpoint)


def doubt(checkpoint: Checkpoint) -> None:
    """Turn a checkpoint that is not what it should be back into one that is arriving.

    What was touched since it was verified is read again.
    """
    if not checkpoint.home.exists():
        return
    known = verified(checkpoint) or {}
    (checkpoint.home / VERIFIED).unlink(missing_ok=True)
    shutil.rmtree(checkpoint.part, ignore_errors=True)
    checkpoint.home.rename(checkpoint.part)
    for file in [path for path in checkpoint.part.rglob("*") if path.is_file()]:
        if known.get(file.relative_to(checkpoint.part).as_posix()) != stamp(file):
            file.rename(f"{file}{PARTIAL}")


def ensure(checkpoint: Checkpoint, file: File) -> None:
    """Have the file verified in the arriving folder."""
    with stored(checkpoint.part / (file.path + PARTIAL)):
        have(checkpoint, file)


def have(checkpoint: Checkpoint, file: File) -> None:
    """Fetch, verify and name the file."""
    target = checkpoint.part / file.path
    if target.is_file() and target.stat().st_size == file.size:
        return
    target.parent.mkdir(parents=True, exist_ok=True)
    partial = target.with_name(target.name + PARTIAL)
    url = checkpoint.url + quote(file.path)
    begun_before = partial.exists()
    digest = download(url, partial, file, checkpoint.patience)
    if begun_before and digest.hexdigest() != file.sha256:
        partial.unlink()  # the wrong part may have lain here: only all of it from the mirror tells
        digest = download(url, partial, file, checkpoint.patience)
    if (found := digest.hexdigest()) != file.sha256:
        partial.unlink()
        raise FetchError(
            f"{file.path} from {url} has SHA-256 {found}, the manifest says {file.sha256}, and it was"
            f" thrown away: repair it on the mirror, then run again"
        )
    partial.chmod(0o644)
    partial.rename(target)
    say(f"{file.path} is verified")


def download(url: str, partial: Path, file: File, patience: int) -> Any:
    """Return the running SHA-256 of the whole file once it has its full size."""
    with partial.open("a+b") as target:
        # Who was cut off from the share for so long that another took the turn cannot write here any more.
        fcntl.lockf(target, fcntl.LOCK_EX)
        digest = begun(target, file.size)
        failures = 0
        while (done := target.tell()) < file.size:
            try:
                resume(url, target, digest, file.size, patience)
            except (OSError, HTTPException) as error:
                failures = 0 if target.tell() > done else failures + 1
                if final(error) or failures == ATTEMPTS:
                    raise unavailable(file, url, reason(error, patience), target.tell()) from None
                time.sleep(PAUSE * (2**failures // 2))
        target.flush()
        os.fsync(target.fileno())
    return digest


def final(error: Exception) -> bool:
    """Return whether the mirror will say the same when it is asked again."""
    if not isinstance(error, urllib.error.HTTPError):
        return False
    error.close()
    return error.code < HTTPStatus.INTERNAL_SERVER_ERROR and error.code not in TRANSIENT


def reason(error: Exception, patience: int) -> str:
    """Return why a try failed, in words."""
    if isinstance(error, urllib.error.HTTPError):
        return f"it answers {error.code} {error.reason}"
    if isinstance(found := getattr(error, "reason", error), TimeoutError):
        return f"nothing came for {patience} s"
    return str(found) or type(found).__name__


def unavailable(file: File, url: str, why: str, done: int) -> FetchError:
    """Return the sentence for a file that the mirror does not give."""
    return FetchError(
        f"{file.path} cannot be had from {url} ({why}), {done} of {file.size} bytes are here:"
        f" mend the mirror, then run again and it goes on there"
    )


@contextmanager
def stored(path: Path | str) -> Iterator[None]:
    """Turn what this host's own disk refuses into a sentence: another try at the mirror mends nothing."""
    try:
        yield
    except OSError as error:
        way_out = WAYS_OUT.get(error.errno or 0, "mend its disk")
        raise FetchError(
            f"{error.filename or path} cannot be stored on this host ({error.strerror or error}):"
            f" {way_out}, then run again"
        ) from error


def begun(target: IO[bytes], size: int) -> Any:
    """Return the SHA-256 of what is here already; what is longer than the file cannot be its beginning."""
    if target.seek(0, os.SEEK_END) > size:
        target.truncate(0)
    target.seek(0)
    digest = hashlib.sha256()
    for block in blocks(target, size):
        digest.update(block)
    return digest


def resume(url: str, target: IO[bytes], digest: Any, size: int, patience: int) -> None:
    """Append what is missing of the file, as far as the connection goes.

    Raises:
        OSError: The mirror refused, broke off, or has less than the manifest says.
        FetchError: This host cannot keep what came.
    """
    done = target.tell()
    request = urllib.request.Request(url, headers={"Range": f"bytes={done}-"})  # noqa: S310 - the site's mirror
    with urllib.request.urlopen(request, timeout=patience) as answer:  # noqa: S310 - as above
        if answer.status != HTTPStatus.PARTIAL_CONTENT:
            deque(blocks(answer, done), maxlen=0)  # a mirror without ranges begins at the start
        for block in blocks(answer, size - done):
            with stored(target.name):
                target.write(block)
            digest.update(block)
    if target.tell() < size:
        raise OSError(f"it ended after {target.tell()} of {size} bytes")


def blocks(source: Any, size: int) -> Iterator[bytes]:
    """Yield the next `size` bytes of a stream as they come, or as many as it has."""
    while size > 0 and (block := source.read1(min(BLOCK, size))):
        size -= len(block)
        yield block


def show(checkpoint: Checkpoint) -> None:
    """Make the whole checkpoint visible in one step."""
    wanted = {checkpoint.part / file.path for file in checkpoint.files}
    for path in checkpoint.part.rglob("*"):
        if path.is_file() and path not in wanted:
            path.unlink()
    stamps = {file.path: stamp(checkpoint.part / file.path) for file in checkpoint.files}
    text = json.dumps({"manifest": checkpoint.digest, "files": stamps})
    (checkpoint.part / VERIFIED).write_text(text, encoding="utf-8")
    os.sync()
    checkpoint.part.rename(checkpoint.home)


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
