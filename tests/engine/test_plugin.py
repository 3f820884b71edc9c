"""The plugin under the real engine."""

from __future__ import annotations

import json
import os
import signal
import time
from pathlib import Path

from tests.engine.conftest import KEY, Project

THING = {"name": "t", "size": 1}


def test_a_preview_shows_what_is_known_and_makes_nothing(project: Project) -> None:
    project.want(THING)
    shown = project.run("preview")
    assert '"t.example"' in shown or "t.example" in shown
    assert project.state() == {}


def test_up_makes_it_and_secrets_are_ciphertext_in_state(project: Project) -> None:
    project.want(THING)
    project.up()
    assert project.state()["t"]["id"] == "t/i1"
    raw = json.dumps(project.state())
    assert "t-secret" not in raw
    assert KEY not in raw


def test_drift_shows_in_a_preview_and_up_mends_it(project: Project) -> None:
    project.want(THING)
    project.up()
    shown = project.run("preview", "--refresh", "--diff")
    assert "it shrank" in shown
    assert "it shrank" in project.run("preview", "--refresh")
    assert "1 updated" in project.up()


def test_a_refusal_is_one_sentence_without_its_secret_and_leaves_no_resource(project: Project) -> None:
    project.want({"name": "t", "size": 0})
    shown = project.up(code=1)
    assert "[secret]: a thing needs a size; give it one" in shown
    assert "Traceback" not in shown
    assert KEY not in shown
    assert "t" not in project.state()


def test_what_is_made_unwell_stays_in_state_and_the_next_up_mends_it(project: Project) -> None:
    project.want({"name": "t", "size": 13})
    assert "size 13 is unlucky; take 14" in project.up(code=1)
    assert project.state()["t"]["id"] == "t/i1"
    project.want({"name": "t", "size": 14})
    project.up()
    assert "initErrors" not in project.state()["t"]


def test_what_is_gone_is_made_again(project: Project) -> None:
    project.want({"name": "t", "size": 99})
    project.up()
    assert "1 created" in project.up()


def test_a_replacement_deletes_first_also_for_a_taint(project: Project) -> None:
    project.want(THING)
    project.up()
    project.run("state", "taint", project.state()["t"]["urn"], "--yes")
    shown = project.up()
    assert "1 replaced" in shown
    assert "removed t i1" in shown


def test_faults_of_inputs_are_listed_together(project: Project) -> None:
    project.want({"name": "t", "size": "big", "colour": "red"})
    shown = project.up(code=1)
    assert "size: Input should be a valid integer" in shown
    assert "colour: Extra inputs are not permitted" in shown


def test_one_interrupt_stops_a_slow_creation_with_a_sentence(project: Project) -> None:
    project.want({"name": "t", "size": 300}, kind="slow")
    running = project.start_up()
    child = int(running.wait_for(r"child (\d+)")[1])
    running.process.send_signal(signal.SIGINT)
    running.finish()
    assert "stopped while it was made" in running.text
    assert not _alive(child)


def test_two_interrupts_end_at_once_and_leave_no_process(project: Project) -> None:
    project.want({"name": "t", "size": 300}, kind="slow")
    running = project.start_up()
    child = int(running.wait_for(r"child (\d+)")[1])
    running.process.send_signal(signal.SIGINT)
    running.wait_for(r"terminate immediately")
    running.process.send_signal(signal.SIGINT)
    assert running.finish() != 0
    assert _gone(project, child)


def test_nothing_lives_on_after_a_kill(project: Project) -> None:
    project.want({"name": "t", "size": 300}, kind="slow")
    running = project.start_up()
    child = int(running.wait_for(r"child (\d+)")[1])
    running.process.kill()
    running.finish()
    assert _gone(project, child)


def _gone(project: Project, child: int) -> bool:
    """Wait for what the plugin promises: everything of a dead engine ends within seconds."""
    deadline = time.monotonic() + 20
    while time.monotonic() < deadline and (_alive(child) or _of_this(project)):
        time.sleep(0.1)
    return not _alive(child) and _of_this(project) == []


def _alive(pid: int) -> bool:
    return Path(f"/proc/{pid}").exists()


def _of_this(project: Project) -> list[int]:
    """Return the processes that work in this project's folder or for its engine."""
    own = os.getpid()
    processes = [each for each in Path("/proc").iterdir() if each.name.isdigit()]
    here = [int(each.name) for each in processes if _works_in(each, project.home)]
    return [pid for pid in here if pid != own]


def _works_in(process: Path, home: Path) -> bool:
    try:
        return (process / "cwd").readlink().is_relative_to(home)
    except OSError:
        return False
