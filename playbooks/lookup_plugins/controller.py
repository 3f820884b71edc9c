# ruff: noqa: INP001 - found by Ansible through its folder
"""The Ansible process that runs here, as an identity that outlives it and can be checked later."""

import multiprocessing
import os
import socket
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from ansible.plugins.lookup import LookupBase  # type: ignore[import-untyped] # Ansible ships no types

DOCUMENTATION = """
name: controller
short_description: identity of the running Ansible process, or whether another one still runs
description:
  - Without a term, returns the identity C(machine/boot/pid/start) of the main Ansible process.
  - With an identity as term, returns C(alive), C(ended), or C(elsewhere) for one of another machine.
options:
  _terms:
    description: identities to check
"""


class LookupModule(LookupBase):  # type: ignore[misc] # as above
    """Lookup `controller`."""

    def run(self, terms: Sequence[str], variables: Mapping[str, Any] | None = None, **_: Any) -> list[str]:
        """Return the own identity, or the state of each identity in `terms`."""
        del variables
        return [state(term) for term in terms] or [identity(main_process())]


def main_process() -> int:
    """Return the process id of the Ansible run; tasks are templated in its forks."""
    parent = multiprocessing.parent_process()
    return parent.pid if parent and parent.pid else os.getpid()


def identity(pid: int) -> str:
    """Return `machine/boot/pid/start`, where start tells a reused process id from the first."""
    return f"{socket.gethostname()}/{boot()}/{pid}/{start(pid)}"


def state(other: str) -> str:
    """Return whether the process with that identity is alive, ended, or not to be seen from here."""
    machine, other_boot, pid, started = other.split("/")
    if machine != socket.gethostname():
        return "elsewhere"
    return "alive" if other_boot == boot() and started == start(int(pid)) else "ended"


def boot() -> str:
    """Return the identity of this boot."""
    return Path("/proc/sys/kernel/random/boot_id").read_text(encoding="ascii").strip()


def start(pid: int) -> str:
    """Return when the process started, in clock ticks since boot; empty when there is none."""
    try:
        stat = Path(f"/proc/{pid}/stat").read_text(encoding="utf-8", errors="replace")
    except OSError:
        return ""
    return stat.rpartition(")")[2].split()[19]
