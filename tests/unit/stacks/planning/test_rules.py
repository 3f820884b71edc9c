"""Every rule of the table both ways: fleets that break it, and fleets that just pass."""

from collections.abc import Iterator, Mapping
from fnmatch import fnmatchcase
from functools import cache
from glob import escape
from pathlib import Path
from typing import Any

import pytest
import yaml
from _pytest.mark.structures import ParameterSet

from stacks.catalog import Catalog
from stacks.catalog.figures import Reasoned
from stacks.errors import PlanError
from stacks.planning import plan
from stacks.planning.membership import env, flags
from stacks.planning.rules import RULES
from stacks.planning.rules.by_hand import DECIDED
from tests.factories.stacks import NAMES, catalog, config, planned

FOLDER = Path(__file__).parents[3] / "cases" / "stacks" / "planning" / "rules"


@cache
def tables() -> dict[str, Any]:
    """Return the cases of every rule by its id."""
    return {
        rule: cases
        for file in sorted(FOLDER.glob("*.yaml"))
        for rule, cases in yaml.safe_load(file.read_text()).items()
    }


def parameters(way: str) -> Iterator[ParameterSet]:
    for rule, cases in tables().items():
        for index, case in enumerate(cases[way]):
            yield pytest.param(rule, case, id=f"{rule}-{index}")


def refusals(case: dict[str, Any]) -> tuple[str, ...]:
    base = case["base"]
    try:
        plan(config(base, case.get("set"), case.get("drop", ())), changed(case.get("catalog", {})), base)
    except PlanError as refusal:
        return refusal.faults
    return ()


def changed(changes: Mapping[str, Any]) -> Catalog:
    """Return the shipped catalog with values replaced by their path, a layout by its title.

    For example: `engines/NAME/facts/release`, `models/NAME/facts/layouts/TITLE/needs`.
    """
    found = catalog()
    for path, value in changes.items():
        found = replaced(found, path.split("/"), value)
    return found


def replaced(tree: Any, path: list[str], value: Any) -> Any:
    if not path:
        return Reasoned(**value) if isinstance(value, dict) and "why" in value else value
    name, rest = path[0], path[1:]
    if isinstance(tree, tuple):
        at = int(name) if name.isdigit() else [each.title for each in tree].index(name)
        return (*tree[:at], replaced(tree[at], rest, value), *tree[at + 1 :])
    if isinstance(tree, Mapping):
        return {**tree, name: replaced(tree.get(name), rest, value)}
    return tree.model_copy(update={name: replaced(getattr(tree, name), rest, value)})


def rule_of(sentence: str) -> str:
    return sentence.rpartition(" [")[2].partition(";")[0]


@pytest.mark.parametrize(("rule", "case"), list(parameters("breaks")))
def test_a_fleet_that_breaks_a_rule_is_refused_with_value_rule_and_way_out(
    rule: str, case: dict[str, Any]
) -> None:
    told = refusals(case)
    assert {rule_of(sentence) for sentence in told} == {rule, *case.get("also", [])}
    mine = [sentence for sentence in told if rule_of(sentence) == rule]
    for sentence, expected in zip(mine, case["says"], strict=True):
        assert fnmatchcase(
            sentence, f"rackstack:fleet.{escape(expected).replace('…', '*')} [[]{rule}; *[]]"
        ), sentence


@pytest.mark.parametrize(("rule", "case"), list(parameters("passes")))
def test_a_fleet_that_just_passes_is_planned(rule: str, case: dict[str, Any]) -> None:
    told = refusals(case)
    assert {rule_of(sentence) for sentence in told} == set(case.get("also", [])) - {rule}, told


def test_every_rule_has_cases_both_ways() -> None:
    assert {rule for rule, cases in tables().items() if cases["breaks"] and cases["passes"]} == {
        rule.id for rule in RULES
    }


@pytest.mark.parametrize("stack", NAMES)
def test_nothing_that_tells_a_rank_its_place_is_set_by_hand(stack: str) -> None:
    fleet = planned(stack)
    addresses = {host.name: "10.0.0.1" for host in fleet.hosts}
    for group in fleet.groups:
        for rank in group.ranks:
            told = (*flags(fleet, group, rank, addresses), *env(fleet, group, rank, addresses))
            assert {option.name for option in told} <= DECIDED


def test_ids_are_told_apart() -> None:
    assert len({rule.id for rule in RULES}) == len(RULES)


@pytest.mark.parametrize(
    "path",
    [
        "flags.kv-cache-dtype",
        "flags.enable-prefix-caching",
        "flags.no-such-thing",
        "flags.compilation-config",
        "flags.host",
        "env.VLLM_NO_SUCH_THING",
        "env.VLLM_HOST_IP",
        "env.NCCL_DEBUG",
    ],
)
def test_what_may_be_a_secret_is_shown_by_no_rule(path: str) -> None:
    value = "sk-abcdefghijklmnop"
    told = refusals({"base": "kimi-k3-gb300", "set": {path: value}})
    assert told
    assert not [sentence for sentence in told if value in sentence]


def test_broken_rules_are_told_all_at_once() -> None:
    case = {
        "base": "qwen38-gb300-fp8",
        "set": {
            "layout": {"tensor_parallel": 12},
            "workload.context": 2_000_000,
            "env.VLLM_RPC_TIMEOUT": "1",
            "flags.host": "0.0.0.0",  # noqa: S104 - the refused value
        },
    }
    assert {rule_of(sentence) for sentence in refusals(case)} >= {
        "heads-divide",
        "context-is-opted-into",
        "variables-are-read",
        "plan-decides",
    }
