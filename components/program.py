"""How our Pulumi programs end."""

import os
import signal
from typing import Final

SAID_ALREADY: Final = 32
"""Exit status by which the language host knows that a person has been told (pulumi-language-python-exec)."""


def end_quietly() -> None:
    """End without a traceback on SIGINT, which the engine sends to a program that it needs no longer.

    After a resource failed, Python's own handler would print where the program stood and bury the reason.
    """
    signal.signal(signal.SIGINT, lambda *_: os._exit(SAID_ALREADY))
