"""What is told of fleets that are planned all the same."""

from typing import Any

import pytest

from tests.factories.stacks import NAMES, planned
from tests.unit.stacks.cases import cases


@pytest.mark.parametrize("case", cases("planning/warnings.yaml"))
def test_what_is_worth_knowing_is_told(case: dict[str, Any]) -> None:
    told = planned(case["base"], case.get("set")).warnings
    for expected in case.get("tells", []):
        assert any(expected in sentence for sentence in told), told
    for unexpected in case.get("never", []):
        assert not any(unexpected in sentence for sentence in told), told


@pytest.mark.parametrize("stack", NAMES)
def test_nothing_is_told_twice(stack: str) -> None:
    told = planned(stack).warnings
    assert len(set(told)) == len(told)
