"""What a look at one host means, by case file; and that the command is one that a shell understands."""

import subprocess
from pathlib import Path
from typing import Any

import pytest
import yaml

from components.hosts.markers import Expected, command, drift, marker

CASES = yaml.safe_load((Path(__file__).parents[3] / "cases" / "hosts" / "markers.yaml").read_text())
VARIABLES = {"engine_home": "/nonexistent/an engine", "checkpoint_home": "/nonexistent/it's"}


def _expected(playbook: str, variables: dict[str, Any]) -> Expected:
    return Expected(playbook, "i.1", {"role": "d1"}, variables)


@pytest.mark.parametrize("case", CASES, ids=[case["name"] for case in CASES])
def test_drift(case: dict[str, Any]) -> None:
    expected = _expected(case["playbook"], case.get("variables", {}))
    assert drift("\x1e".join(case["sections"]), expected) == case["drift"]


@pytest.mark.parametrize("playbook", ["prepare", "engine", "checkpoint", "serve"])
def test_a_host_on_which_nothing_is_there_answers_too(playbook: str) -> None:
    text = command("no-such-fleet", _expected(playbook, VARIABLES))
    done = subprocess.run(["sh", "-c", text], capture_output=True, text=True, check=True)
    assert marker(done.stdout) is None
