"""What prepares and measures: bootstrap, driving Pulumi, the small model, benchmarks."""

import os
import sys
from types import TracebackType

INTERRUPTED = 130
"""Exit status after Ctrl-C, as shells have it."""


def _end_in_one_sentence(
    kind: type[BaseException], error: BaseException, trace: TracebackType | None
) -> None:
    """Say one sentence on Ctrl-C, wherever it hits; anything else is a bug and keeps its traceback."""
    if not issubclass(kind, KeyboardInterrupt):
        sys.__excepthook__(kind, error, trace)
        return
    print("stopped; the same command again goes on from here", file=sys.stderr, flush=True)
    # Python would end itself by the signal after this, and `make` would call that something else.
    os._exit(INTERRUPTED)


# Here and not in each program: it must stand before their imports, which take longest.
sys.excepthook = _end_in_one_sentence
