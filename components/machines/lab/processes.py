"""Which processes of this machine belong to which lab machine, as /proc tells."""

from __future__ import annotations

import re
from collections import defaultdict
from pathlib import Path
from typing import TYPE_CHECKING, Final

from components.machines.lab.names import MACHINE

if TYPE_CHECKING:
    from collections.abc import Iterator

LAUNCHER: Final = "systemd-nspawn"
_PROC: Final = Path("/proc")
_GROUP: Final = re.compile(rf"/({MACHINE.pattern})(?:/|$)", re.MULTILINE)
_ARGUMENT: Final = re.compile(rf"--machine=({MACHINE.pattern})")


def by_machine() -> dict[str, list[int]]:
    """Return the processes of every lab machine, its launcher included."""
    found: dict[str, list[int]] = defaultdict(list)
    for pid in _pids():
        machine = machine_of(pid)
        if machine is not None:
            found[machine].append(pid)
    return found


def machine_of(pid: int) -> str | None:
    """Return the lab machine that a process belongs to; None where it is gone or belongs to none.

    A process belongs by its control group or, before it has one, as the launcher by its arguments.
    """
    folder = _PROC / str(pid)
    try:
        if _is_dead((folder / "stat").read_text()):
            return None
        grouped = _GROUP.search((folder / "cgroup").read_text())
        return grouped[1] if grouped else _launched((folder / "cmdline").read_bytes())
    except OSError:
        return None


def _pids() -> Iterator[int]:
    return (int(each.name) for each in _PROC.iterdir() if each.name.isdigit())


def _is_dead(stat: str) -> bool:
    """Tell whether a process waits for its parent to notice its end."""
    return stat.rpartition(")")[2].split()[0] in "ZX"


def _launched(arguments: bytes) -> str | None:
    words = arguments.decode(errors="replace").split("\0")
    named = [match[1] for word in words if (match := _ARGUMENT.fullmatch(word))]
    return named[0] if named and LAUNCHER in words else None
