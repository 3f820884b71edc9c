"""Ending what belongs to a run, with real processes."""

import subprocess
from pathlib import Path

from components.hosts import processes
from components.processes import end_all


def test_processes_that_name_a_folder_are_ended_and_no_others(tmp_path: Path) -> None:
    ours = subprocess.Popen(["sleep", "60"], env={"HOME": str(tmp_path)}, executable="/bin/sleep")
    stranger = subprocess.Popen(["sleep", "60"], env={"HOME": "/"}, executable="/bin/sleep")
    with ours, stranger:
        assert processes.naming(str(tmp_path)) == [ours.pid]
        assert {ours.pid, stranger.pid} <= set(processes.descendants())
        assert end_all(lambda: processes.naming(str(tmp_path))) == []
        assert stranger.poll() is None
        stranger.kill()


def test_what_does_not_end_is_named_with_a_way_to_see_why() -> None:
    assert processes.unending([7, 8]) == (
        "processes 7,8 do not end when killed; `ps -o pid,wchan,args -p 7,8` shows what they wait for"
    )
