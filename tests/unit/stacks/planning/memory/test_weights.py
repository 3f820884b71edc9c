"""What a GPU holds of the weights, against the table of the facts."""

from typing import Any

import pytest

from stacks.catalog import load
from stacks.config import Parallelism
from stacks.planning.memory.weights import loaded, weights_of_a_gpu
from tests.unit.stacks.cases import cases

# Kimi-K3: all tensors, and the routed experts alone (facts A1).
TOTAL, ROUTED = 1_560_860_324_864, 1_446_456_066_048


@pytest.mark.parametrize("case", cases("planning/memory/weights.yaml"))
def test_a_gpu_holds_at_least_what_the_table_says(case: dict[str, Any]) -> None:
    held = weights_of_a_gpu(TOTAL, case.get("routed", ROUTED), Parallelism(**case["split"]))
    assert held.low is not None
    assert [round(held.low / 1e9), round(held.high / 1e9)] == case["gb"]
    assert round(held.low / 2**30, 1) == case["gib"]


@pytest.mark.parametrize(
    ("checkpoint", "head", "total", "routed", "said"),
    [
        ("nvfp4", True, 1_447_265_951_488, 1_348_082_860_032, ""),
        ("nvfp4", False, 1_447_265_951_488 - 14_495_514_624, 1_333_587_345_408, "less 14,495,514,624"),
        ("mxfp4", False, 1_597_051_793_152, None, "which is not loaded"),
    ],
)
def test_experts_of_a_head_that_nobody_uses_are_not_loaded(
    checkpoint: str, *, head: bool, total: int, routed: int | None, said: str
) -> None:
    facts = load().models["qwen38"].facts.checkpoints[checkpoint]
    found = loaded(facts, head=head)
    assert found[:2] == (total, routed)
    assert said in found[2]


def test_a_checkpoint_without_a_head_is_loaded_whole() -> None:
    facts = load().models["kimi-k3"].facts.checkpoints["mxfp4"]
    assert loaded(facts, head=False) == (TOTAL, ROUTED, f"{TOTAL:,} bytes of tensors")
