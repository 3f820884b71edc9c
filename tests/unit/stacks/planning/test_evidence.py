"""The label follows the pins."""

from typing import Any

import pytest

from stacks.catalog.models import Evidence
from stacks.planning.design import Design
from stacks.planning.evidence import standing
from tests.factories.stacks import designed

HERE = {"engine": "vllm", "release": "0.33.0", "revision": "9f62e4e9fffbd0a83ddd60e1c209d828994b3569"}
"""What kimi-k3-gb300 pins."""


def with_evidence(*evidence: dict[str, str]) -> Design:
    design = designed("kimi-k3-gb300")
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
        ([HERE | {"engine": "sglang"}, HERE | {"release": "0.1"}], "documented on other versions"),
        ([], "sized only"),
    ],
)
def test_label(evidence: list[dict[str, str]], label: str) -> None:
    assert standing(with_evidence(*evidence)).label == label


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
