"""What splits and figures are called."""

import pytest

from stacks.config import Disaggregated, Parallelism
from stacks.planning.naming import TIMES, duration, gb, split


@pytest.mark.parametrize(
    ("parallel", "called"),
    [
        (Parallelism(), "one rank"),
        (Parallelism(tensor_parallel=8), "TP8"),
        (Parallelism(tensor_parallel=8, pipeline_parallel=2), f"TP8{TIMES}PP2"),
        (Parallelism(data_parallel=16, expert_parallel=True), "DP16 with expert parallel"),
        (Parallelism(tensor_parallel=8, decode_context_parallel=8), f"TP8{TIMES}DCP8"),
    ],
)
def test_a_split_has_one_name(parallel: Parallelism, called: str) -> None:
    assert split(parallel) == called


def test_both_halves_are_named_where_they_are_apart() -> None:
    apart = Disaggregated(prefill=Parallelism(tensor_parallel=8), decode=Parallelism(tensor_parallel=4))
    assert split(apart) == "prefill TP8 / decode TP4"


@pytest.mark.parametrize(
    ("seconds", "said"), [(299, "299 s"), (300, "5 min"), (7199, "120 min"), (7200, "2.0 h")]
)
def test_durations(seconds: float, said: str) -> None:
    assert duration(seconds) == said


@pytest.mark.parametrize(("size", "said"), [(1_560_936_091_448, "1,560.9 GB"), (2_500_000, "2.5 MB")])
def test_sizes(size: int, said: str) -> None:
    assert gb(size) == said
