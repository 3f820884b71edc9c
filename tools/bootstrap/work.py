"""How a step works: tell, call, and put a finished folder in its place."""

import fcntl
import os
import shutil
import subprocess
import sys
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path

from components.machines.lab import cache
from stacks.errors import Refusal

CHECKOUT = Path(__file__).resolve().parents[2]


def tell(step: str, sentence: str) -> None:
    """Print one line of progress on stderr; stdout belongs to answers."""
    print(f"{step}: {sentence}", file=sys.stderr, flush=True)


def call(
    argv: Sequence[str | Path],
    otherwise: str,
    *,
    folder: Path = CHECKOUT,
    environment: Mapping[str, str] = os.environ,
) -> str:
    """Run a command and return its output, stderr included.

    Args:
        argv: Command and arguments.
        otherwise: Way out that the error names.
        folder: Working directory.
        environment: Its whole environment.

    Raises:
        Refusal: It failed; the sentence quotes its last line of output.
    """
    words = [str(word) for word in argv]
    try:
        done = subprocess.run(
            words,
            check=False,
            cwd=folder,
            env=dict(environment),
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
        )
    except OSError as error:
        raise Refusal(f"{words[0]} could not be started ({error.strerror}): {otherwise}") from error
    if done.returncode:
        last = next((line for line in reversed(done.stdout.splitlines()) if line.strip()), "no output")
        command = " ".join(words[:2])
        raise Refusal(f"`{command} …` failed with {done.returncode} ({last.strip()}): {otherwise}")
    return done.stdout


@contextmanager
def alone() -> Iterator[None]:
    """Hold the cache's lock, so that two bootstraps at once do not fight."""
    cache.root().mkdir(parents=True, exist_ok=True)
    with (cache.root() / "lock").open("w") as file:
        try:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            tell("bootstrap", "waiting for another bootstrap on this machine")
            fcntl.flock(file, fcntl.LOCK_EX)
        yield


@contextmanager
def placed(folder: Path, *, resume: bool = False) -> Iterator[Path]:
    """Yield a sibling of `folder` to build in; it becomes `folder` when the block ends well.

    Args:
        folder: Where the result goes; must not exist.
        resume: Keep what an earlier, failed attempt left in the sibling.
    """
    part = folder.with_name(f".{folder.name}.part")
    if part.exists() and not resume:
        shutil.rmtree(part)
    part.mkdir(parents=True, exist_ok=True)
    yield part
    part.rename(folder)
