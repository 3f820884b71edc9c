"""Which verdict follows from what was seen, by case file."""

import json
from pathlib import Path
from typing import Any

import pytest
import yaml

from components.readiness.journal import Line, lines
from components.readiness.unit import looked
from components.readiness.verdict import Answer, Failed, Ready, Seen, judge, judge_answer, overdue, progress
from tests.factories.units import shown

CASES = Path(__file__).parents[3] / "cases" / "readiness"
ENDPOINT, MODEL = "https://a:8443/v1", "tiny"


def _cases(name: str) -> list[Any]:
    cases = yaml.safe_load((CASES / f"{name}.yaml").read_text())
    return [pytest.param(case, id=case["name"]) for case in cases]


def _answer(case: dict[str, Any]) -> Answer:
    body = case["body"] if isinstance(case["body"], str) else json.dumps(case["body"])
    return Answer(
        case["status"], body, case.get("gateway", ""), case.get("without_key", 401), case.get("leaked")
    )


def _expected(case: dict[str, Any]) -> Ready | Failed | None:
    if "ready" in case:
        return Ready(case["ready"])
    return Failed(case["failed"], case.get("spared", False)) if "failed" in case else None


def _seen(rank: int, case: dict[str, Any]) -> Seen:
    properties = case.get("unit", {})
    unit = None if properties is None else looked(shown(**properties))[0]
    return Seen(
        rank, f"lab-{rank}", unit, case.get("words"), case.get("silent", 0.0), _journal(case.get("journal"))
    )


def _journal(name: str | None) -> tuple[Line, ...]:
    return lines((CASES / "journals" / f"{name}.log").read_text()) if name else ()


@pytest.mark.parametrize("case", _cases("answers"))
def test_an_answer_alone(case: dict[str, Any]) -> None:
    assert judge_answer(ENDPOINT, MODEL, _answer(case)) == _expected(case)


@pytest.mark.parametrize("case", _cases("verdicts"))
def test_ranks_and_answer(case: dict[str, Any]) -> None:
    ranks = [_seen(rank, each) for rank, each in enumerate(case["ranks"])]
    answer = _answer(case["answer"]) if "answer" in case else None
    assert judge(ENDPOINT, MODEL, ranks, answer) == _expected(case)


RANKS = [
    _seen(0, {"words": "Loading safetensors", "unit": {"ActiveState": "activating"}}),
    _seen(1, {"unit": None}),
    _seen(2, {"unit": {"ActiveState": "failed", "ExecMainStatus": "1"}}),
]
DOING = (
    "rank 0 on lab-0 is starting: Loading safetensors; rank 1 on lab-1 does not answer over SSH; "
    "rank 2 on lab-2 ended with exit status 1"
)


def test_the_deadline_names_what_each_rank_was_doing() -> None:
    said = f"{ENDPOINT} gave no completion within 300 s"
    assert overdue(ENDPOINT, RANKS, 300, None) == Failed(f"{said}: {DOING}")
    assert overdue(ENDPOINT, RANKS, 300, "nobody is there") == Failed(f"{said} (nobody is there): {DOING}")


def test_progress_says_what_each_rank_does() -> None:
    assert progress(RANKS) == DOING
