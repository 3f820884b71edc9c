"""Short commands of the operator's machine."""

from __future__ import annotations

import subprocess
from contextlib import contextmanager
from typing import TYPE_CHECKING, Final

from stacks.errors import Refusal

if TYPE_CHECKING:
    from collections.abc import Iterator

LONGEST: Final = 30.0
"""Seconds; each of these commands takes milliseconds."""


def call(*argv: str) -> str:
    """Run a short command and return what it printed.

    Raises:
        Refusal: It failed, or did not end in time; the sentence holds the command and its last words.
    """
    try:
        done = subprocess.run(
            argv, stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=LONGEST, check=False
        )
    except FileNotFoundError:
        raise Refusal(f"the command {argv[0]} is missing on this machine; install it and run again") from None
    except subprocess.TimeoutExpired:
        raise Refusal(
            f"`{' '.join(argv)}` did not end within {LONGEST:.0f} s; run it by hand to see why"
        ) from None
    if done.returncode:
        words = (done.stderr.strip() or done.stdout.strip() or "no message").splitlines()[-1]
        raise Refusal(f"`{' '.join(argv)}` failed with status {done.returncode}: {words}")
    return done.stdout


@contextmanager
def sentences(name: str) -> Iterator[None]:
    """Turn the operating system's refusals, while `name` is worked on, into one sentence."""
    try:
        yield
    except OSError as error:
        where = f" {error.filename}" if error.filename else ""
        raise Refusal(
            f"{name}: this machine refused{where}: {error.strerror}; mend it and run again"
        ) from None
