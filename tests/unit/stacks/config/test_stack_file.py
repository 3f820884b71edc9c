"""The text of a stack file: read as Pulumi reads it, or refused with line and column."""

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from stacks.config import read
from stacks.errors import ConfigError
from tests.unit.stacks.cases import cases

SOURCE = "stacks/Pulumi.x.yaml"
CASES = cases("config/files.yaml")


@pytest.mark.parametrize("case", [case for case in CASES if "faults" not in case.values[0]])  # type: ignore[operator]  # a case is a mapping
def test_the_fleet_is_read(case: dict[str, Any]) -> None:
    assert read(case["text"], SOURCE) == case["fleet"]


@pytest.mark.parametrize("case", [case for case in CASES if "faults" in case.values[0]])  # type: ignore[operator]  # as above
def test_a_fault_has_its_line_and_column(case: dict[str, Any]) -> None:
    with pytest.raises(ConfigError) as refusal:
        read(case["text"], SOURCE)
    assert list(refusal.value.faults) == [f"{SOURCE}{fault}" for fault in case["faults"]]


def test_a_file_that_nests_without_end_is_refused() -> None:
    with pytest.raises(ConfigError, match="nests too deep"):
        read("[" * 5000, SOURCE)


@given(st.text(st.sampled_from("ab:- \n\t{}[],&*!'\"#?|>%@`\x00é0"), max_size=40))
def test_any_text_is_read_or_refused_in_one_line_each(text: str) -> None:
    faults: tuple[str, ...] = ()
    try:
        read(f"config:\n{text}", SOURCE)
    except ConfigError as refusal:
        faults = refusal.faults
    assert all(fault.startswith(SOURCE) and "\n" not in fault for fault in faults)
