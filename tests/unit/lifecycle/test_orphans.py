"""Processes that outlived the engine they worked for."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

from components import processes
from components.hosts.job import Job
from lifecycle import orphans

if TYPE_CHECKING:
    from collections.abc import Iterator

    import pytest

    from tests.unit.lifecycle.conftest import Written

# Its child is given away at once, and says who it is.
PARENT = """
import subprocess, sys
child = subprocess.Popen([sys.executable, "-c", "import time; time.sleep(600)", *sys.argv[1:]],
                         stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, start_new_session=True)
print(child.pid)
"""


@contextmanager
def _left(stack: Written, *arguments: str, folder: Path | None = None, backend: str = "") -> Iterator[int]:
    """Run a process whose parent is gone."""
    environment = os.environ | {"PULUMI_BACKEND_URL": backend or stack.backend}
    shown = subprocess.run(
        [sys.executable, "-c", PARENT, *arguments], cwd=folder or stack.folder, env=environment,
        capture_output=True, text=True, check=True,
    ).stdout  # fmt: skip
    pid = int(shown)
    try:
        yield pid
    finally:
        processes.end_all(lambda: [pid] if processes.stat(pid) else [])


def test_what_works_for_no_engine_any_more_is_ended_and_told(stack: Written) -> None:
    with _left(stack, "127.0.0.1:4242") as pid:
        assert orphans.orphans(stack) == [pid]
        [line] = orphans.end(stack)
        assert line.startswith(f"ended process {pid}, whose engine is gone: ")
        assert processes.stat(pid) is None
    assert orphans.end(stack) == []


def test_what_is_not_of_this_checkout_and_backend_or_no_helper_of_an_engine_is_left_alone(
    stack: Written, tmp_path: Path
) -> None:
    elsewhere = tmp_path / "elsewhere"
    elsewhere.mkdir()
    with (
        _left(stack, "127.0.0.1:4242", folder=elsewhere),
        _left(stack, "127.0.0.1:4242", backend="file:///other"),
        _left(stack, "--stack", "lab"),
    ):
        assert orphans.orphans(stack) == []


def test_a_run_whose_plugin_is_gone_loses_its_secrets_and_one_that_has_it_keeps_them(
    stack: Written, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    memory = tmp_path / "memory"
    memory.mkdir()
    monkeypatch.setattr(orphans, "MEMORY_FOLDERS", (str(memory),))
    own = processes.stat(os.getpid())
    assert own is not None
    dead, alive = (_run(memory, stack.folder, owner) for owner in ("1-1", f"{os.getpid()}-{own.born}"))
    foreign = _run(memory, Path("/another"), "2-2")
    assert orphans.end(stack) == [f"playbook prepare: removed its secrets from {dead}; its plugin is gone"]
    assert (dead.exists(), alive.exists(), foreign.exists()) == (False, True, True)


def _run(memory: Path, checkout: Path, owner: str) -> Path:
    folder = memory / f"rackstack-{owner}-abcd"
    folder.mkdir()
    job = Job(
        1, "prepare", str(checkout / "playbooks/prepare.yml"), str(folder), "/nowhere", [], [], 1.0, None, []
    )
    job.write(folder / "job.json")
    assert json.loads((folder / "job.json").read_text())
    return folder
