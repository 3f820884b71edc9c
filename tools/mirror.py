"""Fill a folder with the wheels of an engine's locks, for hosts that reach no index."""

import argparse
import contextlib
import fcntl
import hashlib
import http
import os
import shutil
import sys
import threading
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor, as_completed
from pathlib import Path
from typing import Final

from packaging.tags import Tag
from packaging.utils import InvalidWheelFilename, canonicalize_name, parse_wheel_filename
from packaging.version import Version

from components.machines.lab import cache
from stacks import catalog
from stacks.catalog import Lock
from stacks.errors import RackstackError, Refusal
from stacks.faults import nearest
from tools.bootstrap.work import CHECKOUT, placed, tell
from tools.lock import engines, web
from tools.lock.wheels import Target, Wheel, hashes, named, requirements, wheels

_AT_ONCE: Final = 4
_CHUNK: Final = 1 << 20
_TOLD: Final = 16  # wheels between two lines of progress
_PAST_END: Final = http.HTTPStatus.REQUESTED_RANGE_NOT_SATISFIABLE
_Key = tuple[str, Version]


def ensure(folder: Path, lock: str, target: Target) -> int:
    """Make a mirror, complete from the moment it has its name, and return how many wheels were downloaded.

    A wheel that is there already is read and compared with the lock's hashes; one that differs is removed and
    had again. A broken download goes on where it stopped. Where nothing is lacking, no index is asked.

    Args:
        folder: The mirror; made where it is missing.
        lock: Text of the lock.
        target: What the hosts can install.

    Raises:
        Refusal: A wheel could not be had, is not the one that the lock names, or does not fit on the disk.
    """
    if folder.is_dir():
        return _fill(folder, lock, target)
    with placed(folder, resume=True) as part:
        return _fill(part, lock, target)


def _fill(folder: Path, lock: str, target: Target) -> int:
    with _alone(folder):
        lacking = missing(folder, lock, target)
        wanted = wheels(lacking, target, engines.indexes(lock)) if lacking else []
        if wanted:
            _prove_room(folder, wanted)
            _download(folder, wanted)
    return len(wanted)


def missing(folder: Path, lock: str, target: Target) -> list[str]:
    """Return the requirements of a lock without a sound wheel in a folder; an unsound one is removed."""
    wanted = {_key(*named(each)): each for each in requirements(lock)}
    fitting = target.tags.keys()
    found = [(path, key) for path, key, tagged in _parsed(folder) if key in wanted and fitting & tagged]
    with ThreadPoolExecutor(_AT_ONCE) as pool:
        digests = list(pool.map(_digest, [path for path, _ in found]))
    sound = set()
    for (path, key), digest in zip(found, digests, strict=True):
        if digest in hashes(wanted[key]):
            sound.add(key)
        else:
            tell("mirror", f"{path.name} is not what the lock names: removed")
            path.unlink()
    return [each for key, each in wanted.items() if key not in sound]


def _parsed(folder: Path) -> Iterator[tuple[Path, _Key, frozenset[Tag]]]:
    for path in sorted(folder.glob("*.whl")):
        with contextlib.suppress(InvalidWheelFilename):
            name, version, _, tagged = parse_wheel_filename(path.name)
            yield path, (name, version), tagged


def _key(name: str, release: str) -> _Key:
    return canonicalize_name(name), Version(release)


def _digest(path: Path) -> str:
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def _prove_room(folder: Path, wanted: Sequence[Wheel]) -> None:
    there = sum(part.stat().st_size for part in folder.glob(".*.part"))
    needed = sum(wheel.size or 0 for wheel in wanted) - there
    free = shutil.disk_usage(folder).free
    if needed > free:
        raise Refusal(
            f"{folder}: {needed / 1e9:.1f} GB of wheels are lacking and {free / 1e9:.1f} GB are free; make"
            " room, or name another folder with DIR="
        )


