"""What the supervisor opens before a run, and what it says when it breaks down."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from typing import TYPE_CHECKING

from components import processes
from components.hosts.job import Job

if TYPE_CHECKING:
    from pathlib import Path

OPENING = """
import sys
from pathlib import Path
from components.hosts import supervisor
from components.hosts.events import RunVerdict
supervisor._play = lambda job, watch: RunVerdict(True, (Path(job.artefacts, "open").read_text(),))
supervisor.main(sys.argv[1])
"""
BREAKING = """
import sys
from components.hosts import supervisor
supervisor._play = lambda job, watch: sys.exit(3)
supervisor.main(sys.argv[1])
"""


def test_ways_are_open_before_a_run_begins_and_end_with_it(tmp_path: Path) -> None:
    artefacts = tmp_path / "artefacts"
    opener = ["sh", "-c", "sleep 600 & echo $! >$0/open", str(artefacts)]
    done = _supervised(tmp_path, OPENING, [["/nonexistent/ssh"], ["false"], opener])
    pid = (artefacts / "open").read_text()
    assert json.loads(done.stdout)["verdict"]["failures"] == [pid]
    assert processes.stat(int(pid)) is None


def test_a_breakdown_counts_as_a_run_that_began(tmp_path: Path) -> None:
    done = _supervised(tmp_path, BREAKING, [])
    assert done.returncode == 3
    assert json.loads(done.stdout)["verdict"] == {"began": True, "failures": ["the supervisor broke down"]}


def _supervised(folder: Path, program: str, openers: list[list[str]]) -> subprocess.CompletedProcess[str]:
    private, artefacts = folder / "private", folder / "artefacts"
    private.mkdir()
    artefacts.mkdir()
    job = Job(os.getpid(), "serve", "/p.yml", str(private), str(artefacts), ["a"], [], 1.0, None, openers)
    job.write(folder / "job.json")
    return subprocess.run(
        [sys.executable, "-c", program, str(folder / "job.json")],
        capture_output=True, text=True, check=False,
    )  # fmt: skip
