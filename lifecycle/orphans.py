"""Processes on this machine that outlived the `pulumi` they worked for.

They normally end by themselves, within seconds (`components/plugin/orphans.py`); one that hangs does not.
"""

from __future__ import annotations

import re
import shutil
from pathlib import Path
from typing import TYPE_CHECKING, Final

from components import processes
from components.hosts.job import Job
from components.hosts.processes import naming, unending
from components.hosts.runs import MEMORY_FOLDERS, abandoned
from lifecycle.locks import ENGINE

if TYPE_CHECKING:
    from collections.abc import Iterator

    from lifecycle.stack import Stack

_ADDRESS: Final = re.compile(r"127\.0\.0\.1:\d+")
_INIT: Final = 1


def end(stack: Stack) -> list[str]:
    """End the orphans of this checkout; return one line per thing that was done, or could not be."""
    engines = orphans(stack)
    said = [f"ended process {pid}, whose engine is gone: {_shown(pid)}" for pid in engines]
    left = processes.end_all(lambda: [pid for pid in _families(engines) if processes.stat(pid)])
    return [*said, *([unending(left)] if left else []), *_end_runs(stack.folder)]


def orphans(stack: Stack) -> list[int]:
    """Return the plugins, language hosts and programs of this checkout whose engine is gone.

    Each works in the checkout's folder, with this backend in its environment and an engine's address among
    its arguments, and no `pulumi` is among its parents any more.
    """
    mark = f"PULUMI_BACKEND_URL={stack.backend}".encode()
    return [
        pid
        for pid in processes.pids()
        if _works_in(pid) == stack.folder
        and mark in (processes.shown(pid, "environ") or b"").split(b"\0")
        and any(map(_ADDRESS.fullmatch, processes.arguments(pid)))
        and not _below_an_engine(pid)
    ]


def _end_runs(checkout: Path) -> Iterator[str]:
    """End the playbook runs of this checkout whose plugin is gone, and remove what they left in memory."""
    for folder, job in list(_runs(checkout)):
        found = naming(str(folder))
        if left := processes.end_all(lambda mark=str(folder): naming(mark)):  # type: ignore[misc]
            yield unending(left)
        job.tidy(keep=True)
        shutil.rmtree(folder, ignore_errors=True)
        ended = f"ended its {len(found)} processes and " if found else ""
        yield f"playbook {job.playbook}: {ended}removed its secrets from {folder}; its plugin is gone"


def _runs(checkout: Path) -> Iterator[tuple[Path, Job]]:
    """Yield private folder and job of each run of this checkout whose plugin is gone."""
    for memory in filter(Path.is_dir, map(Path, MEMORY_FOLDERS)):
        for folder in abandoned(memory):
            try:
                job = Job.read(folder / "job.json")
            except (OSError, ValueError, TypeError):
                continue  # another person's, or cut off before its run began
            if Path(job.path).is_relative_to(checkout):
                yield folder, job


def _families(pids: list[int]) -> list[int]:
    return [each for pid in pids for each in (pid, *processes.descendants(pid))]


def _below_an_engine(pid: int) -> bool:
    seen = processes.stat(pid)
    while seen is not None and seen.parent > _INIT:
        if (processes.shown(seen.parent, "comm") or b"").strip() == ENGINE.encode():
            return True
        seen = processes.stat(seen.parent)
    return False


def _works_in(pid: int) -> Path | None:
    try:
        return Path(f"/proc/{pid}/cwd").readlink()
    except OSError:
        return None


def _shown(pid: int) -> str:
    return " ".join(processes.arguments(pid)).strip()
