"""Names that nothing stands behind, and values that cannot be reckoned with."""

from typing import Any

import pytest

from stacks.errors import PlanError
from tests.factories.stacks import planned


@pytest.mark.parametrize(
    ("changes", "fault"),
    [
        (
            {"model": "kimi-k4"},
            'rackstack:fleet.model: "kimi-k4" is not in the catalog; did you mean kimi-k3?',
        ),
        ({"engine": "vllm-0.33.1-cu130"}, "did you mean vllm-0.33.0-cu130?"),
        ({"machines.type": "gb300"}, "did you mean gb300-nvl4?"),
        ({"machines.type": "lab-host"}, "is not in the catalog"),
        ({"fabric": "infiniband"}, 'rackstack:fleet.fabric: "infiniband" is not in the catalog'),
        ({"checkpoint": "fp8"}, "is not in the catalog of kimi-k3; "),
        ({"speculation": "dspak"}, "did you mean dspark?"),
        ({"flags": {"dtype": ["a"]}}, 'dtype: ["a"] is no such value; write a number format'),
        ({"flags": {"dtype": {"a": [1]}}}, "is no such value; write a number format"),
        ({"flags": {"kda-prefill-backend": ["a"]}}, "is no such value; write the name of a kernel"),
        ({"flags": {"gdn-prefill-backend": ["a"]}}, "is no such value; write the name of a kernel"),
        ({"flags": {"max-num-seqs": "many"}}, 'max-num-seqs: "many" is no such value; write a whole number'),
    ],
)
def test_each_is_told_with_the_way_out(changes: dict[str, Any], fault: str) -> None:
    with pytest.raises(PlanError) as refused:
        planned("kimi-k3-gb300", changes)
    assert any(fault in each for each in refused.value.faults), refused.value.faults


def test_all_at_once() -> None:
    with pytest.raises(PlanError) as refused:
        planned("kimi-k3-gb300", {"model": "x", "fabric": "y", "engine": "z"})
    assert len(refused.value.faults) == 3
