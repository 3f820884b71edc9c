"""A stack file is taken as it stands, or refused with every fault at once."""

import string
from functools import reduce
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from stacks.config import parse
from stacks.errors import ConfigError
from tests.unit.stacks.cases import FLEET, cases, fleet

SOURCE = "stacks/Pulumi.lab.yaml"

junk = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(),
    lambda below: st.lists(below) | st.dictionaries(st.text() | st.integers(), below),
    max_leaves=8,
)


@pytest.mark.parametrize("case", cases("config/faults.yaml"))
def test_every_fault_is_told_at_once(case: dict[str, Any]) -> None:
    with pytest.raises(ConfigError) as refusal:
        parse(fleet(case), SOURCE)
    assert list(refusal.value.faults) == [f"{SOURCE}: rackstack:fleet{fault}" for fault in case["faults"]]


@pytest.mark.parametrize("case", cases("config/good.yaml"))
def test_what_can_be_meant_is_taken(case: dict[str, Any]) -> None:
    parsed = parse(fleet(case), SOURCE)
    for path, value in case["becomes"].items():
        assert reduce(getattr, path.split("."), parsed) == value


def test_a_good_fleet_is_taken_as_it_stands() -> None:
    assert parse(FLEET, SOURCE).model_dump(exclude_unset=True) == FLEET


@pytest.mark.parametrize("case", cases("config/placeholders.yaml"))
def test_each_form_of_placeholder_is_refused(case: dict[str, Any]) -> None:
    for value in case["values"]:
        with pytest.raises(ConfigError, match="holds an unresolved placeholder"):
            parse(FLEET | {"env": {"A": value}}, SOURCE)


@given(junk, st.sampled_from([*FLEET, "flags", "env", "price", "run", "unknown"]))
def test_whatever_stands_there_is_taken_or_refused_in_one_line_each(value: object, key: str) -> None:
    faults: tuple[str, ...] = ()
    try:
        parse(FLEET | {key: value}, SOURCE)
    except ConfigError as refusal:
        faults = refusal.faults
    assert all(fault.startswith(f"{SOURCE}: rackstack:fleet") for fault in faults)
    assert all(fault.isprintable() for fault in faults)


@given(st.text(string.ascii_letters + string.digits + "-_$", min_size=8))
def test_a_key_that_is_pasted_in_is_never_shown(key: str) -> None:
    key = f"sk-{key}"
    with pytest.raises(ConfigError) as refusal:
        parse(FLEET | {"api_key": key}, SOURCE)
    assert key not in str(refusal.value)
