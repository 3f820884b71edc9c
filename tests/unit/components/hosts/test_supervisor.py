"""What the supervisor says when it breaks down."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from typing import TYPE_CHECKING

from components.hosts.job import Job

if TYPE_CHECKING:
    from pathlib import Path

BREAKING = """
import sys
from components.hosts import supervisor
supervisor._play = lambda job, watch: sys.exit(3)
supervisor.main(sys.argv[1])
"""


def test_a_breakdown_counts_as_a_run_that_began(tmp_path: Path) -> None:
    for name in ("private", "artefacts"):
        (tmp_path / name).mkdir()
    private, artefacts = str(tmp_path / "private"), str(tmp_path / "artefacts")
    job = Job(os.getpid(), "serve", "/p.yml", private, artefacts, ["a"], [], 1.0, None)
    job.write(tmp_path / "job.json")
    done = subprocess.run(
        [sys.executable, "-c", BREAKING, str(tmp_path / "job.json")],
        capture_output=True, text=True, check=False,
    )  # fmt: skip
    assert done.returncode == 3
    assert json.loads(done.stdout)["verdict"] == {"began": True, "failures": ["the supervisor broke down"]}
