"""What follows from what hosts show, by case file: every refusal in full, and no other beside it."""

from pathlib import Path
from typing import Any

import pytest
import yaml

from components.readiness.gates.judge import GATES, Verdict, judge
from stacks import catalog
from tests.factories.sights import sights, wants

CASES = Path(__file__).parents[4] / "cases" / "readiness" / "gates"
FABRICS = catalog.load().fabrics
ELSEWHERE = {"collectives"}
"""Files of cases with a test of their own."""


def _cases() -> list[Any]:
    files = (file for file in sorted(CASES.glob("*.yaml")) if file.stem not in ELSEWHERE)
    return [
        pytest.param(case, id=f"{file.stem}: {case['name']}")
        for file in files
        for case in yaml.safe_load(file.read_text())
    ]


def _verdict(case: dict[str, Any]) -> Verdict:
    wanted = wants(case.get("fabric", "nvlink"), **case.get("wants", {}))
    return judge(sights(wanted, case.get("hosts", {})), wanted, FABRICS)


@pytest.mark.parametrize("case", _cases())
def test_the_verdict(case: dict[str, Any]) -> None:
    verdict = _verdict(case)
    said = [each.sentence.partition("; likely, in this order: ")[0] for each in verdict.refused]
    assert said == case.get("refused", [])
    assert [each.check.id for each in verdict.refused] == case.get("breaks", [])
    first = {each.check.id: each.check.causes[0] for each in verdict.refused}
    for name, cause in case.get("causes", {}).items():
        assert first[name].startswith(cause)
    if "environment" in case:
        assert {host: dict(own) for host, own in verdict.environment.items()} == case["environment"]


def test_every_sentence_ends_with_causes_in_order_the_id_and_the_source() -> None:
    wanted = wants("nvlink")
    [refused] = judge(
        sights(wanted, {"tray-1": {"smi": {"driver": "580.9"}, "imex": {"out": "?"}}}), wanted, FABRICS
    ).refused[1:2]
    assert refused.sentence.startswith("tray-1: the driver is 580.9, wanted is ")
    assert "; likely, in this order: (1) " in refused.sentence
    assert refused.sentence.endswith(f" [{refused.check.id}; {refused.check.source}]")


def test_every_check_has_a_name_of_its_own_and_is_broken_by_a_case() -> None:
    names = [check.id for gate in GATES for check in gate.checks]
    assert len(names) == len(set(names))
    broken = {
        name
        for file in CASES.glob("*.yaml")
        for case in yaml.safe_load(file.read_text())
        for name in case.get("breaks", [])
    }
    assert broken == set(names)
