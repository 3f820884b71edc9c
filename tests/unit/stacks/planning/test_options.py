"""Engine options and variables of an engine: who has the last word."""

from collections.abc import Mapping
from typing import Any

import pytest

from stacks.planning.design import Design
from stacks.planning.options import left_out, merged, options
from stacks.planning.plan import EngineGroup
from stacks.planning.reasons import Option
from tests.factories import stacks
from tests.unit.stacks.cases import cases

STACK, OPTION, PACKAGE = "qwen38-b300-nvfp4", "linear-backend", "flashinfer-python"


@pytest.mark.parametrize("case", cases("planning/options.yaml"))
def test_who_has_the_last_word(case: dict[str, Any]) -> None:
    group = _group(case)
    for asked, found in ((case.get("flags", {}), group.options), (case.get("env", {}), group.env)):
        held = {option.name: [option.value, option.origin] for option in found}
        assert {name: held.get(name) for name in asked} == asked
    named = {option.name for option in (*group.options, *group.env)}
    assert not named & set(case.get("without", []))


@pytest.mark.parametrize("stack", stacks.NAMES)
def test_every_option_of_every_stack_has_a_reason_and_a_source_in_words(stack: str) -> None:
    for group in stacks.planned(stack).groups:
        for option in (*group.options, *group.env):
            assert len(option.why) > 9, option
            assert option.source, option
            assert not option.why.endswith("."), option


@pytest.mark.parametrize("stack", stacks.NAMES)
def test_no_option_is_asked_for_twice(stack: str) -> None:
    for group in stacks.planned(stack).groups:
        for part in (group.options, group.env):
            names = [option.name for option in part]
            assert len(names) == len(set(names))


def test_json_options_join_key_by_key_one_level_down() -> None:
    earlier = {"mode": 1, "pass_config": {"a": 1, "b": 2}, "ops": ["x"], "kept": {"c": 3}}
    later = {"mode": 3, "pass_config": {"b": 5}, "ops": ["y"]}
    assert merged(earlier, later) == {
        "mode": 3,
        "pass_config": {"a": 1, "b": 5},
        "ops": ["y"],
        "kept": {"c": 3},
    }
    assert earlier["pass_config"] == {"a": 1, "b": 2}


def test_joined_json_carries_the_reasons_of_both() -> None:
    changes = {"flags": {"compilation-config": {"cudagraph_mode": "NONE"}}}
    group = stacks.planned("qwen38-b300-fp8", changes).groups[0]
    [option] = [option for option in group.options if option.name == "compilation-config"]
    assert option.why.endswith("; set by hand")
    assert option.source.endswith("; the stack file")


def test_what_is_set_by_hand_says_what_it_takes_the_place_of() -> None:
    [before] = _options("load-format", {})
    [after] = _options("load-format", {"flags": {"load-format": "auto"}})
    assert after.why == f"set by hand instead of {before.value}: {before.why}"
    assert after.source == f"the stack file; {before.source}"
    [same] = _options("load-format", {"flags": {"load-format": before.value}})
    assert same.why == "set by hand"


def test_of_json_it_says_so_for_the_keys_that_are_others_now() -> None:
    [before] = _options("attention-config", {})
    [after] = _options(
        "attention-config", {"flags": {"attention-config": {"mla_prefill_backend": "TRTLLM_RAGGED"}}}
    )
    assert after.why == f'set by hand instead of {{"mla_prefill_backend": "flashinfer"}}: {before.why}'


def test_an_option_whose_package_the_lock_holds_is_asked_for() -> None:
    design = stacks.designed(STACK)
    assert _asked_for(design)
    assert left_out(design, design.groups[0]) == ()


@pytest.mark.parametrize(
    ("packages", "says"),
    [
        (None, "the engine's lock is not pinned yet"),
        ({}, "the engine's lock holds none"),
        ({PACKAGE: "0.1.0"}, "the engine's lock holds 0.1.0"),
    ],
)
def test_an_option_whose_package_the_lock_lacks_is_left_out_and_said(
    packages: Mapping[str, str] | None, says: str
) -> None:
    design = stacks.designed(STACK)
    lock = (
        design.lock.model_copy(update={"packages": packages})
        if design.lock and packages is not None
        else None
    )
    design = design.model_copy(update={"lock": lock})
    assert not _asked_for(design)
    [sentence] = left_out(design, design.groups[0])
    assert sentence.startswith(f"--{OPTION} is left out of serve: it needs {PACKAGE} ")
    assert says in sentence


def _options(name: str, changes: Mapping[str, Any]) -> list[Option]:
    return [each for each in stacks.planned("kimi-k3-gb300", changes).groups[0].options if each.name == name]


def _asked_for(design: Design) -> bool:
    flags, _ = options(design, design.groups[0])
    return OPTION in {flag.name for flag in flags}


def _group(case: dict[str, Any]) -> EngineGroup:
    planned = stacks.planned(case["stack"], case.get("changes"))
    name = case.get("group", "serve")
    return next(group for group in planned.groups if group.name == name)
