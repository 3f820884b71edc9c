"""What the planner decides by itself, why, and what it says of the rest."""

from fnmatch import fnmatchcase
from typing import Any

import pytest

from stacks.planning.reasons import Choice
from tests.factories.stacks import planned
from tests.unit.stacks.cases import cases


@pytest.mark.parametrize("case", cases("planning/choices.yaml"))
def test_choices(case: dict[str, Any]) -> None:
    plan = planned(case["base"], case.get("set"), case.get("drop", ()))
    found = {choice.what: choice for choice in plan.choices}
    assert {what: found[what].value for what in case.get("chosen", {})} == case.get("chosen", {})
    for what, part in case.get("why", {}).items():
        assert part in found[what].why
    for what, part in case.get("cost", {}).items():
        cost = found[what].cost or ""
        assert fnmatchcase(cost, f"*{part}*"), cost
    for what in case.get("free", []):
        assert found[what].cost is None
    for what, parts in case.get("not", {}).items():
        assert_refused(found[what], parts)


def assert_refused(choice: Choice, parts: dict[str, str]) -> None:
    why_not = {other.value: other.why_not for other in choice.alternatives}
    for value, part in parts.items():
        assert part in why_not[value]
