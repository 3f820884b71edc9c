"""The label follows the pins."""

from typing import Any

import pytest

from stacks.catalog.models import Evidence
from stacks.planning.design import Design
from stacks.planning.evidence import standing
from tests.factories.stacks import designed

HERE = {"engine": "vllm", "release": "0.33.0", "revision": "9f62e4e9fffbd0a83ddd60e1c209d828994b3569"}
"""What kimi-k3-gb300 pins."""


def with_evidence(*evidence: dict[str, Any], stack: str = "kimi-k3-gb300", **changes: Any) -> Design:
    design = designed(stack, changes)
    assert design.documented
    seen = tuple(
        Evidence.model_validate(
            {"who": "a party", "source": "blog", "date": "2026-08-01", "says": "ran", **each}
        )
        for each in evidence
    )
    return design.model_copy(update={"documented": design.documented.model_copy(update={"evidence": seen})})


@pytest.mark.parametrize(
    ("evidence", "label"),
    [
        ([HERE], "documented on these versions"),
        ([HERE | {"who": "Rackstack's own tests"}], "run by Rackstack's own tests"),
        ([HERE | {"release": "0.32.0"}], "documented on other versions"),
        ([HERE | {"release": "unknown"}], "documented on other versions"),
        ([HERE | {"revision": "another"}], "documented on other versions"),
        ([HERE | {"nccl": "2.28.9"}], "documented on other versions"),
        ([HERE | {"nccl": "2.30.7"}], "documented on these versions"),
        ([HERE | {"engine": "sglang"}], "another engine's evidence"),
        ([HERE | {"ran": False}], "sized only"),
        ([HERE | {"ran": False}, HERE | {"release": "0.1"}], "documented on other versions"),
        ([HERE | {"ran": False}, HERE | {"engine": "sglang"}], "another engine's evidence"),
        ([HERE | {"fabric": "NVLink, GB300 NVL72"}], "documented on these versions"),
        ([HERE | {"fabric": "RDMA"}], "documented on other versions"),
        ([HERE | {"fabric": "a bridge of one machine"}], "documented on these versions"),
        ([HERE | {"engine": "sglang"}, HERE | {"release": "0.1"}], "documented on other versions"),
        ([], "sized only"),
    ],
)
def test_label(evidence: list[dict[str, Any]], label: str) -> None:
    assert standing(with_evidence(*evidence)).label == label


@pytest.mark.parametrize(
    ("there", "here", "label"),
    [
        ("580", "580.95.05", "documented on these versions"),
        ("580.95.05", "580.95.05", "documented on these versions"),
        ("580.65.06", "580.95.05", "documented on other versions"),
        ("580.95", "580.95.05", "documented on other versions"),
        ("580", "590.44.01", "documented on other versions"),
        ("58", "580.95.05", "documented on other versions"),
        ("unknown", "580.95.05", "documented on these versions"),
    ],
)
def test_a_driver_is_compared_where_both_are_known_by_branch_where_no_release_is(
    there: str, here: str, label: str
) -> None:
    found = standing(with_evidence(HERE | {"driver": there}, **{"machines.driver": here}))
    assert found.label == label
    assert (f"driver {there} there, {here} here" in found.sentence) == (
        label != "documented on these versions"
    )


def test_a_driver_that_the_stack_does_not_say_is_no_difference_but_told() -> None:
    found = standing(with_evidence(HERE | {"driver": "580"}))
    assert found.label == "documented on these versions"
    assert "driver 580 there, and machines.driver is not said here" in found.sentence


def test_what_is_only_written_down_names_who_wrote_it() -> None:
    found = standing(with_evidence(HERE | {"ran": False, "says": "sizes it"}))
    assert found.sentence == (
        "sized only: documented by a party (2026-08-01) for vllm 0.33.0: sizes it; nobody says that it ran"
    )
    assert found.evidence


@pytest.mark.parametrize(
    ("stack", "label"),
    [
        ("kimi-k3-mi350x", "sized only"),
        ("qwen38-mi355x-mxfp4", "sized only"),
        ("kimi-k3-gb300-dep16", "another engine's evidence"),
        ("kimi-k3-gb300", "documented on other versions"),
        ("lab", "run by Rackstack's own tests"),
    ],
)
def test_label_of_a_shipped_stack(stack: str, label: str) -> None:
    assert standing(designed(stack)).label == label


def test_it_moves_when_the_engine_moves() -> None:
    design = with_evidence(HERE)
    facts = design.engine.facts.model_copy(update={"release": "0.34.0"})
    moved = design.model_copy(update={"engine": design.engine.model_copy(update={"facts": facts})})
    assert "engine 0.33.0 there, 0.34.0 here" in standing(moved).sentence
    assert standing(moved).label == "documented on other versions"


def test_what_nobody_recorded_is_said() -> None:
    assert "not recorded there: driver, NCCL, fabric" in standing(with_evidence(HERE)).sentence


def test_an_accepted_layout_carries_its_reason() -> None:
    changes: dict[str, Any] = {"layout": {"tensor_parallel": 32}, "accept_undocumented": "a trial"}
    found = standing(designed("kimi-k3-gb300", changes))
    assert found.label == "undocumented"
    assert "accepted because: a trial" in found.sentence
