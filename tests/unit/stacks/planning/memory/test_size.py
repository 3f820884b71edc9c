"""A whole design, sized."""

import copy
import json
from functools import cache
from typing import Any

import pytest
import yaml

from stacks.catalog import load
from stacks.planning.design import Design
from stacks.planning.memory import kv_cache_gib, mib, size
from stacks.planning.sized import Range
from tests.factories.stacks import planned
from tests.unit.stacks.cases import CASES, cases

FOLDER = CASES / "planning/memory"


@cache
def read(file: str) -> dict[str, Any]:
    return dict(yaml.safe_load((FOLDER / file).read_text()))


def design(case: dict[str, Any]) -> Design:
    """Return the design of the case file with the changes of a case."""
    whole = copy.deepcopy(read("design.yaml"))
    whole["model"]["facts"]["shape"] |= read("shapes.yaml")[case.get("shape", "kimi-k3")]
    for path, value in case.get("set", {}).items():
        *above, key = (int(part) if part.isdigit() else part for part in path.split("."))
        at: Any = whole
        for part in above:
            at = at[part]
        at[key] = value
    return Design.model_validate_json(json.dumps(whole))


def plain(value: object) -> object:
    return [value.low, value.high] if isinstance(value, Range) else value


@pytest.mark.parametrize("case", cases("planning/memory/sizes.yaml"))
def test_a_gpu_holds(case: dict[str, Any]) -> None:
    wanted = design(case)
    memory, _ = size(wanted, wanted.groups[0])
    expected = dict(case.get("memory", {}))
    if "parts" in expected:
        assert {part.name: plain(part.size) for part in memory.parts} == expected.pop("parts")
    assert {name: plain(getattr(memory, name)) for name in expected} == expected


@pytest.mark.parametrize("case", cases("planning/memory/sizes.yaml"))
def test_a_cache_is_laid_out(case: dict[str, Any]) -> None:
    wanted = design(case)
    _, laid_out = size(wanted, wanted.groups[0])
    expected = case.get("cache", {})
    assert {name: plain(getattr(laid_out, name)) for name in expected} == expected
    assert len(laid_out.notes) == len(case["notes"])
    assert all(note.startswith(start) for note, start in zip(laid_out.notes, case["notes"], strict=True))
    told = [
        [r.tokens, r.blocks, None if r.low is None else round(r.low, 2), round(r.high, 2)]
        for r in laid_out.requests
    ]
    assert told == case.get("requests", told)


def test_the_lab_is_sized_in_the_units_of_its_engine() -> None:
    cases_of_lab = [
        case
        for case in yaml.safe_load((FOLDER / "sizes.yaml").read_text())
        if case["name"] == "the lab's path"
    ]
    lab = design(cases_of_lab[0])
    assert kv_cache_gib(lab, lab.groups[0]) == 1
    assert mib(1) == 1
    assert mib(2**20 + 1) == 2


@pytest.mark.parametrize(
    ("stack", "graphs"), [("kimi-k3-gb300", {"CUDA graphs"}), ("kimi-k3-mi355x", {"HIP graphs"})]
)
def test_no_graphs_are_captured_eagerly(stack: str, graphs: set[str]) -> None:
    for eager, held in ((False, graphs), (True, set[str]())):
        fleet = planned(stack, {"flags.enforce-eager": eager})
        assert {part.name for part in fleet.groups[0].memory.parts} & graphs == held


@pytest.mark.parametrize("name", ["kimi-k3", "qwen38", "lab-qwen3"])
def test_the_tables_are_about_the_models_of_the_catalog(name: str) -> None:
    shape = load().models[name].facts.shape.model_dump(mode="json", exclude_none=True)
    tested = read("shapes.yaml")[name]
    assert {key: shape[key] for key in tested} == tested
