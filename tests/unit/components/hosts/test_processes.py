"""Ending what belongs together, with real processes."""

import subprocess
import time
from pathlib import Path

from components.hosts import processes


def test_processes_that_name_a_folder_are_ended_even_when_they_refuse(tmp_path: Path) -> None:
    stubborn = subprocess.Popen(
        ["sh", "-c", "trap '' TERM; echo ready; while :; do sleep 0.1; done"],
        env={"HOME": str(tmp_path), "PATH": "/usr/bin:/bin"},
        stdout=subprocess.PIPE,
    )
    willing = subprocess.Popen(["sleep", "60"], env={"HOME": str(tmp_path)}, executable="/bin/sleep")
    stranger = subprocess.Popen(["sleep", "60"], env={"HOME": "/"}, executable="/bin/sleep")
    with stubborn, willing, stranger:
        assert stubborn.stdout is not None
        stubborn.stdout.readline()
        began = time.monotonic()
        processes.end_all(lambda: processes.naming(str(tmp_path)))
        assert time.monotonic() - began < processes.GRACE_SECONDS + 2
        assert stranger.poll() is None
        stranger.kill()


def test_descendants_are_children_and_theirs() -> None:
    with subprocess.Popen(["sh", "-c", "sleep 60 & echo $!; wait"], stdout=subprocess.PIPE) as child:
        assert child.stdout is not None
        grandchild = int(child.stdout.readline())
        assert {child.pid, grandchild} <= set(processes.descendants())
        processes.end_all(lambda: [pid for pid in (child.pid, grandchild) if pid in processes.descendants()])
