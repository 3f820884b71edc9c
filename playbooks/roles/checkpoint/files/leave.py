# ruff: noqa: INP001 - a program for the host, not part of a package
"""Use a checkpoint no more, and remove it if it is not to stay and no machine uses it, on a share or not.

Usage: leave.py HOME USER keep|remove

Each machine that uses the checkpoint is a file of its name in HOME.users. Prints what became of it.
"""

import fcntl
import shutil
import sys
from contextlib import suppress
from pathlib import Path


def main(home: str, user: str, rest: str) -> None:
    """Print what became of the checkpoint."""
    sys.stdout.write(leave(Path(home), user, keep=rest == "keep"))


def leave(home: Path, user: str, *, keep: bool) -> str:
    """Take one user away, and with the last one what was arriving and what is not to stay."""
    part, lock, users = (home.with_name(f"{home.name}.{suffix}") for suffix in ("part", "lock", "users"))
    (users / user).unlink(missing_ok=True)
    if others := using(users):
        return f"{home} is left to {' and '.join(others)}"
    if not any(path.exists() for path in (home, part, users, lock)):
        return f"{home} is not there"
    with lock.open("a+b") as file:
        try:
            fcntl.lockf(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except (BlockingIOError, PermissionError):
            return f"{home} is left to a machine that fetches it"
        said = empty(home, part, users, keep=keep)
        with suppress(OSError):  # somebody came
            if users.exists():
                users.rmdir()
            lock.unlink()  # whoever waits for it sees that it is gone
        return said


def using(users: Path) -> list[str]:
    """Return who uses the checkpoint."""
    return sorted(user.name for user in users.iterdir()) if users.is_dir() else []


def empty(home: Path, part: Path, users: Path, *, keep: bool) -> str:
    """Remove what nobody uses; who comes while this works finds it, or finds nothing and fetches it."""
    if part.exists():
        shutil.rmtree(part)
    if keep or not home.exists():
        return f"{home} stays" if home.exists() else f"{home} was not there"
    home.rename(part)
    if others := using(users):
        part.rename(home)
        return f"{home} is left to {' and '.join(others)}"
    shutil.rmtree(part)
    return f"{home} was removed"


if __name__ == "__main__":
    main(*sys.argv[1:])
