"""What a look at one host means, by case file; and that its command is one that a shell understands."""

import json
import subprocess
from pathlib import Path
from typing import Any

import pytest
import yaml

from components.hosts.markers import PROGRAM, Expected, drift, holder, look_command, marker, marker_command

CASES = yaml.safe_load((Path(__file__).parents[3] / "cases" / "hosts" / "markers.yaml").read_text())


@pytest.mark.parametrize("case", CASES, ids=[case["name"] for case in CASES])
def test_drift(case: dict[str, Any]) -> None:
    expected = Expected(case["playbook"], "i.1", {"role": "d1"}, case.get("variables", {}))
    whole = {case["playbook"]: {"marker": case.get("marker"), "now": case.get("now", {})}}
    assert drift(case.get("raw", json.dumps(whole)), case.get("err", ""), expected) == case["drift"]


def test_a_host_on_which_nothing_is_there_answers_too() -> None:
    done = subprocess.run(
        ["sh", "-c", look_command("no such; fleet")],
        input=PROGRAM.read_text(),
        capture_output=True,
        text=True,
        check=True,
    )
    expected = Expected("prepare", "i.1", {}, {})
    assert drift(done.stdout, done.stderr, expected) == {"prepare": "no run has finished here"}


@pytest.mark.parametrize(
    "answer", ["", "{", "[1]", '{"run": 1, "roles": {}}', "[" * 100_000], ids=lambda text: text[:8]
)
def test_what_is_no_marker_is_none(answer: str) -> None:
    assert marker(answer) is None


def test_a_marker_is_shown_by_one_command() -> None:
    text = marker_command("no such; fleet", "prepare")
    done = subprocess.run(["sh", "-c", text], capture_output=True, text=True, check=False)
    assert (done.stdout, done.stderr) == ("\x1e", "")


@pytest.mark.parametrize(
    ("lease", "held"),
    [
        ("", ""),
        ('{"fleet": "f", "owner": "me@here", "incarnation": "1"}', ""),
        ('{"fleet": "g", "owner": "ann@ops", "incarnation": "2"}', "fleet g of ann@ops"),
        ("who knows", "somebody whose lease in /var/lib/rackstack-lease cannot be read"),
        ('{"fleet": "g"}', "somebody whose lease in /var/lib/rackstack-lease cannot be read"),
    ],
)
def test_who_else_holds_a_host_is_told(lease: str, held: str) -> None:
    assert holder(f"\x1e{lease}", "1") == held
