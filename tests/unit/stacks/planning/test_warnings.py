"""What is told of fleets that are planned all the same."""

import re
from typing import Any

import pytest

from stacks.planning.warnings import REPORTS
from tests.factories.stacks import NAMES, catalog, planned
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


def test_a_report_stands_in_one_place() -> None:
    """What is about one model stands in its file, and in `REPORTS` what is about an engine or a fabric."""
    ours = {re.sub(r".*/(.+)/(issues|pull)/", r"\1#", each.source) for each in REPORTS}
    for model in catalog().models.values():
        facts = model.facts
        said = [
            *facts.warnings,
            *(each.warning or "" for each in facts.checkpoints.values()),
            *(text for each in facts.profiles for text in each.warnings),
            *(text for each in facts.layouts for text in each.warnings),
        ]
        assert ours.isdisjoint(re.findall(r"\w+#\d+", " ".join(said)))