def _download(folder: Path, wanted: Sequence[Wheel]) -> None:
    total = sum(wheel.size or 0 for wheel in wanted)
    tell("mirror", f"downloading {len(wanted)} wheels, {total / 1e9:.2f} GB")
    stop = threading.Event()
    with ThreadPoolExecutor(_AT_ONCE) as pool:
        running = [pool.submit(_fetch, folder, wheel, stop) for wheel in wanted]
        try:
            for done, each in enumerate(as_completed(running), 1):
                each.result()
                if done % _TOLD == 0:
                    tell("mirror", f"{done} of {len(wanted)}")
        except BaseException:
            stop.set()
            pool.shutdown(wait=False, cancel_futures=True)
            raise


def _fetch(folder: Path, wheel: Wheel, stop: threading.Event) -> None:
    """Put one wheel in its place, whole and with the hash that the lock names."""
    part = folder / f".{wheel.file}.part"
    if wheel.size is not None and _size(part) > wheel.size:
        part.unlink()
    while (before := _size(part)) != wheel.size:
        try:
            _go_on(part, wheel.url, stop)
            break
        except Refusal:
            if _size(part) <= before:
                raise
    digest = _digest(part)
    if digest != wheel.sha256:
        part.unlink()
        raise Refusal(
            f"{wheel.url}: has the SHA-256 {digest}, and the lock names {wheel.sha256}; it was removed: run"
            " again, or use another index (UV_DEFAULT_INDEX)"
        )
    part.rename(folder / wheel.file)


def _go_on(part: Path, url: str, stop: threading.Event) -> None:
    """Download what a file lacks at its end."""
    there = _size(part)
    with web.opened(url, {"Range": f"bytes={there}-"} if there else {}, allowed=(_PAST_END,)) as answer:
        if answer.status == _PAST_END:
            return
        with part.open("ab" if answer.status == http.HTTPStatus.PARTIAL_CONTENT else "wb") as file:
            while not stop.is_set() and (chunk := answer.read(_CHUNK)):
                file.write(chunk)
        if answer.length:
            raise Refusal(
                f"{url}: broke off {answer.length} bytes before its end; run again, it goes on from there"
            )


def _size(path: Path) -> int:
    return path.stat().st_size if path.exists() else 0


@contextlib.contextmanager
def _alone(folder: Path) -> Iterator[None]:
    """Hold a folder against another run."""
    handle = os.open(folder, os.O_RDONLY)
    try:
        fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
        yield
    except BlockingIOError:
        raise Refusal(
            f"{folder}: another `make mirror` is filling it; wait for that one, then run again"
        ) from None
    finally:
        os.close(handle)


def main() -> int:
    """Return the exit status; every failure is one sentence on stderr."""
    parser = argparse.ArgumentParser(prog="python -m tools.mirror", description=__doc__)
    parser.add_argument("engine", help="an engine pin, such as vllm-0.33.0-cu130")
    parser.add_argument(
        "--dir", type=Path, help="where the mirrors are, a folder for each lock; default: the cache"
    )
    asked = parser.parse_args()
    try:
        _mirror(asked.engine, asked.dir)
    except RackstackError as error:
        print(error, file=sys.stderr)
        return 1
    return 0


def _mirror(name: str, above: Path | None) -> None:
    engines_known = catalog.load().engines
    if name not in engines_known:
        raise Refusal(
            f"ENGINE={name}: there is no such engine in the catalog; {nearest(name, list(engines_known))}"
        )
    engine = engines_known[name]
    for arch, lock in engine.locks.items():
        if not isinstance(lock, Lock):
            raise Refusal(
                f"{name}: its {arch} lock is not pinned ({lock.unpinned}); `make lock STACK=…` of a stack"
                " with this engine looks it up"
            )
        folder = (above / lock.digest[:12]) if above else cache.wheels(lock.digest)
        target = Target(engine.facts.python, engine.facts.locks[arch].platform)
        new = ensure(folder, (CHECKOUT / lock.path).read_text(), target)
        print(f"{arch}: {folder} ({new} new)")


if __name__ == "__main__":
    sys.exit(main())
