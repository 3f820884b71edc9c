"""Which processes of this machine belong to which lab machine, as /proc tells."""

from __future__ import annotations

import re
from collections import defaultdict
from typing import Final

from components import processes
from components.machines.lab.names import MACHINE

LAUNCHER: Final = "systemd-nspawn"
_GROUP: Final = re.compile(rf"/({MACHINE.pattern})(?:/|$)", re.MULTILINE)
_ARGUMENT: Final = re.compile(rf"--machine=({MACHINE.pattern})")


def by_machine() -> dict[str, list[int]]:
    """Return the processes of every lab machine, its launcher included."""
    found: dict[str, list[int]] = defaultdict(list)
    for pid in processes.pids():
        machine = machine_of(pid)
        if machine is not None:
            found[machine].append(pid)
    return found


def machine_of(pid: int) -> str | None:
    """Return the lab machine that a process belongs to; None where it is gone or belongs to none.

    A process belongs by its control group or, before it has one, as the launcher by its arguments.
    """
    if processes.stat(pid) is None:
        return None
    grouped = _GROUP.search((processes.shown(pid, "cgroup") or b"").decode(errors="replace"))
    return grouped[1] if grouped else _launched(processes.arguments(pid))


def _launched(words: list[str]) -> str | None:
    named = [match[1] for word in words if (match := _ARGUMENT.fullmatch(word))]
    return named[0] if named and LAUNCHER in words else None
