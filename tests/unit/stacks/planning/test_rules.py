"""Each rule both ways: a fleet that breaks it, and one that just passes."""

from typing import Any

import pytest

from stacks.catalog import Catalog
from stacks.config import parse
from stacks.errors import PlanError
from stacks.planning import plan
from tests.unit.stacks.cases import cases, fleet


@pytest.mark.parametrize("case", cases("planning/rules.yaml"))
def test_every_broken_rule_is_told_at_once(case: dict[str, Any], catalog: Catalog) -> None:
    broken: tuple[str, ...] = ()
    try:
        plan(parse(fleet(case), "stacks/Pulumi.lab.yaml"), catalog, case.get("stack", "lab"))
    except PlanError as refusal:
        broken = refusal.faults
    assert list(broken) == case["broken"]
