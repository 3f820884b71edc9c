"""Which text can be an API key."""

from pathlib import Path
from typing import Any

import pytest
import yaml

from components.gateway import keys

CASES = yaml.safe_load((Path(__file__).parents[3] / "cases/gateway/keys.yaml").read_text())


@pytest.mark.parametrize("case", CASES, ids=[case["name"] for case in CASES])
def test_a_fault_is_told_without_the_key(case: dict[str, Any]) -> None:
    faults = keys.faults_of_key("evaluation", case["key"])
    assert len(faults) == ("fault" in case)
    for fault in faults:
        assert fault.startswith("access: key evaluation ")
        assert case["fault"] in fault
        assert not case["key"] or case["key"] not in fault


def test_the_longest_key_is_one_and_a_longer_one_is_not() -> None:
    assert keys.faults_of_key("a", "x" * 256) == []
    (fault,) = keys.faults_of_key("a", "x" * 257)
    assert "has 257 characters" in fault


def test_all_faults_are_told_at_once() -> None:
    assert len(keys.faults_of_key("a", "{}")) == 2
