"""Which processes belong to a run of a playbook, whoever their parent is by now."""

import os
from collections.abc import Sequence

from components import processes


def descendants() -> list[int]:
    """Return the living processes below this one; a subreaper's orphans are among them."""
    return processes.descendants(os.getpid())


def naming(folder: str) -> list[int]:
    """Return the living processes, but this one, whose environment or arguments name a folder.

    SSH's masters write their title over their environment, and name the folder there.
    """
    mark, own = folder.encode(), os.getpid()
    return [pid for pid in processes.pids() if pid != own and mark in _words(pid)]


def unending(left: Sequence[int]) -> str:
    """Return the sentence on processes that nothing ends."""
    named = ",".join(map(str, left))
    look = f"`ps -o pid,wchan,args -p {named}`"
    return f"processes {named} do not end when killed; {look} shows what they wait for"


def _words(pid: int) -> bytes:
    """Return environment and arguments; none where it has ended or is another user's."""
    words = [processes.shown(pid, name) for name in ("environ", "cmdline")]
    return b"" if None in words else b"".join(filter(None, words))
