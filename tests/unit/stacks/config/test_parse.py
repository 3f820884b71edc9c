"""A stack file is taken as it stands, or refused with every fault at once."""

import base64
import string
from functools import reduce
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic import BaseModel

from stacks.config import parse
from stacks.errors import ConfigError
from tests.unit.stacks.cases import FLEET, cases, fleet

SOURCE = "stacks/Pulumi.lab.yaml"

junk = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(),
    lambda below: st.lists(below) | st.dictionaries(st.text() | st.integers(), below),
    max_leaves=8,
)


@pytest.mark.parametrize("case", [*cases("config/faults.yaml"), *cases("config/machines.yaml")])
def test_every_fault_is_told_at_once(case: dict[str, Any]) -> None:
    with pytest.raises(ConfigError) as refusal:
        parse(fleet(case), SOURCE)
    assert list(refusal.value.faults) == [f"{SOURCE}: rackstack:fleet{fault}" for fault in case["faults"]]


@pytest.mark.parametrize("case", cases("config/good.yaml"))
def test_what_can_be_meant_is_taken(case: dict[str, Any]) -> None:
    parsed = parse(fleet(case), SOURCE)
    for path, value in case["becomes"].items():
        found = reduce(getattr, path.split("."), parsed)
        assert _plain(found) == value


def _plain(value: object) -> object:
    """Return a value as YAML has it, of an object the keys that a person set."""
    return value.model_dump(mode="json", exclude_unset=True) if isinstance(value, BaseModel) else value


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
    for access in (
        {"keys": [{"name": "a"}, {"name": "b", "secret": key}]},
        {"keys": [{"name": "a", "secret": [key]}, 7]},
        {"keys": {"a": key}},
        {"keys": [key]},
        {"keys": key},
        {"tls": {"certificate": "certificate", "key": key}},
    ):
        with pytest.raises(ConfigError) as refusal:
            parse(FLEET | {"access": access}, SOURCE)
        assert key not in str(refusal.value)


def test_more_keys_than_anybody_means_are_refused() -> None:
    keys = [{"name": f"a{i}"} for i in range(65)]
    with pytest.raises(ConfigError, match="access: keys lists 65 keys; it must list at most 64"):
        parse(FLEET | {"access": {"keys": keys}}, SOURCE)
    assert len(parse(FLEET | {"access": {"keys": keys[1:]}}, SOURCE).access.keys) == 64


def test_longer_lists_than_anybody_means_are_refused() -> None:
    hosts = [{"address": f"10.0.{i // 256}.{i % 256}", "host_key": _host_key(i)} for i in range(1025)]
    nics = [f"mlx5_{i}" for i in range(65)]
    for listed, told in (
        (hosts, "lists 1025, too many to be meant; it must list at most 1024"),
        ([{"nics": nics}], "lists 65, too many to be meant; it must list at most 64"),
    ):
        machines = {"provider": "baremetal", "type": "gb300-nvl4", "hosts": listed}
        with pytest.raises(ConfigError, match=told):
            parse(FLEET | {"machines": machines}, SOURCE)


def _host_key(number: int) -> str:
    kind = b"ssh-ed25519"
    blob = len(kind).to_bytes(4) + kind + (32).to_bytes(4) + number.to_bytes(32)
    return f"{kind.decode()} {base64.b64encode(blob).decode()}"


def test_what_is_shown_of_a_fleet_names_no_secret() -> None:
    keys = [{"name": "a", "secret": "pasted"}]
    assert "pasted" not in repr(parse(FLEET | {"access": {"keys": keys}}, SOURCE))
