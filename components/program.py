"""How our Pulumi programs speak and end."""

from __future__ import annotations

import os
import signal
import sys
from typing import TYPE_CHECKING, Final, NoReturn

import pulumi

if TYPE_CHECKING:
    from stacks.errors import RackstackError

SAID_ALREADY: Final = 32
"""Exit status by which the language host knows that a person has been told (pulumi-language-python-exec)."""


def end_quietly() -> None:
    """End without a traceback on SIGINT, which the engine sends to a program that it needs no longer.

    After a resource failed, Python's own handler would print where the program stood and bury the reason.
    """
    signal.signal(signal.SIGINT, lambda *_: os._exit(SAID_ALREADY))


def refuse(error: RackstackError) -> NoReturn:
    """End with the error's own words, one fault per line, and nothing else."""
    pulumi.error(str(error))
    sys.exit(SAID_ALREADY)
