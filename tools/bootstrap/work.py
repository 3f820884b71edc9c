"""How a step works: tell, call, and put a finished folder in its place."""

import fcntl
import os
import shutil
import subprocess
import sys
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path

from components import processes
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
    seconds: float,
    folder: Path = CHECKOUT,
    environment: Mapping[str, str] = os.environ,
) -> str:
    """Run a command and return its output, stderr included.

    Args:
        argv: Command and arguments.
        otherwise: Way out that the error names.
        seconds: How long it may take; then it is ended with everything it started.
        folder: Working directory.
        environment: Its whole environment.

    Raises:
        Refusal: It failed (the sentence quotes its last line of output), or took too long.
    """
    words = [str(word) for word in argv]
    command = " ".join(words[:2])
    try:
        status, said = _run(words, seconds, folder, environment)
    except OSError as error:
        raise Refusal(f"{words[0]} could not be started ({error.strerror}): {otherwise}") from error
    except subprocess.TimeoutExpired:
        raise Refusal(f"`{command} …` did not end within {seconds:g} s: {otherwise}") from None
    if status:
        last = next((line for line in reversed(said.splitlines()) if line.strip()), "no output")
        raise Refusal(f"`{command} …` failed with {status} ({last.strip()}): {otherwise}")
    return said


def _run(words: list[str], seconds: float, folder: Path, environment: Mapping[str, str]) -> tuple[int, str]:
    """Return status and output; whatever ends this early ends the command too."""
    with subprocess.Popen(
        words,
        cwd=folder,
        env=dict(environment),
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
    ) as child:
        try:
            said, _ = child.communicate(timeout=seconds)
        except BaseException:
            _end(child)
            raise
    return child.returncode, said


def _end(child: subprocess.Popen[str]) -> None:
    """End a command and, where /proc names them, everything below it."""
    if sys.platform == "linux":
        family = [child.pid, *processes.descendants(child.pid)]
        processes.end_all(lambda: [pid for pid in family if processes.stat(pid)])
    child.kill()


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
