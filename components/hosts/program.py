"""Programs of ours that a host's own Python runs from its standard input; nothing is left there."""

from __future__ import annotations

import shlex
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from pathlib import Path

    from components.hosts.record import HostRecord
    from components.hosts.ssh import Answer

PYTHON: Final = "/usr/bin/python3"


def command(*words: str) -> str:
    """Return the command that runs the program on its standard input, with these arguments."""
    return shlex.join([PYTHON, "-I", "-S", "-", *words])


def run(host: HostRecord, program: Path, *words: str, deadline: float) -> Answer:
    """Run a program on a host as root.

    Args:
        host: Where to run it.
        program: Its file here; standard library only.
        words: Its arguments.
        deadline: Seconds for connecting and running together.

    Raises:
        Unreachable: The host did not answer within the deadline, or is not the one that is known.
    """
    from components.hosts import ssh  # noqa: PLC0415 -- brings paramiko, which a preview does not need

    return ssh.run(host, command(*words), deadline=deadline, stdin=program.read_text(encoding="utf-8"))
