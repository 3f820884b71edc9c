"""What a GPU holds of the weights, against the table of the facts."""

from typing import Any

import pytest

from stacks.config import Parallelism
from stacks.planning.memory.weights import weights_of_a_gpu
from tests.unit.stacks.cases import cases

# Kimi-K3: all tensors, and the routed experts alone (facts A1).
TOTAL, ROUTED = 1_560_860_324_864, 1_446_456_066_048


@pytest.mark.parametrize("case", cases("planning/memory/weights.yaml"))
def test_a_gpu_holds_at_least_what_the_table_says(case: dict[str, Any]) -> None:
    held = weights_of_a_gpu(TOTAL, case.get("routed", ROUTED), Parallelism(**case["split"]))
    assert held.low is not None
    assert [round(held.low / 1e9), round(held.high / 1e9)] == case["gb"]
    assert round(held.low / 2**30, 1) == case["gib"]
