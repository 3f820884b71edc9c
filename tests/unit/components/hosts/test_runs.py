"""What the plugin does about a supervisor that a shell plays, and about what killed runs left."""

from __future__ import annotations

import json
import os
import subprocess
from typing import TYPE_CHECKING

import pytest

from components.hosts import runs
from components.processes import stat
from stacks.errors import Refusal
from tests.factories.hosts import host
from tests.factories.run import FakeRun

if TYPE_CHECKING:
    from pathlib import Path

GOOD = f"echo '{json.dumps({'verdict': {'began': True, 'failures': []}})}'"
DEAF = "trap '' TERM; while :; do sleep 0.1; done"


@pytest.fixture
def memory(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    folder = tmp_path / "memory"
    folder.mkdir()
    monkeypatch.setattr(runs, "MEMORY_FOLDERS", (str(folder),))
    monkeypatch.setattr(runs, "KEPT", tmp_path / "kept")
    return folder


def _play(program: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Let a shell program stand for the supervisor."""

    def start(order: runs.Order, private: Path, artefacts: Path) -> subprocess.Popen[bytes]:
        del order
        (artefacts / "supervisor.log").touch()
        environment = {"HOME": str(private), "PATH": os.environ["PATH"]}
        return subprocess.Popen(["sh", "-c", program], env=environment, stdout=subprocess.PIPE)

    monkeypatch.setattr(runs, "_start", start)


def _order(tmp_path: Path) -> runs.Order:
    return runs.Order("lab-1", tmp_path / "ping.yml", [host()], {}, {}, {"secret": "hidden"})


@pytest.mark.usefixtures("memory")
def test_a_folder_that_ansible_takes_for_a_variable_is_refused(tmp_path: Path) -> None:
    with pytest.raises(Refusal, match=r"the checkout lies in .*\$HOME.*move it to a path without"):
        runs.carry_out(_order(tmp_path / "$HOME" / "playbooks"), FakeRun())


def test_secrets_of_a_dead_plugin_go_and_those_of_a_living_one_stay(
    tmp_path: Path, memory: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    own, gone = os.getpid(), subprocess.Popen(["true"])
    gone.wait()
    seen = stat(own)
    assert seen is not None
    living = {f"rackstack-{own}-{seen.born}-a", "rackstack-of-somebody-else"}
    for name in (*living, f"rackstack-{gone.pid}-1-b", f"rackstack-{own}-{seen.born + 1}-c"):
        (memory / name).mkdir()
        (memory / name / "secrets.yml").touch()
    _play(GOOD, monkeypatch)
    assert runs.carry_out(_order(tmp_path), FakeRun()).ok
    assert {each.name for each in memory.iterdir()} == living


def test_a_supervisor_that_does_not_hear_a_stop_is_killed_with_all_of_its_run(
    tmp_path: Path, memory: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(runs, "LAST_WORDS_SECONDS", 0.3)
    _play(DEAF, monkeypatch)
    run = FakeRun()
    run.stop.set()
    verdict = runs.carry_out(_order(tmp_path), run)
    assert verdict.began
    assert "its supervisor process was killed" in verdict.failures[0]
    assert list(memory.iterdir()) == []
