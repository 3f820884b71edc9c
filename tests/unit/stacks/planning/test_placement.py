"""Which rank sits where."""

import pytest

from stacks.planning import FleetPlan
from tests.factories.stacks import planned


def seats(plan: FleetPlan) -> list[str]:
    return [
        f"{group.name} {rank.host}: "
        + " ".join(f"{seat.data}.{seat.pipeline}.{seat.tensor}" for seat in rank.seats)
        for group in plan.groups
        for rank in group.ranks
    ]


@pytest.mark.parametrize(
    ("stack", "expected"),
    [
        ("kimi-k3-gb300", ["serve tray-0: 0.0.0 0.0.1 0.0.2 0.0.3", "serve tray-1: 0.0.4 0.0.5 0.0.6 0.0.7"]),
        (
            "qwen38-gb300-fp8-pp3",
            [
                "serve tray-0: 0.0.0 0.0.1 0.0.2 0.0.3",
                "serve tray-1: 0.1.0 0.1.1 0.1.2 0.1.3",
                "serve tray-2: 0.2.0 0.2.1 0.2.2 0.2.3",
            ],
        ),
        (
            "kimi-k3-gb300-dep16",
            [
                "serve tray-0: 0.0.0 1.0.0 2.0.0 3.0.0",
                "serve tray-1: 4.0.0 5.0.0 6.0.0 7.0.0",
                "serve tray-2: 8.0.0 9.0.0 10.0.0 11.0.0",
                "serve tray-3: 12.0.0 13.0.0 14.0.0 15.0.0",
            ],
        ),
    ],
)
def test_tensor_parallel_ranks_come_first_then_stages_then_data(stack: str, expected: list[str]) -> None:
    assert seats(planned(stack)) == expected


def test_prefill_and_decode_have_trays_of_their_own() -> None:
    plan = planned("kimi-k3-gb300-pd")
    assert [(group.name, [rank.host for rank in group.ranks]) for group in plan.groups] == [
        ("prefill", ["tray-0", "tray-1"]),
        ("decode", ["tray-2", "tray-3", "tray-4", "tray-5"]),
    ]
    assert [group.ports.http for group in plan.groups] == [8001, 8002]


def test_trays_share_a_domain_and_nodes_do_not() -> None:
    assert {host.domain for host in planned("kimi-k3-gb300-pd").hosts} == {0}
    assert [host.domain for host in planned("kimi-k3-b200").hosts] == [0, 1]
