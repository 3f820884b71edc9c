"""Events → progress and verdict, by case file."""

from pathlib import Path
from typing import Any

import pytest
import yaml

from components.hosts.events import Story

CASES = yaml.safe_load((Path(__file__).parents[3] / "cases" / "hosts" / "events.yaml").read_text())


@pytest.mark.parametrize("case", CASES, ids=[case["name"] for case in CASES])
def test_a_run_is_told_and_judged(case: dict[str, Any]) -> None:
    story = Story()
    lines = [line for event in case["events"] for line in story.hear(_event(event))]
    verdict = story.verdict(case["hosts"], case.get("ending"))
    assert lines == case.get("lines", [])
    assert list(verdict.failures) == case["failures"]
    assert verdict.began == case.get("began", True)
    assert verdict.ok == (not case["failures"])


def _event(short: dict[str, Any]) -> dict[str, Any]:
    """Write a short event out as ansible-runner does."""
    data: dict[str, Any] = {
        key: short[key] for key in ("host", "role", "task", "res", "ignore_errors") if key in short
    }
    if "action" in short:
        data["task_action"] = short["action"]
    second = short.get("at", 0)
    return {
        "event": short["event"],
        "created": f"2026-01-01T00:00:{second:02d}+00:00",
        "stdout": short.get("stdout", ""),
        "event_data": short.get("stats", data),
    }
